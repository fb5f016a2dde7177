// cudaError_t, and the error state of CUDA's runtime: the last error of each host thread, and one that
// sticks.
#pragma once

#include <atomic>
#include <stdarg.h>
#include <stdio.h>

enum cudaError {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInitializationError = 3,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorInvalidPitchValue = 12,
  cudaErrorInvalidSymbol = 13,
  cudaErrorInvalidDevicePointer = 17,
  cudaErrorInvalidMemcpyDirection = 21,
  cudaErrorInvalidDeviceFunction = 98,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorNotReady = 600,
  cudaErrorIllegalAddress = 700,
  cudaErrorLaunchOutOfResources = 701,
  cudaErrorLaunchTimeout = 702,
  cudaErrorAssert = 710,
  cudaErrorHardwareStackError = 714,
  cudaErrorIllegalInstruction = 715,
  cudaErrorMisalignedAddress = 716,
  cudaErrorLaunchFailure = 719,
  cudaErrorNotPermitted = 800,
  cudaErrorNotSupported = 801,
  cudaErrorUnknown = 999,
};
typedef enum cudaError cudaError_t;

#pragma GCC visibility push(hidden)
namespace warpsmith {

// After a kernel has failed, a CUDA context is lost: every later call answers with the same error.
inline std::atomic<int> sticky_error{cudaSuccess};
inline thread_local int last_error = cudaSuccess;
inline char error_message[1024] = "";

inline cudaError_t set_error(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

inline cudaError_t current_error() {
  int sticky = sticky_error.load(std::memory_order_relaxed);
  return static_cast<cudaError_t>(sticky != cudaSuccess ? sticky : last_error);
}

inline cudaError_t take_error() {
  cudaError_t error = current_error();
  last_error = cudaSuccess;
  return error;
}

// What went wrong, for a reader: on stderr, and kept for warpsmith_error_message().
__attribute__((format(printf, 1, 2))) inline void describe_error(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(error_message, sizeof error_message, format, arguments);
  va_end(arguments);
  fprintf(stderr, "warpsmith: %s\n", error_message);
}

inline const char* error_name(int error) {
  switch (error) {
#define WARPSMITH_ERROR(name) \
  case name: return #name;
    WARPSMITH_ERROR(cudaSuccess)
    WARPSMITH_ERROR(cudaErrorInvalidValue)
    WARPSMITH_ERROR(cudaErrorMemoryAllocation)
    WARPSMITH_ERROR(cudaErrorInvalidConfiguration)
    WARPSMITH_ERROR(cudaErrorInvalidSymbol)
    WARPSMITH_ERROR(cudaErrorInvalidDevice)
    WARPSMITH_ERROR(cudaErrorInvalidResourceHandle)
    WARPSMITH_ERROR(cudaErrorIllegalAddress)
    WARPSMITH_ERROR(cudaErrorLaunchOutOfResources)
    WARPSMITH_ERROR(cudaErrorLaunchTimeout)
    WARPSMITH_ERROR(cudaErrorIllegalInstruction)
    WARPSMITH_ERROR(cudaErrorLaunchFailure)
    WARPSMITH_ERROR(cudaErrorNotSupported)
#undef WARPSMITH_ERROR
    default: return "cudaErrorUnknown";
  }
}

inline const char* error_string(int error) {
  switch (error) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInvalidConfiguration: return "invalid configuration argument";
    case cudaErrorInvalidSymbol: return "invalid device symbol";
    case cudaErrorInvalidDevice: return "invalid device ordinal";
    case cudaErrorInvalidResourceHandle: return "invalid resource handle";
    case cudaErrorIllegalAddress: return "an illegal memory access was encountered";
    case cudaErrorLaunchOutOfResources: return "too many resources requested for launch";
    case cudaErrorLaunchTimeout: return "the launch timed out and was terminated";
    case cudaErrorIllegalInstruction: return "an illegal instruction was encountered";
    case cudaErrorLaunchFailure: return "unspecified launch failure";
    case cudaErrorNotSupported: return "operation not supported";
    default: return "unknown error";
  }
}

}  // namespace warpsmith
#pragma GCC visibility pop
