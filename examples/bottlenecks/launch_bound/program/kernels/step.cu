// One step over all elements a launch, 48 launches a call.
#include <cuda_runtime.h>

__global__ void step_kernel(const float* x, const float* before, float* after, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) after[i] = 0.9f * before[i] + 0.1f * x[i] * before[i] + 0.05f * x[i];
}

extern "C" int steps(const float* x, float* y, int count, int number, cudaStream_t stream) {
  for (int step = 0; step < number; ++step)
    step_kernel<<<(count + 255) / 256, 256, 0, stream>>>(x, step == 0 ? x : y, y, count);
  return (int)cudaGetLastError();
}
