// D = epilogue(alpha op(A) op(B) + beta C) in any mixture of formats, with the accuracy that a GPU's unit
// would have.
#pragma once

#include "blas_types.h"
#include "counters.h"
#include "float16_bits.h"
#include "host_blas.h"

#pragma GCC visibility push(hidden)
namespace warpsmith {

enum class Activation { none, relu, gelu };

struct Operand {
  const void* data;
  cudaDataType type;
  bool is_transposed;
  int64_t leading;  // elements from one column to the next
};

struct Epilogue {
  Activation activation = Activation::none;
  const void* bias = nullptr;
  cudaDataType bias_type = CUDA_R_32F;
  bool is_bias_by_column = false;  // else one number for each row of D
};

struct Gemm {
  int64_t m, n, k;
  Operand a, b;
  double alpha, beta;
  Operand c;
  void* d;
  cudaDataType d_type;
  int64_t d_leading;
  cublasComputeType_t compute;
  Epilogue epilogue;
};

// TF32 keeps 10 bits of the mantissa; a tie goes away from zero, as the GPU's conversion has it.
inline float to_tf32(float x) {
  uint32_t bits = bit_cast<uint32_t>(x);
  if ((bits & 0x7f800000) == 0x7f800000) return x;
  return bit_cast<float>((bits + 0x1000) & 0xffffe000);
}

inline float through_bfloat(float x) { return BfloatFormat::decode(BfloatFormat::encode(x)); }
inline float through_half(float x) { return HalfFormat::decode(HalfFormat::encode(x)); }

inline size_t bytes_of(cudaDataType type) { return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2; }

inline bool is_supported(cudaDataType type) {
  return type == CUDA_R_32F || type == CUDA_R_64F || type == CUDA_R_16F || type == CUDA_R_16BF;
}

inline float load(const void* data, cudaDataType type, int64_t index) {
  if (type == CUDA_R_32F) return static_cast<const float*>(data)[index];
  uint16_t bits = static_cast<const uint16_t*>(data)[index];
  return type == CUDA_R_16F ? HalfFormat::decode(bits) : BfloatFormat::decode(bits);
}

inline void store(void* data, cudaDataType type, int64_t index, float value) {
  if (type == CUDA_R_32F) {
    static_cast<float*>(data)[index] = value;
  } else {
    static_cast<uint16_t*>(data)[index] =
        type == CUDA_R_16F ? HalfFormat::encode(value) : BfloatFormat::encode(value);
  }
}

// A matrix of floats that is either somebody's or a copy of our own.
struct Floats {
  const float* data;
  int64_t leading;
  float* owned = nullptr;

  Floats(const Floats&) = delete;
  explicit Floats(const Operand& matrix)
      : data(static_cast<const float*>(matrix.data)), leading(matrix.leading) {}
  Floats(int64_t rows, int64_t columns) : leading(rows > 0 ? rows : 1) {
    data = owned = static_cast<float*>(malloc(static_cast<size_t>(rows * columns) * sizeof(float) + 64));
  }
  ~Floats() { free(owned); }
};

template <class Convert>
inline void fill_columns(Floats& floats, const Operand& matrix, int64_t rows, int64_t columns,
                         Convert convert) {
  for_each(columns, [&](int64_t column) {
    for (int64_t row = 0; row < rows; ++row) {
      floats.owned[column * rows + row] =
          convert(load(matrix.data, matrix.type, column * matrix.leading + row));
    }
  });
}

inline bool is_narrowing(cublasComputeType_t compute) {
  return compute == CUBLAS_COMPUTE_32F_FAST_TF32 || compute == CUBLAS_COMPUTE_32F_FAST_16BF ||
         compute == CUBLAS_COMPUTE_32F_FAST_16F;
}

// An input as the GPU's multiplier sees it: 16-bit formats widened, floats narrowed where the compute type
// says so.
WARPSMITH_OUTLINE void widen(Floats& floats, const Operand& matrix, int64_t rows, int64_t columns,
                             cublasComputeType_t compute) {
  if (matrix.type != CUDA_R_32F)
    return fill_columns(floats, matrix, rows, columns, [](float x) { return x; });
  if (compute == CUBLAS_COMPUTE_32F_FAST_16BF)
    return fill_columns(floats, matrix, rows, columns, through_bfloat);
  if (compute == CUBLAS_COMPUTE_32F_FAST_16F)
    return fill_columns(floats, matrix, rows, columns, through_half);
  fill_columns(floats, matrix, rows, columns, to_tf32);
}

inline float activated(Activation activation, float x) {
  if (activation == Activation::relu) return x > 0.0f || x != x ? x : 0.0f;
  if (activation == Activation::none) return x;
  // The tanh form, which is cuBLASLt's.
  return 0.5f * x * (1.0f + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
}

WARPSMITH_OUTLINE void finish_columns(const Gemm& gemm, const float* sums, int64_t sums_leading) {
  const Epilogue& epilogue = gemm.epilogue;
  for_each(gemm.n, [&](int64_t column) {
    for (int64_t row = 0; row < gemm.m; ++row) {
      float value = sums[column * sums_leading + row];
      if (epilogue.bias != nullptr)
        value += load(epilogue.bias, epilogue.bias_type, epilogue.is_bias_by_column ? column : row);
      store(gemm.d, gemm.d_type, column * gemm.d_leading + row, activated(epilogue.activation, value));
    }
  });
}

WARPSMITH_OUTLINE void multiply_doubles(const Gemm& gemm) {
  double* d = static_cast<double*>(gemm.d);
  const double* c = static_cast<const double*>(gemm.c.data);
  if (gemm.beta != 0 && c != d) {
    for (int64_t column = 0; column < gemm.n; ++column) {
      memcpy(d + column * gemm.d_leading, c + column * gemm.c.leading,
             static_cast<size_t>(gemm.m) * sizeof(double));
    }
  }
  host_gemm<double>(gemm.a.is_transposed, gemm.b.is_transposed, static_cast<int>(gemm.m),
                    static_cast<int>(gemm.n), static_cast<int>(gemm.k), gemm.alpha,
                    static_cast<const double*>(gemm.a.data), static_cast<int>(gemm.a.leading),
                    static_cast<const double*>(gemm.b.data), static_cast<int>(gemm.b.leading), gemm.beta, d,
                    static_cast<int>(gemm.d_leading));
}

inline Floats input(const Operand& matrix, int64_t rows, int64_t columns, cublasComputeType_t compute) {
  bool is_plain = matrix.type == CUDA_R_32F && !is_narrowing(compute);
  return is_plain ? Floats(matrix) : Floats(rows, columns);
}

WARPSMITH_OUTLINE void multiply_floats(const Gemm& gemm) {
  int64_t a_rows = gemm.a.is_transposed ? gemm.k : gemm.m, a_columns = gemm.a.is_transposed ? gemm.m : gemm.k;
  int64_t b_rows = gemm.b.is_transposed ? gemm.n : gemm.k, b_columns = gemm.b.is_transposed ? gemm.k : gemm.n;
  Floats a = input(gemm.a, a_rows, a_columns, gemm.compute),
         b = input(gemm.b, b_rows, b_columns, gemm.compute);
  if (a.owned != nullptr) widen(a, gemm.a, a_rows, a_columns, gemm.compute);
  if (b.owned != nullptr) widen(b, gemm.b, b_rows, b_columns, gemm.compute);

  bool is_in_place = gemm.d_type == CUDA_R_32F;
  Floats own_sums(is_in_place ? 0 : gemm.m, gemm.n);
  float* sums = is_in_place ? static_cast<float*>(gemm.d) : own_sums.owned;
  int64_t sums_leading = is_in_place ? gemm.d_leading : own_sums.leading;
  if (gemm.beta != 0 && gemm.c.data != sums) {
    for_each(gemm.n, [&](int64_t column) {
      for (int64_t row = 0; row < gemm.m; ++row) {
        sums[column * sums_leading + row] = load(gemm.c.data, gemm.c.type, column * gemm.c.leading + row);
      }
    });
  }
  host_gemm<float>(gemm.a.is_transposed, gemm.b.is_transposed, static_cast<int>(gemm.m),
                   static_cast<int>(gemm.n), static_cast<int>(gemm.k), static_cast<float>(gemm.alpha), a.data,
                   static_cast<int>(a.leading), b.data, static_cast<int>(b.leading),
                   static_cast<float>(gemm.beta), sums, static_cast<int>(sums_leading));
  bool has_epilogue = gemm.epilogue.bias != nullptr || gemm.epilogue.activation != Activation::none;
  if (!is_in_place || has_epilogue) finish_columns(gemm, sums, sums_leading);
}

inline bool is_leading_valid(const Operand& matrix, int64_t rows, int64_t columns) {
  int64_t least = matrix.is_transposed ? columns : rows;
  return matrix.leading >= (least > 1 ? least : 1);
}

WARPSMITH_OUTLINE cublasStatus_t check(const Gemm& gemm) {
  bool is_valid = gemm.m >= 0 && gemm.n >= 0 && gemm.k >= 0 && is_leading_valid(gemm.a, gemm.m, gemm.k) &&
                  is_leading_valid(gemm.b, gemm.k, gemm.n) && is_leading_valid(gemm.c, gemm.m, gemm.n) &&
                  is_leading_valid({gemm.d, gemm.d_type, false, gemm.d_leading}, gemm.m, gemm.n);
  if (!is_valid) return CUBLAS_STATUS_INVALID_VALUE;
  bool is_double = gemm.d_type == CUDA_R_64F;
  for (cudaDataType type : {gemm.a.type, gemm.b.type, gemm.c.type, gemm.d_type}) {
    if (!is_supported(type) || (type == CUDA_R_64F) != is_double) return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  bool has_epilogue = gemm.epilogue.bias != nullptr || gemm.epilogue.activation != Activation::none;
  if (gemm.a.type != gemm.b.type || (is_double && has_epilogue)) return CUBLAS_STATUS_NOT_SUPPORTED;
  return CUBLAS_STATUS_SUCCESS;
}

// One product of a library call.
WARPSMITH_OUTLINE cublasStatus_t multiply(const Gemm& gemm) {
  cublasStatus_t status = check(gemm);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  counters.library_flops += 2 * gemm.m * gemm.n * gemm.k;
  if (gemm.d_type == CUDA_R_64F) {
    multiply_doubles(gemm);
  } else {
    multiply_floats(gemm);
  }
  return CUBLAS_STATUS_SUCCESS;
}

// alpha and beta come in the compute type's format.
inline double scale_value(const void* scale, cublasComputeType_t compute) {
  switch (compute) {
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC: return *static_cast<const double*>(scale);
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC: return load(scale, CUDA_R_16F, 0);
    default: return *static_cast<const float*>(scale);
  }
}

inline const void* offset(const void* data, cudaDataType type, long long elements) {
  return static_cast<const char*>(data) + elements * static_cast<long long>(bytes_of(type));
}
inline void* offset(void* data, cudaDataType type, long long elements) {
  return static_cast<char*>(data) + elements * static_cast<long long>(bytes_of(type));
}

}  // namespace warpsmith
#pragma GCC visibility pop
