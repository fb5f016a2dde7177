// Attention without its scores in memory: out = softmax(f(query key^T)) value, for each matrix of a batch.
//
// A block has kRows rows of one matrix. It takes the keys and values kCols at a time: their scores, the
// running maximum and sum of each row, and the rescaled sum of values stay in registers; probabilities and
// tiles meet in shared memory. A thread has kRowsEach rows and every 16th column. All of it in fp32.
#pragma once

#include <cuda_runtime.h>
#include <math.h>

namespace attention_tiles {

constexpr int kThreads = 256;  // 16 by 16
constexpr int kCols = 64;
constexpr int kColsEach = kCols / 16;

// How far apart rows and columns of an operand lie, and where its matrix starts.
struct Matrix {
    const float* start;
    long long row, col;
};

// to[k][line] = from(first + line, k), zero past the end; kStride elements from k to k.
template <int kLines, int kSize, int kStride>
__device__ __forceinline__ void load_turned(float* to, Matrix from, int first, int end) {
    for (int at = threadIdx.x; at < kLines * kSize; at += kThreads) {
        const int line = at / kSize, k = at % kSize;
        const int place = first + line;
        to[k * kStride + line] = place < end ? from.start[place * from.row + k * from.col] : 0.0f;
    }
}

// to[line][k] = from(first + line, k), zero past the end.
template <int kLines, int kSize>
__device__ __forceinline__ void load(float* to, Matrix from, int first, int end) {
    for (int at = threadIdx.x; at < kLines * kSize; at += kThreads) {
        const int line = at / kSize, k = at % kSize;
        const int place = first + line;
        to[at] = place < end ? from.start[place * from.row + k * from.col] : 0.0f;
    }
}

// Combined over the 16 threads that share rows.
template <typename Combine>
__device__ __forceinline__ float across(float value, Combine combine) {
#pragma unroll
    for (int distance = 8; distance > 0; distance /= 2) {
        value = combine(value, __shfl_xor_sync(0xffffffffu, value, distance));
    }
    return value;
}

__device__ __forceinline__ float larger_of(float a, float b) { return a > b ? a : b; }
__device__ __forceinline__ float sum_of(float a, float b) { return a + b; }

// Shared memory of a block, in floats: the queries, then keys or values, then probabilities.
template <typename Sizes>
struct Shared {
    static constexpr int kRowStride = Sizes::kRows + 4;  // keeps 16-byte alignment, spreads over banks
    static constexpr int kColStride = kCols + 4;
    static constexpr int kQueries = Sizes::kSize * kRowStride;
    static constexpr int kKeys = Sizes::kSize * kColStride;
    static constexpr int kValues = kCols * Sizes::kValueSize;
    static constexpr int kTile = (kKeys > kValues ? kKeys : kValues + 3) / 4 * 4;
    static constexpr int kBytes = 4 * (kQueries + kTile + kCols * kRowStride);
};

template <int kNum>
__device__ __forceinline__ void read(float (&to)[kNum], const float* from) {
    struct alignas(16) Four {
        float of[4];
    };
#pragma unroll
    for (int i = 0; i < kNum; i += 4) {
        const Four four = *reinterpret_cast<const Four*>(from + i);
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            to[i + j] = four.of[j];
        }
    }
}

// `Places` says where the matrices of a batch lie; `Score` is f.
template <typename Sizes, typename Places, typename Score>
__global__ void __launch_bounds__(kThreads) kernel(const float* query, const float* key, const float* value,
                                                   float* out, Score score) {
    constexpr int kRows = Sizes::kRows, kRowsEach = kRows / 16;
    constexpr int kSize = Sizes::kSize, kValueSize = Sizes::kValueSize;
    constexpr int kValuesEach = (kValueSize + 15) / 16;
    using Memory = Shared<Sizes>;
    extern __shared__ float shared[];
    float* queries = shared;
    float* tile = queries + Memory::kQueries;
    float* probabilities = tile + Memory::kTile;

    const int batch = blockIdx.y;
    const int first_row = blockIdx.x * kRows;
    const int side = threadIdx.x % 16;
    const int row = threadIdx.x / 16 * kRowsEach;  // of the block
    const Matrix query_of = Places::query(query, batch), key_of = Places::key(key, batch);
    const Matrix value_of = Places::value(value, batch);
    load_turned<kRows, kSize, Memory::kRowStride>(queries, query_of, first_row, Sizes::kTotalRows);

    float sums[kRowsEach][kValuesEach] = {};
    float largest[kRowsEach], total[kRowsEach];
#pragma unroll
    for (int r = 0; r < kRowsEach; ++r) {
        largest[r] = -INFINITY;
        total[r] = 0.0f;
    }
    const int last_row = first_row + kRows;
    const int end = Sizes::kIsCausal && last_row < Sizes::kTotalCols ? last_row : Sizes::kTotalCols;
    for (int first_col = 0; first_col < end; first_col += kCols) {
        __syncthreads();  // the tile of values has been used
        load_turned<kCols, kSize, Memory::kColStride>(tile, key_of, first_col, Sizes::kTotalCols);
        __syncthreads();
        float scores[kRowsEach][kColsEach] = {};
#pragma unroll 4
        for (int k = 0; k < kSize; ++k) {
            float q[kRowsEach], c[kColsEach];
            read(q, queries + k * Memory::kRowStride + row);
            read(c, tile + k * Memory::kColStride + side * kColsEach);
#pragma unroll
            for (int r = 0; r < kRowsEach; ++r) {
#pragma unroll
                for (int j = 0; j < kColsEach; ++j) {
                    scores[r][j] += q[r] * c[j];
                }
            }
        }
#pragma unroll
        for (int r = 0; r < kRowsEach; ++r) {
            const int at_row = first_row + row + r;
#pragma unroll
            for (int j = 0; j < kColsEach; ++j) {
                const int at_col = first_col + side * kColsEach + j;
                const bool is_there = at_row < Sizes::kTotalRows && at_col < Sizes::kTotalCols &&
                                      !(Sizes::kIsCausal && at_col > at_row);
                scores[r][j] = is_there               ? score(scores[r][j], batch, at_row, at_col)
                               : Sizes::kIsNormalized ? -INFINITY
                                                      : 0.0f;
            }
            if (Sizes::kIsNormalized) {
                float here = largest[r];
#pragma unroll
                for (int j = 0; j < kColsEach; ++j) {
                    here = larger_of(scores[r][j], here);
                }
                here = across(here, larger_of);
                const float shift = here == -INFINITY ? 0.0f : here;
                const float rescale = expf(largest[r] - shift);
                largest[r] = here;
                total[r] *= rescale;
#pragma unroll
                for (int j = 0; j < kColsEach; ++j) {
                    scores[r][j] = expf(scores[r][j] - shift);
                    total[r] += scores[r][j];
                }
#pragma unroll
                for (int v = 0; v < kValuesEach; ++v) {
                    sums[r][v] *= rescale;
                }
            }
#pragma unroll
            for (int j = 0; j < kColsEach; ++j) {
                probabilities[(side * kColsEach + j) * Memory::kRowStride + row + r] = scores[r][j];
            }
        }
        __syncthreads();  // the tile of keys has been used, the probabilities are there
        load<kCols, kValueSize>(tile, value_of, first_col, Sizes::kTotalCols);
        __syncthreads();
#pragma unroll 4
        for (int j = 0; j < kCols; ++j) {
            float p[kRowsEach];
            read(p, probabilities + j * Memory::kRowStride + row);
#pragma unroll
            for (int v = 0; v < kValuesEach; ++v) {
                const int at = v * 16 + side;
                const float x = kValueSize % 16 == 0 || at < kValueSize ? tile[j * kValueSize + at] : 0.0f;
#pragma unroll
                for (int r = 0; r < kRowsEach; ++r) {
                    sums[r][v] += p[r] * x;
                }
            }
        }
    }
#pragma unroll
    for (int r = 0; r < kRowsEach; ++r) {
        const float whole = Sizes::kIsNormalized ? across(total[r], sum_of) : 1.0f;
        const int at_row = first_row + row + r;
#pragma unroll
        for (int v = 0; v < kValuesEach; ++v) {
            const int at = v * 16 + side;
            if (at_row < Sizes::kTotalRows && at < kValueSize) {
                out[Places::out(batch) + at_row * Places::kOutRow + at * Places::kOutCol] = sums[r][v] / whole;
            }
        }
    }
}

template <typename Sizes, typename Places, typename Score>
static int launch(const float* query, const float* key, const float* value, float* out, Score score,
                  cudaStream_t stream) {
    const int bytes = Shared<Sizes>::kBytes;
    const cudaError_t granted = cudaFuncSetAttribute(kernel<Sizes, Places, Score>,
                                                     cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (granted != cudaSuccess) {
        return (int)granted;
    }
    const dim3 blocks((Sizes::kTotalRows + Sizes::kRows - 1) / Sizes::kRows, Sizes::kBatch);
    kernel<Sizes, Places, Score><<<blocks, kThreads, bytes, stream>>>(query, key, value, out, score);
    return (int)cudaGetLastError();
}

}  // namespace attention_tiles
