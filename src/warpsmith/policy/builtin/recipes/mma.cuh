// The tensor cores' instructions for one warp: d[16, 8] += a[16, k] b[k, 8], with fp32 sums. A thread holds,
// by its lane / 4 (g) and lane % 4 (t):
//
//     d   rows g (upper) and g + 8 (lower), columns 2t and 2t + 1
//     a   TF32, k = 8: (g, t), (g + 8, t), (g, t + 4), (g + 8, t + 4)
//         bf16, k = 16: pairs (g, 2t), (g + 8, 2t), (g, 2t + 8), (g + 8, 2t + 8), the first in the lower half
//     b   TF32: (t, g), (t + 4, g);  bf16: pairs (2t, g), (2t + 8, g)
#pragma once

#include <cuda_runtime.h>
#include <stdint.h>

__device__ __forceinline__ void mma_tf32(float* upper, float* lower, const uint32_t* a, const uint32_t* b) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(upper[0]), "+f"(upper[1]), "+f"(lower[0]), "+f"(lower[1])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ __forceinline__ void mma_bf16(float* upper, float* lower, const uint32_t* a, const uint32_t* b) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(upper[0]), "+f"(upper[1]), "+f"(lower[0]), "+f"(lower[1])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
