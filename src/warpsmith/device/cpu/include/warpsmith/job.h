// A launch: what each thread does, over which grid. Shared by the workers that take blocks of it.
#pragma once

#include <atomic>
#include <stdint.h>

#include "errors.h"
#include "vectors.h"

#pragma GCC visibility push(hidden)
namespace warpsmith {

struct Job {
  const char* kernel;                       // its name in the source
  void (*run_threads)(const void* thread);  // calls `thread` for the current thread and all after it
  const void* thread;
  dim3 grid, block;
  size_t shared_bytes;
  uint64_t number = 0;  // of the launch, in the order of launches
  uint64_t num_blocks;
  uint64_t chunk;  // blocks claimed at once
  std::atomic<uint64_t> next_block{0};
  std::atomic<int> error{cudaSuccess};
};

}  // namespace warpsmith
#pragma GCC visibility pop
