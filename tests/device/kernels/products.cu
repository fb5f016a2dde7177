// cuBLAS and cuBLASLt.
#include <cublasLt.h>
#include <cublas_v2.h>

static cublasHandle_t handle() {
  static cublasHandle_t made = nullptr;
  if (made == nullptr) cublasCreate(&made);
  return made;
}

extern "C" int run_sgemm(const float* a, const float* b, float* c, int m, int n, int k, int trans_a,
                         int trans_b, int lda, int ldb, int ldc, float alpha, float beta,
                         cudaStream_t stream) {
  cublasSetStream(handle(), stream);
  cublasSetMathMode(handle(), CUBLAS_DEFAULT_MATH);
  return cublasSgemm(handle(), trans_a ? CUBLAS_OP_T : CUBLAS_OP_N, trans_b ? CUBLAS_OP_T : CUBLAS_OP_N, m, n,
                     k, &alpha, a, lda, b, ldb, &beta, c, ldc);
}

// Row-major C[m, n] = A[m, k] W[n, k]^T, as torch's linear has it, by what cuBLAS takes: C^T = W A^T by
// columns.
extern "C" int run_linear(const float* a, const float* w, float* c, int m, int n, int k, int is_tf32) {
  float one = 1.0f, zero = 0.0f;
  cublasSetMathMode(handle(), is_tf32 ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH);
  return cublasSgemm(handle(), CUBLAS_OP_T, CUBLAS_OP_N, n, m, k, &one, w, k, a, k, &zero, c, n);
}

extern "C" int run_gemm_ex(const void* a, const void* b, void* c, int m, int n, int k, int type, int c_type,
                           int compute) {
  float one = 1.0f, zero = 0.0f;
  cublasSetMathMode(handle(), CUBLAS_DEFAULT_MATH);
  return cublasGemmEx(handle(), CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, a, (cudaDataType)type, m, b,
                      (cudaDataType)type, k, &zero, c, (cudaDataType)c_type, m, (cublasComputeType_t)compute,
                      CUBLAS_GEMM_DEFAULT);
}

extern "C" int run_batched(const float* a, const float* b, float* c, int m, int n, int k, int batch) {
  float one = 1.0f, zero = 0.0f;
  cublasSetMathMode(handle(), CUBLAS_DEFAULT_MATH);
  return cublasSgemmStridedBatched(handle(), CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, a, m, (long long)m * k,
                                   b, k, (long long)k * n, &zero, c, m, (long long)m * n, batch);
}

extern "C" int run_sgemv(const float* a, const float* x, float* y, int m, int n, int trans) {
  float two = 2.0f, one = 1.0f;
  return cublasSgemv(handle(), trans ? CUBLAS_OP_T : CUBLAS_OP_N, m, n, &two, a, m, x, 1, &one, y, 1);
}

// Row-major out[m, n] = epilogue(x[m, k] w[n, k]^T + bias), in either of the two ways that people write it;
// the bias has one element for each row of the result as cuBLASLt sees it: n by columns (where the result is
// transposed), m by rows.
extern "C" int run_lt(const void* x, const void* w, const void* bias, void* out, int m, int n, int k,
                      int type, int epilogue, int by_rows) {
  static cublasLtHandle_t lt = nullptr;
  if (lt == nullptr) cublasLtCreate(&lt);
  cudaDataType data = (cudaDataType)type;
  cublasLtMatmulDesc_t desc;
  cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  cublasLtEpilogue_t kind = (cublasLtEpilogue_t)epilogue;
  cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &kind, sizeof(kind));
  if (bias) cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof(bias));
  cublasOperation_t transposed = CUBLAS_OP_T;
  cublasLtMatrixLayout_t first, second, result;
  if (by_rows) {
    cublasLtOrder_t order = CUBLASLT_ORDER_ROW;
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSB, &transposed, sizeof(transposed));
    cublasLtMatrixLayoutCreate(&first, data, m, k, k);
    cublasLtMatrixLayoutCreate(&second, data, n, k, k);
    cublasLtMatrixLayoutCreate(&result, data, m, n, n);
    cublasLtMatrixLayoutSetAttribute(first, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof(order));
    cublasLtMatrixLayoutSetAttribute(second, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof(order));
    cublasLtMatrixLayoutSetAttribute(result, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof(order));
  } else {
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof(transposed));
    cublasLtMatrixLayoutCreate(&first, data, k, n, k);
    cublasLtMatrixLayoutCreate(&second, data, k, m, k);
    cublasLtMatrixLayoutCreate(&result, data, n, m, n);
  }
  cublasLtMatmulPreference_t preference;
  cublasLtMatmulPreferenceCreate(&preference);
  size_t workspace = 0;
  cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
                                       sizeof(workspace));
  cublasLtMatmulHeuristicResult_t heuristic = {};
  int found = 0;
  cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(lt, desc, first, second, result, result, preference,
                                                         1, &heuristic, &found);
  if (status == CUBLAS_STATUS_SUCCESS && found == 0) status = CUBLAS_STATUS_NOT_SUPPORTED;
  if (status == CUBLAS_STATUS_SUCCESS) {
    float one = 1.0f, zero = 0.0f;
    status = cublasLtMatmul(lt, desc, &one, by_rows ? x : w, first, by_rows ? w : x, second, &zero, out,
                            result, out, result, &heuristic.algo, nullptr, 0, 0);
  }
  cublasLtMatmulPreferenceDestroy(preference);
  cublasLtMatrixLayoutDestroy(first);
  cublasLtMatrixLayoutDestroy(second);
  cublasLtMatrixLayoutDestroy(result);
  cublasLtMatmulDescDestroy(desc);
  return status;
}
