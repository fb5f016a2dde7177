// CUDA's integer, bit and rounding intrinsics.
#pragma once

#include <limits.h>
#include <string.h>
#include <time.h>

#include "math.h"
#include "vectors.h"

#pragma GCC visibility push(hidden)

// Reading past or around caches is plain reading here.
template <class T>
inline T __ldg(const T* address) {
  return *address;
}
template <class T>
inline T __ldca(const T* address) {
  return *address;
}
template <class T>
inline T __ldcg(const T* address) {
  return *address;
}
template <class T>
inline T __ldcs(const T* address) {
  return *address;
}
template <class T>
inline T __ldlu(const T* address) {
  return *address;
}
template <class T>
inline T __ldcv(const T* address) {
  return *static_cast<const volatile T*>(address);
}
template <class T>
inline void __stwb(T* address, T value) {
  *address = value;
}
template <class T>
inline void __stcg(T* address, T value) {
  *address = value;
}
template <class T>
inline void __stcs(T* address, T value) {
  *address = value;
}
template <class T>
inline void __stwt(T* address, T value) {
  *address = value;
}

inline void __prefetch_global_l1(const void*) {}
inline void __prefetch_global_l2(const void*) {}
inline size_t __cvta_generic_to_shared(const void* address) { return reinterpret_cast<size_t>(address); }

namespace warpsmith {

template <class To, class From>
inline To bit_cast(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(static_cast<void*>(&to), &from, sizeof to);
  return to;
}

// Keeps the compiler from fusing an operation with its neighbour: these round by themselves.
inline float rounded(float x) {
#if defined(__x86_64__)
  asm("" : "+x"(x));
#elif defined(__aarch64__)
  asm("" : "+w"(x));
#endif
  return x;
}
inline double rounded(double x) {
#if defined(__x86_64__)
  asm("" : "+x"(x));
#elif defined(__aarch64__)
  asm("" : "+w"(x));
#endif
  return x;
}

// A float's neighbour towards zero, down or up, if `error` (exact minus rounded) says that rounding went the
// other way.
inline float rounded_down(double exact) {
  float nearest = static_cast<float>(exact);
  return nearest > exact ? nextafterf(nearest, -INFINITY) : nearest;
}
inline float rounded_up(double exact) {
  float nearest = static_cast<float>(exact);
  return nearest < exact ? nextafterf(nearest, INFINITY) : nearest;
}
inline float rounded_to_zero(double exact) { return exact < 0 ? rounded_up(exact) : rounded_down(exact); }

// As on the GPU: NaN is 0, and what is out of range becomes the nearest number in it.
template <class Integer>
inline Integer saturated(double x) {
  constexpr bool is_signed = static_cast<Integer>(-1) < 0;
  constexpr Integer lowest = is_signed ? static_cast<Integer>(1ull << (sizeof(Integer) * CHAR_BIT - 1)) : 0;
  constexpr Integer highest = static_cast<Integer>(~lowest);
  if (x != x) return 0;
  if (x <= static_cast<double>(lowest)) return lowest;
  if (x >= static_cast<double>(highest)) return highest;
  return static_cast<Integer>(x);
}

}  // namespace warpsmith

inline float __int_as_float(int bits) { return warpsmith::bit_cast<float>(bits); }
inline float __uint_as_float(unsigned bits) { return warpsmith::bit_cast<float>(bits); }
inline int __float_as_int(float x) { return warpsmith::bit_cast<int>(x); }
inline unsigned __float_as_uint(float x) { return warpsmith::bit_cast<unsigned>(x); }
inline double __longlong_as_double(long long bits) { return warpsmith::bit_cast<double>(bits); }
inline long long __double_as_longlong(double x) { return warpsmith::bit_cast<long long>(x); }
inline int __double2hiint(double x) { return static_cast<int>(__double_as_longlong(x) >> 32); }
inline int __double2loint(double x) { return static_cast<int>(__double_as_longlong(x)); }
inline double __hiloint2double(int high, int low) {
  return __longlong_as_double(static_cast<long long>(high) << 32 | static_cast<unsigned>(low));
}

#define WARPSMITH_ARITHMETIC(prefix, T, fma_function)                                         \
  inline T prefix##add_rn(T a, T b) { return warpsmith::rounded(warpsmith::rounded(a) + b); } \
  inline T prefix##sub_rn(T a, T b) { return warpsmith::rounded(warpsmith::rounded(a) - b); } \
  inline T prefix##mul_rn(T a, T b) { return warpsmith::rounded(a * b); }                     \
  inline T prefix##div_rn(T a, T b) { return warpsmith::rounded(a / b); }                     \
  inline T prefix##ma_rn(T a, T b, T c) { return fma_function(a, b, c); }
WARPSMITH_ARITHMETIC(__f, float, fmaf)
#undef WARPSMITH_ARITHMETIC
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline double __dadd_rn(double a, double b) { return warpsmith::rounded(warpsmith::rounded(a) + b); }
inline double __dsub_rn(double a, double b) { return warpsmith::rounded(warpsmith::rounded(a) - b); }
inline double __dmul_rn(double a, double b) { return warpsmith::rounded(a * b); }
inline double __ddiv_rn(double a, double b) { return warpsmith::rounded(a / b); }
inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
inline double __drcp_rn(double x) { return 1.0 / x; }
inline double __dsqrt_rn(double x) { return sqrt(x); }
inline float __frcp_rn(float x) { return warpsmith::rounded(1.0f / x); }
inline float __fsqrt_rn(float x) { return sqrtf(x); }
inline float __frsqrt_rn(float x) { return static_cast<float>(1.0 / sqrt(static_cast<double>(x))); }

// The exact sum and product of two floats fit into a double closely enough to tell the directed roundings
// apart.
#define WARPSMITH_DIRECTED(suffix, round)                                                                 \
  inline float __fadd_##suffix(float a, float b) { return warpsmith::round(static_cast<double>(a) + b); } \
  inline float __fsub_##suffix(float a, float b) { return warpsmith::round(static_cast<double>(a) - b); } \
  inline float __fmul_##suffix(float a, float b) { return warpsmith::round(static_cast<double>(a) * b); } \
  inline float __fdiv_##suffix(float a, float b) { return warpsmith::round(static_cast<double>(a) / b); } \
  inline float __frcp_##suffix(float x) { return warpsmith::round(1.0 / static_cast<double>(x)); }        \
  inline float __fsqrt_##suffix(float x) { return warpsmith::round(sqrt(static_cast<double>(x))); }       \
  inline float __fmaf_##suffix(float a, float b, float c) {                                               \
    return warpsmith::round(fma(static_cast<double>(a), static_cast<double>(b), static_cast<double>(c))); \
  }                                                                                                       \
  inline float __double2float_##suffix(double x) { return warpsmith::round(x); }                          \
  inline float __int2float_##suffix(int x) { return warpsmith::round(x); }                                \
  inline float __uint2float_##suffix(unsigned x) { return warpsmith::round(x); }
WARPSMITH_DIRECTED(rz, rounded_to_zero)
WARPSMITH_DIRECTED(rd, rounded_down)
WARPSMITH_DIRECTED(ru, rounded_up)
#undef WARPSMITH_DIRECTED

#define WARPSMITH_TO_INTEGER(suffix, round)                                                             \
  inline int __float2int_##suffix(float x) { return warpsmith::saturated<int>(round(x)); }              \
  inline unsigned __float2uint_##suffix(float x) { return warpsmith::saturated<unsigned>(round(x)); }   \
  inline long long __float2ll_##suffix(float x) { return warpsmith::saturated<long long>(round(x)); }   \
  inline unsigned long long __float2ull_##suffix(float x) {                                             \
    return warpsmith::saturated<unsigned long long>(round(x));                                          \
  }                                                                                                     \
  inline int __double2int_##suffix(double x) { return warpsmith::saturated<int>(round(x)); }            \
  inline unsigned __double2uint_##suffix(double x) { return warpsmith::saturated<unsigned>(round(x)); } \
  inline long long __double2ll_##suffix(double x) { return warpsmith::saturated<long long>(round(x)); }
WARPSMITH_TO_INTEGER(rn, rint)
WARPSMITH_TO_INTEGER(rz, trunc)
WARPSMITH_TO_INTEGER(rd, floor)
WARPSMITH_TO_INTEGER(ru, ceil)
#undef WARPSMITH_TO_INTEGER

inline float __int2float_rn(int x) { return static_cast<float>(x); }
inline float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
inline float __ll2float_rn(long long x) { return static_cast<float>(x); }
inline float __ull2float_rn(unsigned long long x) { return static_cast<float>(x); }
inline float __double2float_rn(double x) { return static_cast<float>(x); }
inline double __int2double_rn(int x) { return x; }
inline double __uint2double_rn(unsigned x) { return x; }
inline double __ll2double_rn(long long x) { return static_cast<double>(x); }

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x)); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }

inline unsigned long long __brevll(unsigned long long x) {
  x = (x & 0x5555555555555555ull) << 1 | (x >> 1 & 0x5555555555555555ull);
  x = (x & 0x3333333333333333ull) << 2 | (x >> 2 & 0x3333333333333333ull);
  x = (x & 0x0f0f0f0f0f0f0f0full) << 4 | (x >> 4 & 0x0f0f0f0f0f0f0f0full);
  return __builtin_bswap64(x);
}
inline unsigned __brev(unsigned x) { return static_cast<unsigned>(__brevll(x) >> 32); }

inline int __mul24(int a, int b) { return (a << 8 >> 8) * (b << 8 >> 8); }
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }
inline int __mulhi(int a, int b) { return static_cast<int>(static_cast<long long>(a) * b >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<uint64_t>(a) * b >> 32);
}
inline long long __mul64hi(long long a, long long b) {
  return static_cast<long long>(static_cast<__int128>(a) * b >> 64);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
inline int __hadd(int a, int b) { return static_cast<int>((static_cast<long long>(a) + b) >> 1); }
inline int __rhadd(int a, int b) { return static_cast<int>((static_cast<long long>(a) + b + 1) >> 1); }
inline unsigned __sad(int a, int b, unsigned sum) {
  return sum + static_cast<unsigned>(llabs(static_cast<long long>(a) - b));
}
inline unsigned __usad(unsigned a, unsigned b, unsigned sum) { return sum + (a > b ? a - b : b - a); }

inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((uint64_t{high} << 32 | low) << (shift & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((uint64_t{high} << 32 | low) >> (shift & 31));
}

// Each of the selector's four digits picks one of the eight bytes, or spreads its sign.
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
  uint64_t bytes = uint64_t{high} << 32 | low;
  unsigned result = 0;
  for (int place = 0; place < 4; ++place) {
    unsigned digit = selector >> (4 * place) & 15;
    unsigned byte = static_cast<unsigned>(bytes >> (8 * (digit & 7))) & 0xff;
    if (digit & 8) byte = byte & 0x80 ? 0xff : 0;
    result |= byte << (8 * place);
  }
  return result;
}

inline int __dp4a(int a, int b, int sum) {
  for (int place = 0; place < 32; place += 8)
    sum += static_cast<signed char>(a >> place) * static_cast<signed char>(b >> place);
  return sum;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned sum) {
  for (int place = 0; place < 32; place += 8) sum += (a >> place & 0xff) * (b >> place & 0xff);
  return sum;
}

inline long long clock64() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000ll + now.tv_nsec;
}
inline unsigned long long __globaltimer() { return static_cast<unsigned long long>(clock64()); }

#pragma GCC visibility pop
