// CUDA's bfloat16: __nv_bfloat16, __nv_bfloat162 and their functions.
#pragma once

#include "cuda_runtime.h"
#include "warpsmith/float16_bits.h"

#define WARPSMITH_F16 __nv_bfloat16
#define WARPSMITH_F16X2 __nv_bfloat162
#define WARPSMITH_F16_RAW __nv_bfloat16_raw
#define WARPSMITH_F16X2_RAW __nv_bfloat162_raw
#define WARPSMITH_FORMAT ::warpsmith::BfloatFormat
#define WARPSMITH_NAME(before, after) before##bfloat16##after
#define WARPSMITH_NAME2(before, after) before##bfloat162##after
#define WARPSMITH_SPLAT __bfloat162bfloat162

#include "warpsmith/float16_types.h"
#include "warpsmith/float16_convert.h"
#include "warpsmith/float16_arithmetic.h"

#include "warpsmith/float16_end.h"

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

#define CUDART_INF_BF16 __ushort_as_bfloat16((unsigned short)0x7F80)
#define CUDART_NAN_BF16 __ushort_as_bfloat16((unsigned short)0x7FFF)
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16((unsigned short)0x0001)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16((unsigned short)0x7F7F)
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x8000)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x0000)
#define CUDART_ONE_BF16 __ushort_as_bfloat16((unsigned short)0x3F80)
