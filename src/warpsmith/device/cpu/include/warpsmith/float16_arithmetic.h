// Arithmetic, comparison and functions of a 16-bit floating-point type. No include guard: cuda_fp16.h and
// cuda_bf16.h each include it for theirs. One operation in float, rounded once more, is rounded correctly: 24
// bits are at least twice 11 + 2.

#pragma GCC visibility push(hidden)

// One function of numbers makes one of pairs, element by element.
#define WARPSMITH_UNARY(name, name2, expression)                    \
  inline WARPSMITH_F16 name(WARPSMITH_F16 a) { return expression; } \
  inline WARPSMITH_F16X2 name2(WARPSMITH_F16X2 a) { return {name(a.x), name(a.y)}; }
#define WARPSMITH_BINARY(name, name2, expression)                                    \
  inline WARPSMITH_F16 name(WARPSMITH_F16 a, WARPSMITH_F16 b) { return expression; } \
  inline WARPSMITH_F16X2 name2(WARPSMITH_F16X2 a, WARPSMITH_F16X2 b) {               \
    return {name(a.x, b.x), name(a.y, b.y)};                                         \
  }
#define WARPSMITH_TERNARY(name, name2, expression)                                                    \
  inline WARPSMITH_F16 name(WARPSMITH_F16 a, WARPSMITH_F16 b, WARPSMITH_F16 c) { return expression; } \
  inline WARPSMITH_F16X2 name2(WARPSMITH_F16X2 a, WARPSMITH_F16X2 b, WARPSMITH_F16X2 c) {             \
    return {name(a.x, b.x, c.x), name(a.y, b.y, c.y)};                                                \
  }

namespace warpsmith {

inline WARPSMITH_F16 saturated_unit(WARPSMITH_F16 x) {
  return WARPSMITH_F16(__saturatef(static_cast<float>(x)));
}
inline WARPSMITH_F16 relu(WARPSMITH_F16 x) {
  float value = static_cast<float>(x);
  return value != value || value > 0.0f ? x : WARPSMITH_F16(0.0f);
}
inline bool is_nan(WARPSMITH_F16 x) { return (x.__x & 0x7fff) > WARPSMITH_FORMAT::infinity; }
inline float wide(WARPSMITH_F16 x) { return static_cast<float>(x); }

// As IEEE's minimumNumber and maximumNumber: a NaN loses, and -0 is less than +0.
inline WARPSMITH_F16 larger(WARPSMITH_F16 a, WARPSMITH_F16 b) {
  if (is_nan(a)) return is_nan(b) ? WARPSMITH_F16(WARPSMITH_F16_RAW{0x7fff}) : b;
  if (is_nan(b) || wide(a) > wide(b)) return a;
  return wide(a) == wide(b) && (b.__x & 0x8000) ? a : b;
}
inline WARPSMITH_F16 smaller(WARPSMITH_F16 a, WARPSMITH_F16 b) {
  if (is_nan(a)) return is_nan(b) ? WARPSMITH_F16(WARPSMITH_F16_RAW{0x7fff}) : b;
  if (is_nan(b) || wide(a) < wide(b)) return a;
  return wide(a) == wide(b) && (a.__x & 0x8000) ? a : b;
}
inline WARPSMITH_F16 nan_or(bool is_nan, WARPSMITH_F16 x) {
  return is_nan ? WARPSMITH_F16(WARPSMITH_F16_RAW{0x7fff}) : x;
}

}  // namespace warpsmith

#define WARPSMITH_FLOAT(x) static_cast<float>(x)
#define WARPSMITH_ROUND(x) WARPSMITH_F16(static_cast<float>(x))
#define WARPSMITH_BITS(bits) WARPSMITH_F16(WARPSMITH_F16_RAW{static_cast<unsigned short>(bits)})

WARPSMITH_BINARY(__hadd, __hadd2, WARPSMITH_ROUND(WARPSMITH_FLOAT(a) + WARPSMITH_FLOAT(b)))
WARPSMITH_BINARY(__hsub, __hsub2, WARPSMITH_ROUND(WARPSMITH_FLOAT(a) - WARPSMITH_FLOAT(b)))
WARPSMITH_BINARY(__hmul, __hmul2, WARPSMITH_ROUND(WARPSMITH_FLOAT(a) * WARPSMITH_FLOAT(b)))
WARPSMITH_BINARY(__hdiv, __h2div, WARPSMITH_ROUND(WARPSMITH_FLOAT(a) / WARPSMITH_FLOAT(b)))
WARPSMITH_BINARY(__hadd_rn, __hadd2_rn, __hadd(a, b))
WARPSMITH_BINARY(__hsub_rn, __hsub2_rn, __hsub(a, b))
WARPSMITH_BINARY(__hmul_rn, __hmul2_rn, __hmul(a, b))
WARPSMITH_BINARY(__hadd_sat, __hadd2_sat, warpsmith::saturated_unit(__hadd(a, b)))
WARPSMITH_BINARY(__hsub_sat, __hsub2_sat, warpsmith::saturated_unit(__hsub(a, b)))
WARPSMITH_BINARY(__hmul_sat, __hmul2_sat, warpsmith::saturated_unit(__hmul(a, b)))
WARPSMITH_TERNARY(__hfma, __hfma2,
                  WARPSMITH_BITS(warpsmith::encode_fma<WARPSMITH_FORMAT>(WARPSMITH_FLOAT(a),
                                                                         WARPSMITH_FLOAT(b),
                                                                         WARPSMITH_FLOAT(c))))
WARPSMITH_TERNARY(__hfma_sat, __hfma2_sat, warpsmith::saturated_unit(__hfma(a, b, c)))
WARPSMITH_TERNARY(__hfma_relu, __hfma2_relu, warpsmith::relu(__hfma(a, b, c)))
WARPSMITH_UNARY(__hneg, __hneg2, WARPSMITH_BITS(a.__x ^ 0x8000))
WARPSMITH_UNARY(__habs, __habs2, WARPSMITH_BITS(a.__x & 0x7fff))

WARPSMITH_BINARY(__hmax, __hmax2, warpsmith::larger(a, b))
WARPSMITH_BINARY(__hmin, __hmin2, warpsmith::smaller(a, b))
WARPSMITH_BINARY(__hmax_nan, __hmax2_nan,
                 warpsmith::nan_or(warpsmith::is_nan(a) || warpsmith::is_nan(b), warpsmith::larger(a, b)))
WARPSMITH_BINARY(__hmin_nan, __hmin2_nan,
                 warpsmith::nan_or(warpsmith::is_nan(a) || warpsmith::is_nan(b), warpsmith::smaller(a, b)))

WARPSMITH_UNARY(hexp, h2exp, WARPSMITH_ROUND(expf(a)))
WARPSMITH_UNARY(hexp2, h2exp2, WARPSMITH_ROUND(exp2f(a)))
WARPSMITH_UNARY(hexp10, h2exp10, WARPSMITH_ROUND(exp10f(a)))
WARPSMITH_UNARY(hlog, h2log, WARPSMITH_ROUND(logf(a)))
WARPSMITH_UNARY(hlog2, h2log2, WARPSMITH_ROUND(log2f(a)))
WARPSMITH_UNARY(hlog10, h2log10, WARPSMITH_ROUND(log10f(a)))
WARPSMITH_UNARY(hsqrt, h2sqrt, WARPSMITH_ROUND(sqrtf(a)))
WARPSMITH_UNARY(hrsqrt, h2rsqrt, WARPSMITH_ROUND(rsqrtf(a)))
WARPSMITH_UNARY(hrcp, h2rcp, WARPSMITH_ROUND(1.0f / WARPSMITH_FLOAT(a)))
WARPSMITH_UNARY(hsin, h2sin, WARPSMITH_ROUND(sinf(a)))
WARPSMITH_UNARY(hcos, h2cos, WARPSMITH_ROUND(cosf(a)))
WARPSMITH_UNARY(htanh, h2tanh, WARPSMITH_ROUND(tanhf(a)))
WARPSMITH_UNARY(htanh_approx, h2tanh_approx, WARPSMITH_ROUND(tanhf(a)))
WARPSMITH_UNARY(hceil, h2ceil, WARPSMITH_ROUND(ceilf(a)))
WARPSMITH_UNARY(hfloor, h2floor, WARPSMITH_ROUND(floorf(a)))
WARPSMITH_UNARY(htrunc, h2trunc, WARPSMITH_ROUND(truncf(a)))
WARPSMITH_UNARY(hrint, h2rint, WARPSMITH_ROUND(rintf(a)))

inline bool __hisnan(WARPSMITH_F16 a) { return warpsmith::is_nan(a); }
inline int __hisinf(WARPSMITH_F16 a) {
  return (a.__x & 0x7fff) != WARPSMITH_FORMAT::infinity ? 0 : a.__x & 0x8000 ? -1 : 1;
}
inline WARPSMITH_F16X2 __hisnan2(WARPSMITH_F16X2 a) {
  return {WARPSMITH_ROUND(warpsmith::is_nan(a.x)), WARPSMITH_ROUND(warpsmith::is_nan(a.y))};
}

// The plain comparisons are false if an operand is NaN, those with a u are true; pairs give 1.0 and 0.0, or
// "both".
#define WARPSMITH_COMPARE(name, operation)                                                                  \
  inline bool __h##name(WARPSMITH_F16 a, WARPSMITH_F16 b) {                                                 \
    return !warpsmith::is_nan(a) && !warpsmith::is_nan(b) &&                                                \
           WARPSMITH_FLOAT(a) operation WARPSMITH_FLOAT(b);                                                 \
  }                                                                                                         \
  inline bool __h##name##u(WARPSMITH_F16 a, WARPSMITH_F16 b) {                                              \
    return warpsmith::is_nan(a) || warpsmith::is_nan(b) || WARPSMITH_FLOAT(a) operation WARPSMITH_FLOAT(b); \
  }                                                                                                         \
  inline WARPSMITH_F16X2 __h##name##2(WARPSMITH_F16X2 a, WARPSMITH_F16X2 b) {                               \
    return {WARPSMITH_ROUND(__h##name(a.x, b.x)), WARPSMITH_ROUND(__h##name(a.y, b.y))};                    \
  }                                                                                                         \
  inline WARPSMITH_F16X2 __h##name##u2(WARPSMITH_F16X2 a, WARPSMITH_F16X2 b) {                              \
    return {WARPSMITH_ROUND(__h##name##u(a.x, b.x)), WARPSMITH_ROUND(__h##name##u(a.y, b.y))};              \
  }                                                                                                         \
  inline bool __hb##name##2(WARPSMITH_F16X2 a, WARPSMITH_F16X2 b) {                                         \
    return __h##name(a.x, b.x) && __h##name(a.y, b.y);                                                      \
  }                                                                                                         \
  inline bool __hb##name##u2(WARPSMITH_F16X2 a, WARPSMITH_F16X2 b) {                                        \
    return __h##name##u(a.x, b.x) && __h##name##u(a.y, b.y);                                                \
  }
WARPSMITH_COMPARE(eq, ==)
WARPSMITH_COMPARE(ne, !=)
WARPSMITH_COMPARE(lt, <)
WARPSMITH_COMPARE(le, <=)
WARPSMITH_COMPARE(gt, >)
WARPSMITH_COMPARE(ge, >=)
#undef WARPSMITH_COMPARE

#define WARPSMITH_OPERATOR(symbol, function, function2)                                         \
  inline WARPSMITH_F16 operator symbol(const WARPSMITH_F16& a, const WARPSMITH_F16& b) {        \
    return function(a, b);                                                                      \
  }                                                                                             \
  inline WARPSMITH_F16& operator symbol## = (WARPSMITH_F16 & a, const WARPSMITH_F16& b) {       \
    return a = function(a, b);                                                                  \
  }                                                                                             \
  inline WARPSMITH_F16X2 operator symbol(const WARPSMITH_F16X2& a, const WARPSMITH_F16X2& b) {  \
    return function2(a, b);                                                                     \
  }                                                                                             \
  inline WARPSMITH_F16X2& operator symbol## = (WARPSMITH_F16X2 & a, const WARPSMITH_F16X2& b) { \
    return a = function2(a, b);                                                                 \
  }
WARPSMITH_OPERATOR(+, __hadd, __hadd2)
WARPSMITH_OPERATOR(-, __hsub, __hsub2)
WARPSMITH_OPERATOR(*, __hmul, __hmul2)
WARPSMITH_OPERATOR(/, __hdiv, __h2div)
#undef WARPSMITH_OPERATOR

inline WARPSMITH_F16 operator+(const WARPSMITH_F16& a) { return a; }
inline WARPSMITH_F16 operator-(const WARPSMITH_F16& a) { return __hneg(a); }
inline WARPSMITH_F16X2 operator+(const WARPSMITH_F16X2& a) { return a; }
inline WARPSMITH_F16X2 operator-(const WARPSMITH_F16X2& a) { return __hneg2(a); }
inline WARPSMITH_F16& operator++(WARPSMITH_F16& a) { return a = __hadd(a, WARPSMITH_F16(1.0f)); }
inline WARPSMITH_F16& operator--(WARPSMITH_F16& a) { return a = __hsub(a, WARPSMITH_F16(1.0f)); }

#define WARPSMITH_OPERATOR(symbol, function, function2)                                                  \
  inline bool operator symbol(const WARPSMITH_F16& a, const WARPSMITH_F16& b) { return function(a, b); } \
  inline bool operator symbol(const WARPSMITH_F16X2& a, const WARPSMITH_F16X2& b) { return function2(a, b); }
WARPSMITH_OPERATOR(==, __heq, __hbeq2)
WARPSMITH_OPERATOR(!=, __hneu, __hbneu2)
WARPSMITH_OPERATOR(<, __hlt, __hblt2)
WARPSMITH_OPERATOR(<=, __hle, __hble2)
WARPSMITH_OPERATOR(>, __hgt, __hbgt2)
WARPSMITH_OPERATOR(>=, __hge, __hbge2)
#undef WARPSMITH_OPERATOR

inline WARPSMITH_F16 atomicAdd(WARPSMITH_F16* address, WARPSMITH_F16 value) {
  return warpsmith::atomic_update(address, [=](WARPSMITH_F16 old) { return __hadd(old, value); });
}
inline WARPSMITH_F16X2 atomicAdd(WARPSMITH_F16X2* address, WARPSMITH_F16X2 value) {
  return warpsmith::atomic_update(address, [=](WARPSMITH_F16X2 old) { return __hadd2(old, value); });
}

#undef WARPSMITH_UNARY
#undef WARPSMITH_BINARY
#undef WARPSMITH_TERNARY
#undef WARPSMITH_FLOAT
#undef WARPSMITH_ROUND
#undef WARPSMITH_BITS

#pragma GCC visibility pop
