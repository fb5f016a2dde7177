// A layer of an LSTM, a GRU or a plain recurrent net, step by step: the launches of a stream are the steps.
//
// A warp computes one unit for kTile sequences: its lanes share the products of the unit's recurrent weights
// with the previous state, which it reads from where the step before has written it.
#pragma once

#include <cuda_runtime.h>
#include <math.h>

namespace recurrence {

__device__ inline float logistic(float x) { return 1.0f / (1.0f + expf(-x)); }

// Each cell makes the next state from its gates' sums, those over the input and those over the state.

struct Lstm {
    static constexpr int kGates = 4;  // input, forget, cell, output
    static __device__ float next(const float* of_input, const float* of_state, float, float* cell) {
        const float in = logistic(of_input[0] + of_state[0]);
        const float forget = logistic(of_input[1] + of_state[1]);
        const float proposed = tanhf(of_input[2] + of_state[2]);
        const float out = logistic(of_input[3] + of_state[3]);
        *cell = forget * *cell + in * proposed;
        return out * tanhf(*cell);
    }
};

struct Gru {
    static constexpr int kGates = 3;  // reset, update, new
    static __device__ float next(const float* of_input, const float* of_state, float before, float*) {
        const float reset = logistic(of_input[0] + of_state[0]);
        const float update = logistic(of_input[1] + of_state[1]);
        const float proposed = tanhf(of_input[2] + reset * of_state[2]);
        return proposed + update * (before - proposed);
    }
};

struct RnnTanh {
    static constexpr int kGates = 1;
    static __device__ float next(const float* of_input, const float* of_state, float, float*) {
        return tanhf(of_input[0] + of_state[0]);
    }
};

struct RnnRelu {
    static constexpr int kGates = 1;
    static __device__ float next(const float* of_input, const float* of_state, float, float*) {
        const float sum = of_input[0] + of_state[0];
        return sum < 0.0f ? 0.0f : sum;  // lets a NaN through
    }
};

// What one direction reads.
struct Direction {
    const float* products;  // of the inputs, through the layer's strides
    const float* weights;   // [gates * units, units]
    const float* bias;      // [gates * units], or null
};

// What a layer reads and writes. States before the first step are null for zeros.
template <int kDirections>
struct Layer {
    Direction directions[kDirections];
    const float* state;     // [directions, batch, units]
    const float* cell;      // the same
    float* out;             // through the layer's strides, the directions side by side
    float* last_state;      // [directions, batch, units]
    float* last_cell;       // the same, written at every step; null but for an LSTM
};

template <int kWidth>
struct alignas(4 * kWidth) Piece {
    float of[kWidth];
};

template <int kWidth>
__device__ inline Piece<kWidth> load(const float* from) {
    return *reinterpret_cast<const Piece<kWidth>*>(from);
}

template <typename Cell, typename Sizes>
__global__ void __launch_bounds__(Sizes::kWarps * 32) step_kernel(Layer<Sizes::kDirections> layer, int step) {
    constexpr int kGates = Cell::kGates, kTile = Sizes::kTile, kWidth = Sizes::kWidth;
    constexpr int kUnits = Sizes::kUnits, kBatch = Sizes::kBatch;
    constexpr long long kRow = (long long)Sizes::kDirections * kUnits;  // of the outputs
    constexpr long long kOutStep = Sizes::kStepStride * kRow, kOutSequence = Sizes::kSequenceStride * kRow;
    constexpr long long kInRow = (long long)kGates * kUnits;
    const int lane = threadIdx.x % 32;
    const int unit = blockIdx.x * Sizes::kWarps + threadIdx.x / 32;
    const int first = blockIdx.y * kTile;  // sequence
    const int side = blockIdx.z;           // direction
    if (unit >= kUnits) {
        return;
    }
    // Chosen, not indexed: an index would put the parameters into local memory.
    const Direction direction = side ? layer.directions[Sizes::kDirections - 1] : layer.directions[0];
    const int time = side ? Sizes::kSteps - 1 - step : step;
    const int time_before = side ? time + 1 : time - 1;
    const long long side_size = (long long)kBatch * kUnits;
    const float* before = step ? layer.out + time_before * kOutStep + side * kUnits
                           : layer.state ? layer.state + side * side_size : nullptr;
    const long long stride = step ? kOutSequence : kUnits;

    float sums[kGates][kTile] = {};
    if (before) {
        const float* weights = direction.weights + (long long)unit * kUnits;
        for (int k = lane * kWidth; k < kUnits; k += 32 * kWidth) {
            Piece<kWidth> weight[kGates];
#pragma unroll
            for (int g = 0; g < kGates; ++g) {
                weight[g] = load<kWidth>(weights + (long long)g * kUnits * kUnits + k);
            }
#pragma unroll
            for (int b = 0; b < kTile; ++b) {
                if (first + b < kBatch) {
                    const Piece<kWidth> state = load<kWidth>(before + (first + b) * stride + k);
#pragma unroll
                    for (int g = 0; g < kGates; ++g) {
#pragma unroll
                        for (int i = 0; i < kWidth; ++i) {
                            sums[g][b] += weight[g].of[i] * state.of[i];
                        }
                    }
                }
            }
        }
    }
    // Lane b ends with the sums of sequence b.
    float of_state[kGates] = {};
#pragma unroll
    for (int g = 0; g < kGates; ++g) {
#pragma unroll
        for (int b = 0; b < kTile; ++b) {
#pragma unroll
            for (int distance = 16; distance > 0; distance /= 2) {
                sums[g][b] += __shfl_xor_sync(0xffffffffu, sums[g][b], distance);
            }
            of_state[g] = lane == b ? sums[g][b] : of_state[g];
        }
    }
    const int sequence = first + lane;
    if (lane >= kTile || sequence >= kBatch) {
        return;
    }
    const float* products =
        direction.products + time * (Sizes::kStepStride * kInRow) + sequence * (Sizes::kSequenceStride * kInRow);
    float of_input[kGates];
#pragma unroll
    for (int g = 0; g < kGates; ++g) {
        of_input[g] = products[g * kUnits + unit];
        of_state[g] += direction.bias ? direction.bias[g * kUnits + unit] : 0.0f;
    }
    const long long place = side * side_size + (long long)sequence * kUnits + unit;
    float cell = 0.0f;
    if (layer.last_cell) {
        cell = step ? layer.last_cell[place] : layer.cell ? layer.cell[place] : 0.0f;
    }
    const float state_before = before ? before[sequence * stride + unit] : 0.0f;
    const float state = Cell::next(of_input, of_state, state_before, &cell);
    layer.out[time * kOutStep + sequence * kOutSequence + side * kUnits + unit] = state;
    if (layer.last_cell) {
        layer.last_cell[place] = cell;
    }
    if (step == Sizes::kSteps - 1) {
        layer.last_state[place] = state;
    }
}

template <typename Cell, typename Sizes>
static int run(const Layer<Sizes::kDirections>& layer, cudaStream_t stream) {
    const dim3 blocks((Sizes::kUnits + Sizes::kWarps - 1) / Sizes::kWarps,
                      (Sizes::kBatch + Sizes::kTile - 1) / Sizes::kTile, Sizes::kDirections);
    for (int step = 0; step < Sizes::kSteps; ++step) {
        step_kernel<Cell, Sizes><<<blocks, Sizes::kWarps * 32, 0, stream>>>(layer, step);
    }
    return (int)cudaGetLastError();
}

}  // namespace recurrence
