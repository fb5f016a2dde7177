// cuBLASLt's matmul over the host's BLAS, with the epilogues bias, ReLU and GELU. Any order of rows and
// columns.
#pragma once

#include <string.h>

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuda_runtime.h"
#include "warpsmith/gemm.h"
#include "warpsmith/lt_types.h"

#pragma GCC visibility push(hidden)

inline cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = new cublasLtContext();
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

inline cublasStatus_t cublasLtMatmulDescInit(cublasLtMatmulDesc_t desc, cublasComputeType_t compute,
                                             cudaDataType scale) {
  *desc = {};
  desc->compute = compute;
  desc->scale = scale;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* desc, cublasComputeType_t compute,
                                               cudaDataType scale) {
  *desc = new cublasLtMatmulDescOpaque_t();
  return cublasLtMatmulDescInit(*desc, compute, scale);
}
inline cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  delete desc;
  return CUBLAS_STATUS_SUCCESS;
}

namespace warpsmith {

template <class T>
inline cublasStatus_t set_from(T& field, const void* value, size_t bytes) {
  if (value == nullptr || bytes != sizeof(T)) return CUBLAS_STATUS_INVALID_VALUE;
  memcpy(&field, value, sizeof(T));
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace warpsmith

inline cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                                     cublasLtMatmulDescAttributes_t attribute,
                                                     const void* value, size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA: return warpsmith::set_from(desc->op_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB: return warpsmith::set_from(desc->op_b, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE: return warpsmith::set_from(desc->epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return warpsmith::set_from(desc->bias, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
      desc->has_bias_type = true;
      return warpsmith::set_from(desc->bias_type, value, bytes);
    case CUBLASLT_MATMUL_DESC_POINTER_MODE: return CUBLAS_STATUS_SUCCESS;  // all memory is the host's
    default: return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

inline cublasStatus_t cublasLtMatrixLayoutInit(cublasLtMatrixLayout_t layout, cudaDataType type,
                                               uint64_t rows, uint64_t columns, int64_t leading) {
  *layout = {};
  layout->type = type;
  layout->rows = rows;
  layout->columns = columns;
  layout->leading = leading;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type,
                                                 uint64_t rows, uint64_t columns, int64_t leading) {
  *layout = new cublasLtMatrixLayoutOpaque_t();
  return cublasLtMatrixLayoutInit(*layout, type, rows, columns, leading);
}
inline cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                       cublasLtMatrixLayoutAttribute_t attribute,
                                                       const void* value, size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_TYPE: return warpsmith::set_from(layout->type, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_ORDER: return warpsmith::set_from(layout->order, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_ROWS: return warpsmith::set_from(layout->rows, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_COLS: return warpsmith::set_from(layout->columns, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_LD: return warpsmith::set_from(layout->leading, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT: return warpsmith::set_from(layout->batch, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
      return warpsmith::set_from(layout->batch_stride, value, bytes);
    default: return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

inline cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = new cublasLtMatmulPreferenceOpaque_t();
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatmulPreferenceInit(cublasLtMatmulPreference_t) {
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete preference;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t,
                                                           cublasLtMatmulPreferenceAttributes_t, const void*,
                                                           size_t) {
  return CUBLAS_STATUS_SUCCESS;
}

namespace warpsmith {

inline bool read_epilogue(const cublasLtMatmulDescOpaque_t& desc, Epilogue& epilogue) {
  bool has_bias = (desc.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0;
  switch (desc.epilogue & ~CUBLASLT_EPILOGUE_BIAS) {
    case 0:
    case CUBLASLT_EPILOGUE_DEFAULT: break;
    case CUBLASLT_EPILOGUE_RELU: epilogue.activation = Activation::relu; break;
    case CUBLASLT_EPILOGUE_GELU: epilogue.activation = Activation::gelu; break;
    default: return false;
  }
  epilogue.bias = has_bias ? desc.bias : nullptr;
  return !has_bias || desc.bias != nullptr;
}

// A matrix by rows is its transpose by columns.
inline Operand by_columns(const void* data, const cublasLtMatrixLayoutOpaque_t& layout,
                          cublasOperation_t op) {
  bool is_by_rows = layout.order == CUBLASLT_ORDER_ROW;
  return {data, layout.type, (op != CUBLAS_OP_N) != is_by_rows, layout.leading};
}

struct MatmulShape {
  int64_t m, n, k;
  bool is_valid;
};

inline MatmulShape shape(const cublasLtMatmulDescOpaque_t& desc, const cublasLtMatrixLayoutOpaque_t& a,
                         const cublasLtMatrixLayoutOpaque_t& b, const cublasLtMatrixLayoutOpaque_t& c,
                         const cublasLtMatrixLayoutOpaque_t& d) {
  bool is_a_plain = desc.op_a == CUBLAS_OP_N, is_b_plain = desc.op_b == CUBLAS_OP_N;
  uint64_t m = is_a_plain ? a.rows : a.columns, k = is_a_plain ? a.columns : a.rows;
  uint64_t b_k = is_b_plain ? b.rows : b.columns, n = is_b_plain ? b.columns : b.rows;
  bool is_valid =
      k == b_k && d.rows == m && d.columns == n && c.rows == m && c.columns == n && c.order == d.order;
  return {static_cast<int64_t>(m), static_cast<int64_t>(n), static_cast<int64_t>(k), is_valid};
}

}  // namespace warpsmith

WARPSMITH_OUTLINE cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                                const void* alpha, const void* a,
                                                cublasLtMatrixLayout_t a_layout, const void* b,
                                                cublasLtMatrixLayout_t b_layout, const void* beta,
                                                const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                                                cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t*,
                                                void*, size_t, cudaStream_t) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (c_layout == nullptr) c_layout = d_layout;
  warpsmith::MatmulShape shape = warpsmith::shape(*desc, *a_layout, *b_layout, *c_layout, *d_layout);
  if (!shape.is_valid) return CUBLAS_STATUS_INVALID_VALUE;
  warpsmith::Gemm gemm{};
  if (!warpsmith::read_epilogue(*desc, gemm.epilogue)) return CUBLAS_STATUS_NOT_SUPPORTED;
  gemm.epilogue.bias_type = desc->has_bias_type ? desc->bias_type : d_layout->type;
  gemm.m = shape.m, gemm.n = shape.n, gemm.k = shape.k;
  gemm.alpha = warpsmith::scale_value(alpha, desc->compute);
  gemm.beta = warpsmith::scale_value(beta, desc->compute);
  gemm.d_type = d_layout->type;
  gemm.d_leading = d_layout->leading;
  gemm.compute = desc->compute;
  bool is_by_rows = d_layout->order == CUBLASLT_ORDER_ROW;
  warpsmith::counters.library_calls += 1;
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  for (int item = 0; item < d_layout->batch && status == CUBLAS_STATUS_SUCCESS; ++item) {
    warpsmith::Gemm one = gemm;
    const void* one_a = warpsmith::offset(a, a_layout->type, item * a_layout->batch_stride);
    const void* one_b = warpsmith::offset(b, b_layout->type, item * b_layout->batch_stride);
    const void* one_c =
        c == nullptr ? d : warpsmith::offset(c, c_layout->type, item * c_layout->batch_stride);
    one.a = warpsmith::by_columns(one_a, *a_layout, desc->op_a);
    one.b = warpsmith::by_columns(one_b, *b_layout, desc->op_b);
    one.c = {one_c, c_layout->type, false, c_layout->leading};
    one.d = warpsmith::offset(d, d_layout->type, item * d_layout->batch_stride);
    if (is_by_rows) {
      // The transpose of D, by columns: op(B) and op(A) change places, both transposed.
      std::swap(one.m, one.n);
      std::swap(one.a, one.b);
      one.a.is_transposed = !one.a.is_transposed;
      one.b.is_transposed = !one.b.is_transposed;
      one.epilogue.is_bias_by_column = true;
    }
    status = warpsmith::multiply(one);
  }
  return status;
}

// There is one algorithm. It is found for what cublasLtMatmul would do, so a program's fall-back is taken
// where it must be.
inline cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                                     cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                                     cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                                     cublasLtMatmulPreference_t, int num_requested,
                                                     cublasLtMatmulHeuristicResult_t results[],
                                                     int* num_found) {
  *num_found = 0;
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (num_requested < 1) return CUBLAS_STATUS_INVALID_VALUE;
  if (!warpsmith::shape(*desc, *a, *b, c == nullptr ? *d : *c, *d).is_valid)
    return CUBLAS_STATUS_INVALID_VALUE;
  warpsmith::Epilogue epilogue;
  cublasLtMatmulDescOpaque_t with_any_bias = *desc;
  if (with_any_bias.bias == nullptr) with_any_bias.bias = desc;  // it may be set after the search
  if (!warpsmith::read_epilogue(with_any_bias, epilogue)) return CUBLAS_STATUS_NOT_SUPPORTED;
  results[0] = {};
  *num_found = 1;
  return CUBLAS_STATUS_SUCCESS;
}

#pragma GCC visibility pop
