//===- MatMul.cpp - Matrix products on the host -----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocked matrix multiplication and transposition for the interpreter. The
// order of additions is fixed, so results are reproducible.
//
//===----------------------------------------------------------------------===//

#include "MatMul.h"

#include <algorithm>

using namespace fovea::interp;

/// Keeps a block of R x C accumulators in vector registers along k.
template <int R, int C, typename T>
static inline void multiplyBlock(const T *a, const T *b, T *c, int64_t n,
                                 int64_t k) {
  T sums[R][C];
  for (int r = 0; r < R; ++r)
    for (int x = 0; x < C; ++x)
      sums[r][x] = c[r * n + x];
  for (int64_t p = 0; p < k; ++p) {
    const T *row = b + p * n;
    for (int r = 0; r < R; ++r) {
      T factor = a[r * k + p];
      for (int x = 0; x < C; ++x)
        sums[r][x] += factor * row[x];
    }
  }
  for (int r = 0; r < R; ++r)
    for (int x = 0; x < C; ++x)
      c[r * n + x] = sums[r][x];
}

template <int R, int C, typename T>
static inline void multiplyRows(const T *a, const T *b, T *c, int64_t n,
                                int64_t k) {
  int64_t column = 0;
  for (; column + C <= n; column += C)
    multiplyBlock<R, C>(a, b + column, c + column, n, k);
  for (; column < n; ++column)
    multiplyBlock<R, 1>(a, b + column, c + column, n, k);
}

template <int C, typename T>
static void multiply(const T *a, const T *b, T *c, int64_t m, int64_t n,
                     int64_t k) {
  int64_t row = 0;
  for (; row + 4 <= m; row += 4)
    multiplyRows<4, C>(a + row * k, b, c + row * n, n, k);
  for (; row < m; ++row)
    multiplyRows<1, C>(a + row * k, b, c + row * n, n, k);
}

void fovea::interp::multiplyAdd(const float *a, const float *b, float *c,
                                int64_t m, int64_t n, int64_t k) {
  multiply<8>(a, b, c, m, n, k);
}
void fovea::interp::multiplyAdd(const double *a, const double *b, double *c,
                                int64_t m, int64_t n, int64_t k) {
  multiply<4>(a, b, c, m, n, k);
}

template <typename T>
static void transposeBlocks(const T *source, T *target, int64_t rows,
                            int64_t columns) {
  constexpr int64_t kBlock =
      16; // source and target of a block fit into the cache
  for (int64_t r0 = 0; r0 < rows; r0 += kBlock)
    for (int64_t c0 = 0; c0 < columns; c0 += kBlock)
      for (int64_t c = c0; c < std::min(columns, c0 + kBlock); ++c)
        for (int64_t r = r0; r < std::min(rows, r0 + kBlock); ++r)
          target[c * rows + r] = source[r * columns + c];
}

void fovea::interp::transpose(const float *source, float *target, int64_t rows,
                              int64_t columns) {
  transposeBlocks(source, target, rows, columns);
}
void fovea::interp::transpose(const double *source, double *target,
                              int64_t rows, int64_t columns) {
  transposeBlocks(source, target, rows, columns);
}
