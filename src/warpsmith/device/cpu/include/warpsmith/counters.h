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

// Whether launches are counted and then not carried out, so that a judge sees what depends on them.
inline std::atomic<bool> is_inert{false};

// The names of the first distinct kernels launched, as the source spells them.
constexpr int max_kernels = 64;
inline std::atomic<const char*> launched_kernels[max_kernels];

inline void note_launch(const char* kernel) {
  for (std::atomic<const char*>& known : launched_kernels) {
    const char* empty = nullptr;
    if (known.compare_exchange_strong(empty, kernel) || empty == kernel) return;
  }
}

}  // namespace warpsmith
#pragma GCC visibility pop
