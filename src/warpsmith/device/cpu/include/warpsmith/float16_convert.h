// Conversions of a 16-bit floating-point type. No include guard: cuda_fp16.h and cuda_bf16.h each include it
// for theirs.

#pragma GCC visibility push(hidden)

inline WARPSMITH_F16 WARPSMITH_NAME(__float2, )(float x) { return WARPSMITH_F16(x); }
inline WARPSMITH_F16 WARPSMITH_NAME(__float2, _rn)(float x) { return WARPSMITH_F16(x); }
inline WARPSMITH_F16 WARPSMITH_NAME(__double2, )(double x) { return WARPSMITH_F16(x); }
inline float WARPSMITH_NAME(__, 2float)(WARPSMITH_F16 x) { return static_cast<float>(x); }

inline unsigned short WARPSMITH_NAME(__, _as_ushort)(WARPSMITH_F16 x) { return x.__x; }
inline short WARPSMITH_NAME(__, _as_short)(WARPSMITH_F16 x) { return static_cast<short>(x.__x); }
inline WARPSMITH_F16 WARPSMITH_NAME(__ushort_as_, )(unsigned short bits) { return WARPSMITH_F16_RAW{bits}; }
inline WARPSMITH_F16 WARPSMITH_NAME(__short_as_, )(short bits) {
  return WARPSMITH_F16_RAW{static_cast<unsigned short>(bits)};
}

#define WARPSMITH_FROM(suffix, rounding)                                                                    \
  inline WARPSMITH_F16 WARPSMITH_NAME(__float2, suffix)(float x) {                                          \
    return WARPSMITH_F16_RAW{warpsmith::encode_slowly<WARPSMITH_FORMAT>(x, warpsmith::Rounding::rounding)}; \
  }
WARPSMITH_FROM(_rz, to_zero)
WARPSMITH_FROM(_rd, down)
WARPSMITH_FROM(_ru, up)
#undef WARPSMITH_FROM

#define WARPSMITH_INTEGER(name, Integer)                                                                   \
  inline WARPSMITH_F16 WARPSMITH_NAME(__##name##2, _rn)(Integer x) { return WARPSMITH_F16(x); }            \
  inline WARPSMITH_F16 WARPSMITH_NAME(__##name##2, _rz)(Integer x) {                                       \
    return WARPSMITH_F16_RAW{                                                                              \
        warpsmith::encode_slowly<WARPSMITH_FORMAT>(static_cast<double>(x), warpsmith::Rounding::to_zero)}; \
  }                                                                                                        \
  inline Integer WARPSMITH_NAME(__, 2##name##_rn)(WARPSMITH_F16 x) {                                       \
    return warpsmith::saturated<Integer>(rint(static_cast<float>(x)));                                     \
  }                                                                                                        \
  inline Integer WARPSMITH_NAME(__, 2##name##_rz)(WARPSMITH_F16 x) {                                       \
    return warpsmith::saturated<Integer>(trunc(static_cast<float>(x)));                                    \
  }                                                                                                        \
  inline Integer WARPSMITH_NAME(__, 2##name##_rd)(WARPSMITH_F16 x) {                                       \
    return warpsmith::saturated<Integer>(floor(static_cast<float>(x)));                                    \
  }                                                                                                        \
  inline Integer WARPSMITH_NAME(__, 2##name##_ru)(WARPSMITH_F16 x) {                                       \
    return warpsmith::saturated<Integer>(ceil(static_cast<float>(x)));                                     \
  }
WARPSMITH_INTEGER(short, short)
WARPSMITH_INTEGER(ushort, unsigned short)
WARPSMITH_INTEGER(int, int)
WARPSMITH_INTEGER(uint, unsigned)
WARPSMITH_INTEGER(ll, long long)
WARPSMITH_INTEGER(ull, unsigned long long)
#undef WARPSMITH_INTEGER

// Pairs.
inline WARPSMITH_F16X2 WARPSMITH_NAME2(make_, )(WARPSMITH_F16 x, WARPSMITH_F16 y) { return {x, y}; }
inline WARPSMITH_F16X2 WARPSMITH_NAME2(__halves2, )(WARPSMITH_F16 x, WARPSMITH_F16 y) { return {x, y}; }
inline WARPSMITH_F16X2 WARPSMITH_SPLAT(WARPSMITH_F16 x) { return {x, x}; }
inline WARPSMITH_F16X2 WARPSMITH_NAME2(__float2, _rn)(float x) {
  return {WARPSMITH_F16(x), WARPSMITH_F16(x)};
}
inline WARPSMITH_F16X2 WARPSMITH_NAME2(__floats2, _rn)(float x, float y) {
  return {WARPSMITH_F16(x), WARPSMITH_F16(y)};
}
inline WARPSMITH_F16X2 WARPSMITH_NAME2(__float22, _rn)(float2 v) {
  return {WARPSMITH_F16(v.x), WARPSMITH_F16(v.y)};
}
inline float2 WARPSMITH_NAME2(__, 2float2)(WARPSMITH_F16X2 v) {
  return {static_cast<float>(v.x), static_cast<float>(v.y)};
}
inline WARPSMITH_F16 WARPSMITH_NAME(__low2, )(WARPSMITH_F16X2 v) { return v.x; }
inline WARPSMITH_F16 WARPSMITH_NAME(__high2, )(WARPSMITH_F16X2 v) { return v.y; }
inline float __low2float(WARPSMITH_F16X2 v) { return static_cast<float>(v.x); }
inline float __high2float(WARPSMITH_F16X2 v) { return static_cast<float>(v.y); }
inline WARPSMITH_F16X2 WARPSMITH_NAME2(__low2, )(WARPSMITH_F16X2 v) { return {v.x, v.x}; }
inline WARPSMITH_F16X2 WARPSMITH_NAME2(__high2, )(WARPSMITH_F16X2 v) { return {v.y, v.y}; }
inline WARPSMITH_F16X2 WARPSMITH_NAME2(__lows2, )(WARPSMITH_F16X2 a, WARPSMITH_F16X2 b) { return {a.x, b.x}; }
inline WARPSMITH_F16X2 WARPSMITH_NAME2(__highs2, )(WARPSMITH_F16X2 a, WARPSMITH_F16X2 b) {
  return {a.y, b.y};
}
inline WARPSMITH_F16X2 __lowhigh2highlow(WARPSMITH_F16X2 v) { return {v.y, v.x}; }

#pragma GCC visibility pop
