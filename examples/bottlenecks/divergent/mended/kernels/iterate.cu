// The columns that need 64 steps are gathered in warps of their own, so that all lanes work as long.
#include <cuda_runtime.h>
#include <math.h>

__global__ void iterate_kernel(const float* x, float* y, long long count, long long heavy) {
  long long thread = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (thread >= count) return;
  bool is_heavy = thread < heavy;
  long long light = thread - heavy;
  long long i = is_heavy ? thread * 32 : light / 31 * 32 + light % 31 + 1;
  int steps = is_heavy ? 64 : 1;
  float given = x[i], z = 0.0f;
  for (int step = 0; step < steps; ++step) z = tanhf(z + given);
  y[i] = z;
}

extern "C" int iterate(const float* x, float* y, long long count, cudaStream_t stream) {
  iterate_kernel<<<(int)((count + 255) / 256), 256, 0, stream>>>(x, y, count, count / 32);
  return (int)cudaGetLastError();
}
