// CUDA's half precision: __half, __half2 and their functions.
#pragma once

#include "cuda_runtime.h"
#include "warpsmith/float16_bits.h"

#define WARPSMITH_F16 __half
#define WARPSMITH_F16X2 __half2
#define WARPSMITH_F16_RAW __half_raw
#define WARPSMITH_F16X2_RAW __half2_raw
#define WARPSMITH_FORMAT ::warpsmith::HalfFormat
#define WARPSMITH_NAME(before, after) before##half##after
#define WARPSMITH_NAME2(before, after) before##half2##after
#define WARPSMITH_SPLAT __half2half2

#include "warpsmith/float16_types.h"
#include "warpsmith/float16_convert.h"
#include "warpsmith/float16_arithmetic.h"

#include "warpsmith/float16_end.h"

typedef __half half;
typedef __half2 half2;
typedef __half nv_half;
typedef __half2 nv_half2;
typedef __half __nv_half;
typedef __half2 __nv_half2;

#define CUDART_INF_FP16 __ushort_as_half((unsigned short)0x7C00)
#define CUDART_NAN_FP16 __ushort_as_half((unsigned short)0x7FFF)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half((unsigned short)0x0001)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half((unsigned short)0x7BFF)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half((unsigned short)0x8000)
#define CUDART_ZERO_FP16 __ushort_as_half((unsigned short)0x0000)
#define CUDART_ONE_FP16 __ushort_as_half((unsigned short)0x3C00)
