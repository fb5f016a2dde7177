// As in extension.h.
#pragma once

#ifdef WARPSMITH_WHOLE_TORCH
#include_next <torch/torch.h>
#else
#include <torch/types.h>
#endif
