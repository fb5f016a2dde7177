// Plays the tensor cores' instructions of mma.cuh by shuffles, so that the kernels around them run on the CPU.
// TF32 operands are cut off, as tensor cores do; sums are rounded, which they do not.
#pragma once
#include <cuda_runtime.h>
#include <stdint.h>

inline float mma_cut(uint32_t bits) { return __uint_as_float(bits & 0xffffe000u); }
inline float mma_half(uint32_t bits, int half) {
    return __uint_as_float(half ? bits & 0xffff0000u : bits << 16);
}

inline void mma_tf32(float* upper, float* lower, const uint32_t* a, const uint32_t* b) {
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    for (int k = 0; k < 8; ++k) {
        for (int n = 0; n < 2; ++n) {
            const float top = mma_cut(__shfl_sync(0xffffffffu, a[k / 4 * 2], g * 4 + k % 4));
            const float bottom = mma_cut(__shfl_sync(0xffffffffu, a[k / 4 * 2 + 1], g * 4 + k % 4));
            const float right = mma_cut(__shfl_sync(0xffffffffu, b[k / 4], (2 * t + n) * 4 + k % 4));
            upper[n] += top * right;
            lower[n] += bottom * right;
        }
    }
}

inline void mma_bf16(float* upper, float* lower, const uint32_t* a, const uint32_t* b) {
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    for (int k = 0; k < 16; ++k) {
        const int high = k / 8, owner = k % 8 / 2;
        for (int n = 0; n < 2; ++n) {
            const float top = mma_half(__shfl_sync(0xffffffffu, a[high * 2], g * 4 + owner), k % 2);
            const float bottom = mma_half(__shfl_sync(0xffffffffu, a[high * 2 + 1], g * 4 + owner), k % 2);
            const float right = mma_half(__shfl_sync(0xffffffffu, b[high], (2 * t + n) * 4 + owner), k % 2);
            upper[n] += top * right;
            lower[n] += bottom * right;
        }
    }
}
