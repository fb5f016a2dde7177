// What a built program exports beside its author's launchers. Everything else of ours is hidden, so that two
// programs in one process, or a program and a real CUDA runtime, do not call each other.
#pragma once

#include "counters.h"
#include "errors.h"

#define WARPSMITH_EXPORT extern "C" inline __attribute__((used, visibility("default")))

WARPSMITH_EXPORT cudaError_t cudaGetLastError() { return warpsmith::take_error(); }
WARPSMITH_EXPORT cudaError_t cudaPeekAtLastError() { return warpsmith::current_error(); }
WARPSMITH_EXPORT const char* cudaGetErrorString(cudaError_t error) { return warpsmith::error_string(error); }
WARPSMITH_EXPORT cudaError_t cudaDeviceSynchronize() { return warpsmith::current_error(); }

// The reason for the last failed launch, with the kernel's name and where it stood; empty if none failed.
WARPSMITH_EXPORT const char* warpsmith_error_message() { return warpsmith::error_message; }

WARPSMITH_EXPORT void warpsmith_counters_reset() {
  warpsmith::counters.launches = 0;
  warpsmith::counters.threads = 0;
  warpsmith::counters.library_flops = 0;
  warpsmith::counters.library_calls = 0;
  for (auto& kernel : warpsmith::launched_kernels) kernel = nullptr;
}

// out = {launches, threads, floating-point operations of library calls, library calls}
WARPSMITH_EXPORT void warpsmith_counters_read(long long out[4]) {
  out[0] = warpsmith::counters.launches;
  out[1] = warpsmith::counters.threads;
  out[2] = warpsmith::counters.library_flops;
  out[3] = warpsmith::counters.library_calls;
}

// The name of the index-th distinct kernel launched since the last reset; null after the last.
WARPSMITH_EXPORT const char* warpsmith_launched_kernel(int index) {
  return index < warpsmith::max_kernels ? warpsmith::launched_kernels[index].load() : nullptr;
}

WARPSMITH_EXPORT void warpsmith_make_inert(int is_inert) { warpsmith::is_inert = is_inert != 0; }
