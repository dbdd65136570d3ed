//===- Math.cpp - Functions without an instruction --------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarpToNVVM.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fovea;

static Value splatLike(OpBuilder &b, Location loc, Type type, double value) {
  TypedAttr attr = b.getFloatAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, static_cast<Attribute>(attr));
  return arith::ConstantOp::create(b, loc, attr);
}

static bool isF32(Type type) { return getElementTypeOrSelf(type).isF32(); }

namespace {
/// exp(x) = exp2(x * log2(e)): exp2 is an instruction.
struct ExpToExp2 : OpRewritePattern<math::ExpOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::ExpOp op,
                                PatternRewriter &rewriter) const override {
    if (!isF32(op.getType()))
      return failure();
    Location loc = op.getLoc();
    Value scaled = arith::MulFOp::create(
        rewriter, loc, op.getOperand(),
        splatLike(rewriter, loc, op.getType(), 1.4426950408889634));
    rewriter.replaceOpWithNewOp<math::Exp2Op>(op, scaled);
    return success();
  }
};

/// log(x) = log2(x) * ln(2).
struct LogToLog2 : OpRewritePattern<math::LogOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::LogOp op,
                                PatternRewriter &rewriter) const override {
    if (!isF32(op.getType()))
      return failure();
    Location loc = op.getLoc();
    Value log2 = math::Log2Op::create(rewriter, loc, op.getOperand());
    rewriter.replaceOpWithNewOp<arith::MulFOp>(
        op, log2, splatLike(rewriter, loc, op.getType(), 0.6931471805599453));
    return success();
  }
};

/// One scalar instruction for each element.
template <typename Op>
struct ToIntrinsic : OpRewritePattern<Op> {
  ToIntrinsic(MLIRContext *context, StringRef intrinsic)
      : OpRewritePattern<Op>(context), intrinsic(intrinsic) {}

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (!isF32(op.getType()))
      return failure();
    Location loc = op.getLoc();
    auto call = [&](Value operand) -> Value {
      return LLVM::CallIntrinsicOp::create(rewriter, loc, rewriter.getF32Type(),
                                           rewriter.getStringAttr(intrinsic),
                                           ValueRange{operand})
          .getResult(0);
    };
    auto vector = dyn_cast<VectorType>(op.getType());
    if (!vector) {
      rewriter.replaceOp(op, call(op.getOperand()));
      return success();
    }
    auto elements =
        vector::ToElementsOp::create(rewriter, loc, op.getOperand());
    SmallVector<Value> results =
        llvm::map_to_vector(elements.getResults(), call);
    rewriter.replaceOpWithNewOp<vector::FromElementsOp>(op, vector, results);
    return success();
  }

  std::string intrinsic;
};
} // namespace

void fovea::populateMathPatterns(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  patterns.add<ExpToExp2, LogToLog2>(context);
  patterns.add<ToIntrinsic<math::Log2Op>>(context,
                                          "llvm.nvvm.lg2.approx.ftz.f");
  patterns.add<ToIntrinsic<math::RsqrtOp>>(context,
                                           "llvm.nvvm.rsqrt.approx.ftz.f");
  // Accurate to a few units in the last place, by upstream's polynomials.
  populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
    return llvm::is_contained(
        {math::TanhOp::getOperationName(), math::AtanOp::getOperationName(),
         math::Atan2Op::getOperationName(), math::ErfOp::getOperationName(),
         math::Log1pOp::getOperationName(), math::ExpM1Op::getOperationName(),
         math::SinOp::getOperationName(), math::CosOp::getOperationName(),
         math::CbrtOp::getOperationName()},
        name);
  });
}
