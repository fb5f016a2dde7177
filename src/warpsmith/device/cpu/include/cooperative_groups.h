// Cooperative groups of a block: the block, its tiles of up to a warp, and the lanes that come together. A
// whole grid's threads do not run at once here, so there is no group of them.
#pragma once

#include "cuda_runtime.h"

#pragma GCC visibility push(hidden)
namespace cooperative_groups {

class thread_block {
 public:
  static void sync() { __syncthreads(); }
  static unsigned thread_rank() {
    return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  }
  static unsigned num_threads() { return blockDim.x * blockDim.y * blockDim.z; }
  static unsigned size() { return num_threads(); }
  static dim3 thread_index() { return threadIdx; }
  static dim3 group_index() { return blockIdx; }
  static dim3 dim_threads() { return blockDim; }
  static dim3 group_dim() { return blockDim; }
};

inline thread_block this_thread_block() { return {}; }

// Groups pass values of any size to each other, eight bytes at a time.
template <class T>
inline T exchange(unsigned mask, T value, int source) {
  constexpr size_t num_words = (sizeof(T) + 7) / 8;
  uint64_t words[num_words] = {};
  memcpy(words, &value, sizeof value);
  for (uint64_t& word : words) word = warpsmith::shuffle_from(mask, word, source);
  memcpy(static_cast<void*>(&value), words, sizeof value);
  return value;
}

template <unsigned Size, class Parent = void>
class thread_block_tile {
  static_assert(Size >= 1 && Size <= 32 && (Size & (Size - 1)) == 0,
                "a tile has 1, 2, 4, 8, 16 or 32 threads");
  static constexpr unsigned all_lanes = Size == 32 ? ~0u : (1u << (Size & 31)) - 1;

 public:
  thread_block_tile() = default;
  template <class Other>
  thread_block_tile(const thread_block_tile<Size, Other>&) {}

  static unsigned thread_rank() { return warpsmith::worker->lane() % Size; }
  static constexpr unsigned num_threads() { return Size; }
  static constexpr unsigned size() { return Size; }
  static unsigned meta_group_rank() { return thread_block::thread_rank() / Size; }
  static unsigned meta_group_size() { return (thread_block::num_threads() + Size - 1) / Size; }
  static void sync() { __syncwarp(mask()); }

  template <class T>
  static T shfl(T value, int source) {
    return exchange(mask(), value, warpsmith::source_index(warpsmith::worker->lane(), source, Size));
  }
  template <class T>
  static T shfl_up(T value, unsigned delta) {
    return exchange(mask(), value,
                    warpsmith::source_up(warpsmith::worker->lane(), static_cast<int>(delta), Size));
  }
  template <class T>
  static T shfl_down(T value, unsigned delta) {
    return exchange(mask(), value,
                    warpsmith::source_down(warpsmith::worker->lane(), static_cast<int>(delta), Size));
  }
  template <class T>
  static T shfl_xor(T value, unsigned lane_mask) {
    return exchange(mask(), value,
                    warpsmith::source_xor(warpsmith::worker->lane(), static_cast<int>(lane_mask), Size));
  }

  static int any(int predicate) { return __any_sync(mask(), predicate); }
  static int all(int predicate) { return __all_sync(mask(), predicate); }
  static unsigned ballot(int predicate) { return __ballot_sync(mask(), predicate) >> first_lane(); }
  template <class T>
  static unsigned match_any(T value) {
    return __match_any_sync(mask(), value) >> first_lane();
  }

 private:
  static unsigned first_lane() { return static_cast<unsigned>(warpsmith::worker->lane()) & ~(Size - 1); }
  static unsigned mask() { return all_lanes << first_lane(); }
};

template <unsigned Size, class Parent>
inline thread_block_tile<Size, Parent> tiled_partition(const Parent&) {
  return {};
}

// The lanes that came here together, numbered from the lowest.
class coalesced_group {
 public:
  coalesced_group() : mask_(__activemask()) {}
  unsigned thread_rank() const { return __popc(mask_ & ((1u << warpsmith::worker->lane()) - 1)); }
  unsigned num_threads() const { return __popc(mask_); }
  unsigned size() const { return num_threads(); }
  void sync() const { __syncwarp(mask_); }
  template <class T>
  T shfl(T value, unsigned rank) const {
    return __shfl_sync(mask_, value, lane_of(rank));
  }
  template <class T>
  T shfl_down(T value, unsigned delta) const {
    unsigned rank = thread_rank() + delta;
    return exchange(mask_, value, rank < size() ? lane_of(rank) : warpsmith::worker->lane());
  }
  int any(int predicate) const { return __any_sync(mask_, predicate); }
  int all(int predicate) const { return __all_sync(mask_, predicate); }

 private:
  int lane_of(unsigned rank) const {
    unsigned rest = mask_;
    for (unsigned skipped = 0; skipped < rank; ++skipped) rest &= rest - 1;
    return __ffs(static_cast<int>(rest)) - 1;
  }

  unsigned mask_;
};

inline coalesced_group coalesced_threads() { return {}; }

template <class Group>
inline void sync(const Group& group) {
  group.sync();
}

}  // namespace cooperative_groups
#pragma GCC visibility pop
