// All of it in fp32.
#include <cuda_runtime.h>
#include <math.h>

__global__ void gelu_kernel(const float* x, float* y, long long count) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = 0.5f * x[i] * (1.0f + tanhf(0.79788456f * (x[i] + 0.044715f * x[i] * x[i] * x[i])));
}

extern "C" int gelu(const float* x, float* y, long long count, cudaStream_t stream) {
  gelu_kernel<<<(int)((count + 255) / 256), 256, 0, stream>>>(x, y, count);
  return (int)cudaGetLastError();
}
