// Tensors and their bindings, without torch's modules, optimizers and loaders, which no kernel needs: they
// cost half of a compilation. A source that names them is compiled with WARPSMITH_WHOLE_TORCH.
#pragma once

#ifdef WARPSMITH_WHOLE_TORCH
#include_next <torch/extension.h>
#else
#include <torch/types.h>
#include <torch/csrc/utils/pybind.h>
#endif
