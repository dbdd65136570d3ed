//===- FloatFunctions.h - Elementary functions of f32 -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elementary functions without a hardware instruction, or with one that is
// accurate only in part of the range. Each is written for one f32; the
// patterns apply it to the elements of a vector one at a time. None branches on
// per-lane values.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_WARPTONVVM_MATH_FLOATFUNCTIONS_H
#define FOVEA_LIB_CONVERSION_WARPTONVVM_MATH_FLOATFUNCTIONS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"

namespace fovea {

/// Emits arithmetic on single f32 and i32 values. Nothing is contracted or
/// reassociated: `mul` and `add` round, `fma` rounds once.
class FloatEmitter {
public:
  using Value = mlir::Value;
  using Predicate = mlir::arith::CmpFPredicate;

  FloatEmitter(mlir::OpBuilder &b, mlir::Location loc) : b(loc, b) {}

  Value constant(double value);
  Value integer(int64_t value);
  Value add(Value x, Value y);
  Value sub(Value x, Value y);
  Value mul(Value x, Value y);
  Value fma(Value x, Value y, Value z);
  Value neg(Value x);
  Value abs(Value x);
  Value copySign(Value magnitude, Value sign);
  Value select(Value condition, Value x, Value y);
  /// Ordered comparisons with a constant are false for a NaN.
  Value compare(Predicate predicate, Value x, Value y);
  Value compare(Predicate predicate, Value x, double y) {
    return compare(predicate, x, constant(y));
  }
  /// Within 2 ulp.
  Value divide(Value x, Value y);
  /// Within 1 ulp; infinite for 0.
  Value reciprocal(Value x);
  /// Rounded to nearest.
  Value sqrt(Value x);
  /// The hardware instructions: within 2 ulp; log2 also has an absolute error
  /// of up to 2^-22.
  Value exp2(Value x);
  Value log2(Value x);

  /// c[0] + x c[1] + x^2 c[2] + ...
  Value polynomial(Value x, llvm::ArrayRef<double> coefficients);

  Value bits(Value x);
  Value fromBits(Value x);
  /// i1, true if the sign bit is set, also for -0.
  Value isSigned(Value x);

  mlir::ImplicitLocOpBuilder b;
};

/// A function of the operands of one element.
using FloatFunction = mlir::Value (*)(FloatEmitter &, mlir::ValueRange);

/// Replaces an op on f32, or on vectors of f32, by `function` of each element.
template <typename Op>
struct ExpandFunction : mlir::OpRewritePattern<Op> {
  ExpandFunction(mlir::MLIRContext *context, FloatFunction function)
      : mlir::OpRewritePattern<Op>(context, /*benefit=*/2), function(function) {
  }

  mlir::LogicalResult
  matchAndRewrite(Op op, mlir::PatternRewriter &rewriter) const override {
    mlir::Type type = op.getType();
    if (!mlir::getElementTypeOrSelf(type).isF32())
      return mlir::failure();
    FloatEmitter emitter(rewriter, op.getLoc());
    auto vector = mlir::dyn_cast<mlir::VectorType>(type);
    if (!vector) {
      rewriter.replaceOp(op, function(emitter, op->getOperands()));
      return mlir::success();
    }
    llvm::SmallVector<mlir::ValueRange> operands;
    for (mlir::Value operand : op->getOperands())
      operands.push_back(
          mlir::vector::ToElementsOp::create(emitter.b, operand).getResults());
    llvm::SmallVector<mlir::Value> results;
    for (int64_t index : llvm::seq(vector.getNumElements()))
      results.push_back(function(
          emitter, llvm::map_to_vector(operands, [&](mlir::ValueRange values) {
            return values[index];
          })));
    rewriter.replaceOpWithNewOp<mlir::vector::FromElementsOp>(op, vector,
                                                              results);
    return mlir::success();
  }

  FloatFunction function;
};

/// Sines, cosines, tangents and their inverses.
void populateTrigonometryPatterns(mlir::RewritePatternSet &patterns);
/// Exponentials, logarithms, powers and hyperbolic functions.
void populateExponentialPatterns(mlir::RewritePatternSet &patterns);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_WARPTONVVM_MATH_FLOATFUNCTIONS_H
