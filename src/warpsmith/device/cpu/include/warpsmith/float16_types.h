// A 16-bit floating-point type and its pair. No include guard: cuda_fp16.h and cuda_bf16.h each include it
// for theirs. Types stay visible: an author's launcher with a hidden type among its parameters would be
// hidden as well.

struct WARPSMITH_F16_RAW {
  unsigned short x;
};

struct WARPSMITH_F16X2_RAW {
  unsigned short x, y;
};

struct __align__(2) WARPSMITH_F16 {
  unsigned short __x;

  WARPSMITH_F16() = default;
  constexpr WARPSMITH_F16(const WARPSMITH_F16_RAW& raw) : __x(raw.x) {}
  WARPSMITH_F16(float x) : __x(WARPSMITH_FORMAT::encode(x)) {}
  WARPSMITH_F16(double x) : __x(warpsmith::encode_double<WARPSMITH_FORMAT>(x)) {}
  // A 64-bit integer may not fit into a double; to go through one could round twice, if only beyond 2^53.
#define WARPSMITH_FROM(Integer) \
  WARPSMITH_F16(Integer x) : __x(warpsmith::encode_double<WARPSMITH_FORMAT>(static_cast<double>(x))) {}
  WARPSMITH_FROM(short)
  WARPSMITH_FROM(unsigned short)
  WARPSMITH_FROM(int)
  WARPSMITH_FROM(unsigned)
  WARPSMITH_FROM(long)
  WARPSMITH_FROM(unsigned long)
  WARPSMITH_FROM(long long)
  WARPSMITH_FROM(unsigned long long)
#undef WARPSMITH_FROM

  operator WARPSMITH_F16_RAW() const { return {__x}; }
  operator float() const { return WARPSMITH_FORMAT::decode(__x); }
  constexpr operator bool() const { return (__x & 0x7fff) != 0; }
#define WARPSMITH_TO(Integer) \
  operator Integer() const { return warpsmith::saturated<Integer>(trunc(WARPSMITH_FORMAT::decode(__x))); }
  WARPSMITH_TO(signed char)
  WARPSMITH_TO(unsigned char)
  WARPSMITH_TO(char)
  WARPSMITH_TO(short)
  WARPSMITH_TO(unsigned short)
  WARPSMITH_TO(int)
  WARPSMITH_TO(unsigned)
  WARPSMITH_TO(long)
  WARPSMITH_TO(unsigned long)
  WARPSMITH_TO(long long)
  WARPSMITH_TO(unsigned long long)
#undef WARPSMITH_TO

  WARPSMITH_F16& operator=(const WARPSMITH_F16_RAW& raw) {
    __x = raw.x;
    return *this;
  }
#define WARPSMITH_ASSIGN(Number) \
  WARPSMITH_F16& operator=(Number x) { return *this = WARPSMITH_F16(x); }
  WARPSMITH_ASSIGN(float)
  WARPSMITH_ASSIGN(double)
  WARPSMITH_ASSIGN(short)
  WARPSMITH_ASSIGN(unsigned short)
  WARPSMITH_ASSIGN(int)
  WARPSMITH_ASSIGN(unsigned)
  WARPSMITH_ASSIGN(long long)
  WARPSMITH_ASSIGN(unsigned long long)
#undef WARPSMITH_ASSIGN
};

struct __align__(4) WARPSMITH_F16X2 {
  WARPSMITH_F16 x, y;

  WARPSMITH_F16X2() = default;
  constexpr WARPSMITH_F16X2(const WARPSMITH_F16& x, const WARPSMITH_F16& y) : x(x), y(y) {}
  WARPSMITH_F16X2(const WARPSMITH_F16X2_RAW& raw)
      : x(WARPSMITH_F16_RAW{raw.x}), y(WARPSMITH_F16_RAW{raw.y}) {}
  operator WARPSMITH_F16X2_RAW() const { return {x.__x, y.__x}; }
};

#pragma GCC visibility push(hidden)
namespace warpsmith {

template <>
inline constexpr bool is_exchangeable<WARPSMITH_F16> = true;
template <>
inline constexpr bool is_exchangeable<WARPSMITH_F16X2> = true;
template <>
struct BitsOf<WARPSMITH_F16> {
  using type = uint16_t;
};
template <>
struct BitsOf<WARPSMITH_F16X2> {
  using type = uint32_t;
};

}  // namespace warpsmith
#pragma GCC visibility pop
