//===- HostTensor.h - Tensors of host programs ------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensors of the host: inputs and outputs of programs under interpretation.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_INTERPRETER_HOSTTENSOR_H
#define FOVEA_INTERPRETER_HOSTTENSOR_H

#include "fovea/Interpreter/Values.h"

#include "mlir/IR/BuiltinTypes.h"

namespace fovea::interp {

/// A dense, row-major tensor of the host, with elements in their own
/// representation. An i1 takes a byte. Copies share the elements.
class HostTensor {
public:
  HostTensor() = default;
  /// Elements are zero.
  HostTensor(ElementKind kind, llvm::ArrayRef<int64_t> shape);

  /// The number of bytes of a tensor; fails if it exceeds `limit`.
  static llvm::FailureOr<int64_t>
  getByteSize(ElementKind kind, llvm::ArrayRef<int64_t> shape, int64_t limit);

  explicit operator bool() const { return bytes != nullptr; }
  ElementKind getKind() const { return kind; }
  llvm::ArrayRef<int64_t> getShape() const { return shape; }
  int64_t getNumElements() const;
  int64_t getNumBytes() const { return getNumElements() * getByteWidth(kind); }
  char *data() const { return bytes.get(); }

  /// Fills floats with NaN and integers with -1, so that elements which a
  /// kernel does not write are noticed.
  void poison();

  /// Element `index` as a double, for floats.
  double getFloat(int64_t index) const;

  /// A view whose dimension d is this tensor's dimension order[d].
  MemRefView getView(llvm::ArrayRef<int64_t> order) const;

  /// Conversions to and from values of the interpreter.
  std::shared_ptr<const Array> toArray(Precision precision) const;
  static HostTensor fromArray(const Array &array, ElementKind kind);

private:
  ElementKind kind = ElementKind::F32;
  llvm::SmallVector<int64_t, 4> shape;
  std::shared_ptr<char[]> bytes;
};

} // namespace fovea::interp

#endif // FOVEA_INTERPRETER_HOSTTENSOR_H
