// Worker: starting threads, switching between them, ending a block or a launch.
#pragma once

#include "block.h"

#pragma GCC visibility push(hidden)
namespace warpsmith {

inline Worker::Worker() {
  void* memory = mmap(nullptr, max_shared_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  shared_ = memory == MAP_FAILED ? nullptr : static_cast<char*>(memory);
}

WARPSMITH_OUTLINE void Worker::run(Job& job) {
  job_ = &job;
  index_ = &threadIdx;
  block_ = blockDim = job.block;
  gridDim = job.grid;
  num_threads_ = static_cast<int>(job.block.x * job.block.y * job.block.z);
  next_index_ = end_index_ = 0;
  worker = this;
  if (next_block()) {
    stack_ = stacks_.take();
    if (stack_ < 0) {
      job.error = cudaErrorMemoryAllocation;
    } else {
      Context first;
      Stacks::Range range = stacks_.range(stack_);
      make_context(first, range.bottom, range.top, fiber_main);
      switch_context(home_, first);
    }
  }
  worker = nullptr;
}

inline void Worker::fiber_main() {
  worker->job_->run_threads(worker->job_->thread);
  worker->leave();
}

WARPSMITH_OUTLINE void Worker::leave() {
  stacks_.give(stack_);
  Context discarded;
  switch_context(discarded, home_);
  __builtin_unreachable();
}

WARPSMITH_OUTLINE void Worker::fail(cudaError_t error, const char* format, ...) {
  int none = cudaSuccess;
  if (job_->error.compare_exchange_strong(none, error)) {
    char reason[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    describe_error("kernel %s, block (%u, %u, %u): %s", job_->kernel, blockIdx.x, blockIdx.y, blockIdx.z,
                   reason);
  }
  stacks_.give_all();
  has_fibers_ = false;
  num_arrived_ = num_true_ = 0;
  ready_ = at_barrier_ = Queue();
  Context discarded;
  switch_context(discarded, home_);
  __builtin_unreachable();
}

// Blocks are claimed in order: one that waits for its predecessor's result, as in a chained scan, waits for a
// block that has been started.
WARPSMITH_OUTLINE bool Worker::next_block() {
  if (job_->error.load(std::memory_order_relaxed) != cudaSuccess) return false;
  if (next_index_ == end_index_) {
    next_index_ = job_->next_block.fetch_add(job_->chunk);
    if (next_index_ >= job_->num_blocks) {
      next_index_ = end_index_ = 0;
      return false;
    }
    end_index_ = next_index_ + job_->chunk;
    if (end_index_ > job_->num_blocks) end_index_ = job_->num_blocks;
  }
  uint64_t index = next_index_++;
  blockIdx.x = static_cast<unsigned>(index % gridDim.x);
  blockIdx.y = static_cast<unsigned>(index / gridDim.x % gridDim.y);
  blockIdx.z = static_cast<unsigned>(index / gridDim.x / gridDim.y);
  // Every second block starts its last thread first: a kernel that lacks a barrier then reads, in one of the
  // two orders, what has not been written yet.
  step_ = (index + job_->number) % 2 == 0 ? 1 : -1;
  current_ = step_ > 0 ? 0 : num_threads_ - 1;
  *index_ = index_of(current_);
  num_unstarted_ = num_threads_ - 1;
  // Shared memory holds anything when a block starts. All bits set is NaN, which a reader of it cannot
  // overlook.
  if (job_->shared_bytes > 0) memset(shared_, 0xff, job_->shared_bytes);
  return true;
}

// Called by the first thread of a block that waits: all started before it have returned, the others are to be
// started.
WARPSMITH_OUTLINE void Worker::start_fibers() {
  has_fibers_ = true;
  num_gone_ = num_threads_ - num_unstarted_ - 1;
  next_start_ = current_ + step_;
  int first_gone = step_ > 0 ? 0 : current_ + 1;
  int end_gone = step_ > 0 ? current_ : num_threads_;
  for (int warp = 0; warp * warpSize < num_threads_; ++warp) {
    int base = warp * warpSize;
    uint32_t returned = lanes_below(end_gone - base) & ~lanes_below(first_gone - base);
    warps_[warp].gone = returned | ~lanes_below(num_threads_ - base);
    warps_[warp].num_pending = 0;
  }
}

WARPSMITH_OUTLINE bool Worker::next_after_exit() {
  exit_current();
  while (true) {
    if (!ready_.is_empty()) {
      // Nothing starts on this stack before the switch has left it.
      stacks_.give(stack_);
      Context discarded;
      resume(discarded, ready_.pop());
    }
    if (num_unstarted_ > 0) {
      current_ = take_unstarted();
      *index_ = index_of(current_);
      return true;
    }
    if (num_gone_ == num_threads_) {
      has_fibers_ = false;
      return next_block();
    }
    if (!release_open()) report_deadlock();
  }
}

// An exited thread is waited for no longer, neither by the block nor by its warp.
WARPSMITH_OUTLINE void Worker::exit_current() {
  ++num_gone_;
  int index = current_ / warpSize;
  Warp& warp = warps_[index];
  warp.gone |= 1u << lane();
  for (int pending = warp.num_pending - 1; pending >= 0; --pending) {
    if (is_complete(warp, warp.pending[pending])) complete(index, pending, 0);
  }
  if (num_arrived_ > 0 && num_arrived_ + num_gone_ == num_threads_) release_barrier();
}

inline Thread& Worker::stop_current() {
  Thread& self = threads_[current_];
  self.index = *index_;
  self.stack = stack_;
  return self;
}

// Ready threads come before unstarted ones: fewer stacks are then in use, and they stay in the cache.
WARPSMITH_OUTLINE void Worker::pick_next(Context& from) {
  while (ready_.is_empty()) {
    if (num_unstarted_ > 0) return start_next(from);
    if (!release_open()) report_deadlock();
  }
  resume(from, ready_.pop());
}

WARPSMITH_OUTLINE void Worker::start_next(Context& from) {
  int rank = take_unstarted();
  Thread& thread = threads_[rank];
  thread.stack = stacks_.take();
  if (thread.stack < 0) fail(cudaErrorMemoryAllocation, "no memory for the stack of another thread");
  thread.index = index_of(rank);
  Stacks::Range range = stacks_.range(thread.stack);
  make_context(thread.context, range.bottom, range.top, fiber_main);
  resume(from, &thread);
}

// The thread that waits may be the one that is ready: it has then been released meanwhile, and there is
// nothing to switch.
inline void Worker::resume(Context& from, Thread* thread) {
  current_ = static_cast<int>(thread - threads_);
  *index_ = thread->index;
  stack_ = thread->stack;
  if (&from != &thread->context) switch_context(from, thread->context);
}

WARPSMITH_OUTLINE void Worker::yield() {
  if (num_threads_ == 1) return;
  if (!has_fibers_) start_fibers();
  bool is_alone = ready_.is_empty() && num_unstarted_ == 0;
  if (is_alone && !release_open()) return;
  Thread& self = stop_current();
  ready_.push(&self);
  if (num_unstarted_ > 0) {
    start_next(self.context);
  } else {
    resume(self.context, ready_.pop());
  }
}

inline int Worker::take_unstarted() {
  int rank = next_start_;
  next_start_ += step_;
  --num_unstarted_;
  return rank;
}

inline uint3 Worker::index_of(int rank) const {
  unsigned place = static_cast<unsigned>(rank);
  return {place % block_.x, place / block_.x % block_.y, place / (block_.x * block_.y)};
}

}  // namespace warpsmith
#pragma GCC visibility pop
