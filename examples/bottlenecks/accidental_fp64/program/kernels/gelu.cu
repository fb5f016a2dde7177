// Constants without a suffix are double, and so is everything that meets them.
#include <cuda_runtime.h>
#include <math.h>

__global__ void gelu_kernel(const float* x, float* y, long long count) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = 0.5 * x[i] * (1.0 + tanh(0.7978845608028654 * (x[i] + 0.044715 * x[i] * x[i] * x[i])));
}

extern "C" int gelu(const float* x, float* y, long long count, cudaStream_t stream) {
  gelu_kernel<<<(int)((count + 255) / 256), 256, 0, stream>>>(x, y, count);
  return (int)cudaGetLastError();
}
