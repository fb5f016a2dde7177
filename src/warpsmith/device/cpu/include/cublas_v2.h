// cuBLAS over the host's BLAS: handles, and the products that programs call. Matrices by columns, as there.
#pragma once

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuda_runtime.h"
#include "warpsmith/gemm.h"

#define CUBLAS_VER_MAJOR 13
#define CUBLAS_VER_MINOR 0
#define CUBLAS_VERSION 130000
#define cublasCreate_v2 cublasCreate
#define cublasDestroy_v2 cublasDestroy
#define cublasSetStream_v2 cublasSetStream
#define cublasSgemm_v2 cublasSgemm
#define cublasDgemm_v2 cublasDgemm
#define cublasSgemv_v2 cublasSgemv

#pragma GCC visibility push(hidden)

inline cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  *handle = new cublasContext();
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasGetStream(cublasHandle_t handle, cudaStream_t* stream) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  *stream = handle->stream;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t math) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  handle->math = math;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* math) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  *math = handle->math;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void*, size_t) {
  return handle == nullptr ? CUBLAS_STATUS_NOT_INITIALIZED : CUBLAS_STATUS_SUCCESS;
}
// Both kinds of memory are the host's.
inline cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t) {
  return handle == nullptr ? CUBLAS_STATUS_NOT_INITIALIZED : CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t) {
  return handle == nullptr ? CUBLAS_STATUS_NOT_INITIALIZED : CUBLAS_STATUS_SUCCESS;
}

WARPSMITH_OUTLINE cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k,
    const void* alpha, const void* a, cudaDataType a_type, int lda, long long a_stride, const void* b,
    cudaDataType b_type, int ldb, long long b_stride, const void* beta, void* c, cudaDataType c_type, int ldc,
    long long c_stride, int batch, cublasComputeType_t compute, cublasGemmAlgo_t) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (batch < 0) return CUBLAS_STATUS_INVALID_VALUE;
  bool is_tf32 = (handle->math & 15) == CUBLAS_TF32_TENSOR_OP_MATH && compute == CUBLAS_COMPUTE_32F;
  warpsmith::Gemm gemm{};
  gemm.m = m, gemm.n = n, gemm.k = k;
  gemm.alpha = warpsmith::scale_value(alpha, compute);
  gemm.beta = warpsmith::scale_value(beta, compute);
  gemm.d_type = c_type;
  gemm.d_leading = ldc;
  gemm.compute = is_tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : compute;
  warpsmith::counters.library_calls += 1;
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  for (int item = 0; item < batch && status == CUBLAS_STATUS_SUCCESS; ++item) {
    gemm.a = {warpsmith::offset(a, a_type, item * a_stride), a_type, op_a != CUBLAS_OP_N, lda};
    gemm.b = {warpsmith::offset(b, b_type, item * b_stride), b_type, op_b != CUBLAS_OP_N, ldb};
    gemm.d = warpsmith::offset(c, c_type, item * c_stride);
    gemm.c = {gemm.d, c_type, false, ldc};
    status = warpsmith::multiply(gemm);
  }
  return status;
}

inline cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                                   int m, int n, int k, const void* alpha, const void* a, cudaDataType a_type,
                                   int lda, const void* b, cudaDataType b_type, int ldb, const void* beta,
                                   void* c, cudaDataType c_type, int ldc, cublasComputeType_t compute,
                                   cublasGemmAlgo_t algorithm) {
  return cublasGemmStridedBatchedEx(handle, op_a, op_b, m, n, k, alpha, a, a_type, lda, 0, b, b_type, ldb, 0,
                                    beta, c, c_type, ldc, 0, 1, compute, algorithm);
}

inline cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t op_a,
                                                cublasOperation_t op_b, int m, int n, int k,
                                                const float* alpha, const float* a, int lda,
                                                long long a_stride, const float* b, int ldb,
                                                long long b_stride, const float* beta, float* c, int ldc,
                                                long long c_stride, int batch) {
  return cublasGemmStridedBatchedEx(handle, op_a, op_b, m, n, k, alpha, a, CUDA_R_32F, lda, a_stride, b,
                                    CUDA_R_32F, ldb, b_stride, beta, c, CUDA_R_32F, ldc, c_stride, batch,
                                    CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}

inline cublasStatus_t cublasSgemm(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                                  int m, int n, int k, const float* alpha, const float* a, int lda,
                                  const float* b, int ldb, const float* beta, float* c, int ldc) {
  return cublasSgemmStridedBatched(handle, op_a, op_b, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0,
                                   1);
}

inline cublasStatus_t cublasDgemm(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                                  int m, int n, int k, const double* alpha, const double* a, int lda,
                                  const double* b, int ldb, const double* beta, double* c, int ldc) {
  return cublasGemmEx(handle, op_a, op_b, m, n, k, alpha, a, CUDA_R_64F, lda, b, CUDA_R_64F, ldb, beta, c,
                      CUDA_R_64F, ldc, CUBLAS_COMPUTE_64F, CUBLAS_GEMM_DEFAULT);
}

// y = alpha op(A) x + beta y
inline cublasStatus_t cublasSgemv(cublasHandle_t handle, cublasOperation_t op, int m, int n,
                                  const float* alpha, const float* a, int lda, const float* x, int x_step,
                                  const float* beta, float* y, int y_step) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (m < 0 || n < 0 || lda < (m > 1 ? m : 1) || x_step == 0 || y_step == 0)
    return CUBLAS_STATUS_INVALID_VALUE;
  int rows = op == CUBLAS_OP_N ? m : n, depth = op == CUBLAS_OP_N ? n : m;
  // A negative step walks the vector from its end.
  const float* x_first = x_step > 0 ? x : x - static_cast<int64_t>(depth - 1) * x_step;
  float* y_first = y_step > 0 ? y : y - static_cast<int64_t>(rows - 1) * y_step;
  warpsmith::counters.library_calls += 1;
  warpsmith::counters.library_flops += 2ll * m * n;
  warpsmith::for_each(rows, [&](int64_t row) {
    double sum = 0;
    for (int64_t place = 0; place < depth; ++place) {
      float element = op == CUBLAS_OP_N ? a[place * lda + row] : a[row * lda + place];
      sum += static_cast<double>(element) * static_cast<double>(x_first[place * x_step]);
    }
    float& out = y_first[row * y_step];
    out = static_cast<float>(*alpha * sum) + (*beta == 0.0f ? 0.0f : *beta * out);
  });
  return CUBLAS_STATUS_SUCCESS;
}

#pragma GCC visibility pop
