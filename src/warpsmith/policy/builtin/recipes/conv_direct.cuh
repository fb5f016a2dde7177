// Convolution without shared memory: a thread keeps a few results of one position and reads what they need.
#pragma once

#include "conv.cuh"

// `kTile` channels of the result at one position a thread; neighbouring threads take neighbouring positions,
// so an input is read once a warp from memory and the weight is the same for all of its threads.
template <class G, int kTile, class Emit>
__device__ __forceinline__ void convolve_directly(
    const typename G::Item* x, const typename G::Item* weight, Emit emit) {
    constexpr int kTiles = (G::kFilters + kTile - 1) / kTile;
    const Phase phase = G::phase(blockIdx.x % G::kPhases);
    const int position = blockIdx.x / G::kPhases * blockDim.x + threadIdx.x;
    const int group = blockIdx.y / kTiles;
    const int first = blockIdx.y % kTiles * kTile;
    if (position >= num_positions<G>(phase)) {
        return;
    }
    const Count count = count_of<G>(position, phase);
    const Reader<G> reader(x, group, count);
    const typename G::Item* filters[kTile];
#pragma unroll
    for (int f = 0; f < kTile; ++f) {
        // Beyond the last one, the last one again: it is computed and not kept.
        const int filter = first + f < G::kFilters ? first + f : G::kFilters - 1;
        filters[f] = weight + (long long)group * (G::kFilters * G::kChannels * G::kTaps) +
                     filter * G::kFilterStride;
    }
    float sums[kTile] = {};
    for (int k = 0; k < phase.num_taps; ++k) {
        const Tap tap = G::tap(phase.first_tap + k);
        if (!reader.is_inside(tap)) {
            continue;
        }
#pragma unroll 4
        for (int channel = 0; channel < G::kChannels; ++channel) {
            const float input = reader.at(tap, channel);
#pragma unroll
            for (int f = 0; f < kTile; ++f) {
                sums[f] += input * (float)filters[f][channel * G::kChannelStride + tap.index];
            }
        }
    }
    const Place place = place_of<G>(count, phase);
#pragma unroll
    for (int f = 0; f < kTile; ++f) {
        if (first + f < G::kFilters) {
            emit(sums[f], group * G::kFilters + first + f, place);
        }
    }
}

// One channel of the result, kTile rows below each other a thread: each input row is read once for all of
// them. For plain convolutions; S holds what a loop over taps has to know when it is unrolled:
// kOutD, kKernelD, -H, -W, kStrideH, kPaddingD, -H, -W and kDilationD, -H, -W.
template <class G, class S, int kTile, class Emit>
__device__ __forceinline__ void convolve_rows(
    const typename G::Item* x, const typename G::Item* weight, Emit emit) {
    constexpr int kSpan = (kTile - 1) * S::kStrideH + (S::kKernelH - 1) * S::kDilationH + 1;
    constexpr int kStrips = (G::kOutH + kTile - 1) / kTile;
    const Phase strips = {0, 0, 0, 0, 0, 0, {S::kOutD}, {kStrips}, {G::kOutW}};
    const int position = blockIdx.x * blockDim.x + threadIdx.x;
    const int filter = blockIdx.y;
    if (position >= num_positions<G>(strips)) {
        return;
    }
    Count count = count_of<G>(position, strips);
    count.h *= kTile;
    const Reader<G> reader(x, filter / G::kFilters, count);
    const typename G::Item* own = weight + (long long)filter * G::kFilterStride;
    float sums[kTile] = {};
    for (int channel = 0; channel < G::kChannels; ++channel) {
        for (int kd = 0; kd < S::kKernelD; ++kd) {
            float factors[S::kKernelH][S::kKernelW];
#pragma unroll
            for (int kh = 0; kh < S::kKernelH; ++kh) {
#pragma unroll
                for (int kw = 0; kw < S::kKernelW; ++kw) {
                    const int index = (kd * S::kKernelH + kh) * S::kKernelW + kw;
                    factors[kh][kw] = (float)own[channel * G::kChannelStride + index];
                }
            }
#pragma unroll
            for (int row = 0; row < kSpan; ++row) {
#pragma unroll
                for (int kw = 0; kw < S::kKernelW; ++kw) {
                    Tap tap;
                    tap.d = kd * S::kDilationD - S::kPaddingD;
                    tap.h = row - S::kPaddingH;
                    tap.w = kw * S::kDilationW - S::kPaddingW;
                    tap.offset = (tap.d * G::kH + tap.h) * G::kW + tap.w;
                    // The last strip may hang over the end.
                    const bool is_row = (unsigned)(reader.h + tap.h) < (unsigned)G::kH;
                    const float input = is_row && reader.is_inside(tap) ? reader.at(tap, channel) : 0.0f;
#pragma unroll
                    for (int kh = 0; kh < S::kKernelH; ++kh) {
                        const int below = row - kh * S::kDilationH;
                        if (below >= 0 && below % S::kStrideH == 0 && below / S::kStrideH < kTile) {
                            sums[below / S::kStrideH] += input * factors[kh][kw];
                        }
                    }
                }
            }
        }
    }
#pragma unroll
    for (int t = 0; t < kTile; ++t) {
        if (count.h + t < G::kOutH) {
            Count one = count;
            one.h += t;
            emit(sums[t], filter, place_of<G>(one, strips));
        }
    }
}
