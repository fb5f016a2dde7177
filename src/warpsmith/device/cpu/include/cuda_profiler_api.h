// Marks for a profiler, which there is none of here.
#pragma once

#include "cuda_runtime.h"

inline cudaError_t cudaProfilerStart() { return cudaSuccess; }
inline cudaError_t cudaProfilerStop() { return cudaSuccess; }
