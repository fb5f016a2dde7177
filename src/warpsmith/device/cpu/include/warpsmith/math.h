// CUDA's mathematical functions that the C library lacks or names otherwise, and its overloads of min, max
// and the like.
//
// The approximate ones (__expf, __sinf, …) are computed exactly: a program that passes here may still lose
// digits on a GPU, which is for the GPU to say.
#pragma once

#include <utility>  // for the standard library's configuration

// Half of a small program's build would be spent on the standard's zeta, Bessel and elliptic functions.
#ifdef _GLIBCXX_USE_STD_SPEC_FUNCS
#undef _GLIBCXX_USE_STD_SPEC_FUNCS
#define _GLIBCXX_USE_STD_SPEC_FUNCS 0
#endif

#include <cmath>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#pragma GCC visibility push(hidden)

#define WARPSMITH_MIN_MAX(result, a_type, b_type)                   \
  inline constexpr result min(a_type a, b_type b) {                 \
    return static_cast<result>(a) < static_cast<result>(b) ? a : b; \
  }                                                                 \
  inline constexpr result max(a_type a, b_type b) {                 \
    return static_cast<result>(a) > static_cast<result>(b) ? a : b; \
  }
WARPSMITH_MIN_MAX(int, int, int)
WARPSMITH_MIN_MAX(unsigned, unsigned, unsigned)
WARPSMITH_MIN_MAX(unsigned, int, unsigned)
WARPSMITH_MIN_MAX(unsigned, unsigned, int)
WARPSMITH_MIN_MAX(long, long, long)
WARPSMITH_MIN_MAX(unsigned long, unsigned long, unsigned long)
WARPSMITH_MIN_MAX(unsigned long, long, unsigned long)
WARPSMITH_MIN_MAX(unsigned long, unsigned long, long)
WARPSMITH_MIN_MAX(long long, long long, long long)
WARPSMITH_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
WARPSMITH_MIN_MAX(unsigned long long, long long, unsigned long long)
WARPSMITH_MIN_MAX(unsigned long long, unsigned long long, long long)
#undef WARPSMITH_MIN_MAX

// A NaN loses against a number, as in fminf.
#define WARPSMITH_MIN_MAX(result, a_type, b_type)                             \
  inline result min(a_type a, b_type b) {                                     \
    return a < b || b != b ? static_cast<result>(a) : static_cast<result>(b); \
  }                                                                           \
  inline result max(a_type a, b_type b) {                                     \
    return a > b || b != b ? static_cast<result>(a) : static_cast<result>(b); \
  }
WARPSMITH_MIN_MAX(float, float, float)
WARPSMITH_MIN_MAX(double, double, double)
WARPSMITH_MIN_MAX(double, float, double)
WARPSMITH_MIN_MAX(double, double, float)
#undef WARPSMITH_MIN_MAX

inline unsigned umin(unsigned a, unsigned b) { return min(a, b); }
inline unsigned umax(unsigned a, unsigned b) { return max(a, b); }
inline long long llmin(long long a, long long b) { return min(a, b); }
inline long long llmax(long long a, long long b) { return max(a, b); }

#ifdef __GLIBC_PREREQ
#define WARPSMITH_GLIBC(major, minor) __GLIBC_PREREQ(major, minor)
#else
#define WARPSMITH_GLIBC(major, minor) 0
#endif

// Newer C libraries have these themselves.
#if !WARPSMITH_GLIBC(2, 42)
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
#endif
#if !WARPSMITH_GLIBC(2, 41)
inline float sinpif(float x) { return static_cast<float>(sin(M_PI * static_cast<double>(x))); }
inline float cospif(float x) { return static_cast<float>(cos(M_PI * static_cast<double>(x))); }
inline double sinpi(double x) { return sin(M_PI * fmod(x, 2.0)); }
inline double cospi(double x) { return cos(M_PI * fmod(x, 2.0)); }
#endif

inline float rsqrt(float x) { return rsqrtf(x); }
inline float rcbrtf(float x) { return 1.0f / cbrtf(x); }
inline double rcbrt(double x) { return 1.0 / cbrt(x); }
inline void sincospif(float x, float* sine, float* cosine) { *sine = sinpif(x), *cosine = cospif(x); }
inline float normcdff(float x) { return static_cast<float>(0.5 * erfc(-static_cast<double>(x) * M_SQRT1_2)); }
inline double normcdf(double x) { return 0.5 * erfc(-x * M_SQRT1_2); }
inline double erfcx(double x) { return exp(x * x) * erfc(x); }
inline float erfcxf(float x) { return static_cast<float>(erfcx(x)); }
inline float rhypotf(float x, float y) { return 1.0f / hypotf(x, y); }
inline double rhypot(double x, double y) { return 1.0 / hypot(x, y); }
inline float norm3df(float a, float b, float c) { return sqrtf(a * a + b * b + c * c); }
inline float norm4df(float a, float b, float c, float d) { return sqrtf(a * a + b * b + c * c + d * d); }
inline float rnorm3df(float a, float b, float c) { return 1.0f / norm3df(a, b, c); }
inline float fdividef(float a, float b) { return a / b; }
inline float __saturatef(float x) { return x >= 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }  // NaN becomes 0

// Newton's iteration on erf, from Winitzki's approximation of its inverse.
inline double erfinv(double y) {
  if (!(y > -1.0 && y < 1.0)) return y == 1.0 ? INFINITY : y == -1.0 ? -INFINITY : NAN;
  double logarithm = log1p(-y * y), first = 2.0 / (M_PI * 0.147) + logarithm / 2.0;
  double x = copysign(sqrt(sqrt(first * first - logarithm / 0.147) - first), y);
  for (int step = 0; step < 3; ++step) x -= (erf(x) - y) / (M_2_SQRTPI * exp(-x * x));
  return x;
}
inline float erfinvf(float y) { return static_cast<float>(erfinv(y)); }
inline double normcdfinv(double p) { return M_SQRT2 * erfinv(2.0 * p - 1.0); }
inline float normcdfinvf(float p) { return static_cast<float>(normcdfinv(p)); }

inline float __expf(float x) { return expf(x); }
inline float __exp10f(float x) { return exp10f(x); }
inline float __logf(float x) { return logf(x); }
inline float __log2f(float x) { return log2f(x); }
inline float __log10f(float x) { return log10f(x); }
inline float __powf(float x, float y) { return powf(x, y); }
inline float __sinf(float x) { return sinf(x); }
inline float __cosf(float x) { return cosf(x); }
inline float __tanf(float x) { return tanf(x); }
inline float __tanhf(float x) { return tanhf(x); }
inline void __sincosf(float x, float* sine, float* cosine) { sincosf(x, sine, cosine); }
inline float __fdividef(float a, float b) { return a / b; }

#pragma GCC visibility pop
