// Shuffles, votes and reductions of a warp.
#include <cuda_fp16.h>

#define FULL 0xffffffffu

// Each lane's result of the four shuffles with a delta and a width.
template <typename T>
__global__ void shuffles(const T* in, T* out, int delta, int width) {
  int lane = threadIdx.x % 32;
  T mine = in[threadIdx.x];
  int n = blockDim.x;
  out[0 * n + threadIdx.x] = __shfl_sync(FULL, mine, delta, width);
  out[1 * n + threadIdx.x] = __shfl_up_sync(FULL, mine, delta, width);
  out[2 * n + threadIdx.x] = __shfl_down_sync(FULL, mine, delta, width);
  out[3 * n + threadIdx.x] = __shfl_xor_sync(FULL, mine, delta, width);
  (void)lane;
}

// Lanes of both halves shuffle at once, in different branches, a different number of times.
__global__ void diverged(int* out) {
  int lane = threadIdx.x, value = lane;
  if (lane < 16) {
    for (int offset = 8; offset > 0; offset /= 2) value += __shfl_xor_sync(0x0000ffffu, value, offset);
  } else {
    value = __shfl_sync(0xffff0000u, value, 31);
  }
  __syncwarp();
  out[lane] = value;
}

__global__ void votes(unsigned* out) {
  int lane = threadIdx.x % 32;
  unsigned odd = __ballot_sync(FULL, lane % 2);
  int any = __any_sync(FULL, lane == 9), no_any = __any_sync(FULL, lane == 32);
  int all = __all_sync(FULL, lane < 32), not_all = __all_sync(FULL, lane != 3);
  unsigned same = __match_any_sync(FULL, lane / 5);
  int is_uniform = -1;
  unsigned uniform = __match_all_sync(FULL, 42.0f, &is_uniform);
  int is_varied = -1;
  unsigned varied = __match_all_sync(FULL, lane, &is_varied);
  unsigned active = 0;
  if (lane % 4 == 0) active = __activemask();
  unsigned row[10] = {
      odd,  (unsigned)any, (unsigned)no_any, (unsigned)all, (unsigned)not_all,
      same, uniform,       varied,           active,        (unsigned)(is_uniform * 2 + is_varied)};
  for (int i = 0; i < 10; ++i) out[threadIdx.x * 10 + i] = row[i];
}

__global__ void reductions(const int* in, int* out) {
  int value = in[threadIdx.x];
  unsigned bits = (unsigned)value;
  int row[7] = {__reduce_add_sync(FULL, value),     __reduce_min_sync(FULL, value),
                __reduce_max_sync(FULL, value),     (int)__reduce_max_sync(FULL, bits),
                (int)__reduce_and_sync(FULL, bits), (int)__reduce_or_sync(FULL, bits),
                (int)__reduce_xor_sync(FULL, bits)};
  for (int i = 0; i < 7; ++i) out[threadIdx.x * 7 + i] = row[i];
}

__device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset >>= 1) value += __shfl_down_sync(FULL, value, offset);
  return value;
}

template <int THREADS>
__device__ float block_sum(float value) {
  __shared__ float of_warp[THREADS / 32];
  value = warp_sum(value);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  value = threadIdx.x < THREADS / 32 ? of_warp[threadIdx.x] : 0.0f;
  if (threadIdx.x < 32) value = warp_sum(value);
  return value;
}

template <int THREADS>
__global__ void __launch_bounds__(THREADS) row_sums(const float* in, float* out, int cols) {
  float sum = 0.0f;
  for (int col = threadIdx.x; col < cols; col += THREADS) sum += in[(size_t)blockIdx.x * cols + col];
  sum = block_sum<THREADS>(sum);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

// A warp of 20 threads, all lanes named: those that never were are waited for no more than those that left.
__global__ void partial_warp(int* out) {
  int value = threadIdx.x + 1;
  if (threadIdx.x == 19) return;
  for (int offset = 16; offset > 0; offset /= 2) {
    int other = __shfl_down_sync(FULL, value, offset);
    if (threadIdx.x + offset < 19) value += other;
  }
  if (threadIdx.x == 0) *out = value;
}

#define SHUFFLES(name, T)                                                         \
  extern "C" int run_shuffles_##name(const T* in, T* out, int delta, int width) { \
    shuffles<T><<<1, 64>>>(in, out, delta, width);                                \
    return cudaGetLastError();                                                    \
  }
SHUFFLES(int, int)
SHUFFLES(float, float)
SHUFFLES(double, double)
SHUFFLES(half, __half)

extern "C" int run_diverged(int* out) {
  diverged<<<1, 32>>>(out);
  return cudaGetLastError();
}
extern "C" int run_votes(unsigned* out) {
  votes<<<1, 32>>>(out);
  return cudaGetLastError();
}
extern "C" int run_reductions(const int* in, int* out) {
  reductions<<<1, 32>>>(in, out);
  return cudaGetLastError();
}
extern "C" int run_row_sums(const float* in, float* out, int rows, int cols) {
  row_sums<256><<<rows, 256>>>(in, out, cols);
  return cudaGetLastError();
}
extern "C" int run_partial_warp(int* out) {
  partial_warp<<<1, 20>>>(out);
  return cudaGetLastError();
}
