// See warpsmith/torch_cuda.h.
#pragma once
#include "../../warpsmith/torch_cuda.h"
