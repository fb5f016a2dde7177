// A launch a chunk, one after the other on the stream, which needs no wait.
#include <cuda_runtime.h>
#include <math.h>

__global__ void softsign_kernel(const float* x, float* y, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = x[i] / (1.0f + fabsf(x[i]));
}

extern "C" int softsign(const float* x, float* y, int chunks, int count, cudaStream_t stream) {
  for (int chunk = 0; chunk < chunks; ++chunk) {
    long long offset = (long long)chunk * count;
    softsign_kernel<<<(count + 255) / 256, 256, 0, stream>>>(x + offset, y + offset, count);
  }
  return (int)cudaGetLastError();
}
