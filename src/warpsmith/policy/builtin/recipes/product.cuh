// Matrix products by cuBLASLt, each planned once.
//
//     D[m, n] = activation(alpha * A[m, k] B[k, n] + beta * C[m, n] + bias[n])
//
// cuBLASLt thinks in columns. Our row-major D[m, n] is its column-major D'[n, m], and D' = B' A': so B is
// handed over as its first operand and A as its second, and the bias runs along the rows of D'.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#define PRODUCT_TRY(...)                            \
    do {                                            \
        const cublasStatus_t tried = (__VA_ARGS__); \
        if (tried != CUBLAS_STATUS_SUCCESS) {       \
            return tried;                           \
        }                                           \
    } while (0)

// Row-major with `ld` elements from row to row, or transposed: column-major with `ld` from column to column.
struct Layout {
    bool is_transposed;
    int64_t ld;
    int64_t batch_stride;
};

struct Problem {
    int64_t m, n, k;
    int batch;
    Layout a, b;
    cudaDataType_t input;   // of A and B
    cudaDataType_t output;  // of C, D and bias
    cublasComputeType_t compute;
    cublasLtEpilogue_t epilogue;
    int rank;  // which of cuBLASLt's proposals to take: 0 is the one it likes best
};

struct Operands {
    const void* a;
    const void* b;
    const void* c;  // may be D, or null where beta is 0
    const void* bias;
    void* d;
    float alpha, beta;
};

// The library's handle and scratch memory on one device, made at first use and kept.
struct Library {
    cublasLtHandle_t handle;
    void* workspace;
};

inline constexpr size_t kWorkspaceBytes = size_t{32} << 20;  // what cuBLAS itself takes on Hopper
inline constexpr int kMaxDevices = 64;
inline constexpr int kMaxProposals = 8;

inline cublasStatus_t library(int device, Library* found) {
    static Library libraries[kMaxDevices] = {};
    if (device >= kMaxDevices) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    Library& own = libraries[device];
    if (own.handle == nullptr) {
        if (cudaMalloc(&own.workspace, kWorkspaceBytes) != cudaSuccess) {
            return CUBLAS_STATUS_ALLOC_FAILED;
        }
        PRODUCT_TRY(cublasLtCreate(&own.handle));
    }
    *found = own;
    return CUBLAS_STATUS_SUCCESS;
}

// The largest power of two, 16 at most, that divides every address.
inline uint32_t common_alignment(const Operands& with) {
    const uintptr_t bits = reinterpret_cast<uintptr_t>(with.a) | reinterpret_cast<uintptr_t>(with.b) |
                           reinterpret_cast<uintptr_t>(with.c) | reinterpret_cast<uintptr_t>(with.d) | 16;
    return static_cast<uint32_t>(bits & ~(bits - 1));
}

// One product of fixed sizes. It is planned at the first call, and again for another device or for addresses
// that are less aligned than those before. Not for several threads at once.
class Planned {
  public:
    explicit Planned(const Problem& problem) : problem_(problem) {}

    cublasStatus_t run(const Operands& with, cudaStream_t stream) {
        int device = 0;
        if (cudaGetDevice(&device) != cudaSuccess) {
            return CUBLAS_STATUS_NOT_INITIALIZED;
        }
        if (operation_ == nullptr) {
            PRODUCT_TRY(make_operation(with.bias != nullptr));
        }
        if (with.bias != nullptr) {
            PRODUCT_TRY(set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, &with.bias, sizeof with.bias));
        }
        const uint32_t alignment = common_alignment(with);
        if (device != device_ || alignment < alignment_) {
            PRODUCT_TRY(library(device, &library_));
            PRODUCT_TRY(choose(alignment));
            device_ = device;
            alignment_ = alignment;
        }
        const void* c = with.c != nullptr ? with.c : with.d;
        return cublasLtMatmul(library_.handle, operation_, &with.alpha, with.b, b_, with.a, a_, &with.beta, c,
                              d_, with.d, d_, &algorithm_, library_.workspace, kWorkspaceBytes, stream);
    }

  private:
    cublasStatus_t make_operation(bool has_bias) {
        const Problem& p = problem_;
        PRODUCT_TRY(cublasLtMatmulDescCreate(&operation_, p.compute, CUDA_R_32F));
        const cublasOperation_t b_turn = p.b.is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
        const cublasOperation_t a_turn = p.a.is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
        PRODUCT_TRY(set(CUBLASLT_MATMUL_DESC_TRANSA, &b_turn, sizeof b_turn));
        PRODUCT_TRY(set(CUBLASLT_MATMUL_DESC_TRANSB, &a_turn, sizeof a_turn));
        PRODUCT_TRY(set(CUBLASLT_MATMUL_DESC_EPILOGUE, &p.epilogue, sizeof p.epilogue));
        if (has_bias) {
            PRODUCT_TRY(set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &p.output, sizeof p.output));
        }
        PRODUCT_TRY(describe(&b_, p.input, p.k, p.n, p.b));
        PRODUCT_TRY(describe(&a_, p.input, p.m, p.k, p.a));
        return describe(&d_, p.output, p.m, p.n, Layout{false, p.n, p.m * p.n});
    }

    cublasStatus_t choose(uint32_t alignment) {
        cublasLtMatmulPreference_t preference = nullptr;
        PRODUCT_TRY(cublasLtMatmulPreferenceCreate(&preference));
        cublasLtMatmulHeuristicResult_t proposals[kMaxProposals] = {};
        int num = 0;
        const cublasStatus_t status = propose(preference, alignment, proposals, &num);
        cublasLtMatmulPreferenceDestroy(preference);
        PRODUCT_TRY(status);
        if (num == 0) {
            return CUBLAS_STATUS_NOT_SUPPORTED;
        }
        algorithm_ = proposals[problem_.rank < num ? problem_.rank : num - 1].algo;
        return CUBLAS_STATUS_SUCCESS;
    }

    cublasStatus_t propose(cublasLtMatmulPreference_t preference, uint32_t alignment,
                           cublasLtMatmulHeuristicResult_t* proposals, int* num) {
        PRODUCT_TRY(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                         &kWorkspaceBytes, sizeof kWorkspaceBytes));
        constexpr cublasLtMatmulPreferenceAttributes_t names[] = {
            CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
            CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
        for (const cublasLtMatmulPreferenceAttributes_t name : names) {
            PRODUCT_TRY(cublasLtMatmulPreferenceSetAttribute(preference, name, &alignment, sizeof alignment));
        }
        return cublasLtMatmulAlgoGetHeuristic(library_.handle, operation_, b_, a_, d_, d_, preference,
                                              problem_.rank + 1, proposals, num);
    }

    // A row-major [rows, cols] is a column-major [cols, rows]; a transposed one a column-major [rows, cols].
    cublasStatus_t describe(cublasLtMatrixLayout_t* made, cudaDataType_t type, int64_t rows, int64_t cols,
                            const Layout& layout) {
        const int64_t height = layout.is_transposed ? rows : cols;
        const int64_t width = layout.is_transposed ? cols : rows;
        PRODUCT_TRY(cublasLtMatrixLayoutCreate(made, type, height, width, layout.ld));
        if (problem_.batch > 1) {
            const int32_t batch = problem_.batch;
            PRODUCT_TRY(cublasLtMatrixLayoutSetAttribute(*made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch,
                                                         sizeof batch));
            PRODUCT_TRY(cublasLtMatrixLayoutSetAttribute(*made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                                         &layout.batch_stride, sizeof layout.batch_stride));
        }
        return CUBLAS_STATUS_SUCCESS;
    }

    cublasStatus_t set(cublasLtMatmulDescAttributes_t name, const void* value, size_t bytes) {
        return cublasLtMatmulDescSetAttribute(operation_, name, value, bytes);
    }

    Problem problem_;
    int device_ = -1;
    uint32_t alignment_ = 0;
    Library library_ = {};
    cublasLtMatmulDesc_t operation_ = nullptr;
    cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, d_ = nullptr;
    cublasLtMatmulAlgo_t algorithm_ = {};
};
