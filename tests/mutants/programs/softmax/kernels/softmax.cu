// One block a row: a tree over shared memory for the maximum, then one for the sum.
#include <cuda_runtime.h>
#include <math.h>

#define THREADS 128

__global__ void kernel(const float* x, float* y, int cols) {
  __shared__ float tree[THREADS];
  const float* row = x + (size_t)blockIdx.x * cols;
  int thread = threadIdx.x;
  float best = -INFINITY;
  for (int i = thread; i < cols; i += THREADS) best = fmaxf(best, row[i]);
  tree[thread] = best;
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (thread < half) tree[thread] = fmaxf(tree[thread], tree[thread + half]);
    __syncthreads();
  }
  best = tree[0];
  __syncthreads();
  float sum = 0.0f;
  for (int i = thread; i < cols; i += THREADS) sum += expf(row[i] - best);
  tree[thread] = sum;
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (thread < half) tree[thread] += tree[thread + half];
    __syncthreads();
  }
  sum = tree[0];
  for (int i = thread; i < cols; i += THREADS) y[(size_t)blockIdx.x * cols + i] = expf(row[i] - best) / sum;
}

extern "C" int softmax(const float* x, float* y, int rows, int cols, cudaStream_t stream) {
  kernel<<<rows, THREADS, 0, stream>>>(x, y, cols);
  return (int)cudaGetLastError();
}
