// Atomics, symbols, device memory, streams.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__global__ void histogram(const int* in, int* bins, int n, int num_bins) {
  extern __shared__ int local[];
  for (int bin = threadIdx.x; bin < num_bins; bin += blockDim.x) local[bin] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&local[in[i]], 1);
  __syncthreads();
  for (int bin = threadIdx.x; bin < num_bins; bin += blockDim.x) atomicAdd(&bins[bin], local[bin]);
}

struct Cells {
  int add, sub, min, max, and_, or_, xor_, exch_seen;
  unsigned inc, dec;
  unsigned long long wide_add, wide_max;
  float f_add;
  double d_add;
};

__global__ void every_atomic(Cells* cells, __half* half_sum, __nv_bfloat16* bfloat_sum) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&cells->add, 2);
  atomicSub(&cells->sub, 3);
  atomicMin(&cells->min, 100 - i);
  atomicMax(&cells->max, i);
  atomicAnd(&cells->and_, ~(1 << (i % 8)));
  atomicOr(&cells->or_, 1 << (i % 20));
  atomicXor(&cells->xor_, i);
  atomicInc(&cells->inc, 9);
  atomicDec(&cells->dec, 9);
  atomicAdd(&cells->wide_add, 1ull << 33);
  atomicMax(&cells->wide_max, (unsigned long long)i << 40);
  atomicAdd(&cells->f_add, 0.5f);
  atomicAdd(&cells->d_add, 0.25);
  atomicAdd(half_sum, __float2half(1.0f));
  atomicAdd(bfloat_sum, __float2bfloat16(1.0f));
}

// The usual way to a float maximum, and a lock taken by every thread in turn.
__device__ float atomic_max(float* address, float value) {
  int* bits = (int*)address;
  int old = *bits, assumed;
  do {
    assumed = old;
    old = atomicCAS(bits, assumed, __float_as_int(fmaxf(value, __int_as_float(assumed))));
  } while (assumed != old);
  return __int_as_float(old);
}

__device__ int lock_word = 0;
__device__ long long guarded = 0;

__global__ void locked(const float* in, float* greatest) {
  atomic_max(greatest, in[blockIdx.x * blockDim.x + threadIdx.x]);
  bool is_done = false;
  while (!is_done) {
    if (atomicCAS(&lock_word, 0, 1) == 0) {
      guarded += 1;
      __threadfence();
      atomicExch(&lock_word, 0);
      is_done = true;
    }
  }
}

// The last block to finish adds up what the others left.
__device__ unsigned num_finished = 0;
__global__ void last_block(const float* in, float* partial, float* out) {
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    float sum = 0.0f;
    for (int i = 0; i < 64; ++i) sum += in[blockIdx.x * 64 + i];
    partial[blockIdx.x] = sum;
    __threadfence();
    is_last = atomicInc(&num_finished, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (is_last && threadIdx.x == 0) {
    float sum = 0.0f;
    for (int i = 0; i < gridDim.x; ++i) sum += ((volatile float*)partial)[i];
    *out = sum;
  }
}

// Thread 0 waits, spinning, for what the last thread of its block does.
__global__ void spin(int* flag) {
  if (threadIdx.x == 0) {
    while (atomicCAS(flag, 1, 2) != 1) {
    }
  }
  if (threadIdx.x == blockDim.x - 1) atomicExch(flag, 1);
}

// Each block waits for the one before it, as a scan in one pass does.
__global__ void chained(int* sums) {
  if (threadIdx.x == 0) {
    int before = 0;
    if (blockIdx.x > 0) {
      while ((before = atomicAdd(&sums[blockIdx.x - 1], 0)) == 0) {
      }
    }
    atomicExch(&sums[blockIdx.x], before + 1);
  }
}

__constant__ float coefficients[4];
__constant__ int offset_table[2] = {10, 20};

__global__ void polynomial(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0.0f;
  for (int degree = 3; degree >= 0; --degree) sum = sum * x[i] + coefficients[degree];
  y[i] = sum + offset_table[i % 2];
}

extern "C" int run_histogram(const int* in, int* bins, int n, int num_bins) {
  cudaMemset(bins, 0, num_bins * sizeof(int));
  histogram<<<20, 256, num_bins * sizeof(int)>>>(in, bins, n, num_bins);
  return cudaGetLastError();
}
extern "C" int run_every_atomic(Cells* cells, void* half_sum, void* bfloat_sum) {
  every_atomic<<<4, 32>>>(cells, (__half*)half_sum, (__nv_bfloat16*)bfloat_sum);
  return cudaGetLastError();
}
extern "C" int run_locked(const float* in, float* greatest, long long* count) {
  locked<<<16, 64>>>(in, greatest);
  cudaMemcpyFromSymbol(count, guarded, sizeof(long long));
  return cudaGetLastError();
}
extern "C" int run_last_block(const float* in, float* out, int blocks, cudaStream_t stream) {
  float* partial = nullptr;
  if (cudaMalloc(&partial, blocks * sizeof(float)) != cudaSuccess) return -1;
  last_block<<<blocks, 32, 0, stream>>>(in, partial, out);
  cudaFree(partial);
  return cudaGetLastError();
}
extern "C" int run_spin(int* flag) {
  spin<<<1, 64>>>(flag);
  return cudaGetLastError();
}
extern "C" int run_chained(int* sums, int blocks) {
  chained<<<blocks, 32>>>(sums);
  return cudaGetLastError();
}
extern "C" int run_polynomial(const float* x, float* y, const float* host_coefficients, int n) {
  cudaMemcpyToSymbol(coefficients, host_coefficients, 4 * sizeof(float));
  polynomial<<<(n + 127) / 128, 128>>>(x, y, n);
  return cudaGetLastError();
}
extern "C" int run_memory(const float* in, float* out, int n) {
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  float *first, *fresh;
  cudaMallocAsync(&first, n * sizeof(float), stream);
  cudaMalloc((void**)&fresh, sizeof(float));
  cudaMemcpyAsync(first, in, n * sizeof(float), cudaMemcpyDeviceToDevice, stream);
  cudaMemsetAsync(first, 0, sizeof(float), stream);
  cudaMemcpy(out, first, n * sizeof(float), cudaMemcpyDefault);
  cudaMemcpy(out + n, fresh, sizeof(float), cudaMemcpyDeviceToHost);
  cudaFreeAsync(first, stream);
  cudaFree(fresh);
  cudaStreamSynchronize(stream);
  cudaStreamDestroy(stream);
  return cudaDeviceSynchronize();
}
