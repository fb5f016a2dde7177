// One thread a column of 96 values, all kept in registers: blocks of 128 threads leave it enough of them.
#include <cuda_runtime.h>
#include <math.h>

constexpr int CHANNELS = 96;

__global__ void __launch_bounds__(128) softmax_kernel(const float* __restrict__ x, float* __restrict__ y, int columns) {
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
  softmax_kernel<<<(columns + 127) / 128, 128, 0, stream>>>(x, y, columns);
  return (int)cudaGetLastError();
}
