// Many programs include this and use nothing of it. Those that do use tensor-core fragments are not runnable
// here.
#pragma once

#include "cuda_runtime.h"
