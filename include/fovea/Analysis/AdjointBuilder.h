//===- AdjointBuilder.h - Emits and sums derivatives ------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_ANALYSIS_ADJOINTBUILDER_H
#define FOVEA_ANALYSIS_ADJOINTBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace fovea {

/// Keeps the adjoints of values, and emits the arithmetic that they are made
/// of, folded as far as constants allow.
class AdjointBuilder {
public:
  /// Gets the adjoint of one element of a tensor.
  using ElementSink =
      llvm::function_ref<void(mlir::Location loc, mlir::Value tensor,
                              mlir::ValueRange indices, mlir::Value adjoint)>;

  /// Differentiates by the values `by`; of the tensors among them `addElement`
  /// gets the elements' adjoints.
  AdjointBuilder(mlir::OpBuilder &builder, llvm::ArrayRef<mlir::Value> by,
                 ElementSink addElement);

  //===--------------------------------------------------------------------===//
  // Adjoints
  //===--------------------------------------------------------------------===//

  /// Whether derivatives are asked for through the value: it is a float, or a
  /// tensor of floats, that depends on what they are asked by.
  bool isActive(mlir::Value value) const { return active.contains(value); }
  /// Adds what `emit` gives to the adjoint of `value`, a float, if that is
  /// active; else does not call it.
  void add(mlir::Value value, llvm::function_ref<mlir::Value()> emit);
  /// Adds to the adjoint of an element of `tensor`, if that is active.
  void addElement(mlir::Value tensor, mlir::ValueRange indices,
                  mlir::Value adjoint);
  /// The adjoint so far; null if there is none.
  mlir::Value lookup(mlir::Value value) const { return adjoints.lookup(value); }
  /// Whether something was added to the adjoint of `value`, or of its elements.
  bool isNeeded(mlir::Value value) const { return adjoints.contains(value); }

  /// Notes which results of `op` are active.
  void propagate(mlir::Operation *op);
  /// Whence what is emitted from now on comes.
  void setLoc(mlir::Location newLoc) { loc = newLoc; }

  //===--------------------------------------------------------------------===//
  // Arithmetic
  //===--------------------------------------------------------------------===//

  /// Constants of the type of `like`.
  mlir::Value constant(mlir::Value like, double value);
  mlir::Value integer(mlir::Value like, int64_t value);
  mlir::Value zero(mlir::Value like) { return constant(like, 0.0); }
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value div(mlir::Value a, mlir::Value b);
  mlir::Value neg(mlir::Value a);
  mlir::Value scale(mlir::Value a, double factor);
  mlir::Value square(mlir::Value a) { return mul(a, a); }
  mlir::Value cmp(mlir::arith::CmpFPredicate predicate, mlir::Value a,
                  mlir::Value b);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  mlir::Value logicalAnd(mlir::Value a, mlir::Value b);
  mlir::Value logicalOr(mlir::Value a, mlir::Value b);

  /// Any other op.
  template <typename Op, typename... Args>
  mlir::Value create(Args &&...args) {
    return builder.createOrFold<Op>(loc, std::forward<Args>(args)...);
  }

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
  ElementSink sink;
  llvm::DenseSet<mlir::Value> active, requested;
  /// Null for tensors that are not among those asked for, of which elements
  /// have adjoints.
  llvm::DenseMap<mlir::Value, mlir::Value> adjoints;
};

} // namespace fovea

#endif // FOVEA_ANALYSIS_ADJOINTBUILDER_H
