// The driver API's handles, which are the runtime's here; its functions are not available.
#pragma once

#include "cuda_runtime.h"

typedef cudaStream_t CUstream;
typedef cudaEvent_t CUevent;
typedef unsigned long long CUdeviceptr;
