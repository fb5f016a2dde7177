// The other half: the same names, other meanings.
#include "twins.cuh"

__device__ int in_each_file = 0;

__device__ __forceinline__ float combine(float a, float b) { return a * b; }
template <int N>
__device__ float step(float x) {
  return combine(x, N);
}
template <int N>
__global__ void apply(const float* in, float* out) {
  out[threadIdx.x] = step<N>(in[threadIdx.x]) + shared_helper(2.0f);
}

extern "C" int run_product(const float* in, float* out, int n) {
  apply<3><<<1, n>>>(in, out);
  return cudaGetLastError();
}
