// Atomics on the types that CUDA has them for. Blocks run on several OS threads, so these are the processor's
// own.
#pragma once

#include "warp.h"

#pragma GCC visibility push(hidden)
namespace warpsmith {

template <class T>
struct BitsOf;
template <>
struct BitsOf<float> {
  using type = uint32_t;
};
template <>
struct BitsOf<double> {
  using type = uint64_t;
};
template <>
struct BitsOf<int> {
  using type = int;
};
template <>
struct BitsOf<unsigned> {
  using type = unsigned;
};
template <>
struct BitsOf<long long> {
  using type = long long;
};
template <>
struct BitsOf<unsigned long long> {
  using type = unsigned long long;
};

// Replaces *address by change(*address) in one step; returns what was there.
template <class T, class Change>
inline T atomic_update(T* address, Change change) {
  using Bits = typename BitsOf<T>::type;
  Bits* bits = reinterpret_cast<Bits*>(address);
  Bits seen = __atomic_load_n(bits, __ATOMIC_RELAXED);
  while (true) {
    T old;
    memcpy(static_cast<void*>(&old), &seen, sizeof old);
    T changed = change(old);
    Bits wanted;
    memcpy(&wanted, &changed, sizeof wanted);
    if (__atomic_compare_exchange_n(bits, &seen, wanted, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      return old;
  }
}

}  // namespace warpsmith

#define WARPSMITH_ATOMICS_INTEGER(T)                                                                       \
  inline T atomicAdd(T* address, T value) { return __atomic_fetch_add(address, value, __ATOMIC_RELAXED); } \
  inline T atomicAnd(T* address, T value) { return __atomic_fetch_and(address, value, __ATOMIC_RELAXED); } \
  inline T atomicOr(T* address, T value) { return __atomic_fetch_or(address, value, __ATOMIC_RELAXED); }   \
  inline T atomicXor(T* address, T value) { return __atomic_fetch_xor(address, value, __ATOMIC_RELAXED); } \
  inline T atomicMin(T* address, T value) {                                                                \
    return warpsmith::atomic_update(address, [=](T old) { return value < old ? value : old; });            \
  }                                                                                                        \
  inline T atomicMax(T* address, T value) {                                                                \
    return warpsmith::atomic_update(address, [=](T old) { return value > old ? value : old; });            \
  }                                                                                                        \
  inline T atomicExch(T* address, T value) {                                                               \
    warpsmith::worker->spin();                                                                             \
    return __atomic_exchange_n(address, value, __ATOMIC_SEQ_CST);                                          \
  }                                                                                                        \
  inline T atomicCAS(T* address, T expected, T value) {                                                    \
    warpsmith::worker->spin();                                                                             \
    __atomic_compare_exchange_n(address, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);     \
    return expected;                                                                                       \
  }

WARPSMITH_ATOMICS_INTEGER(int)
WARPSMITH_ATOMICS_INTEGER(unsigned int)
WARPSMITH_ATOMICS_INTEGER(unsigned long long)
#undef WARPSMITH_ATOMICS_INTEGER

inline long long atomicMin(long long* address, long long value) {
  return warpsmith::atomic_update(address, [=](long long old) { return value < old ? value : old; });
}
inline long long atomicMax(long long* address, long long value) {
  return warpsmith::atomic_update(address, [=](long long old) { return value > old ? value : old; });
}

inline int atomicSub(int* address, int value) { return __atomic_fetch_sub(address, value, __ATOMIC_RELAXED); }
inline unsigned atomicSub(unsigned* address, unsigned value) {
  return __atomic_fetch_sub(address, value, __ATOMIC_RELAXED);
}

inline unsigned atomicInc(unsigned* address, unsigned limit) {
  return warpsmith::atomic_update(address, [=](unsigned old) { return old >= limit ? 0 : old + 1; });
}
inline unsigned atomicDec(unsigned* address, unsigned limit) {
  return warpsmith::atomic_update(address,
                                  [=](unsigned old) { return old == 0 || old > limit ? limit : old - 1; });
}

inline float atomicAdd(float* address, float value) {
  return warpsmith::atomic_update(address, [=](float old) { return old + value; });
}
inline double atomicAdd(double* address, double value) {
  return warpsmith::atomic_update(address, [=](double old) { return old + value; });
}
inline float atomicExch(float* address, float value) {
  warpsmith::worker->spin();
  return warpsmith::atomic_update(address, [=](float) { return value; });
}

inline unsigned short atomicCAS(unsigned short* address, unsigned short expected, unsigned short value) {
  warpsmith::worker->spin();
  __atomic_compare_exchange_n(address, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return expected;
}

// Vectors are added element by element, as on the GPU: each element is atomic, the whole is not.
inline float2 atomicAdd(float2* address, float2 value) {
  return {atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y)};
}
inline float4 atomicAdd(float4* address, float4 value) {
  return {atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y), atomicAdd(&address->z, value.z),
          atomicAdd(&address->w, value.w)};
}

#define WARPSMITH_SCOPES(name)                              \
  template <class T, class... Values>                       \
  inline auto name##_block(T* address, Values... values) {  \
    return name(address, static_cast<T>(values)...);        \
  }                                                         \
  template <class T, class... Values>                       \
  inline auto name##_system(T* address, Values... values) { \
    return name(address, static_cast<T>(values)...);        \
  }
WARPSMITH_SCOPES(atomicAdd)
WARPSMITH_SCOPES(atomicSub)
WARPSMITH_SCOPES(atomicInc)
WARPSMITH_SCOPES(atomicDec)
WARPSMITH_SCOPES(atomicMin)
WARPSMITH_SCOPES(atomicMax)
WARPSMITH_SCOPES(atomicExch)
WARPSMITH_SCOPES(atomicCAS)
WARPSMITH_SCOPES(atomicAnd)
WARPSMITH_SCOPES(atomicOr)
WARPSMITH_SCOPES(atomicXor)
#undef WARPSMITH_SCOPES

#pragma GCC visibility pop
