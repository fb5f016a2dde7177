// CUDA's runtime API over the host's memory. Streams keep order by doing everything at once; events are the
// clock's times.
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <type_traits>

#include "launch.h"
#include "runtime_types.h"

#pragma GCC visibility push(hidden)

inline const char* cudaGetErrorName(cudaError_t error) { return warpsmith::error_name(error); }

// Fresh memory holds anything on a GPU. All bits set is NaN, which a program that reads it cannot overlook.
inline cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  if (pointer == nullptr) return warpsmith::set_error(cudaErrorInvalidValue);
  *pointer = bytes == 0 ? nullptr : aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (bytes > 0 && *pointer == nullptr) return warpsmith::set_error(cudaErrorMemoryAllocation);
  if (bytes > 0) memset(*pointer, 0xff, bytes);
  return cudaSuccess;
}
template <class T>
inline cudaError_t cudaMalloc(T** pointer, size_t bytes) {
  return cudaMalloc(reinterpret_cast<void**>(pointer), bytes);
}
template <class T>
inline cudaError_t cudaMallocAsync(T** pointer, size_t bytes, cudaStream_t) {
  return cudaMalloc(pointer, bytes);
}
template <class T>
inline cudaError_t cudaMallocManaged(T** pointer, size_t bytes, unsigned = 1) {
  return cudaMalloc(pointer, bytes);
}
template <class T>
inline cudaError_t cudaMallocHost(T** pointer, size_t bytes, unsigned = 0) {
  return cudaMalloc(pointer, bytes);
}
template <class T>
inline cudaError_t cudaHostAlloc(T** pointer, size_t bytes, unsigned) {
  return cudaMalloc(pointer, bytes);
}

inline cudaError_t cudaFree(void* pointer) {
  free(pointer);
  return cudaSuccess;
}
inline cudaError_t cudaFreeAsync(void* pointer, cudaStream_t) { return cudaFree(pointer); }
inline cudaError_t cudaFreeHost(void* pointer) { return cudaFree(pointer); }

inline cudaError_t cudaMemset(void* pointer, int value, size_t bytes) {
  if (bytes > 0) memset(pointer, value, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t = nullptr) {
  return cudaMemset(pointer, value, bytes);
}

inline cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  if (bytes > 0) memmove(to, from, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                                   cudaStream_t = nullptr) {
  return cudaMemcpy(to, from, bytes, kind);
}
inline cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                                size_t height, cudaMemcpyKind) {
  for (size_t row = 0; row < height; ++row) {
    memmove(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch,
            width);
  }
  return cudaSuccess;
}
inline cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                                     size_t width, size_t height, cudaMemcpyKind kind,
                                     cudaStream_t = nullptr) {
  return cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind);
}

namespace warpsmith {

template <class T>
inline char* symbol_address(const T& symbol) {
  return const_cast<char*>(reinterpret_cast<const volatile char*>(&symbol));
}

}  // namespace warpsmith

template <class T>
inline cudaError_t cudaMemcpyToSymbol(const T& symbol, const void* from, size_t bytes, size_t offset = 0,
                                      cudaMemcpyKind = cudaMemcpyHostToDevice) {
  if (offset + bytes > sizeof(T)) return warpsmith::set_error(cudaErrorInvalidValue);
  memcpy(warpsmith::symbol_address(symbol) + offset, from, bytes);
  return cudaSuccess;
}
template <class T>
inline cudaError_t cudaMemcpyToSymbolAsync(const T& symbol, const void* from, size_t bytes, size_t offset = 0,
                                           cudaMemcpyKind kind = cudaMemcpyHostToDevice,
                                           cudaStream_t = nullptr) {
  return cudaMemcpyToSymbol(symbol, from, bytes, offset, kind);
}
template <class T>
inline cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, size_t bytes, size_t offset = 0,
                                        cudaMemcpyKind = cudaMemcpyDeviceToHost) {
  if (offset + bytes > sizeof(T)) return warpsmith::set_error(cudaErrorInvalidValue);
  memcpy(to, warpsmith::symbol_address(symbol) + offset, bytes);
  return cudaSuccess;
}
template <class T>
inline cudaError_t cudaMemcpyFromSymbolAsync(void* to, const T& symbol, size_t bytes, size_t offset = 0,
                                             cudaMemcpyKind kind = cudaMemcpyDeviceToHost,
                                             cudaStream_t = nullptr) {
  return cudaMemcpyFromSymbol(to, symbol, bytes, offset, kind);
}
template <class T>
inline cudaError_t cudaGetSymbolAddress(void** pointer, const T& symbol) {
  *pointer = warpsmith::symbol_address(symbol);
  return cudaSuccess;
}
template <class T>
inline cudaError_t cudaGetSymbolSize(size_t* bytes, const T&) {
  *bytes = sizeof(T);
  return cudaSuccess;
}

inline cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  *stream = nullptr;
  return cudaSuccess;
}
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  return cudaStreamCreate(stream);
}
inline cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
  return cudaStreamCreate(stream);
}
inline cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return warpsmith::current_error(); }
inline cudaError_t cudaStreamQuery(cudaStream_t) { return warpsmith::current_error(); }
inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned = 0) { return cudaSuccess; }

inline cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = new CUevent_st{0};
  return cudaSuccess;
}
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) { return cudaEventCreate(event); }
inline cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t = nullptr) {
  event->time_ns = clock64();
  return cudaSuccess;
}
inline cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaEventQuery(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  *milliseconds = static_cast<float>(end->time_ns - start->time_ns) * 1e-6f;
  return cudaSuccess;
}

#pragma GCC visibility pop
