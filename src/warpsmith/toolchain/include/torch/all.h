// As in extension.h.
#pragma once

#ifdef WARPSMITH_WHOLE_TORCH
#include_next <torch/all.h>
#else
#include <torch/types.h>
#endif
