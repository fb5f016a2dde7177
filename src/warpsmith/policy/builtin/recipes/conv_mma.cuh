// Tiles multiplied on the tensor cores: fp32 as three products of two parts each, or TF32 alone.
//
// x = high + low, and x y = low high' + high low' + high high' up to what is smaller than either remainder.
// An infinity has no such parts: its sums become NaN.
// A thread reads four consecutive values along k and hands them to the instruction where it wants others:
// the order along k is free as long as both operands have the same.
#pragma once

#include <cuda_bf16.h>
#include <stdint.h>

#include "conv_tile.cuh"
#include "mma.cuh"

// The nearest number of 10 mantissa bits, which TF32 keeps: fed whole, it would be cut off.
__device__ __forceinline__ float high_of(float x) {
    return __uint_as_float((__float_as_uint(x) + 0x1000u) & 0xffffe000u);
}

// The nearest bf16 numbers to a pair along k, the first in the lower half; the pair becomes what is left.
__device__ __forceinline__ uint32_t take_bf16(float& first, float& second) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(first, second);
    const uint32_t bits = *reinterpret_cast<const uint32_t*>(&pair);
    first -= __uint_as_float(bits << 16);
    second -= __uint_as_float(bits & 0xffff0000u);
    return bits;
}

// Warps stand in a grid over the tile; a warp's part is made of 16 x 8 fragments, of which a thread has two
// rows and two columns.
template <int kTileRows, int kTileCols, int kWarpRows, int kWarpCols>
struct Warps {
    static constexpr int kRows = kTileRows, kCols = kTileCols;
    static constexpr int kThreadRows = kWarpRows / 8, kThreadCols = kWarpCols / 4;
    static constexpr int kAcross = kCols / kWarpCols;
    static constexpr int kThreads = kRows / kWarpRows * kAcross * 32;

    static __device__ __forceinline__ int first_row() { return (int)threadIdx.x / 32 / kAcross * kWarpRows; }
    static __device__ __forceinline__ int first_col() { return (int)threadIdx.x / 32 % kAcross * kWarpCols; }
    static __device__ __forceinline__ int lane_row() { return (int)threadIdx.x % 32 / 4; }
    static __device__ __forceinline__ int lane_quad() { return (int)threadIdx.x % 4; }
    static __device__ __forceinline__ int row(int i) { return first_row() + i * 8 + lane_row(); }
    static __device__ __forceinline__ int col(int j) {
        return first_col() + j / 2 * 8 + lane_quad() * 2 + j % 2;
    }
};

// kParts 2: fp32 by three products of two TF32 parts. kParts 1: TF32.
template <class W, int kParts>
struct Tf32 : W {
    static constexpr int kBlocks = 1;

    static __device__ __forceinline__ Quad as_left(const Quad& quad) { return quad; }
    static __device__ __forceinline__ Quad as_right(const Quad& quad) { return quad; }

    struct Split {
        uint32_t high[4], low[4];
    };

    static __device__ __forceinline__ Split split(const Quad& quad) {
        Split parts;
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            const float high = high_of(quad.of[k]);
            parts.high[k] = __float_as_uint(high);
            parts.low[k] = kParts == 1 ? 0 : __float_as_uint(quad.of[k] - high);
        }
        return parts;
    }

    static __device__ __forceinline__ void multiply(
        const Slab<W::kRows>& left, const Slab<W::kCols>& right,
        float (&sums)[W::kThreadRows][W::kThreadCols]) {
        Split across[W::kThreadCols / 2];
#pragma unroll
        for (int j = 0; j < W::kThreadCols / 2; ++j) {
            across[j] = split(right[W::lane_quad()][W::first_col() + j * 8 + W::lane_row()]);
        }
#pragma unroll
        for (int i = 0; i < W::kThreadRows / 2; ++i) {
            const Split upper = split(left[W::lane_quad()][W::first_row() + i * 16 + W::lane_row()]);
            const Split lower = split(left[W::lane_quad()][W::first_row() + i * 16 + 8 + W::lane_row()]);
#pragma unroll
            for (int k = 0; k < 4; k += 2) {
                const uint32_t high[4] = {
                    upper.high[k], lower.high[k], upper.high[k + 1], lower.high[k + 1]};
                const uint32_t low[4] = {upper.low[k], lower.low[k], upper.low[k + 1], lower.low[k + 1]};
#pragma unroll
                for (int j = 0; j < W::kThreadCols / 2; ++j) {
                    if (kParts == 2) {
                        mma_tf32(sums[2 * i] + 2 * j, sums[2 * i + 1] + 2 * j, low, across[j].high + k);
                        mma_tf32(sums[2 * i] + 2 * j, sums[2 * i + 1] + 2 * j, high, across[j].low + k);
                    }
                    mma_tf32(sums[2 * i] + 2 * j, sums[2 * i + 1] + 2 * j, high, across[j].high + k);
                }
            }
        }
    }
};

// fp32 by three products of two bf16 parts. Shared memory holds the parts: four values are two pairs of high
// parts and two of low ones, in as many bytes.
template <class W>
struct Bf16 : W {
    // With 128 registers a thread, or 255 where its sums alone fill 128.
    static constexpr int kBlocks = (W::kThreadRows * W::kThreadCols > 64 ? 256 : 512) / W::kThreads;

    static __device__ __forceinline__ Quad as_left(const Quad& quad) {
        Quad rest = quad, parts;
#pragma unroll
        for (int part = 0; part < 2; ++part) {
            parts.of[2 * part] = __uint_as_float(take_bf16(rest.of[0], rest.of[1]));
            parts.of[2 * part + 1] = __uint_as_float(take_bf16(rest.of[2], rest.of[3]));
        }
        return parts;
    }
    static __device__ __forceinline__ Quad as_right(const Quad& quad) { return as_left(quad); }

    static __device__ __forceinline__ void multiply(
        const Slab<W::kRows>& left, const Slab<W::kCols>& right,
        float (&sums)[W::kThreadRows][W::kThreadCols]) {
        uint32_t across[W::kThreadCols / 2][4];
#pragma unroll
        for (int j = 0; j < W::kThreadCols / 2; ++j) {
            const Quad parts = right[W::lane_quad()][W::first_col() + j * 8 + W::lane_row()];
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                across[j][k] = __float_as_uint(parts.of[k]);
            }
        }
#pragma unroll
        for (int i = 0; i < W::kThreadRows / 2; ++i) {
            const Quad upper = left[W::lane_quad()][W::first_row() + i * 16 + W::lane_row()];
            const Quad lower = left[W::lane_quad()][W::first_row() + i * 16 + 8 + W::lane_row()];
            uint32_t high[4], low[4];
#pragma unroll
            for (int k = 0; k < 2; ++k) {
                high[2 * k] = __float_as_uint(upper.of[k]);
                high[2 * k + 1] = __float_as_uint(lower.of[k]);
                low[2 * k] = __float_as_uint(upper.of[k + 2]);
                low[2 * k + 1] = __float_as_uint(lower.of[k + 2]);
            }
#pragma unroll
            for (int j = 0; j < W::kThreadCols / 2; ++j) {
                mma_bf16(sums[2 * i] + 2 * j, sums[2 * i + 1] + 2 * j, low, across[j]);
                mma_bf16(sums[2 * i] + 2 * j, sums[2 * i + 1] + 2 * j, high, across[j] + 2);
                mma_bf16(sums[2 * i] + 2 * j, sums[2 * i + 1] + 2 * j, high, across[j]);
            }
        }
    }
};
