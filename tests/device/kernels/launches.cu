// How kernels are launched, and what is refused.
#include <cuda_runtime.h>

namespace shapes {
template <typename T, int N>
struct Factor {
  static constexpr int value = N;
};
template <typename T, int SCALE>
__global__ void scale(const T* in, T* out, int n, T shift = T(1)) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * T(SCALE) + shift;
}
}  // namespace shapes

template <typename T>
__global__ void maybe_add(const T* in, const T* extra, T* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] + (extra ? extra[i] : T(0));
}

struct Options {
  float factor;
  int shift;
};
__global__ void with_struct(const float* in, float* out, int n, Options options) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = options.factor * in[i] + options.shift;
}

#define LAUNCH(KERNEL, N, ...)                     \
  do {                                             \
    dim3 grid_(((N) + 63) / 64);                   \
    KERNEL<<<grid_, 64, 0, stream>>>(__VA_ARGS__); \
  } while (0)

#define DISPATCH(FACTOR, BODY)   \
  switch (FACTOR) {              \
    case 2: {                    \
      constexpr int kFactor = 2; \
      BODY;                      \
      break;                     \
    }                            \
    default: {                   \
      constexpr int kFactor = 3; \
      BODY;                      \
      break;                     \
    }                            \
  }

template <typename Kernel, typename... Args>
void launch_any(Kernel kernel, int n, Args... args) {
  kernel<<<(n + 63) / 64, 64>>>(args...);
}

extern "C" int run_template(const float* in, float* out, int n, cudaStream_t stream) {
  // clang-format off
  shapes::scale<float, (3 > 2) ? 2 : 5><<<(n + (1 << 6) - 1) >> 6, shapes::Factor<shapes::Factor<int, 1>, 64>::value,
                                          0, stream>>>(
      in,  // arguments over several lines
      out, n);
  // clang-format on
  return cudaGetLastError();
}
extern "C" int run_macro(const float* in, float* out, int n, int factor, cudaStream_t stream) {
  DISPATCH(factor, LAUNCH((shapes::scale<float, kFactor>), n, in, out, n, 0.0f));
  return cudaGetLastError();
}
extern "C" int run_null(const float* in, float* out, int n) {
  maybe_add<float><<<(n + 63) / 64, 64>>>(in, NULL, out, n);
  return cudaGetLastError();
}
extern "C" int run_braces(const float* in, float* out, int n) {
  with_struct<<<(n + 63) / 64, 64>>>(in, out, n, {2.0f, 7});
  return cudaGetLastError();
}
extern "C" int run_pointer(const float* in, float* out, int n) {
  void (*kernels[])(const float*, const float*, float*, int) = {maybe_add<float>};
  kernels[0]<<<(n + 63) / 64, 64>>>(in, in, out, n);
  return cudaGetLastError();
}
extern "C" int run_pack(const float* in, float* out, int n) {
  launch_any(with_struct, n, in, out, n, Options{3.0f, 1});
  return cudaGetLastError();
}
extern "C" int run_side_effect(const float* in, float* out, int n) {
  int calls = 0;
  auto count = [&] { return ++calls; };
  with_struct<<<(n + 63) / 64, 64>>>(in, out, n, Options{1.0f, count()});
  return calls;
}

__global__ void nothing() {}
__global__ void __launch_bounds__(128, 2) bounded(int* out) { out[threadIdx.x] = 1; }
__global__ void uses_dynamic(float* out) {
  extern __shared__ float buffer[];
  buffer[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = buffer[blockDim.x - 1 - threadIdx.x];
}

extern "C" int run_configuration(int grid_x, int grid_y, int grid_z, int block_x, int block_y, int block_z) {
  nothing<<<dim3(grid_x, grid_y, grid_z), dim3(block_x, block_y, block_z)>>>();
  cudaError_t peeked = cudaPeekAtLastError();
  cudaError_t first = cudaGetLastError();
  cudaError_t second = cudaGetLastError();
  return peeked == first && second == cudaSuccess ? first : -1;
}
extern "C" int run_bounded(int* out, int threads) {
  bounded<<<1, threads>>>(out);
  return cudaGetLastError();
}
extern "C" int run_shared(float* out, int bytes, int asks) {
  if (asks) {
    cudaError_t error =
        cudaFuncSetAttribute(uses_dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (error != cudaSuccess) return 1000 + cudaGetLastError();
  }
  uses_dynamic<<<1, 32, bytes>>>(out);
  return cudaGetLastError();
}

__global__ void barrier_for_some(int* out) {
  if (threadIdx.x < 40)
    __syncthreads();
  else
    while (threadIdx.x == 50) __syncwarp(0xffffffffu);
  out[threadIdx.x] = 1;
}
__global__ void shuffle_for_some(int* out) {
  int value = threadIdx.x;
  if (threadIdx.x < 8) value = __shfl_down_sync(0xffffffffu, value, 1);
  __syncthreads();
  out[threadIdx.x] = value;
}
__global__ void not_in_mask(int* out) { out[threadIdx.x] = __shfl_sync(0x1u, 1, 0); }
__global__ void trap(int* out) {
  if (blockIdx.x == 3 && threadIdx.x == 1) __trap();
}

extern "C" int run_failure(int which, int* out) {
  if (which == 0) barrier_for_some<<<2, 64>>>(out);
  if (which == 1) shuffle_for_some<<<2, 32>>>(out);
  if (which == 2) not_in_mask<<<1, 32>>>(out);
  if (which == 3) trap<<<8, 32>>>(out);
  return cudaGetLastError();
}

extern "C" int device_facts(int* facts) {
  cudaDeviceProp properties;
  cudaGetDeviceProperties(&properties, 0);
  int device = -1, sms = 0, blocks = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nothing, 256, 40 * 1024);
  facts[0] = properties.warpSize, facts[1] = properties.major * 10 + properties.minor, facts[2] = sms;
  facts[3] = blocks, facts[4] = (int)properties.sharedMemPerBlockOptin;
  cudaEvent_t start, stop;
  cudaEventCreate(&start);
  cudaEventCreate(&stop);
  cudaEventRecord(start);
  nothing<<<1, 1>>>();
  cudaEventRecord(stop);
  cudaEventSynchronize(stop);
  float ms = -1.0f;
  cudaEventElapsedTime(&ms, start, stop);
  facts[5] = ms >= 0.0f && ms < 1000.0f;
  cudaEventDestroy(start);
  cudaEventDestroy(stop);
  return cudaGetLastError();
}
