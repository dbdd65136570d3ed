//===- ArithDerivatives.cpp - Derivatives of arithmetic ---------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DerivativeModels.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace fovea;

using Predicate = arith::CmpFPredicate;

//===----------------------------------------------------------------------===//
// Sums, products, casts
//===----------------------------------------------------------------------===//

static Value negate(AdjointBuilder &b, Value, Value, Value dy) {
  return b.neg(dy);
}

// An adjoint has the type of its value, like PyTorch's gradients.
static Value narrow(AdjointBuilder &b, Value x, Value, Value dy) {
  return b.create<arith::TruncFOp>(x.getType(), dy);
}

static Value widen(AdjointBuilder &b, Value x, Value, Value dy) {
  return b.create<arith::ExtFOp>(x.getType(), dy);
}

namespace {
template <typename Op>
struct SumModel : DerivativeOf<SumModel<Op>, Op> {
  void addAdjoints(Operation *op, AdjointBuilder &b, Value dy) const {
    b.add(op->getOperand(0), [&] { return dy; });
    b.add(op->getOperand(1),
          [&] { return isa<arith::SubFOp>(op) ? b.neg(dy) : dy; });
  }
};

struct ProductModel : DerivativeOf<ProductModel, arith::MulFOp> {
  void addAdjoints(Operation *op, AdjointBuilder &b, Value dy) const {
    Value x = op->getOperand(0), y = op->getOperand(1);
    b.add(x, [&] { return b.mul(dy, y); });
    b.add(y, [&] { return b.mul(dy, x); });
  }
};

struct QuotientModel : DerivativeOf<QuotientModel, arith::DivFOp> {
  void addAdjoints(Operation *op, AdjointBuilder &b, Value dy) const {
    Value divisor = op->getOperand(1);
    Value shared = b.div(dy, divisor);
    b.add(op->getOperand(0), [&] { return shared; });
    b.add(divisor, [&] { return b.neg(b.mul(shared, op->getResult(0))); });
  }
};

/// x - y * trunc(x / y), with the sign of x: torch.fmod.
struct RemainderModel : DerivativeOf<RemainderModel, arith::RemFOp> {
  void addAdjoints(Operation *op, AdjointBuilder &b, Value dy) const {
    Value x = op->getOperand(0), y = op->getOperand(1);
    b.add(x, [&] { return dy; });
    b.add(y, [&] {
      Value quotient = b.create<math::TruncOp>(b.div(x, y));
      return b.neg(b.mul(dy, quotient));
    });
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Selects, minima, maxima
//===----------------------------------------------------------------------===//

namespace {
struct SelectModel : DerivativeOf<SelectModel, arith::SelectOp> {
  void addAdjoints(Operation *op, AdjointBuilder &b, Value dy) const {
    auto select = cast<arith::SelectOp>(op);
    auto condition = [&] { return select.getCondition(); };
    b.addIf(select.getTrueValue(), condition, true, dy);
    b.addIf(select.getFalseValue(), condition, false, dy);
  }
};

/// NaN-propagating ops, like torch.maximum and torch.minimum: equal operands
/// get half of the adjoint each, and both get all of it if one is NaN.
template <typename Op, Predicate isLeft, Predicate isRight>
struct ExtremumModel : DerivativeOf<ExtremumModel<Op, isLeft, isRight>, Op> {
  void addAdjoints(Operation *op, AdjointBuilder &b, Value dy) const {
    Value x = op->getOperand(0), y = op->getOperand(1);
    Value isTie = b.cmp(Predicate::OEQ, x, y);
    Value share = b.select(isTie, b.scale(dy, 0.5), dy);
    b.addIf(x, [&] { return b.cmp(isRight, x, y); }, false, share);
    b.addIf(y, [&] { return b.cmp(isLeft, x, y); }, false, share);
  }
};

/// NaN-ignoring ops, like torch.fmax and torch.fmin: the left one of two equal
/// operands gets the adjoint.
template <typename Op, Predicate isLeftOrTie>
struct NumberModel : DerivativeOf<NumberModel<Op, isLeftOrTie>, Op> {
  void addAdjoints(Operation *op, AdjointBuilder &b, Value dy) const {
    Value x = op->getOperand(0), y = op->getOperand(1);
    Value isLeft =
        b.logicalOr(b.cmp(isLeftOrTie, x, y), b.cmp(Predicate::UNO, y, y));
    auto condition = [&] { return isLeft; };
    b.addIf(x, condition, true, dy);
    b.addIf(y, condition, false, dy);
  }
};
} // namespace

void fovea::attachArithDerivatives(MLIRContext *context) {
  using namespace arith;
  AddFOp::attachInterface<SumModel<AddFOp>>(*context);
  SubFOp::attachInterface<SumModel<SubFOp>>(*context);
  MulFOp::attachInterface<ProductModel>(*context);
  DivFOp::attachInterface<QuotientModel>(*context);
  RemFOp::attachInterface<RemainderModel>(*context);
  NegFOp::attachInterface<UnaryDerivative<NegFOp, negate>>(*context);
  ExtFOp::attachInterface<UnaryDerivative<ExtFOp, narrow>>(*context);
  TruncFOp::attachInterface<UnaryDerivative<TruncFOp, widen>>(*context);
  SelectOp::attachInterface<SelectModel>(*context);
  MaximumFOp::attachInterface<
      ExtremumModel<MaximumFOp, Predicate::OGT, Predicate::OLT>>(*context);
  MinimumFOp::attachInterface<
      ExtremumModel<MinimumFOp, Predicate::OLT, Predicate::OGT>>(*context);
  MaxNumFOp::attachInterface<NumberModel<MaxNumFOp, Predicate::OGE>>(*context);
  MinNumFOp::attachInterface<NumberModel<MinNumFOp, Predicate::OLE>>(*context);
}
