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
///
/// An adjoint may depend on choices: it is 0 unless conditions are what they
/// must be. These are emitted last, behind all slopes, so that no slope of what
/// was not chosen, infinite perhaps, makes NaN of that 0.
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
  void add(mlir::Value value, llvm::function_ref<mlir::Value()> emit) {
    add(value, choices, emit);
  }
  /// Adds `adjoint` where `condition` gives `holds`, 0 elsewhere: the result
  /// depends on `value` there only.
  void addIf(mlir::Value value, llvm::function_ref<mlir::Value()> condition,
             bool holds, mlir::Value adjoint);
  /// Adds to the adjoint of an element of `tensor`, if that is active.
  void addElement(mlir::Value tensor, mlir::ValueRange indices,
                  mlir::Value adjoint);
  /// The adjoint so far; null if there is none.
  mlir::Value lookup(mlir::Value value);
  /// Whether something was added to the adjoint of `value`, or of its elements.
  bool isNeeded(mlir::Value value) const { return adjoints.contains(value); }

  /// The adjoint so far of the result of an op whose rule comes next, as if it
  /// were chosen; what the rule adds depends on the same choices.
  mlir::Value enter(mlir::Operation *op);
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
  /// Products and quotients of an adjoint, which is on the left. Its constant
  /// factors come last, as one: most cancel, as those of a soft cap do.
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value div(mlir::Value a, mlir::Value b);
  mlir::Value neg(mlir::Value a);
  mlir::Value scale(mlir::Value a, double factor);
  /// `adjoint * slope`, or 0 if the adjoint is 0, for slopes that overflow:
  /// where a function of them levels off, the product is 0 too.
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
  /// Conditions, each with what it must be.
  using Choices = llvm::SmallVector<std::pair<mlir::Value, bool>, 2>;
  struct Adjoint {
    mlir::Value value;
    Choices choices;
  };

  void add(mlir::Value value, const Choices &among,
           llvm::function_ref<mlir::Value()> emit);
  /// Emits the choices.
  mlir::Value choose(mlir::Value value, const Choices &among);
  Adjoint sum(const Adjoint &a, const Adjoint &b);
  /// What is added to an adjoint, of different choices each. What sums of few
  /// ops have is summed at once.
  using Terms = llvm::SmallVector<Adjoint, 1>;
  static bool isSummedAtOnce(const Adjoint &a, const Adjoint &b);
  /// Makes one of all terms, and gives it.
  const Adjoint &settle(Terms &terms);
  /// What an adjoint is a constant multiple of.
  struct Multiple {
    mlir::Value of;
    double factor;
  };
  Multiple getMultiple(mlir::Value adjoint);
  /// Emits a multiple, and notes that it is one.
  mlir::Value emitMultiple(Multiple multiple);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  ElementSink sink;
  llvm::DenseSet<mlir::Value> active, requested;
  /// None for tensors that are not among those asked for, of which elements
  /// have adjoints.
  llvm::DenseMap<mlir::Value, Terms> adjoints;
  llvm::DenseMap<mlir::Value, Multiple> multiples;
  /// What the adjoint of the current op's result depends on.
  Choices choices;
};

} // namespace fovea

#endif // FOVEA_ANALYSIS_ADJOINTBUILDER_H
