// Numbers to and from the two 16-bit formats, rounded once and correctly.
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "intrinsics.h"

#pragma GCC visibility push(hidden)
namespace warpsmith {

enum class Rounding { nearest, to_zero, down, up };

// IEEE binary16: 5 bits of exponent, 10 of mantissa.
struct HalfFormat {
  static constexpr int mantissa_bits = 10;
  static constexpr int min_exponent = -14;
  static constexpr uint16_t infinity = 0x7c00;

  static uint16_t encode(float x);
  static float decode(uint16_t bits);
};

// The upper half of a float: 8 bits of exponent, 7 of mantissa.
struct BfloatFormat {
  static constexpr int mantissa_bits = 7;
  static constexpr int min_exponent = -126;
  static constexpr uint16_t infinity = 0x7f80;

  static uint16_t encode(float x) {
    uint32_t bits = bit_cast<uint32_t>(x);
    if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fff;
    return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
  static float decode(uint16_t bits) { return bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
};

// Any rounding, from any double; in the format's smallest units at x, so that the bits of the result just add
// up.
template <class Format>
inline uint16_t encode_slowly(double x, Rounding rounding) {
  if (x != x) return 0x7fff;
  bool is_negative = signbit(x);
  uint16_t sign = is_negative ? 0x8000 : 0;
  double magnitude = fabs(x);
  if (isinf(magnitude)) return sign | Format::infinity;
  int exponent = magnitude == 0 ? Format::min_exponent : ilogb(magnitude);
  if (exponent < Format::min_exponent) exponent = Format::min_exponent;
  double units = ldexp(magnitude, Format::mantissa_bits - exponent);
  double whole = rounding == Rounding::nearest ? nearbyint(units) : floor(units);
  bool is_outward = (rounding == Rounding::down && is_negative) || (rounding == Rounding::up && !is_negative);
  if (is_outward && whole < units) whole += 1;
  uint64_t steps = static_cast<uint64_t>(exponent - Format::min_exponent) << Format::mantissa_bits;
  uint64_t bits = steps + static_cast<uint64_t>(whole);
  if (bits < Format::infinity) return static_cast<uint16_t>(sign | bits);
  bool stays_finite = rounding == Rounding::to_zero || (rounding != Rounding::nearest && !is_outward);
  return sign | static_cast<uint16_t>(Format::infinity - stays_finite);
}

#if defined(__aarch64__) || (defined(__F16C__) && defined(__clang__))

inline uint16_t HalfFormat::encode(float x) {
  if (x != x) return 0x7fff;
  __fp16 half = static_cast<__fp16>(x);
  uint16_t bits;
  memcpy(&bits, &half, sizeof bits);
  return bits;
}
inline float HalfFormat::decode(uint16_t bits) {
  __fp16 half;
  memcpy(&half, &bits, sizeof half);
  return static_cast<float>(half);
}

#elif defined(__F16C__)

typedef float Floats4 __attribute__((vector_size(16)));
typedef short Shorts8 __attribute__((vector_size(16)));

inline uint16_t HalfFormat::encode(float x) {
  if (x != x) return 0x7fff;
  return static_cast<uint16_t>(__builtin_ia32_vcvtps2ph(Floats4{x, 0, 0, 0}, 0)[0]);
}
inline float HalfFormat::decode(uint16_t bits) {
  return __builtin_ia32_vcvtph2ps(Shorts8{static_cast<short>(bits), 0, 0, 0, 0, 0, 0, 0})[0];
}

#else

inline uint16_t HalfFormat::encode(float x) { return encode_slowly<HalfFormat>(x, Rounding::nearest); }

inline float HalfFormat::decode(uint16_t bits) {
  uint32_t magnitude = static_cast<uint32_t>(bits & 0x7fff) << 13;
  uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  // Moving the exponent's bias by a multiplication makes subnormal numbers normal on the way.
  float value = bit_cast<float>(magnitude) * 0x1p112f;
  if (value >= 65536.0f) value = bit_cast<float>(magnitude | 0x7f800000);
  return bit_cast<float>(bit_cast<uint32_t>(value) | sign);
}

#endif

// A double rounded "to odd" keeps, in its last bit, that it was inexact; rounding it again then goes the
// right way.
inline float to_odd(double x) {
  float nearest = static_cast<float>(x);
  if (static_cast<double>(nearest) == x || nearest != nearest) return nearest;
  uint32_t bits = bit_cast<uint32_t>(nearest);
  if (isinf(nearest) || (bits & 1)) return nearest;
  return nextafterf(nearest, x > nearest ? INFINITY : -INFINITY);
}

inline double sum_to_odd(double a, double b) {
  double sum = a + b;
  if (!isfinite(sum)) return sum;
  double b_part = sum - a;
  double error = (a - (sum - b_part)) + (b - b_part);
  if (error == 0 || (bit_cast<uint64_t>(sum) & 1)) return sum;
  return nextafter(sum, error > 0 ? INFINITY : -INFINITY);
}

template <class Format>
inline uint16_t encode_double(double x) {
  return Format::encode(to_odd(x));
}

// a * b + c with one rounding: the product is exact in a double.
template <class Format>
inline uint16_t encode_fma(float a, float b, float c) {
  return encode_double<Format>(
      sum_to_odd(static_cast<double>(a) * static_cast<double>(b), static_cast<double>(c)));
}

}  // namespace warpsmith
#pragma GCC visibility pop
