// The second kernel turns the sums into factors itself: nothing leaves the device.
#include <cuda_runtime.h>
#include <math.h>

__global__ void sums_kernel(const float* x, float* sums, int columns) {
  __shared__ float parts[256];
  const float* row = x + (long long)blockIdx.x * columns;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < columns; i += 256) sum += row[i] * row[i];
  parts[threadIdx.x] = sum;
  __syncthreads();
  for (int width = 128; width > 0; width /= 2) {
    if (threadIdx.x < width) parts[threadIdx.x] += parts[threadIdx.x + width];
    __syncthreads();
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = parts[0];
}

__global__ void scale_kernel(const float* x, const float* sums, float* y, int columns) {
  long long start = (long long)blockIdx.x * columns;
  float factor = 1.0f / sqrtf(sums[blockIdx.x] / columns + 1e-6f);
  for (int i = threadIdx.x; i < columns; i += 256) y[start + i] = x[start + i] * factor;
}

extern "C" int normalize(const float* x, float* factors, float* y, int rows, int columns, cudaStream_t stream) {
  sums_kernel<<<rows, 256, 0, stream>>>(x, factors, columns);
  scale_kernel<<<rows, 256, 0, stream>>>(x, factors, y, columns);
  return (int)cudaGetLastError();
}
