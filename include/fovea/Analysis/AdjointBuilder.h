//===- AdjointBuilder.h - Adjoints of values --------------------*- C++ -*-===//
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

/// Accumulates the adjoints of values and emits their arithmetic, with constant
/// folding.
///
/// An adjoint may depend on choices: it is 0 unless conditions have given
/// values. The selects are emitted last, after all multiplications by slopes,
/// so that an infinite slope of a value that was not chosen does not turn that
/// 0 into NaN.
class AdjointBuilder {
public:
  /// Receives the adjoint of one element of a tensor.
  using ElementSink =
      llvm::function_ref<void(mlir::Location loc, mlir::Value tensor,
                              mlir::ValueRange indices, mlir::Value adjoint)>;

  /// Differentiates with respect to the values `by`. `addElement` receives the
  /// adjoints of elements of tensors among them.
  AdjointBuilder(mlir::OpBuilder &builder, llvm::ArrayRef<mlir::Value> by,
                 ElementSink addElement);

  //===--------------------------------------------------------------------===//
  // Adjoints
  //===--------------------------------------------------------------------===//

  /// True if the value has an adjoint: it is a float, or a tensor of floats,
  /// that depends on a value of `by`.
  bool isActive(mlir::Value value) const { return active.contains(value); }
  /// Adds the result of `emit` to the adjoint of `value`, a float, if that is
  /// active; otherwise does not call `emit`.
  void add(mlir::Value value, llvm::function_ref<mlir::Value()> emit) {
    add(value, choices, emit);
  }
  /// Adds `adjoint` if `condition` equals `holds`, and 0 otherwise: the result
  /// depends on `value` only in that case.
  void addIf(mlir::Value value, llvm::function_ref<mlir::Value()> condition,
             bool holds, mlir::Value adjoint);
  /// Adds to the adjoint of an element of `tensor`, if that is active.
  void addElement(mlir::Value tensor, mlir::ValueRange indices,
                  mlir::Value adjoint);
  /// The current adjoint; null if there is none.
  mlir::Value lookup(mlir::Value value);
  /// True if the adjoint of `value`, or of its elements, has contributions.
  bool isNeeded(mlir::Value value) const { return adjoints.contains(value); }

  /// Starts the rule of `op`. Returns the adjoint of its result without the
  /// selects of its choices; contributions of the rule depend on the same
  /// choices.
  mlir::Value enter(mlir::Operation *op);
  /// Marks the active results of `op`.
  void propagate(mlir::Operation *op);
  /// Sets the location of emitted ops.
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
  /// Products and quotients of an adjoint, the left operand. Constant factors
  /// are combined and applied last: most of them cancel, for example in a soft
  /// cap.
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value div(mlir::Value a, mlir::Value b);
  mlir::Value neg(mlir::Value a);
  mlir::Value scale(mlir::Value a, double factor);
  /// `adjoint * slope`, or 0 if the adjoint is 0. For slopes that overflow: if
  /// a function of them saturates, the product is 0, too.
  mlir::Value mulUnlessZero(mlir::Value adjoint, mlir::Value slope);
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
  /// Conditions with the values that they must have.
  using Choices = llvm::SmallVector<std::pair<mlir::Value, bool>, 2>;
  struct Adjoint {
    mlir::Value value;
    Choices choices;
  };

  void add(mlir::Value value, const Choices &among,
           llvm::function_ref<mlir::Value()> emit);
  /// Emits the selects of the choices.
  mlir::Value choose(mlir::Value value, const Choices &among);
  Adjoint sum(const Adjoint &a, const Adjoint &b);
  /// Contributions to an adjoint with different choices. Contributions with few
  /// choices are summed immediately.
  using Terms = llvm::SmallVector<Adjoint, 1>;
  static bool isSummedAtOnce(const Adjoint &a, const Adjoint &b);
  /// Combines all terms into one and returns it.
  const Adjoint &settle(Terms &terms);
  /// An adjoint as a constant multiple of another value.
  struct Multiple {
    mlir::Value of;
    double factor;
  };
  Multiple getMultiple(mlir::Value adjoint);
  /// Emits a multiple and records it.
  mlir::Value emitMultiple(Multiple multiple);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  ElementSink sink;
  llvm::DenseSet<mlir::Value> active, requested;
  /// Tensors that are not among `by` have an entry without terms if adjoints of
  /// their elements exist.
  llvm::DenseMap<mlir::Value, Terms> adjoints;
  llvm::DenseMap<mlir::Value, Multiple> multiples;
  /// The choices of the adjoint of the current op's result.
  Choices choices;
};

} // namespace fovea

#endif // FOVEA_ANALYSIS_ADJOINTBUILDER_H
