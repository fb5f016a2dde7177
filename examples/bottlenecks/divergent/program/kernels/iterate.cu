// One thread an element: lane 0 of each warp goes round 64 times, while 31 lanes wait for it.
#include <cuda_runtime.h>
#include <math.h>

__global__ void iterate_kernel(const float* x, float* y, long long count) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  int steps = i % 32 == 0 ? 64 : 1;
  float given = x[i], z = 0.0f;
  for (int step = 0; step < steps; ++step) z = tanhf(z + given);
  y[i] = z;
}

extern "C" int iterate(const float* x, float* y, long long count, cudaStream_t stream) {
  iterate_kernel<<<(int)((count + 255) / 256), 256, 0, stream>>>(x, y, count);
  return (int)cudaGetLastError();
}
