// Many programs include this and use nothing of it. Those that do use 8-bit formats are not runnable here.
#pragma once

#include "cuda_bf16.h"
#include "cuda_fp16.h"
