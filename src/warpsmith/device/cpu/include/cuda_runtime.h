// CUDA's runtime and device language on the host. Included before every translated file, as nvcc includes its
// own.
#pragma once

#include <utility>

#include "warpsmith/qualifiers.h"
#include "warpsmith/vectors.h"
#include "warpsmith/math.h"
#include "warpsmith/intrinsics.h"
#include "warpsmith/warp.h"
#include "warpsmith/atomics.h"
#include "warpsmith/launch.h"
#include "warpsmith/runtime.h"
#include "warpsmith/properties.h"
#include "warpsmith/exports.h"
