// One thread a column of 96 values, all kept at hand. The bounds leave it 32 registers: the rest spills.
#include <cuda_runtime.h>
#include <math.h>

constexpr int CHANNELS = 96;

__global__ void __launch_bounds__(1024, 2) softmax_kernel(const float* __restrict__ x, float* __restrict__ y, int columns) {
  int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column >= columns) return;
  float values[CHANNELS];
  float largest = -INFINITY;
#pragma unroll
  for (int channel = 0; channel < CHANNELS; ++channel) {
    values[channel] = x[(long long)channel * columns + column];
    largest = fmaxf(largest, values[channel]);
  }
  float sum = 0.0f;
#pragma unroll
  for (int channel = 0; channel < CHANNELS; ++channel) {
    values[channel] = expf(values[channel] - largest);
    sum += values[channel];
  }
#pragma unroll
  for (int channel = 0; channel < CHANNELS; ++channel)
    y[(long long)channel * columns + column] = values[channel] / sum;
}

extern "C" int softmax(const float* x, float* y, int columns, cudaStream_t stream) {
  softmax_kernel<<<(columns + 1023) / 1024, 1024, 0, stream>>>(x, y, columns);
  return (int)cudaGetLastError();
}
