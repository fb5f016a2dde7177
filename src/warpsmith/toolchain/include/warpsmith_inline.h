// What torch's load_inline puts before CUDA sources.
#pragma once

#include <torch/types.h>
#include <cuda.h>
#include <cuda_runtime.h>
