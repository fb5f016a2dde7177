// Vector types, loads, mathematical functions and intrinsics.
#include <cuda_runtime.h>
#include <math_constants.h>

__global__ void scale4(const float4* __restrict__ in, float4* __restrict__ out, int n4) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n4) return;
  float4 v = __ldg(&in[i]);
  out[i] = make_float4(v.x * 2.0f, v.y * 3.0f, v.z * 4.0f, v.w * 5.0f);
}

__global__ void vector_sizes(int* out) {
  int sizes[] = {sizeof(char3),   sizeof(uchar4),   sizeof(short4),  sizeof(float3),  sizeof(float4),
                 sizeof(double2), sizeof(int2),     alignof(uchar4), alignof(short4), alignof(float3),
                 alignof(float4), alignof(double2), alignof(int2)};
  for (int i = 0; i < 13; ++i) out[i] = sizes[i];
}

// Functions of one float, by number.
__device__ float unary(int which, float x) {
  switch (which) {
    case 0: return expf(x);
    case 1: return __expf(x);
    case 2: return exp2f(x);
    case 3: return logf(fabsf(x) + 1.0f);
    case 4: return log1pf(fabsf(x));
    case 5: return rsqrtf(fabsf(x) + 1.0f);
    case 6: return tanhf(x);
    case 7: return erff(x);
    case 8: return normcdff(x);
    case 9: return __fdividef(1.0f, x);
    case 10: return __frcp_rn(x);
    case 11: return fmaf(x, x, 1.0f);
    case 12: return sinf(x) + __cosf(x);
    case 13: return cbrtf(x);
    case 14: return erfinvf(tanhf(x));
    case 15: return exp10f(x);
    case 16: return __saturatef(x);
    case 17: return sinpif(x);
    case 18: {
      float s, c;
      sincosf(x, &s, &c);
      return s * c;
    }
    case 19: return max(x, 0.5f) + min(x, -0.5f) + fmaxf(x, 2.0f) + fminf(x, -2.0f);
    case 20: return exp(x) + sqrt(abs(x));  // the overloads for float
    case 21: return powf(fabsf(x), 1.5f) + copysignf(1.0f, x) + fmodf(x, 1.0f);
    case 22:
      return x == 0.0f ? CUDART_INF_F
                       : (isinf(INFINITY) ? ceilf(x) + floorf(x) + rintf(x) + truncf(x) : 0.0f);
    default: return CUDART_NAN_F;
  }
}

__global__ void unaries(const float* in, float* out, int n, int which) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = unary(which, in[i]);
}

__global__ void integers(long long* out) {
  long long values[] = {__popc(0xf0f0u),
                        __clz(1),
                        __clz(0),
                        __ffs(8),
                        __ffs(0),
                        __brev(1u) == 0x80000000u,
                        __popcll(~0ull),
                        __clzll(1ll),
                        __mul24(3, -5),
                        __umulhi(0x80000000u, 6u),
                        __mulhi(-2, 1 << 30),
                        (long long)__umul64hi(1ull << 63, 6ull),
                        __byte_perm(0x33221100u, 0x77665544u, 0x7521u),
                        __funnelshift_l(0x80000000u, 1u, 1),
                        __dp4a(0x01020304, 0x01010101, 5),
                        __float2int_rn(2.5f),
                        __float2int_rz(-2.7f),
                        __float2int_ru(2.1f),
                        __float2int_rd(-2.1f),
                        __float2int_rz(3e10f),
                        __float2uint_rz(-1.0f),
                        __float_as_int(1.0f),
                        (long long)(__int_as_float(0x40000000)),
                        min(3, 5),
                        max(3u, 5u),
                        min(-1ll, 2ll),
                        __sad(3, -4, 10),
                        __double2int_rn(3.5),
                        __hiloint2double(0x3ff00000, 0) == 1.0,
                        abs(-7),
                        llabs(-8ll)};
  for (int i = 0; i < 31; ++i) out[i] = values[i];
}

// Each rounds once; fused, x*y - p would be the product's rounding error instead of zero.
__global__ void separate_rounding(const float* x, const float* y, float* out) {
  float product = __fmul_rn(x[threadIdx.x], y[threadIdx.x]);
  out[threadIdx.x] = __fsub_rn(__fmul_rn(x[threadIdx.x], y[threadIdx.x]), product);
  out[blockDim.x + threadIdx.x] =
      __fmul_ru(x[threadIdx.x], y[threadIdx.x]) - __fmul_rd(x[threadIdx.x], y[threadIdx.x]);
}

__global__ void __launch_bounds__(256) add(const float* a, const float* b, float* c, size_t n) {
  size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

extern "C" int run_scale4(const float* in, float* out, int n) {
  scale4<<<(n / 4 + 127) / 128, 128>>>(reinterpret_cast<const float4*>(in), reinterpret_cast<float4*>(out),
                                       n / 4);
  return cudaGetLastError();
}
extern "C" int run_vector_sizes(int* out) {
  vector_sizes<<<1, 1>>>(out);
  return cudaGetLastError();
}
extern "C" int run_unary(const float* in, float* out, int n, int which) {
  unaries<<<(n + 255) / 256, 256>>>(in, out, n, which);
  return cudaGetLastError();
}
extern "C" int run_integers(long long* out) {
  integers<<<1, 1>>>(out);
  return cudaGetLastError();
}
extern "C" int run_separate_rounding(const float* x, const float* y, float* out, int n) {
  separate_rounding<<<1, n>>>(x, y, out);
  return cudaGetLastError();
}
extern "C" int run_add(const float* a, const float* b, float* c, int n) {
  add<<<(n + 255) / 256, 256>>>(a, b, c, n);
  return cudaGetLastError();
}
