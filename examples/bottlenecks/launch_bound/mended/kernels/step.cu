// All 48 steps of an element in one thread, in one launch.
#include <cuda_runtime.h>

__global__ void steps_kernel(const float* x, float* y, int count, int number) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float given = x[i], z = given;
  for (int step = 0; step < number; ++step) z = 0.9f * z + 0.1f * given * z + 0.05f * given;
  y[i] = z;
}

extern "C" int steps(const float* x, float* y, int count, int number, cudaStream_t stream) {
  steps_kernel<<<(count + 255) / 256, 256, 0, stream>>>(x, y, count, number);
  return (int)cudaGetLastError();
}
