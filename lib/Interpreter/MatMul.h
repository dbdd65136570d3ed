//===- MatMul.h - Matrix products on the host -------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dense matrix multiplication and transposition for the interpreter.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_INTERPRETER_MATMUL_H
#define FOVEA_LIB_INTERPRETER_MATMUL_H

#include <cstdint>

namespace fovea::interp {

/// c += a * b with a of MxK, b of KxN, c of MxN, all row-major and dense. Each
/// element's products are added in the order of k, so results depend only on
/// the operands.
void multiplyAdd(const float *a, const float *b, float *c, int64_t m, int64_t n,
                 int64_t k);
void multiplyAdd(const double *a, const double *b, double *c, int64_t m,
                 int64_t n, int64_t k);

/// target (columns x rows) becomes the transposed source (rows x columns).
void transpose(const float *source, float *target, int64_t rows,
               int64_t columns);
void transpose(const double *source, double *target, int64_t rows,
               int64_t columns);

} // namespace fovea::interp

#endif // FOVEA_LIB_INTERPRETER_MATMUL_H
