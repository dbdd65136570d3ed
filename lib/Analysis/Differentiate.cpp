//===- Differentiate.cpp - Reverse mode over a block ------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Analysis/DifferentiableOpInterface.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace fovea;

#include "fovea/Analysis/DifferentiableOpInterface.cpp.inc"

//===----------------------------------------------------------------------===//
// AdjointBuilder
//===----------------------------------------------------------------------===//

AdjointBuilder::AdjointBuilder(OpBuilder &builder, ArrayRef<Value> by,
                               ElementSink addElement)
    : builder(builder), loc(builder.getUnknownLoc()), sink(addElement),
      active(by.begin(), by.end()), requested(by.begin(), by.end()) {}

void AdjointBuilder::propagate(Operation *op) {
  // Ops inside see values from outside that are no operands.
  WalkResult walk = op->walk([&](Operation *inner) {
    return llvm::any_of(inner->getOperands(),
                        [&](Value operand) { return isActive(operand); })
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  if (!walk.wasInterrupted())
    return;
  for (Value result : op->getResults())
    if (isa<FloatType>(getElementTypeOrSelf(result.getType())))
      active.insert(result);
}

void AdjointBuilder::add(Value value, function_ref<Value()> emit) {
  if (!isActive(value))
    return;
  Value term = emit();
  assert(term.getType() == value.getType() && "adjoints have the value's type");
  Value &sum = adjoints[value];
  sum = sum ? add(sum, term) : term;
}

void AdjointBuilder::addElement(Value tensor, ValueRange indices,
                                Value adjoint) {
  if (requested.contains(tensor))
    sink(loc, tensor, indices, adjoint);
  else if (isActive(tensor))
    adjoints.try_emplace(tensor);
}

Value AdjointBuilder::constant(Value like, double value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getFloatAttr(like.getType(), value));
}

Value AdjointBuilder::integer(Value like, int64_t value) {
  return arith::ConstantOp::create(
      builder, loc, builder.getIntegerAttr(like.getType(), value));
}

Value AdjointBuilder::add(Value a, Value b) {
  return create<arith::AddFOp>(a, b);
}

Value AdjointBuilder::sub(Value a, Value b) {
  return create<arith::SubFOp>(a, b);
}

Value AdjointBuilder::mul(Value a, Value b) {
  return create<arith::MulFOp>(a, b);
}

Value AdjointBuilder::div(Value a, Value b) {
  return create<arith::DivFOp>(a, b);
}

Value AdjointBuilder::neg(Value a) { return create<arith::NegFOp>(a); }

Value AdjointBuilder::scale(Value a, double factor) {
  return mul(a, constant(a, factor));
}

Value AdjointBuilder::cmp(arith::CmpFPredicate predicate, Value a, Value b) {
  return create<arith::CmpFOp>(predicate, a, b);
}

Value AdjointBuilder::select(Value condition, Value a, Value b) {
  return create<arith::SelectOp>(condition, a, b);
}

Value AdjointBuilder::logicalAnd(Value a, Value b) {
  return create<arith::AndIOp>(a, b);
}

Value AdjointBuilder::logicalOr(Value a, Value b) {
  return create<arith::OrIOp>(a, b);
}

//===----------------------------------------------------------------------===//
// Reverse mode
//===----------------------------------------------------------------------===//

/// Passes the adjoint of the op's result on to its operands.
static LogicalResult reverse(Operation *op, AdjointBuilder &adjoints,
                             Operation *asker) {
  auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
  // Tensors have adjoints of elements only, which no rule takes.
  if (!differentiable || op->getNumResults() != 1 ||
      !isa<FloatType>(op->getResult(0).getType())) {
    InFlightDiagnostic diag = op->emitError("'")
                              << op->getName() << "' has no derivative rule";
    diag.attachNote(asker->getLoc())
        << "'" << asker->getName() << "' asks for a derivative through it";
    return diag;
  }
  adjoints.setLoc(op->getLoc());
  differentiable.addAdjoints(adjoints, adjoints.lookup(op->getResult(0)));
  return success();
}

FailureOr<SmallVector<Value>>
fovea::differentiate(OpBuilder &builder, Value output, Value seed,
                     ArrayRef<Value> by, AdjointBuilder::ElementSink addElement,
                     Operation *asker) {
  // What is emitted goes behind these.
  SmallVector<Operation *> ops;
  for (Operation &op : llvm::make_range(builder.getBlock()->begin(),
                                        builder.getInsertionPoint()))
    ops.push_back(&op);

  AdjointBuilder adjoints(builder, by, addElement);
  for (Operation *op : ops)
    adjoints.propagate(op);
  adjoints.setLoc(output.getLoc());
  adjoints.add(output, [&] { return seed; });
  for (Operation *op : llvm::reverse(ops))
    if (llvm::any_of(op->getResults(),
                     [&](Value result) { return adjoints.isNeeded(result); }) &&
        failed(reverse(op, adjoints, asker)))
      return failure();
  return llvm::map_to_vector(
      by, [&](Value value) { return adjoints.lookup(value); });
}
