//===- Numeric.h - Number formats -------------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Element types, their rounding and wrapping, and conversions between memory
// and the interpreter's numbers.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_INTERPRETER_NUMERIC_H
#define FOVEA_INTERPRETER_NUMERIC_H

#include "mlir/IR/Types.h"

#include <cstdint>
#include <optional>

namespace fovea::interp {

/// The element types that memory and values can have.
enum class ElementKind : uint8_t {
  I1,
  I8,
  I16,
  I32,
  I64,
  F8E4M3FN,
  F8E5M2,
  F16,
  BF16,
  F32,
  F64
};

/// The kind of a scalar type; `index` is I64. None if there is no such kind.
std::optional<ElementKind> getElementKind(mlir::Type type);

/// Bytes of one element in memory; an i1 takes one.
unsigned getByteWidth(ElementKind kind);

bool isFloat(ElementKind kind);

/// Bits of the significand, including the hidden one; floats only.
unsigned getPrecisionBits(ElementKind kind);

/// Exponent of the smallest normal number; floats only.
int getMinExponent(ElementKind kind);

/// The distance of adjacent numbers of `kind` at `magnitude`.
double ulpAt(ElementKind kind, double magnitude);

/// Rounds to the nearest number of `kind`, ties to even. Overflow gives an
/// infinity, or NaN if the kind has none.
float roundTo(ElementKind kind, float value);
double roundTo(ElementKind kind, double value);
void roundTo(ElementKind kind, float *values, int64_t count);
void roundTo(ElementKind kind, double *values, int64_t count);

/// Wraps to the width of an integer kind, sign extended; an i1 is 0 or 1.
struct IntegerWrap {
  explicit IntegerWrap(ElementKind kind);
  int64_t operator()(int64_t value) const {
    return (int64_t(uint64_t(value) << shift) >> shift) & mask;
  }
  /// The value's bits as an unsigned number.
  uint64_t toUnsigned(int64_t value) const {
    return (uint64_t(value) << shift) >> shift;
  }
  unsigned width, shift;
  int64_t mask;
};

/// Converts a number to its bits in memory, and back.
uint64_t encodeFloat(ElementKind kind, double value);
double decodeFloat(ElementKind kind, uint64_t bits);

/// Reads `count` elements at a distance of `stride` elements. Floats are read
/// into float or double, integers into int64_t; `kind` must match the target.
void readElements(ElementKind kind, const void *source, int64_t stride,
                  int64_t count, int64_t *target);
void readElements(ElementKind kind, const void *source, int64_t stride,
                  int64_t count, float *target);
void readElements(ElementKind kind, const void *source, int64_t stride,
                  int64_t count, double *target);

/// The reverse; floats are rounded.
void writeElements(ElementKind kind, const int64_t *source, int64_t count,
                   void *target, int64_t stride);
void writeElements(ElementKind kind, const float *source, int64_t count,
                   void *target, int64_t stride);
void writeElements(ElementKind kind, const double *source, int64_t count,
                   void *target, int64_t stride);

} // namespace fovea::interp

#endif // FOVEA_INTERPRETER_NUMERIC_H
