// What a program has done, for whoever models its time. Exported from the .so (see exports.h).
#pragma once

#include <atomic>

#pragma GCC visibility push(hidden)
namespace warpsmith {

struct Counters {
  std::atomic<long long> launches{0};
  std::atomic<long long> threads{0};
  std::atomic<long long> library_flops{0};
  std::atomic<long long> library_calls{0};
};

inline Counters counters;

}  // namespace warpsmith
#pragma GCC visibility pop
