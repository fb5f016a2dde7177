// One block of threads on one OS thread.
//
// Threads run one after the other on the same stack, as plain calls, for as long as none of them waits. The
// first one that waits (at a barrier, or for its warp) keeps its stack, and the threads after it get stacks
// of their own: fibers, switched by the waiting thread itself. So a kernel without barriers costs a loop, and
// one with barriers a switch a thread.
#pragma once

#include <stdint.h>
#include <string.h>

#include "context.h"
#include "errors.h"
#include "job.h"
#include "qualifiers.h"
#include "stacks.h"
#include "vectors.h"

#pragma GCC visibility push(hidden)

// Of the thread that runs. One look-up of the library's thread-local block serves all four.
#define WARPSMITH_BUILTIN inline thread_local __attribute__((tls_model("local-dynamic")))
WARPSMITH_BUILTIN uint3 threadIdx{0, 0, 0};
WARPSMITH_BUILTIN uint3 blockIdx{0, 0, 0};
WARPSMITH_BUILTIN dim3 blockDim{1, 1, 1};
WARPSMITH_BUILTIN dim3 gridDim{1, 1, 1};
constexpr int warpSize = 32;

namespace warpsmith {

constexpr size_t max_shared_bytes = 227 * 1024;
constexpr int max_warps = max_threads / 32;

struct Warp;

// Something that the lanes of a warp do together: `combine` sets `results` of `members` from everyone's
// `values`.
struct Collective {
  const char* name;
  void (*combine)(Warp& warp, uint32_t members);
};

struct Warp {
  struct Pending {
    const Collective* collective;
    uint32_t mask;  // lanes it waits for; 0 for "whoever comes"
    uint32_t arrived;
  };

  uint32_t gone;  // lanes that have exited or never were
  int num_pending;
  Pending pending[32];
  uint64_t values[32];
  uint32_t arguments[32];
  uint64_t results[32];
};

struct Thread {
  Context context;
  Thread* next;  // in a queue of waiting or ready threads
  uint3 index;
  int stack;
};

// First in, first out, through `Thread::next`.
struct Queue {
  Thread* first = nullptr;
  Thread* last = nullptr;

  bool is_empty() const { return first == nullptr; }

  void push(Thread* thread) {
    thread->next = nullptr;
    (is_empty() ? first : last->next) = thread;
    last = thread;
  }

  Thread* pop() {
    Thread* thread = first;
    first = thread->next;
    return thread;
  }

  void append(Queue& other) {
    if (other.is_empty()) return;
    (is_empty() ? first : last->next) = other.first;
    last = other.last;
    other.first = nullptr;
  }
};

inline uint32_t lanes_below(int lane) { return lane <= 0 ? 0 : lane >= 32 ? ~0u : (1u << lane) - 1; }

// Runs blocks of a job, one at a time. Its OS thread has it as `worker`.
class Worker {
 public:
  Worker();

  // Runs blocks until none is left or the job has failed.
  void run(Job& job);

  // After a thread has returned: makes the next one current, of this block or another. False if there is none
  // to start.
  bool next_thread() {
    if (__builtin_expect(has_fibers_, 0)) return next_after_exit();
    if (num_unstarted_ == 0) return next_block();
    --num_unstarted_;
    current_ += step_;
    step_index();
    return true;
  }

  // Waits for all threads of the block; those that have returned count as arrived. Returns for how many
  // `predicate` held.
  int barrier(bool predicate);

  // Waits for the lanes in `mask` to come to the same `collective`; returns what it made of this lane's
  // `value`.
  uint64_t collect(const Collective& collective, uint32_t mask, uint64_t value, uint32_t argument);

  // Lets the other threads of the block run, in case this one waits for what they do.
  void yield();

  // Called by operations that a thread repeats to take a lock or to wait for a flag: after many, others get
  // their turn.
  void spin() {
    uint64_t thread = next_index_ * max_threads + static_cast<uint64_t>(current_);
    if (thread != spinning_thread_) num_spins_ = 0;
    spinning_thread_ = thread;
    if (++num_spins_ > 64) yield();
  }

  // Ends the launch with an error. Does not return: the block's threads are abandoned where they stand.
  [[noreturn]] void fail(cudaError_t error, const char* format, ...) __attribute__((format(printf, 3, 4)));

  // The end of a fiber with nothing left to start.
  [[noreturn]] void leave();

  void* shared() const { return shared_; }
  int lane() const { return current_ % warpSize; }

 private:
  static void fiber_main();

  // Takes threadIdx to the thread after or before.
  void step_index() {
    if (__builtin_expect(step_ > 0, 1)) {
      if (__builtin_expect(++index_->x < block_.x, 1)) return;
      index_->x = 0;
      if (++index_->y < block_.y) return;
      index_->y = 0;
      ++index_->z;
    } else {
      if (__builtin_expect(index_->x-- > 0, 1)) return;
      index_->x = block_.x - 1;
      if (index_->y-- > 0) return;
      index_->y = block_.y - 1;
      --index_->z;
    }
  }

  uint3 index_of(int rank) const;
  int take_unstarted();
  bool next_block();
  bool next_after_exit();
  void start_fibers();
  void exit_current();
  Thread& stop_current();
  void pick_next(Context& from);
  void start_next(Context& from);
  void resume(Context& from, Thread* thread);

  void release_barrier();
  static bool is_complete(const Warp& warp, const Warp::Pending& pending);
  int find_or_add(Warp& warp, const Collective& collective, uint32_t mask);
  void complete(int warp, int pending, uint32_t running);
  bool release_open();
  [[noreturn]] void report_deadlock();

  Job* job_ = nullptr;
  uint3* index_ = nullptr;  // this OS thread's threadIdx, which is cheaper to reach from here
  dim3 block_;
  int num_threads_ = 0;
  int num_unstarted_ = 0;
  int step_ = 1;             // threads start in the order of their ranks, or against it
  int current_ = 0;          // rank in its block of the thread that runs
  bool has_fibers_ = false;  // some thread of this block has waited
  int next_start_ = 0;       // rank of the next thread to start, once there are fibers
  int num_gone_ = 0;         // threads that have returned, once there are fibers
  int num_arrived_ = 0;      // threads at the barrier
  int num_true_ = 0;         // for how many of them the predicate held
  int barrier_result_ = 0;
  int stack_ = -1;                           // the current one
  uint64_t next_index_ = 0, end_index_ = 0;  // claimed blocks
  uint64_t spinning_thread_ = 0;
  int num_spins_ = 0;
  Context home_;
  Queue ready_, at_barrier_;
  Stacks stacks_;
  char* shared_;
  Thread threads_[max_threads];
  Warp warps_[max_warps];
};

WARPSMITH_BUILTIN Worker* worker = nullptr;

}  // namespace warpsmith
#pragma GCC visibility pop

#include "block_run.h"
#include "block_wait.h"
