// Worker: waiting for the block or for lanes of the warp, and noticing that nobody will ever come.
#pragma once

#include "block.h"

#pragma GCC visibility push(hidden)
namespace warpsmith {

WARPSMITH_OUTLINE int Worker::barrier(bool predicate) {
  if (!has_fibers_) start_fibers();
  num_true_ += predicate;
  if (++num_arrived_ + num_gone_ == num_threads_) {
    release_barrier();
  } else {
    Thread& self = stop_current();
    at_barrier_.push(&self);
    pick_next(self.context);
  }
  // Still this barrier's: the next one cannot be complete before this thread has come to it.
  return barrier_result_;
}

inline void Worker::release_barrier() {
  barrier_result_ = num_true_;
  num_arrived_ = num_true_ = 0;
  ready_.append(at_barrier_);
}

WARPSMITH_OUTLINE uint64_t Worker::collect(const Collective& collective, uint32_t mask, uint64_t value,
                                           uint32_t argument) {
  if (!has_fibers_) start_fibers();
  int index = current_ / warpSize;
  Warp& warp = warps_[index];
  uint32_t self_bit = 1u << lane();
  bool is_open = mask == 0;
  if (!is_open && (mask & self_bit) == 0) {
    fail(cudaErrorIllegalInstruction, "lane %d calls %s with mask 0x%08x, which leaves it out", lane(),
         collective.name, mask);
  }
  int lane_index = lane();
  warp.values[lane_index] = value;
  warp.arguments[lane_index] = argument;
  int pending = find_or_add(warp, collective, mask);
  warp.pending[pending].arrived |= self_bit;
  if (is_complete(warp, warp.pending[pending])) {
    complete(index, pending, self_bit);
  } else {
    pick_next(stop_current().context);
  }
  return warp.results[lane_index];
}

// Lanes in different branches may be at different collectives at once, told apart by what they do and for
// whom.
inline int Worker::find_or_add(Warp& warp, const Collective& collective, uint32_t mask) {
  for (int pending = 0; pending < warp.num_pending; ++pending) {
    if (warp.pending[pending].mask == mask && warp.pending[pending].collective == &collective) return pending;
  }
  warp.pending[warp.num_pending] = {&collective, mask, 0};
  return warp.num_pending++;
}

inline bool Worker::is_complete(const Warp& warp, const Warp::Pending& pending) {
  return pending.mask != 0 && (pending.mask & ~(pending.arrived | warp.gone)) == 0;
}

// Makes the lanes that waited ready, but for the one that is `running`.
WARPSMITH_OUTLINE void Worker::complete(int index, int pending, uint32_t running) {
  Warp& warp = warps_[index];
  uint32_t members = warp.pending[pending].arrived;
  warp.pending[pending].collective->combine(warp, members);
  warp.pending[pending] = warp.pending[--warp.num_pending];
  for (uint32_t rest = members & ~running; rest != 0; rest &= rest - 1) {
    ready_.push(&threads_[index * warpSize + __builtin_ctz(rest)]);
  }
}

// "Whoever comes" is known once nobody else can come: every other thread waits or has returned. False if none
// waited so.
WARPSMITH_OUTLINE bool Worker::release_open() {
  bool has_released = false;
  for (int index = 0; index * warpSize < num_threads_; ++index) {
    for (int pending = warps_[index].num_pending - 1; pending >= 0; --pending) {
      if (warps_[index].pending[pending].mask != 0) continue;
      complete(index, pending, 0);
      has_released = true;
    }
  }
  return has_released;
}

WARPSMITH_OUTLINE void Worker::report_deadlock() {
  for (int index = 0; index * warpSize < num_threads_; ++index) {
    if (warps_[index].num_pending == 0) continue;
    const Warp::Pending& pending = warps_[index].pending[0];
    fail(cudaErrorLaunchFailure,
         "deadlock: in warp %d, %s with mask 0x%08x waits for lanes 0x%08x, which never call it; "
         "%d of the block's %d threads have returned and %d wait at __syncthreads",
         index, pending.collective->name, pending.mask,
         pending.mask & ~(pending.arrived | warps_[index].gone), num_gone_, num_threads_, num_arrived_);
  }
  fail(cudaErrorLaunchFailure, "deadlock: %d of %d threads wait at __syncthreads and the others never come",
       num_arrived_, num_threads_);
}

}  // namespace warpsmith
#pragma GCC visibility pop
