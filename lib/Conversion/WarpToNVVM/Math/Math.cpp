//===- Math.cpp - Functions without an instruction --------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Expands ops of `math`, and floating-point divisions and conversions, to
// instructions of the GPU. Runs after tiles have become vectors.
//
//===----------------------------------------------------------------------===//

#include "Math/FloatFunctions.h"
#include "WarpToNVVM.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fovea;

// Minimum number of elements; shorter vectors fit into the registers.
static constexpr int64_t kLeastElements = 8;

static Value splatLike(OpBuilder &b, Location loc, Type type, double value) {
  TypedAttr attr = b.getFloatAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, static_cast<Attribute>(attr));
  return arith::ConstantOp::create(b, loc, attr);
}

/// Applies a scalar intrinsic of the target to each element of `operands`,
/// which have one type.
static Value emitScalarIntrinsic(OpBuilder &b, Location loc,
                                 ValueRange operands, StringRef intrinsic) {
  auto call = [&](ValueRange elements) -> Value {
    return LLVM::CallIntrinsicOp::create(b, loc, b.getF32Type(),
                                         b.getStringAttr(intrinsic), elements)
        .getResult(0);
  };
  auto vector = dyn_cast<VectorType>(operands.front().getType());
  if (!vector)
    return call(operands);
  SmallVector<SmallVector<Value>> arguments(vector.getNumElements());
  for (Value operand : operands) {
    auto elements = vector::ToElementsOp::create(b, loc, operand);
    for (auto [list, element] : llvm::zip(arguments, elements.getResults()))
      list.push_back(element);
  }
  SmallVector<Value> results;
  for (ArrayRef<Value> list : arguments)
    results.push_back(call(list));
  return vector::FromElementsOp::create(b, loc, vector, results);
}

/// Returns true if the hardware approximation is sufficient.
static bool isApproximate(arith::FastMathFlags flags) {
  return bitEnumContainsAll(flags, arith::FastMathFlags::afn);
}

static bool isF32(Type type) { return getElementTypeOrSelf(type).isF32(); }

namespace {
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

/// Lowers tanh with `afn` to the hardware instruction, whose relative error is
/// up to 2^-16.5 (measured; the ISA guarantees 2^-11).
///
/// Otherwise tanh(x) = 1 - 2 / (exp2(2 x log2(e)) + 1), with the hardware exp2
/// and reciprocal: five instructions, absolute error below 1e-6, correct at
/// both ends (exp2 gives infinity or 0). A polynomial would be accurate in the
/// last places near 0, with four times the instructions, and its intermediate
/// values would exceed the registers.
struct ExpandTanh : OpRewritePattern<math::TanhOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::TanhOp op,
                                PatternRewriter &rewriter) const override {
    if (!isF32(op.getType()))
      return failure();
    Location loc = op.getLoc();
    Type type = op.getType();
    if (isApproximate(op.getFastmath())) {
      auto call = LLVM::CallIntrinsicOp::create(
          rewriter, loc, type, rewriter.getStringAttr("llvm.tanh"),
          op.getOperand());
      call.setFastmathFlags(LLVM::FastmathFlags::afn);
      rewriter.replaceOp(op, call.getResults());
      return success();
    }
    auto splat = [&](double value) {
      return splatLike(rewriter, loc, type, value);
    };
    Value power = arith::MulFOp::create(rewriter, loc, op.getOperand(),
                                        splat(2 * 1.4426950408889634));
    Value e = math::Exp2Op::create(rewriter, loc, power);
    Value sum = arith::AddFOp::create(rewriter, loc, e, splat(1));
    Value inverse =
        emitScalarIntrinsic(rewriter, loc, sum, "llvm.nvvm.rcp.approx.ftz.f");
    rewriter.replaceOpWithNewOp<math::FmaOp>(op, inverse, splat(-2), splat(1));
    return success();
  }
};

/// Lowers a division with `afn` to x / y within 2 ulp, or 1 / y within 1 ulp.
struct ApproximateDivision : OpRewritePattern<arith::DivFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::DivFOp op,
                                PatternRewriter &rewriter) const override {
    if (!isF32(op.getType()) || !isApproximate(op.getFastmath()))
      return failure();
    Location loc = op.getLoc();
    Value result =
        matchPattern(op.getLhs(), m_OneFloat())
            ? emitScalarIntrinsic(rewriter, loc, op.getRhs(),
                                  "llvm.nvvm.rcp.approx.ftz.f")
            : emitScalarIntrinsic(rewriter, loc, {op.getLhs(), op.getRhs()},
                                  "llvm.nvvm.div.full");
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// Lowers a division without `afn` to x / y rounded to nearest; subnormal
/// numbers count as 0. The hardware division is a subroutine with divergent
/// branches, after which ptxas does not know that loop counters are uniform.
/// This pattern therefore refines an approximate reciprocal (Markstein, 1990).
/// The refinement is correct if nothing overflows or underflows, so operands
/// beyond 2^96 or below 2^-96 are scaled. If it gives NaN, for zeros and
/// infinities, x times the reciprocal is correct.
struct ExactDivision : OpRewritePattern<arith::DivFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::DivFOp op,
                                PatternRewriter &rewriter) const override {
    if (!isF32(op.getType()) || isApproximate(op.getFastmath()))
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Type type = op.getType();
    auto splat = [&](double value) {
      return splatLike(b, b.getLoc(), type, value);
    };
    auto multiply = [&](Value left, Value right) -> Value {
      return arith::MulFOp::create(b, left, right);
    };
    auto multiplyAdd = [&](Value left, Value right, Value addend) -> Value {
      return math::FmaOp::create(b, left, right, addend);
    };
    // 2^-64, 2^64 or 1, and its inverse.
    auto chooseScale = [&](Value value) -> std::pair<Value, Value> {
      Value size = math::AbsFOp::create(b, value);
      Value isLarge = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, size,
                                            splat(0x1p96));
      Value isSmall = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, size,
                                            splat(0x1p-96));
      auto choose = [&](double large, double small) -> Value {
        Value others =
            arith::SelectOp::create(b, isSmall, splat(small), splat(1));
        return arith::SelectOp::create(b, isLarge, splat(large), others);
      };
      return {choose(0x1p-64, 0x1p64), choose(0x1p64, 0x1p-64)};
    };
    auto [scaleX, undoX] = chooseScale(op.getLhs());
    Value scaleY = chooseScale(op.getRhs()).first;
    Value x = multiply(op.getLhs(), scaleX), y = multiply(op.getRhs(), scaleY);
    Value minusY = arith::NegFOp::create(b, y);
    Value reciprocal =
        emitScalarIntrinsic(b, b.getLoc(), y, "llvm.nvvm.rcp.approx.ftz.f");
    Value rest = multiplyAdd(minusY, reciprocal, splat(1));
    Value refined = multiplyAdd(reciprocal, rest, reciprocal);
    Value quotient = multiply(x, refined);
    for (int step = 0; step < 2; ++step)
      quotient =
          multiplyAdd(multiplyAdd(minusY, quotient, x), refined, quotient);
    Value isSpecial =
        arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, quotient, quotient);
    Value result = arith::SelectOp::create(b, isSpecial,
                                           multiply(x, reciprocal), quotient);
    rewriter.replaceOp(op, multiply(multiply(result, undoX), scaleY));
    return success();
  }
};

/// Lowers the square root: rounded to nearest without `afn`, within 1 ulp with
/// it.
struct ExpandSqrt : OpRewritePattern<math::SqrtOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::SqrtOp op,
                                PatternRewriter &rewriter) const override {
    if (!isF32(op.getType()))
      return failure();
    if (!isApproximate(op.getFastmath())) {
      rewriter.replaceOp(op, emitScalarIntrinsic(rewriter, op.getLoc(),
                                                 op.getOperand(),
                                                 "llvm.nvvm.sqrt.rn.ftz.f"));
      return success();
    }
    auto call = LLVM::CallIntrinsicOp::create(
        rewriter, op.getLoc(), op.getType(),
        rewriter.getStringAttr("llvm.sqrt"), op.getOperand());
    call.setFastmathFlags(LLVM::FastmathFlags::afn);
    rewriter.replaceOp(op, call.getResults());
    return success();
  }
};

/// Lowers rsqrt without `afn` to the reciprocal of the correctly rounded root,
/// rounded again.
struct ExactRsqrt : OpRewritePattern<math::RsqrtOp> {
  ExactRsqrt(MLIRContext *context) : OpRewritePattern(context, /*benefit=*/2) {}

  LogicalResult matchAndRewrite(math::RsqrtOp op,
                                PatternRewriter &rewriter) const override {
    if (!isF32(op.getType()) || isApproximate(op.getFastmath()))
      return failure();
    Location loc = op.getLoc();
    Value root = math::SqrtOp::create(rewriter, loc, op.getOperand());
    rewriter.replaceOpWithNewOp<arith::DivFOp>(
        op, splatLike(rewriter, loc, op.getType(), 1), root);
    return success();
  }
};

/// bf16 is the upper half of f32. A shift has eight times the throughput of the
/// conversion instruction.
struct ExpandBF16 : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op,
                                PatternRewriter &rewriter) const override {
    Value source = op.getIn();
    if (!getElementTypeOrSelf(source).isBF16() || !isF32(op.getType()))
      return failure();
    Location loc = op.getLoc();
    auto typeLike = [&](Type element) -> Type {
      if (auto vector = dyn_cast<VectorType>(op.getType()))
        return vector.clone(element);
      return element;
    };
    Type bitsType = typeLike(rewriter.getI32Type());
    Value half = arith::BitcastOp::create(
        rewriter, loc, typeLike(rewriter.getI16Type()), source);
    Value bits = arith::ExtUIOp::create(rewriter, loc, bitsType, half);
    TypedAttr sixteen = rewriter.getI32IntegerAttr(16);
    if (auto vector = dyn_cast<VectorType>(bitsType))
      sixteen = DenseElementsAttr::get(vector, static_cast<Attribute>(sixteen));
    Value shifted = arith::ShLIOp::create(
        rewriter, loc, bits, arith::ConstantOp::create(rewriter, loc, sixteen));
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), shifted);
    return success();
  }
};

/// The same for words that hold two bf16 each: a shift and a mask. Separate
/// halves would occupy registers of their own, which ptxas extracts with three
/// instructions before the MMA that reads the words. Does not apply to vectors
/// that are assembled from scalars.
struct ExpandPairs : OpRewritePattern<arith::ExtFOp> {
  ExpandPairs(MLIRContext *context)
      : OpRewritePattern(context, /*benefit=*/2) {}

  LogicalResult matchAndRewrite(arith::ExtFOp op,
                                PatternRewriter &rewriter) const override {
    auto type = dyn_cast<VectorType>(op.getType());
    if (!type || type.getRank() != 1 || type.getNumElements() % 2 != 0 ||
        !getElementTypeOrSelf(op.getIn()).isBF16() || !isF32(type) ||
        op.getIn().getDefiningOp<vector::FromElementsOp>())
      return failure();
    Location loc = op.getLoc();
    auto wordsType =
        VectorType::get(type.getNumElements() / 2, rewriter.getI32Type());
    auto words = vector::ToElementsOp::create(
        rewriter, loc,
        LLVM::BitcastOp::create(rewriter, loc, wordsType, op.getIn()));
    SmallVector<Value> elements;
    for (Value word : words.getResults()) {
      Value low =
          LLVM::ShlOp::create(rewriter, loc, word, emitI32(rewriter, loc, 16));
      Value high = LLVM::AndOp::create(
          rewriter, loc, word, emitI32(rewriter, loc, int32_t(0xFFFF0000)));
      for (Value bits : {low, high})
        elements.push_back(LLVM::BitcastOp::create(
            rewriter, loc, rewriter.getF32Type(), bits));
    }
    rewriter.replaceOpWithNewOp<vector::FromElementsOp>(op, type, elements);
    return success();
  }
};

/// An LLVM intrinsic on the whole vector; the backend has an instruction for
/// its elements. Upstream's lowering of the gpu dialect would call a library
/// function instead.
template <typename Op>
struct ToIntrinsic : OpRewritePattern<Op> {
  ToIntrinsic(MLIRContext *context, StringRef intrinsic,
              bool ofAnyFloat = false)
      : OpRewritePattern<Op>(context), intrinsic(intrinsic),
        ofAnyFloat(ofAnyFloat) {}

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (!ofAnyFloat && !isF32(op.getType()))
      return failure();
    auto call = LLVM::CallIntrinsicOp::create(
        rewriter, op.getLoc(), op.getType(), rewriter.getStringAttr(intrinsic),
        op->getOperands());
    call.setFastmathFlags(LLVM::FastmathFlags::afn);
    rewriter.replaceOp(op, call.getResults());
    return success();
  }

  std::string intrinsic;
  bool ofAnyFloat;
};

/// NaN if an operand is NaN; the upper bound if the bounds cross.
struct ExpandClamp : OpRewritePattern<math::ClampFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::ClampFOp op,
                                PatternRewriter &rewriter) const override {
    Value above = arith::MaximumFOp::create(rewriter, op.getLoc(),
                                            op.getValue(), op.getMin());
    rewriter.replaceOpWithNewOp<arith::MinimumFOp>(op, above, op.getMax());
    return success();
  }
};

/// A scalar intrinsic of the target for each element.
template <typename Op>
struct ToScalarIntrinsic : OpRewritePattern<Op> {
  ToScalarIntrinsic(MLIRContext *context, StringRef intrinsic)
      : OpRewritePattern<Op>(context), intrinsic(intrinsic) {}

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (!isF32(op.getType()))
      return failure();
    rewriter.replaceOp(op, emitScalarIntrinsic(rewriter, op.getLoc(),
                                               op.getOperand(), intrinsic));
    return success();
  }

  std::string intrinsic;
};

/// Expands functions of many instructions on long vectors one element at a
/// time. With vector ops the intermediate values of all elements would be live
/// at once.
template <typename Op>
struct ByElement : OpRewritePattern<Op> {
  ByElement(MLIRContext *context)
      : OpRewritePattern<Op>(context, /*benefit=*/2) {}

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    auto vector = dyn_cast<VectorType>(op.getType());
    if (!vector || vector.getNumElements() < kLeastElements)
      return failure();
    if constexpr (std::is_same_v<Op, arith::DivFOp>)
      if (isApproximate(op.getFastmath()))
        return failure();
    Location loc = op.getLoc();
    SmallVector<ValueRange> operands;
    for (Value operand : op->getOperands())
      operands.push_back(
          vector::ToElementsOp::create(rewriter, loc, operand).getResults());
    SmallVector<Value> results;
    for (int64_t index : llvm::seq(vector.getNumElements())) {
      auto elements = llvm::map_to_vector(
          operands, [&](ValueRange values) { return values[index]; });
      results.push_back(Op::create(rewriter, loc, elements, op->getAttrs()));
    }
    rewriter.replaceOpWithNewOp<vector::FromElementsOp>(op, vector, results);
    return success();
  }
};

/// LLVM's op with the same semantics; its flag says that no source value is
/// poison. Indices count as 64 bits.
template <typename Op, typename LLVMOp>
struct ToIntegerIntrinsic : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value source = op.getOperand();
    bool isIndex = source.getType().isIndex();
    if (isIndex)
      source = arith::IndexCastOp::create(rewriter, loc, rewriter.getI64Type(),
                                          source);
    Value result;
    if constexpr (std::is_same_v<LLVMOp, LLVM::CtPopOp>)
      result = LLVMOp::create(rewriter, loc, source.getType(), source);
    else
      result = LLVMOp::create(rewriter, loc, source.getType(), source, false);
    if (isIndex)
      result = arith::IndexCastOp::create(rewriter, loc,
                                          rewriter.getIndexType(), result);
    rewriter.replaceOp(op, result);
    return success();
  }
};
} // namespace

void fovea::populateMathPatterns(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  patterns.add<ApproximateDivision, ExactDivision, ExactRsqrt, ExpandBF16,
               ExpandPairs, ExpandClamp, ExpandSqrt, ExpandTanh, LogToLog2>(
      context);
  patterns.add<
      ToIntegerIntrinsic<math::AbsIOp, LLVM::AbsOp>,
      ToIntegerIntrinsic<math::CtPopOp, LLVM::CtPopOp>,
      ToIntegerIntrinsic<math::CountLeadingZerosOp, LLVM::CountLeadingZerosOp>,
      ToIntegerIntrinsic<math::CountTrailingZerosOp,
                         LLVM::CountTrailingZerosOp>>(context);
  patterns.add<ToScalarIntrinsic<math::Log2Op>>(context,
                                                "llvm.nvvm.lg2.approx.ftz.f");
  // With `afn`; ExactRsqrt, with the higher benefit, handles the other cases.
  patterns.add<ToScalarIntrinsic<math::RsqrtOp>>(
      context, "llvm.nvvm.rsqrt.approx.ftz.f");
  patterns.add<ToIntrinsic<math::AbsFOp>>(context, "llvm.fabs");
  patterns.add<ToIntrinsic<math::CeilOp>>(context, "llvm.ceil");
  patterns.add<ToIntrinsic<math::CopySignOp>>(context, "llvm.copysign");
  patterns.add<ToIntrinsic<math::Exp2Op>>(context, "llvm.exp2");
  patterns.add<ToIntrinsic<math::FloorOp>>(context, "llvm.floor");
  patterns.add<ToIntrinsic<math::FmaOp>>(context, "llvm.fma");
  patterns.add<ToIntrinsic<math::RoundEvenOp>>(context, "llvm.roundeven");
  patterns.add<ToIntrinsic<math::TruncOp>>(context, "llvm.trunc");
  patterns.add<ToIntrinsic<arith::MaxNumFOp>>(context, "llvm.maxnum",
                                              /*ofAnyFloat=*/true);
  patterns.add<ToIntrinsic<arith::MinNumFOp>>(context, "llvm.minnum",
                                              /*ofAnyFloat=*/true);
  patterns.add<ByElement<arith::DivFOp>, ByElement<math::CbrtOp>,
               ByElement<math::ErfOp>, ByElement<math::ErfcOp>>(context);
  populateTrigonometryPatterns(patterns);
  populateExponentialPatterns(patterns);
  // Upstream's polynomials, accurate to a few ulp.
  populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
    return llvm::is_contained({math::ErfOp::getOperationName(),
                               math::ErfcOp::getOperationName(),
                               math::CbrtOp::getOperationName()},
                              name);
  });
}
