// Cooperative groups within a block, and copies in the background.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_pipeline.h>

namespace cg = cooperative_groups;

__global__ void tile_sums(const float* in, float* out) {
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
  float value = in[block.thread_rank()];
  float by_hand = value;
  for (int offset = tile.size() / 2; offset > 0; offset /= 2) by_hand += tile.shfl_down(by_hand, offset);
  by_hand = tile.shfl(by_hand, 0);
  float total = cg::reduce(tile, value, cg::plus<float>());
  float greatest = cg::reduce(tile, value, cg::greater<float>());
  block.sync();
  out[block.thread_rank() * 4 + 0] = by_hand;
  out[block.thread_rank() * 4 + 1] = total;
  out[block.thread_rank() * 4 + 2] = greatest;
  out[block.thread_rank() * 4 + 3] = tile.meta_group_rank() * 100 + tile.thread_rank();
}

__global__ void together(int* out) {
  out[threadIdx.x] = -1;
  if (threadIdx.x % 3 == 0) {
    cg::coalesced_group group = cg::coalesced_threads();
    int of_last = group.shfl((int)threadIdx.x, group.size() - 1);
    out[threadIdx.x] = group.thread_rank() * 1000 + group.size() * 100 + of_last;
  }
}

__global__ void staged(const float4* in, float4* out) {
  __shared__ float4 stage[32];
  __pipeline_memcpy_async(&stage[threadIdx.x], &in[threadIdx.x], sizeof(float4), threadIdx.x == 31 ? 4 : 0);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  out[threadIdx.x] = stage[31 - threadIdx.x];
}

extern "C" int run_tiles(const float* in, float* out) {
  tile_sums<<<1, dim3(16, 4)>>>(in, out);
  return cudaGetLastError();
}
extern "C" int run_together(int* out) {
  together<<<1, 32>>>(out);
  return cudaGetLastError();
}
extern "C" int run_staged(const float* in, float* out) {
  staged<<<1, 32>>>((const float4*)in, (float4*)out);
  return cudaGetLastError();
}
