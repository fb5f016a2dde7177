// Half precision and bfloat16: conversions, arithmetic, comparisons, pairs.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <typename H>
__device__ H from_float(float x);
template <>
__device__ __half from_float<__half>(float x) {
  return __float2half_rn(x);
}
template <>
__device__ __nv_bfloat16 from_float<__nv_bfloat16>(float x) {
  return __float2bfloat16_rn(x);
}

__device__ float to_float(__half x) { return __half2float(x); }
__device__ float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }

template <typename H>
__global__ void round_trip(const float* in, unsigned short* bits, float* back, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  H value = from_float<H>(in[i]);
  bits[i] = *reinterpret_cast<unsigned short*>(&value);
  back[i] = to_float(value);
}

template <typename H>
__global__ void arithmetic(const H* a, const H* b, const H* c, H* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[0 * n + i] = a[i] + b[i];
  out[1 * n + i] = a[i] - b[i];
  out[2 * n + i] = a[i] * b[i];
  out[3 * n + i] = a[i] / b[i];
  out[4 * n + i] = __hfma(a[i], b[i], c[i]);
  out[5 * n + i] = __hmax(a[i], b[i]);
  out[6 * n + i] = -a[i];
  H sum = a[i];
  sum += b[i];
  sum *= c[i];
  out[7 * n + i] = sum;
}

template <typename H>
__global__ void comparisons(const H* a, const H* b, int* out, int n) {
  int i = threadIdx.x;
  out[i] = (a[i] < b[i]) | (a[i] <= b[i]) << 1 | (a[i] == b[i]) << 2 | (a[i] != b[i]) << 3 |
           (a[i] > b[i]) << 4 | __hge(a[i], b[i]) << 5 | __hequ(a[i], b[i]) << 6 | __hisnan(a[i]) << 7 |
           (__hisinf(a[i]) != 0) << 8;
}

__global__ void half_pairs(const __half2* a, const __half2* b, __half2* out, float2* wide) {
  int i = threadIdx.x;
  out[i] = __hfma2(a[i], b[i], __float2half2_rn(1.0f));
  out[blockDim.x + i] = a[i] * b[i] + __halves2half2(__high2half(b[i]), __low2half(b[i]));
  wide[i] = __half22float2(__hmin2(a[i], b[i]));
}
__global__ void bfloat_pairs(const __nv_bfloat162* a, const __nv_bfloat162* b, __nv_bfloat162* out,
                             float2* wide) {
  int i = threadIdx.x;
  out[i] = __hfma2(a[i], b[i], __float2bfloat162_rn(1.0f));
  out[blockDim.x + i] = a[i] * b[i] + __halves2bfloat162(__high2bfloat16(b[i]), __low2bfloat16(b[i]));
  wide[i] = __bfloat1622float2(__hmin2(a[i], b[i]));
}

__global__ void conversions(float* out) {
  half h = 2.75f;
  nv_bfloat16 b = __float2bfloat16(-3.5f);
  float implicit = h;
  half from_int = 7;
  float values[] = {implicit,
                    float(from_int),
                    (float)__half2int_rn(h),
                    (float)__half2int_rz(h),
                    (float)__bfloat162int_rd(b),
                    __half2float(__float2half_rz(2049.9f)),
                    __half2float(__float2half_ru(2049.0f)),
                    __half2float(__float2half_rd(-2049.0f)),
                    __half2float(__float2half_rz(1e6f)),
                    __half2float(__float2half(1e6f)),
                    __half2float(__ushort_as_half(0x3c00)),
                    (float)__half_as_ushort(__float2half(2.0f)),
                    __half2float(hexp(__float2half(0.0f))) + __bfloat162float(hsqrt(__float2bfloat16(4.0f))),
                    __low2float(__floats2half2_rn(1.5f, 2.5f)),
                    __high2float(__floats2bfloat162_rn(1.5f, 2.5f)),
                    __half2float(__double2half(1.0 + 1.0 / 2048 + 1e-12))};
  for (int i = 0; i < 16; ++i) out[i] = values[i];
}

extern "C" int run_round_trip(const float* in, unsigned short* bits, float* back, int n, int is_half) {
  if (is_half)
    round_trip<__half><<<(n + 255) / 256, 256>>>(in, bits, back, n);
  else
    round_trip<__nv_bfloat16><<<(n + 255) / 256, 256>>>(in, bits, back, n);
  return cudaGetLastError();
}
extern "C" int run_arithmetic(const void* a, const void* b, const void* c, void* out, int n, int is_half) {
  if (is_half) {
    arithmetic<<<(n + 255) / 256, 256>>>((const half*)a, (const half*)b, (const half*)c, (half*)out, n);
  } else {
    arithmetic<<<(n + 255) / 256, 256>>>((const nv_bfloat16*)a, (const nv_bfloat16*)b, (const nv_bfloat16*)c,
                                         (nv_bfloat16*)out, n);
  }
  return cudaGetLastError();
}
extern "C" int run_comparisons(const void* a, const void* b, int* out, int n, int is_half) {
  if (is_half)
    comparisons<<<1, n>>>((const half*)a, (const half*)b, out, n);
  else
    comparisons<<<1, n>>>((const nv_bfloat16*)a, (const nv_bfloat16*)b, out, n);
  return cudaGetLastError();
}
extern "C" int run_pairs(const void* a, const void* b, void* out, float* wide, int n, int is_half) {
  if (is_half)
    half_pairs<<<1, n>>>((const half2*)a, (const half2*)b, (half2*)out, (float2*)wide);
  else
    bfloat_pairs<<<1, n>>>((const nv_bfloat162*)a, (const nv_bfloat162*)b, (nv_bfloat162*)out, (float2*)wide);
  return cudaGetLastError();
}
extern "C" int run_conversions(float* out) {
  conversions<<<1, 1>>>(out);
  return cudaGetLastError();
}
