// The other end of the translation: kernel("k", call)(grid, block, shared, stream)(arguments…).
#pragma once

#include "counters.h"
#include "pool.h"
#include "runtime_types.h"

#pragma GCC visibility push(hidden)
namespace warpsmith {

constexpr size_t default_shared_bytes = 48 * 1024;

// Kernels must ask for more than 48 KB by cudaFuncSetAttribute. The largest grant of the program: which
// kernel it was for is not known here, so a program that asks for one kernel and forgets another gets away
// with it.
inline std::atomic<size_t> granted_shared_bytes{default_shared_bytes};

inline cudaError_t check_configuration(const char* kernel, dim3 grid, dim3 block, size_t shared_bytes) {
  uint64_t num_threads = uint64_t{block.x} * block.y * block.z;
  bool is_block_valid =
      num_threads >= 1 && num_threads <= max_threads && block.x <= 1024 && block.y <= 1024 && block.z <= 64;
  bool is_grid_valid = grid.x >= 1 && grid.y >= 1 && grid.z >= 1 && grid.x <= 0x7fffffffu &&
                       grid.y <= 65535 && grid.z <= 65535;
  if (!is_block_valid || !is_grid_valid) {
    describe_error("launch of %s: a grid of (%u, %u, %u) blocks of (%u, %u, %u) threads is not valid", kernel,
                   grid.x, grid.y, grid.z, block.x, block.y, block.z);
    return cudaErrorInvalidConfiguration;
  }
  if (shared_bytes > granted_shared_bytes.load() || shared_bytes > max_shared_bytes) {
    describe_error(
        "launch of %s: %zu bytes of dynamic shared memory; without cudaFuncSetAttribute at most %zu", kernel,
        shared_bytes, default_shared_bytes);
    return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}

inline void run_grid(Job& job) {
  if (sticky_error.load() != cudaSuccess) return;
  if (worker != nullptr)
    worker->fail(cudaErrorNotSupported, "launches %s; kernels cannot launch kernels here", job.kernel);
  if (set_error(check_configuration(job.kernel, job.grid, job.block, job.shared_bytes)) != cudaSuccess)
    return;
  job.num_blocks = uint64_t{job.grid.x} * job.grid.y * job.grid.z;
  note_launch(job.kernel);
  counters.launches += 1;
  counters.threads += static_cast<long long>(job.num_blocks * job.block.x * job.block.y * job.block.z);
  if (is_inert.load()) return;
  static std::atomic<uint64_t> num_launches{0};
  job.number = num_launches++;
  pool().run(job);
  cudaError_t error = static_cast<cudaError_t>(job.error.load());
  bool is_context_lost = error >= cudaErrorIllegalAddress && error != cudaErrorLaunchOutOfResources;
  if (is_context_lost && error < cudaErrorNotPermitted) sticky_error = error;
  set_error(error);
}

template <class Thread>
void run_threads(const void* thread) {
  const Thread& call = *static_cast<const Thread*>(thread);
  Worker& self = *worker;
  do {
    call();
  } while (self.next_thread());
}

template <class Call>
struct Launch {
  const char* name;
  const Call& call;
  dim3 grid, block;
  size_t shared_bytes;

  // By value, once for the launch; each thread's parameters are then copies of these.
  template <class... Arguments>
  void operator()(Arguments... arguments) const {
    auto thread = [&] { call(arguments...); };
    Job job;
    job.kernel = name;
    job.run_threads = run_threads<decltype(thread)>;
    job.thread = &thread;
    job.grid = grid;
    job.block = block;
    job.shared_bytes = shared_bytes;
    run_grid(job);
  }
};

template <class Call>
struct Kernel {
  const char* name;
  Call call;

  Launch<Call> operator()(dim3 grid, dim3 block, size_t shared_bytes = 0, cudaStream_t = nullptr) const {
    return {name, call, grid, block, shared_bytes};
  }
};

template <class Call>
Kernel<Call> kernel(const char* name, Call call) {
  return {name, call};
}

inline void check_launch_bound(unsigned max_block_threads) {
  unsigned num_threads = blockDim.x * blockDim.y * blockDim.z;
  if (__builtin_expect(num_threads > max_block_threads, 0)) {
    worker->fail(cudaErrorLaunchOutOfResources, "%u threads a block, but __launch_bounds__(%u)", num_threads,
                 max_block_threads);
  }
}

// `extern __shared__ T name[];` is a pointer to this.
struct DynamicShared {
  template <class T>
  operator T*() const {
    return static_cast<T*>(worker->shared());
  }
};

}  // namespace warpsmith
#pragma GCC visibility pop
