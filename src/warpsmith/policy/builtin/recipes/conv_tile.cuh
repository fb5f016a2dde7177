// Convolution as a matrix product: the weight [channels out, k] times the inputs [k, output positions], where
// k counts taps and channels. The second matrix is never written: a block gathers its tile as it goes.
//
// A struct T says how a block multiplies two tiles:
//
//     kRows, kCols               channels of the result and output positions a block
//     kThreads, kThreadRows, kThreadCols   what a thread keeps of them
//     kBlocks                    how many blocks a multiprocessor should hold
//     row(i), col(j)             where in the tile
//     as_left(q), as_right(q)    four values along k as they are stored in shared memory
//     multiply(left, right, sums)
#pragma once

#include "conv.cuh"

constexpr int kDepth = 16;           // steps along k between two barriers
constexpr int kQuads = kDepth / 4;   // k lies in fours: 16 bytes are read at once
constexpr int kPad = 2;              // quads, so that neither reading nor writing has bank conflicts

struct alignas(16) Quad {
    float of[4];
};

template <int kLines>
using Slab = Quad[kQuads][kLines + kPad];

// fp32 on the ordinary units. Threads stand in a grid over the tile, each kThreadRows x kThreadCols apart.
template <int kTileRows, int kTileCols, int kOwnRows, int kOwnCols>
struct Units {
    static constexpr int kRows = kTileRows, kCols = kTileCols;
    static constexpr int kThreadRows = kOwnRows, kThreadCols = kOwnCols;
    static constexpr int kDown = kRows / kThreadRows, kAcross = kCols / kThreadCols;
    static constexpr int kThreads = kDown * kAcross;
    static constexpr int kBlocks = kThreads > 512 ? 1 : 512 / kThreads;  // with 128 registers a thread

    static __device__ __forceinline__ int row(int i) { return i * kDown + (int)threadIdx.x / kAcross; }
    static __device__ __forceinline__ int col(int j) { return j * kAcross + (int)threadIdx.x % kAcross; }
    static __device__ __forceinline__ Quad as_left(const Quad& quad) { return quad; }
    static __device__ __forceinline__ Quad as_right(const Quad& quad) { return quad; }

    static __device__ __forceinline__ void multiply(
        const Slab<kRows>& left, const Slab<kCols>& right, float (&sums)[kThreadRows][kThreadCols]) {
// One half of the columns after the other: fewer registers, so that two blocks fit on a multiprocessor.
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            constexpr int kHalf = kThreadCols / 2;
#pragma unroll 1
            for (int q = 0; q < kQuads; ++q) {
                Quad across[kHalf];
#pragma unroll
                for (int j = 0; j < kHalf; ++j) {
                    across[j] = right[q][col(half * kHalf + j)];
                }
#pragma unroll
                for (int i = 0; i < kThreadRows; ++i) {
                    const Quad down = left[q][row(i)];
#pragma unroll
                    for (int k = 0; k < 4; ++k) {
#pragma unroll
                        for (int j = 0; j < kHalf; ++j) {
                            sums[i][half * kHalf + j] += down.of[k] * across[j].of[k];
                        }
                    }
                }
            }
        }
    }
};

// Four values along k of one output position: 0 beyond the last one and outside of x.
template <class G>
__device__ __forceinline__ Quad gathered(const Reader<G>& reader, const Phase& phase, int k) {
    Quad quad = {};
    if constexpr (G::kChannels % 4 == 0) {  // of one tap
        const int number = k / G::kChannels, channel = k % G::kChannels;
        if (number < phase.num_taps) {
            const Tap tap = G::tap(phase.first_tap + number);
            if (reader.is_inside(tap)) {
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    quad.of[j] = reader.at(tap, channel + j);
                }
            }
        }
    } else {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const int number = (k + j) / G::kChannels, channel = (k + j) % G::kChannels;
            if (number < phase.num_taps) {
                const Tap tap = G::tap(phase.first_tap + number);
                if (reader.is_inside(tap)) {
                    quad.of[j] = reader.at(tap, channel);
                }
            }
        }
    }
    return quad;
}

// `arranged` is the weight as `arrange` writes it.
template <class G, class T, class Emit>
__device__ __forceinline__ void convolve_tile(
    const typename G::Item* x, const Quad* arranged, Emit emit) {
    constexpr int kLefts = (kQuads * T::kRows + T::kThreads - 1) / T::kThreads;
    constexpr int kRights = kQuads * T::kCols / T::kThreads;
    constexpr bool kAllLefts = kQuads * T::kRows % T::kThreads == 0;
    static_assert(T::kCols <= T::kThreads && T::kThreads % T::kCols == 0, "a thread gathers for one position");
    static_assert(kRights * T::kThreads == kQuads * T::kCols, "each thread gathers as much");
    __shared__ Slab<T::kRows> lefts[2];
    __shared__ Slab<T::kCols> rights[2];

    constexpr int kRowTiles = (G::kFilters + T::kRows - 1) / T::kRows;
    const int group = blockIdx.y, row_tile = blockIdx.x % kRowTiles;
    const Phase phase = G::phase(blockIdx.x / kRowTiles % G::kPhases);
    const int first = blockIdx.x / kRowTiles / G::kPhases * T::kCols;
    const int num = num_positions<G>(phase);
    if (first >= num) {
        return;
    }
    const int column = threadIdx.x % T::kCols, own_quad = threadIdx.x / T::kCols;
    const bool is_position = first + column < num;
    const Reader<G> reader(x, group, count_of<G>(is_position ? first + column : 0, phase));
    const Quad* own_rows =
        arranged + (group * G::kSlabs + phase.first_slab) * (kQuads * G::kArranged) + row_tile * T::kRows;

    Quad next_lefts[kLefts], next_rights[kRights];
    const auto fetch = [&](int slab) {
#pragma unroll
        for (int i = 0; i < kLefts; ++i) {
            const int unit = threadIdx.x + i * T::kThreads;
            if (kAllLefts || unit < kQuads * T::kRows) {
                const int quad = unit / T::kRows, row = unit % T::kRows;
                next_lefts[i] = own_rows[(slab * kQuads + quad) * G::kArranged + row];
            }
        }
#pragma unroll
        for (int i = 0; i < kRights; ++i) {
            const int quad = own_quad + i * (T::kThreads / T::kCols);
            next_rights[i] = is_position ? gathered<G>(reader, phase, slab * kDepth + quad * 4) : Quad{};
        }
    };
    const auto place = [&](int buffer) {
#pragma unroll
        for (int i = 0; i < kLefts; ++i) {
            const int unit = threadIdx.x + i * T::kThreads;
            if (kAllLefts || unit < kQuads * T::kRows) {
                lefts[buffer][unit / T::kRows][unit % T::kRows] = next_lefts[i];
            }
        }
#pragma unroll
        for (int i = 0; i < kRights; ++i) {
            rights[buffer][own_quad + i * (T::kThreads / T::kCols)][column] = T::as_right(next_rights[i]);
        }
    };

    float sums[T::kThreadRows][T::kThreadCols] = {};
    const int slabs = (phase.num_taps * G::kChannels + kDepth - 1) / kDepth;
    if (slabs > 0) {
        fetch(0);
        place(0);
    }
    __syncthreads();
    for (int slab = 0; slab < slabs; ++slab) {
        const bool has_next = slab + 1 < slabs;
        if (has_next) {
            fetch(slab + 1);
        }
        T::multiply(lefts[slab & 1], rights[slab & 1], sums);
        if (has_next) {
            place((slab + 1) & 1);
        }
        __syncthreads();
    }

#pragma unroll
    for (int j = 0; j < T::kThreadCols; ++j) {
        const int position = first + T::col(j);
        if (position < num) {
            const Place to = place_of<G>(count_of<G>(position, phase), phase);
#pragma unroll
            for (int i = 0; i < T::kThreadRows; ++i) {
                const int filter = row_tile * T::kRows + T::row(i);
                if (G::kFilters % T::kRows == 0 || filter < G::kFilters) {
                    emit(sums[i][j], group * G::kFilters + filter, to);
                }
            }
        }
    }
}

// The weight in the order in which blocks read it: [groups, slabs, quads, kArranged rows] of four along k,
// padded with zeros.
template <class G, class T>
__device__ __forceinline__ void arrange(const typename G::Item* weight, Quad* arranged) {
    int number = blockIdx.x * blockDim.x + threadIdx.x;
    if (number >= G::kGroups * G::kSlabs * kQuads * G::kArranged) {
        return;
    }
    Quad* to = arranged + number;
    const int row = number % G::kArranged;
    number /= G::kArranged;
    const int quad = number % kQuads, slab = number / kQuads % G::kSlabs, group = number / kQuads / G::kSlabs;
    int which = 0;
    while (which + 1 < G::kPhases && G::phase(which + 1).first_slab <= slab) {
        ++which;
    }
    const Phase phase = G::phase(which);
    Quad found = {};
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        const int k = (slab - phase.first_slab) * kDepth + quad * 4 + j;
        const int tap = k / G::kChannels, channel = k % G::kChannels;
        if (tap < phase.num_taps && row < G::kFilters) {
            const int index = G::tap(phase.first_tap + tap).index;
            found.of[j] = (float)weight[group * (G::kFilters * G::kChannels * G::kTaps) +
                                        row * G::kFilterStride + channel * G::kChannelStride + index];
        }
    }
    *to = T::as_left(found);
}
