// All four steps in registers: the tensor is read once and written once.
#include <cuda_runtime.h>

__global__ void steps_kernel(const float* x, float* y, long long count) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float kept = fmaxf(1.5f * x[i] + 0.5f, 0.0f);
  y[i] = kept * kept - 0.25f * x[i];
}

extern "C" int steps(const float* x, float* y, long long count, cudaStream_t stream) {
  steps_kernel<<<(int)((count + 255) / 256), 256, 0, stream>>>(x, y, count);
  return (int)cudaGetLastError();
}
