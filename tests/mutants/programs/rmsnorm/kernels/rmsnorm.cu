// One block a row: squares summed over the block by warp shuffles and one shared word a warp.
#include <cuda_runtime.h>

__global__ void kernel(const float* x, const float* weight, float* y, int cols, float eps) {
  __shared__ float partial[32];
  const float* row = x + (size_t)blockIdx.x * cols;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) sum += row[i] * row[i];
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  float total = 0.0f;
  for (int warp = 0; warp < (int)blockDim.x / 32; ++warp) total += partial[warp];
  float scale = rsqrtf(total / cols + eps);
  for (int i = threadIdx.x; i < cols; i += blockDim.x) y[(size_t)blockIdx.x * cols + i] = row[i] * scale * weight[i];
}

extern "C" int rmsnorm(const float* x, const float* weight, float* y, int rows, int cols, float eps, cudaStream_t stream) {
  kernel<<<rows, 256, 0, stream>>>(x, weight, y, cols, eps);
  return (int)cudaGetLastError();
}
