// Part of CUDA's runtime, which is one header here.
#pragma once

#include "cuda_runtime.h"
