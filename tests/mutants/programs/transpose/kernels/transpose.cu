// 32 x 32 tiles through shared memory, a padding column against bank conflicts.
#include <cuda_runtime.h>

__global__ void kernel(const float* x, float* y, int rows, int cols) {
  __shared__ float tile[32][33];
  int col = blockIdx.x * 32 + threadIdx.x;
  int row = blockIdx.y * 32 + threadIdx.y;
  if (row < rows && col < cols) tile[threadIdx.y][threadIdx.x] = x[row * cols + col];
  __syncthreads();
  int out_col = blockIdx.y * 32 + threadIdx.x;
  int out_row = blockIdx.x * 32 + threadIdx.y;
  if (out_row < cols && out_col < rows) y[out_row * rows + out_col] = tile[threadIdx.x][threadIdx.y];
}

extern "C" int transpose(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  dim3 grid((cols + 31) / 32, (rows + 31) / 32);
  kernel<<<grid, dim3(32, 32), 0, stream>>>(x, y, rows, cols);
  return (int)cudaGetLastError();
}
