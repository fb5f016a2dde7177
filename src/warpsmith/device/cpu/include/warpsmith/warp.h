// What threads do together: barriers, shuffles, votes, reductions over a warp.
#pragma once

#include <type_traits>

#include "block.h"

#pragma GCC visibility push(hidden)
namespace warpsmith {

inline void combine_none(Warp&, uint32_t) {}

// A lane that has exited has no value: CUDA leaves the result undefined, we make it NaN or -1, which is hard
// to overlook.
inline void combine_shuffle(Warp& warp, uint32_t members) {
  for (uint32_t rest = members; rest != 0; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    uint32_t source = warp.arguments[lane];
    warp.results[lane] = members >> source & 1 ? warp.values[source] : ~uint64_t{0};
  }
}

inline void combine_ballot(Warp& warp, uint32_t members) {
  uint32_t votes = 0;
  for (uint32_t rest = members; rest != 0; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    votes |= static_cast<uint32_t>(warp.values[lane] != 0) << lane;
  }
  // The lanes that voted, and those that were there to vote.
  for (uint32_t rest = members; rest != 0; rest &= rest - 1) {
    warp.results[__builtin_ctz(rest)] = uint64_t{members} << 32 | votes;
  }
}

inline void combine_match(Warp& warp, uint32_t members) {
  for (uint32_t rest = members; rest != 0; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    uint32_t equal = 0;
    for (uint32_t others = members; others != 0; others &= others - 1) {
      int other = __builtin_ctz(others);
      equal |= static_cast<uint32_t>(warp.values[other] == warp.values[lane]) << other;
    }
    warp.results[lane] = uint64_t{members} << 32 | equal;
  }
}

inline uint32_t add(uint32_t a, uint32_t b) { return a + b; }
inline uint32_t both(uint32_t a, uint32_t b) { return a & b; }
inline uint32_t either(uint32_t a, uint32_t b) { return a | b; }
inline uint32_t differ(uint32_t a, uint32_t b) { return a ^ b; }
inline uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }
inline uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }
inline uint32_t smaller_signed(uint32_t a, uint32_t b) {
  return static_cast<int>(a) < static_cast<int>(b) ? a : b;
}
inline uint32_t larger_signed(uint32_t a, uint32_t b) {
  return static_cast<int>(a) > static_cast<int>(b) ? a : b;
}

template <uint32_t (*operation)(uint32_t, uint32_t)>
void combine_reduce(Warp& warp, uint32_t members) {
  uint32_t total = static_cast<uint32_t>(warp.values[__builtin_ctz(members)]);
  for (uint32_t rest = members & (members - 1); rest != 0; rest &= rest - 1) {
    total = operation(total, static_cast<uint32_t>(warp.values[__builtin_ctz(rest)]));
  }
  for (uint32_t rest = members; rest != 0; rest &= rest - 1) warp.results[__builtin_ctz(rest)] = total;
}

inline constexpr Collective sync_warp{"__syncwarp", combine_none};
inline constexpr Collective shuffle{"a __shfl_sync", combine_shuffle};
inline constexpr Collective ballot{"a vote (__ballot_sync, __any_sync, __all_sync)", combine_ballot};
inline constexpr Collective match{"__match_any_sync or __match_all_sync", combine_match};
inline constexpr Collective active{"__activemask", combine_ballot};

template <uint32_t (*operation)(uint32_t, uint32_t)>
inline constexpr Collective reduce{"a __reduce_sync", combine_reduce<operation>};

// What CUDA's shuffles take: numbers, and the 16-bit floating-point types (see float16.h).
template <class T>
inline constexpr bool is_exchangeable = std::is_arithmetic_v<T> || std::is_enum_v<T>;

// The bits of a scalar of at most eight bytes, and back.
template <class T>
inline uint64_t to_bits(const T& value) {
  static_assert(is_exchangeable<T> && sizeof(T) <= 8, "no warp function takes this type");
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof value);
  return bits;
}

template <class T>
inline T from_bits(uint64_t bits) {
  T value;
  memcpy(static_cast<void*>(&value), &bits, sizeof value);
  return value;
}

template <class T>
inline T shuffle_from(unsigned mask, const T& value, int source) {
  return from_bits<T>(worker->collect(shuffle, mask, to_bits(value), static_cast<uint32_t>(source)));
}

template <uint32_t (*operation)(uint32_t, uint32_t)>
inline uint32_t reduce_over(unsigned mask, uint32_t value) {
  return static_cast<uint32_t>(worker->collect(reduce<operation>, mask, value, 0));
}

// A source lane outside the lane's segment of `width` means the lane itself.
inline int source_up(int lane, int delta, int width) {
  return lane - delta < (lane & -width) ? lane : lane - delta;
}

inline int source_down(int lane, int delta, int width) {
  return (lane & (width - 1)) + delta < width ? lane + delta : lane;
}

inline int source_xor(int lane, int lane_mask, int width) {
  int source = lane ^ lane_mask;
  return source < (lane & -width) + width ? source : lane;
}

inline int source_index(int lane, int index, int width) { return (lane & -width) + (index & (width - 1)); }

}  // namespace warpsmith

inline void __syncthreads() { warpsmith::worker->barrier(false); }
inline int __syncthreads_count(int predicate) { return warpsmith::worker->barrier(predicate != 0); }
inline int __syncthreads_or(int predicate) { return warpsmith::worker->barrier(predicate != 0) != 0; }
inline int __syncthreads_and(int predicate) { return warpsmith::worker->barrier(predicate == 0) == 0; }
inline void __syncwarp(unsigned mask = 0xffffffff) {
  warpsmith::worker->collect(warpsmith::sync_warp, mask, 0, 0);
}

template <class T>
inline T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  return warpsmith::shuffle_from(mask, value,
                                 warpsmith::source_index(warpsmith::worker->lane(), source, width));
}

template <class T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  return warpsmith::shuffle_from(
      mask, value, warpsmith::source_up(warpsmith::worker->lane(), static_cast<int>(delta), width));
}

template <class T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  return warpsmith::shuffle_from(
      mask, value, warpsmith::source_down(warpsmith::worker->lane(), static_cast<int>(delta), width));
}

template <class T>
inline T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32) {
  return warpsmith::shuffle_from(mask, value,
                                 warpsmith::source_xor(warpsmith::worker->lane(), lane_mask, width));
}

inline unsigned __ballot_sync(unsigned mask, int predicate) {
  return static_cast<unsigned>(warpsmith::worker->collect(warpsmith::ballot, mask, predicate != 0, 0));
}

inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate == 0) == 0; }

inline unsigned __activemask() {
  return static_cast<unsigned>(warpsmith::worker->collect(warpsmith::active, 0, 1, 0));
}

template <class T>
inline unsigned __match_any_sync(unsigned mask, T value) {
  return static_cast<unsigned>(
      warpsmith::worker->collect(warpsmith::match, mask, warpsmith::to_bits(value), 0));
}

template <class T>
inline unsigned __match_all_sync(unsigned mask, T value, int* predicate) {
  uint64_t result = warpsmith::worker->collect(warpsmith::match, mask, warpsmith::to_bits(value), 0);
  *predicate = static_cast<uint32_t>(result) == static_cast<uint32_t>(result >> 32);
  return *predicate ? mask : 0;
}

#define WARPSMITH_REDUCE(name, type, operation)                                            \
  inline type __reduce_##name##_sync(unsigned mask, type value) {                          \
    return static_cast<type>(                                                              \
        warpsmith::reduce_over<warpsmith::operation>(mask, static_cast<uint32_t>(value))); \
  }
WARPSMITH_REDUCE(add, int, add)
WARPSMITH_REDUCE(add, unsigned, add)
WARPSMITH_REDUCE(min, int, smaller_signed)
WARPSMITH_REDUCE(min, unsigned, smaller)
WARPSMITH_REDUCE(max, int, larger_signed)
WARPSMITH_REDUCE(max, unsigned, larger)
WARPSMITH_REDUCE(and, unsigned, both)
WARPSMITH_REDUCE(or, unsigned, either)
WARPSMITH_REDUCE(xor, unsigned, differ)
#undef WARPSMITH_REDUCE

inline void __threadfence() { std::atomic_thread_fence(std::memory_order_seq_cst); }
inline void __threadfence_block() { std::atomic_thread_fence(std::memory_order_seq_cst); }
inline void __threadfence_system() { std::atomic_thread_fence(std::memory_order_seq_cst); }
inline void __nanosleep(unsigned) { warpsmith::worker->yield(); }

[[noreturn]] inline void __trap() { warpsmith::worker->fail(cudaErrorLaunchFailure, "__trap() was called"); }
[[noreturn]] inline void __brkpt() {
  warpsmith::worker->fail(cudaErrorLaunchFailure, "__brkpt() was called");
}

#pragma GCC visibility pop
