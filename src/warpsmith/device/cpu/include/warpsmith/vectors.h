// CUDA's vector types with its sizes and alignments, their make_ functions, and dim3. As in CUDA, they have
// no operators.
#pragma once

#include <stddef.h>

#define WARPSMITH_VECTORS(name, type, align2, align4)                                   \
  struct name##1 { type x; };                                                           \
  struct __align__(align2) name##2 { type x, y; };                                      \
  struct name##3 { type x, y, z; };                                                     \
  struct __align__(align4) name##4 { type x, y, z, w; };                                \
  inline constexpr name##1 make_##name##1(type x) { return {x}; }                       \
  inline constexpr name##2 make_##name##2(type x, type y) { return {x, y}; }            \
  inline constexpr name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; } \
  inline constexpr name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }

WARPSMITH_VECTORS(char, signed char, 2, 4)
WARPSMITH_VECTORS(uchar, unsigned char, 2, 4)
WARPSMITH_VECTORS(short, short, 4, 8)
WARPSMITH_VECTORS(ushort, unsigned short, 4, 8)
WARPSMITH_VECTORS(int, int, 8, 16)
WARPSMITH_VECTORS(uint, unsigned int, 8, 16)
WARPSMITH_VECTORS(long, long, 16, 16)
WARPSMITH_VECTORS(ulong, unsigned long, 16, 16)
WARPSMITH_VECTORS(longlong, long long, 16, 16)
WARPSMITH_VECTORS(ulonglong, unsigned long long, 16, 16)
WARPSMITH_VECTORS(float, float, 8, 16)
WARPSMITH_VECTORS(double, double, 16, 16)
#undef WARPSMITH_VECTORS

struct dim3 {
  unsigned int x, y, z;
  constexpr dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1) : x(x), y(y), z(z) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};
