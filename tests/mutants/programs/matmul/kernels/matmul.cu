// 16 x 16 tiles of both operands in shared memory, one element of the result a thread.
#include <cuda_runtime.h>

__global__ void kernel(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float left[16][16];
  __shared__ float right[16][16];
  int row = blockIdx.y * 16 + threadIdx.y;
  int col = blockIdx.x * 16 + threadIdx.x;
  float sum = 0.0f;
  for (int tile = 0; tile < k; tile += 16) {
    int left_k = tile + threadIdx.x;
    int right_k = tile + threadIdx.y;
    left[threadIdx.y][threadIdx.x] = row < m && left_k < k ? a[row * k + left_k] : 0.0f;
    right[threadIdx.y][threadIdx.x] = right_k < k && col < n ? b[right_k * n + col] : 0.0f;
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && col < n) c[row * n + col] = sum;
}

extern "C" int matmul(const float* a, const float* b, float* c, int m, int n, int k, cudaStream_t stream) {
  kernel<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16), 0, stream>>>(a, b, c, m, n, k);
  return (int)cudaGetLastError();
}
