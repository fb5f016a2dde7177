// What the device says of itself: an H200's figures, so that a program sizes its launches as it would there.
#pragma once

#include "launch.h"
#include "runtime_types.h"

#pragma GCC visibility push(hidden)
namespace warpsmith {

constexpr int num_sms = 132;
constexpr size_t shared_bytes_of_sm = 228 * 1024;
constexpr size_t reserved_shared_bytes = 1024;  // of each block, by the system
constexpr int max_threads_of_sm = 2048;
constexpr int max_blocks_of_sm = 32;
constexpr int l2_bytes = 50 * 1024 * 1024;
constexpr int num_registers = 65536;

inline int attribute(int attribute) {
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY: return max_threads;
    case cudaDevAttrMaxBlockDimZ: return 64;
    case cudaDevAttrMaxGridDimX: return 0x7fffffff;
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ: return 65535;
    case cudaDevAttrMaxSharedMemoryPerBlock: return default_shared_bytes;
    case cudaDevAttrTotalConstantMemory: return 65536;
    case cudaDevAttrWarpSize: return 32;
    case cudaDevAttrMaxRegistersPerBlock:
    case cudaDevAttrMaxRegistersPerMultiprocessor: return num_registers;
    case cudaDevAttrClockRate: return 1980000;
    case cudaDevAttrMultiProcessorCount: return num_sms;
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrUnifiedAddressing: return 1;
    case cudaDevAttrMemoryClockRate: return 3201000;
    case cudaDevAttrGlobalMemoryBusWidth: return 6144;
    case cudaDevAttrL2CacheSize: return l2_bytes;
    case cudaDevAttrMaxThreadsPerMultiProcessor: return max_threads_of_sm;
    case cudaDevAttrComputeCapabilityMajor: return 9;
    case cudaDevAttrComputeCapabilityMinor: return 0;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: return shared_bytes_of_sm;
    case cudaDevAttrCooperativeLaunch: return 0;  // blocks do not all run at once here
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: return max_shared_bytes;
    case cudaDevAttrMaxBlocksPerMultiprocessor: return max_blocks_of_sm;
    default: return -1;
  }
}

}  // namespace warpsmith

inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (device != 0) return warpsmith::set_error(cudaErrorInvalidDevice);
  *value = warpsmith::attribute(attribute);
  return *value < 0 ? warpsmith::set_error(cudaErrorInvalidValue) : cudaSuccess;
}

inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device != 0) return warpsmith::set_error(cudaErrorInvalidDevice);
  *properties = {"CPU standing in for an NVIDIA H200"};
  properties->totalGlobalMem = size_t{141} * 1000 * 1000 * 1000;
  properties->sharedMemPerBlock = warpsmith::default_shared_bytes;
  properties->regsPerBlock = properties->regsPerMultiprocessor = warpsmith::num_registers;
  properties->warpSize = 32;
  properties->maxThreadsPerBlock = warpsmith::max_threads;
  for (int axis = 0; axis < 3; ++axis) {
    properties->maxThreadsDim[axis] = axis < 2 ? 1024 : 64;
    properties->maxGridSize[axis] = axis < 1 ? 0x7fffffff : 65535;
  }
  properties->totalConstMem = 65536;
  properties->major = 9;
  properties->multiProcessorCount = warpsmith::num_sms;
  properties->concurrentKernels = properties->ECCEnabled = properties->unifiedAddressing = 1;
  properties->memoryBusWidth = 6144;
  properties->l2CacheSize = warpsmith::l2_bytes;
  properties->maxThreadsPerMultiProcessor = warpsmith::max_threads_of_sm;
  properties->sharedMemPerMultiprocessor = warpsmith::shared_bytes_of_sm;
  properties->sharedMemPerBlockOptin = warpsmith::max_shared_bytes;
  properties->maxBlocksPerMultiProcessor = warpsmith::max_blocks_of_sm;
  properties->reservedSharedMemPerBlock = warpsmith::reserved_shared_bytes;
  return cudaSuccess;
}

inline cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
inline cudaError_t cudaSetDevice(int device) {
  return device == 0 ? cudaSuccess : warpsmith::set_error(cudaErrorInvalidDevice);
}
inline cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
inline cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
inline cudaError_t cudaDriverGetVersion(int* version) { return cudaRuntimeGetVersion(version); }
inline cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  *free_bytes = *total_bytes = size_t{141} * 1000 * 1000 * 1000;
  return cudaSuccess;
}
inline cudaError_t cudaDeviceSetLimit(cudaLimit, size_t) { return cudaSuccess; }
inline cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
inline cudaError_t cudaDeviceReset() { return cudaSuccess; }

template <class Function>
inline cudaError_t cudaFuncSetCacheConfig(Function*, cudaFuncCache) {
  return cudaSuccess;
}

template <class Function>
inline cudaError_t cudaFuncSetAttribute(Function*, cudaFuncAttribute attribute, int value) {
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  if (value < 0 || static_cast<size_t>(value) > warpsmith::max_shared_bytes)
    return warpsmith::set_error(cudaErrorInvalidValue);
  size_t granted = warpsmith::granted_shared_bytes.load();
  while (granted < static_cast<size_t>(value) &&
         !warpsmith::granted_shared_bytes.compare_exchange_weak(granted, value)) {
  }
  return cudaSuccess;
}

template <class Function>
inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, Function*) {
  *attributes = {};
  attributes->maxThreadsPerBlock = warpsmith::max_threads;
  attributes->numRegs = 32;
  attributes->ptxVersion = attributes->binaryVersion = 90;
  attributes->maxDynamicSharedSizeBytes = static_cast<int>(warpsmith::granted_shared_bytes.load());
  return cudaSuccess;
}

// Registers are not known here, so only threads, blocks and shared memory bound the number.
template <class Function>
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* num_blocks, Function*,
                                                                 int block_threads, size_t shared_bytes) {
  if (block_threads < 1 || block_threads > warpsmith::max_threads)
    return warpsmith::set_error(cudaErrorInvalidValue);
  int rounded_threads = (block_threads + 31) / 32 * 32;
  int by_threads = warpsmith::max_threads_of_sm / rounded_threads;
  int by_shared =
      static_cast<int>(warpsmith::shared_bytes_of_sm / (shared_bytes + warpsmith::reserved_shared_bytes));
  *num_blocks = by_threads < by_shared ? by_threads : by_shared;
  if (*num_blocks > warpsmith::max_blocks_of_sm) *num_blocks = warpsmith::max_blocks_of_sm;
  return cudaSuccess;
}
template <class Function>
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* num_blocks, Function* function,
                                                                          int block_threads,
                                                                          size_t shared_bytes, unsigned) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(num_blocks, function, block_threads, shared_bytes);
}
template <class Function>
inline cudaError_t cudaOccupancyMaxPotentialBlockSize(int* min_grid, int* block_threads, Function*,
                                                      size_t = 0, int limit = 0) {
  *block_threads = limit > 0 && limit < 1024 ? limit : 1024;
  *min_grid = warpsmith::num_sms * (warpsmith::max_threads_of_sm / 1024);
  return cudaSuccess;
}

#pragma GCC visibility pop
