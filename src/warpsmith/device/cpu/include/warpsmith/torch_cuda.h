// What torch's C++ library says of CUDA, on a device whose streams do everything at once. Included after
// torch's own headers; stands for ATen/cuda/*.h and c10/cuda/*.h.
#pragma once

#include <c10/core/Device.h>
#include <c10/util/Exception.h>
#include <c10/util/Optional.h>

#include "../cublas_v2.h"
#include "../cuda_runtime.h"

#pragma GCC visibility push(hidden)
namespace c10::cuda {

class CUDAStream {
 public:
  cudaStream_t stream() const { return nullptr; }
  operator cudaStream_t() const { return nullptr; }
  void synchronize() const {}
  bool query() const { return true; }
  int device_index() const { return 0; }
};

inline CUDAStream getCurrentCUDAStream(int = -1) { return {}; }
inline CUDAStream getDefaultCUDAStream(int = -1) { return {}; }
inline CUDAStream getStreamFromPool(bool = false, int = -1) { return {}; }
inline void setCurrentCUDAStream(CUDAStream) {}

inline int current_device() { return 0; }
inline int device_count() { return 1; }
inline void device_synchronize() {}

struct CUDAGuard {
  explicit CUDAGuard(int) {}
  explicit CUDAGuard(Device) {}
  void set_device(Device) {}
};

struct OptionalCUDAGuard {
  OptionalCUDAGuard() = default;
  explicit OptionalCUDAGuard(std::optional<Device>) {}
  explicit OptionalCUDAGuard(int) {}
  void set_device(Device) {}
};

struct CUDAStreamGuard {
  explicit CUDAStreamGuard(CUDAStream) {}
};

}  // namespace c10::cuda

namespace at::cuda {

using c10::cuda::CUDAGuard;
using c10::cuda::CUDAStream;
using c10::cuda::CUDAStreamGuard;
using c10::cuda::current_device;
using c10::cuda::device_count;
using c10::cuda::getCurrentCUDAStream;
using c10::cuda::getDefaultCUDAStream;
using c10::cuda::getStreamFromPool;
using c10::cuda::OptionalCUDAGuard;
using c10::cuda::setCurrentCUDAStream;

inline bool is_available() { return true; }

inline cudaDeviceProp* getCurrentDeviceProperties() {
  static cudaDeviceProp properties = [] {
    cudaDeviceProp asked;
    cudaGetDeviceProperties(&asked, 0);
    return asked;
  }();
  return &properties;
}
inline cudaDeviceProp* getDeviceProperties(int) { return getCurrentDeviceProperties(); }

inline cublasHandle_t getCurrentCUDABlasHandle() {
  static cublasHandle_t handle = [] {
    cublasHandle_t made;
    cublasCreate(&made);
    return made;
  }();
  return handle;
}

}  // namespace at::cuda
#pragma GCC visibility pop

#define C10_CUDA_CHECK(expression)                                                       \
  do {                                                                                   \
    const cudaError_t status_of_call = (expression);                                     \
    TORCH_CHECK(status_of_call == cudaSuccess, "CUDA error: ",                           \
                cudaGetErrorString(status_of_call));                                     \
  } while (0)
#define C10_CUDA_ERROR_HANDLED(expression) (expression)
#define C10_CUDA_IGNORE_ERROR(expression) ((void)(expression))
#define C10_CUDA_CHECK_WARN(expression) ((void)(expression))
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())
#define AT_CUDA_CHECK(expression) C10_CUDA_CHECK(expression)
#define TORCH_CUDABLAS_CHECK(expression) \
  TORCH_CHECK((expression) == CUBLAS_STATUS_SUCCESS, "CUDA error: a call of cuBLAS failed")
#define CUDA_KERNEL_LOOP(i, count) \
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < (count); i += int64_t{blockDim.x} * gridDim.x)
