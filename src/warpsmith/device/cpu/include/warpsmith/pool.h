// The cores: a pool of OS threads, made at the first launch, that share out the blocks of one job at a time.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "block.h"

#pragma GCC visibility push(hidden)
namespace warpsmith {

// More than these, each with a block's stacks, cost more memory and threads than they bring.
constexpr int max_cores = 32;

class Pool {
 public:
  // Runs `job` to its end, the calling thread among the workers. One job at a time; further callers wait.
  void run(Job& job) {
    pthread_mutex_lock(&launching_);
    forget_after_fork();
    if (caller_ == nullptr) caller_ = new Worker();
    uint64_t share = job.num_blocks / (8 * static_cast<uint64_t>(num_cores()));
    job.chunk = share < 1 ? 1 : share > 64 ? 64 : share;
    if (job.num_blocks > 1) offer(job);
    caller_->run(job);
    if (job.num_blocks > 1) withdraw();
    pthread_mutex_unlock(&launching_);
  }

  static int num_cores() {
    static const int cores = count_cores();
    return cores;
  }

 private:
  static int count_cores() {
    if (const char* wanted = getenv("WARPSMITH_CPU_THREADS")) {
      if (atoi(wanted) > 0) return atoi(wanted);
    }
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    return CPU_COUNT(&set) < max_cores ? CPU_COUNT(&set) : max_cores;
  }

  // The threads of a forked process's parent are not in it.
  void forget_after_fork() {
    if (owner_ == getpid()) return;
    owner_ = getpid();
    num_helpers_ = num_busy_ = 0;
    job_ = nullptr;
    pthread_mutex_init(&lock_, nullptr);
    pthread_cond_init(&offered_, nullptr);
    pthread_cond_init(&finished_, nullptr);
  }

  void offer(Job& job) {
    pthread_mutex_lock(&lock_);
    job_ = &job;
    ++generation_;
    while (num_helpers_ < num_cores() - 1 && add_helper()) ++num_helpers_;
    pthread_cond_broadcast(&offered_);
    pthread_mutex_unlock(&lock_);
  }

  // A helper that wakes too late finds no job, and the caller has done its blocks.
  void withdraw() {
    pthread_mutex_lock(&lock_);
    job_ = nullptr;
    while (num_busy_ > 0) pthread_cond_wait(&finished_, &lock_);
    pthread_mutex_unlock(&lock_);
  }

  bool add_helper() {
    pthread_t thread;
    if (pthread_create(&thread, nullptr, help, this) != 0) return false;  // fewer will do
    pthread_detach(thread);
    return true;
  }

  static void* help(void* pool) {
    static_cast<Pool*>(pool)->serve(*new Worker());
    return nullptr;
  }

  [[noreturn]] void serve(Worker& helper) {
    uint64_t seen = 0;
    pthread_mutex_lock(&lock_);
    while (true) {
      while (job_ == nullptr || generation_ == seen) pthread_cond_wait(&offered_, &lock_);
      seen = generation_;
      Job& job = *job_;
      ++num_busy_;
      pthread_mutex_unlock(&lock_);
      helper.run(job);
      pthread_mutex_lock(&lock_);
      if (--num_busy_ == 0) pthread_cond_signal(&finished_);
    }
  }

  pthread_mutex_t launching_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t offered_ = PTHREAD_COND_INITIALIZER;
  pthread_cond_t finished_ = PTHREAD_COND_INITIALIZER;
  Job* job_ = nullptr;
  uint64_t generation_ = 0;
  int num_helpers_ = 0;
  int num_busy_ = 0;
  Worker* caller_ = nullptr;
  pid_t owner_ = 0;
};

// Never destroyed: its threads may outlive every destructor.
inline Pool& pool() {
  static Pool* const pool = new Pool();
  return *pool;
}

}  // namespace warpsmith
#pragma GCC visibility pop
