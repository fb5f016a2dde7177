// The host's matrix product: one that the process has handed over, as that of libtorch, else a loop of ours
// over all cores.
#pragma once

#include <stdint.h>

#include "launch.h"

#pragma GCC visibility push(hidden)
namespace warpsmith {

// Calls body(context, 0), …, body(context, count - 1), spread over the cores.
WARPSMITH_OUTLINE void for_each_index(int64_t count, void (*body)(const void*, int64_t),
                                      const void* context) {
  if (count <= 0) return;
  auto thread = [&] { body(context, static_cast<int64_t>(blockIdx.x)); };
  Job job;
  job.kernel = "a library call";
  job.run_threads = run_threads<decltype(thread)>;
  job.thread = &thread;
  job.grid = dim3(static_cast<unsigned>(count));
  job.block = dim3(1);
  job.shared_bytes = 0;
  job.num_blocks = static_cast<uint64_t>(count);
  pool().run(job);
}

template <class Body>
inline void for_each(int64_t count, const Body& body) {
  for_each_index(
      count, [](const void* context, int64_t index) { (*static_cast<const Body*>(context))(index); }, &body);
}

// Fortran's: every argument by address, matrices by columns.
template <class T>
using HostGemm = void (*)(const char* transpose_a, const char* transpose_b, const int* m, const int* n,
                          const int* k, const T* alpha, const T* a, const int* lda, const T* b,
                          const int* ldb, const T* beta, T* c, const int* ldc);

// The program cannot look for one: that would take dlopen, which no program needs.
inline HostGemm<float> single_gemm = nullptr;
inline HostGemm<double> double_gemm = nullptr;

inline HostGemm<float> find_host_gemm(float) { return single_gemm; }
inline HostGemm<double> find_host_gemm(double) { return double_gemm; }

// One column of C at a time, as sums of columns of A, which the compiler makes vector instructions of.
template <class T>
WARPSMITH_OUTLINE void own_gemm(bool transpose_a, bool transpose_b, int m, int n, int k, T alpha, const T* a,
                                int lda, const T* b, int ldb, T beta, T* c, int ldc) {
  T* plain_a = nullptr;
  if (transpose_a) {
    plain_a = static_cast<T*>(malloc(sizeof(T) * static_cast<size_t>(m) * static_cast<size_t>(k) + 1));
    for_each(k, [&](int64_t depth) {
      for (int64_t row = 0; row < m; ++row) plain_a[depth * m + row] = a[row * lda + depth];
    });
  }
  const T* columns = transpose_a ? plain_a : a;
  int64_t column_step = transpose_a ? m : lda;
  for_each(n, [&](int64_t column) {
    T* sums = c + column * ldc;
    for (int64_t row = 0; row < m; ++row) sums[row] = beta == 0 ? 0 : beta * sums[row];
    constexpr int64_t rows_at_once = 2048;  // of C, which then stay in the first-level cache
    for (int64_t first = 0; first < m; first += rows_at_once) {
      int64_t end = first + rows_at_once < m ? first + rows_at_once : m;
      for (int64_t depth = 0; depth < k; ++depth) {
        T factor = alpha * (transpose_b ? b[depth * ldb + column] : b[column * ldb + depth]);
        const T* addends = columns + depth * column_step;
        for (int64_t row = first; row < end; ++row) sums[row] += factor * addends[row];
      }
    }
  });
  free(plain_a);
}

// C = alpha op(A) op(B) + beta C, matrices by columns. With beta 0, C is not read.
template <class T>
WARPSMITH_OUTLINE void host_gemm(bool transpose_a, bool transpose_b, int m, int n, int k, T alpha, const T* a,
                                 int lda, const T* b, int ldb, T beta, T* c, int ldc) {
  if (m == 0 || n == 0) return;
  HostGemm<T> gemm = find_host_gemm(T());
  if (gemm == nullptr)
    return own_gemm(transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  gemm(transpose_a ? "T" : "N", transpose_b ? "T" : "N", &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c,
       &ldc);
}

}  // namespace warpsmith
#pragma GCC visibility pop

// Fortran's sgemm and dgemm of the host, for the library calls of this program from now on.
extern "C" inline __attribute__((used, visibility("default"))) void warpsmith_use_products(
    warpsmith::HostGemm<float> single, warpsmith::HostGemm<double> both) {
  warpsmith::single_gemm = single;
  warpsmith::double_gemm = both;
}
