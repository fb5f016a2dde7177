// Grids and blocks, shared memory, barriers.
#include <cuda_runtime.h>

__global__ void indices(int* out) {
  int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  int threads = blockDim.x * blockDim.y * blockDim.z;
  out[block * threads + thread] = block * 10000 + threadIdx.z * 900 + threadIdx.y * 30 + threadIdx.x;
}

// A barrier between writing and reading makes every thread a fiber of its own.
__global__ void indices_after_barrier(int* out) {
  __syncthreads();
  int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  int threads = blockDim.x * blockDim.y * blockDim.z;
  out[block * threads + thread] = block * 10000 + threadIdx.z * 900 + threadIdx.y * 30 + threadIdx.x;
}

__global__ void reverse_in_static(const float* in, float* out, int n) {
  __shared__ float tile[256];
  int base = blockIdx.x * blockDim.x;
  if (base + threadIdx.x < n) tile[threadIdx.x] = in[base + threadIdx.x];
  __syncthreads();
  if (base + threadIdx.x < n) out[base + threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

__global__ void reverse_in_dynamic(const float* in, float* out, int n) {
  extern __shared__ __align__(16) unsigned char raw[];
  __shared__ __align__(16) int offset;
  float* tile = reinterpret_cast<float*>(raw);
  if (threadIdx.x == 0) offset = blockDim.x - 1;
  int base = blockIdx.x * blockDim.x;
  if (base + threadIdx.x < n) tile[threadIdx.x] = in[base + threadIdx.x];
  __syncthreads();
  if (base + threadIdx.x < n) out[base + threadIdx.x] = tile[offset - threadIdx.x];
}

extern __shared__ float at_file_scope[];

__global__ void rotate_at_file_scope(const float* in, float* out) {
  at_file_scope[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = at_file_scope[(threadIdx.x + 1) % blockDim.x];
}

template <typename T>
__global__ void transpose(const T* __restrict__ in, T* __restrict__ out, int rows, int cols) {
  __shared__ T tile[32][33];
  int col = blockIdx.x * 32 + threadIdx.x;
  for (int r = threadIdx.y; r < 32; r += blockDim.y) {
    int row = blockIdx.y * 32 + r;
    if (row < rows && col < cols) tile[r][threadIdx.x] = in[row * cols + col];
  }
  __syncthreads();
  int out_col = blockIdx.y * 32 + threadIdx.x;
  for (int r = threadIdx.y; r < 32; r += blockDim.y) {
    int out_row = blockIdx.x * 32 + r;
    if (out_row < cols && out_col < rows) out[out_row * rows + out_col] = tile[threadIdx.x][r];
  }
}

// A tree in shared memory, with a barrier in every step, by a number of threads that halves.
__global__ void tree_sum(const float* in, float* out, int n) {
  extern __shared__ float partial[];
  float sum = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) sum += in[i];
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = partial[0];
}

// Half of the threads leave before the barrier; those that stay must not wait for them.
__global__ void early_exit(int* out) {
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  if (threadIdx.x % 2 == 1) return;
  atomicAdd(&sum, 1);
  __syncthreads();
  out[threadIdx.x / 2] = sum;
}

__global__ void predicates(int* out) {
  int count = __syncthreads_count(threadIdx.x % 3 == 0);
  int all = __syncthreads_and(threadIdx.x < 1000);
  int not_all = __syncthreads_and(threadIdx.x != 5);
  int any = __syncthreads_or(threadIdx.x == 63);
  int none = __syncthreads_or(threadIdx.x == 64);
  if (threadIdx.x == 7) {
    out[0] = count, out[1] = all, out[2] = not_all, out[3] = any, out[4] = none;
  }
}

__global__ void shared_is_poisoned(float* out) {
  extern __shared__ float fresh[];
  out[blockIdx.x * blockDim.x + threadIdx.x] = fresh[threadIdx.x];
  __syncthreads();
  fresh[threadIdx.x] = 1.0f;
}

// Wrong: each thread reads what its neighbour writes, with no barrier between.
__global__ void without_barrier(const int* in, int* out) {
  __shared__ int values[64];
  values[threadIdx.x] = in[threadIdx.x] * (blockIdx.x + 1);
  out[blockIdx.x * 64 + threadIdx.x] = values[threadIdx.x == 0 ? 0 : threadIdx.x - 1];
}

extern "C" int run_without_barrier(const int* in, int* out, int blocks) {
  without_barrier<<<blocks, 64>>>(in, out);
  return cudaGetLastError();
}
extern "C" int run_indices(int* out, int with_barrier, cudaStream_t stream) {
  if (with_barrier) {
    indices_after_barrier<<<dim3(2, 3, 2), dim3(5, 4, 3), 0, stream>>>(out);
  } else {
    indices<<<dim3(2, 3, 2), dim3(5, 4, 3), 0, stream>>>(out);
  }
  return cudaGetLastError();
}
extern "C" int run_reverse_static(const float* in, float* out, int n) {
  reverse_in_static<<<n / 256, 256>>>(in, out, n);
  return cudaGetLastError();
}
extern "C" int run_reverse_dynamic(const float* in, float* out, int n) {
  reverse_in_dynamic<<<n / 128, 128, 128 * sizeof(float)>>>(in, out, n);
  return cudaGetLastError();
}
extern "C" int run_rotate(const float* in, float* out, int blocks) {
  rotate_at_file_scope<<<blocks, 64, 64 * sizeof(float)>>>(in, out);
  return cudaGetLastError();
}
extern "C" int run_transpose(const float* in, float* out, int rows, int cols) {
  dim3 grid((cols + 31) / 32, (rows + 31) / 32);
  transpose<float><<<grid, dim3(32, 8)>>>(in, out, rows, cols);
  return cudaGetLastError();
}
extern "C" int run_tree_sum(const float* in, float* out, int n, int blocks, int threads) {
  tree_sum<<<blocks, threads, threads * sizeof(float)>>>(in, out, n);
  return cudaGetLastError();
}
extern "C" int run_early_exit(int* out) {
  early_exit<<<1, 128>>>(out);
  return cudaGetLastError();
}
extern "C" int run_predicates(int* out) {
  predicates<<<1, 64>>>(out);
  return cudaGetLastError();
}
extern "C" int run_poisoned(float* out) {
  shared_is_poisoned<<<8, 32, 32 * sizeof(float)>>>(out);
  return cudaGetLastError();
}
