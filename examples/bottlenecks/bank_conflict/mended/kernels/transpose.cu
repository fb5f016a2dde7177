// A tile of 32 by 32 goes through shared memory; rows of 33 words put a column into 32 banks.
#include <cuda_runtime.h>

__global__ void transpose_kernel(const float* x, float* y, int rows, int columns) {
  __shared__ float tile[32][33];
  int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
  for (int step = 0; step < 32; step += 8)
    if (row + step < rows && column < columns)
      tile[threadIdx.y + step][threadIdx.x] = x[(long long)(row + step) * columns + column];
  __syncthreads();
  int out_column = blockIdx.y * 32 + threadIdx.x, out_row = blockIdx.x * 32 + threadIdx.y;
  for (int step = 0; step < 32; step += 8)
    if (out_row + step < columns && out_column < rows)
      y[(long long)(out_row + step) * rows + out_column] = 0.5f * tile[threadIdx.x][threadIdx.y + step];
}

extern "C" int transpose(const float* x, float* y, int rows, int columns, cudaStream_t stream) {
  dim3 grid((columns + 31) / 32, (rows + 31) / 32), block(32, 8);
  transpose_kernel<<<grid, block, 0, stream>>>(x, y, rows, columns);
  return (int)cudaGetLastError();
}
