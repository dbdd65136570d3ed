//===- TileBuilder.h - Builds arithmetic on tiles ---------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_TILE_TRANSFORMS_TILEBUILDER_H
#define FOVEA_LIB_DIALECT_TILE_TRANSFORMS_TILEBUILDER_H

#include "fovea/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <cmath>
#include <limits>

namespace fovea::tile {

/// Builds arithmetic on register tiles at one location. The operands of an op
/// must have the same type; `widen` broadcasts row tiles to it.
class TileBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;
  using Value = mlir::Value;
  using TileType = mlir::RankedTensorType;

  static TileType typeOf(Value tile) {
    return mlir::cast<TileType>(tile.getType());
  }

  /// A tile whose elements all are `value`.
  Value splat(TileType type, double value) {
    mlir::Type element = type.getElementType();
    mlir::Attribute attr =
        mlir::isa<mlir::FloatType>(element)
            ? mlir::Attribute(getFloatAttr(element, value))
            : getIntegerAttr(element, static_cast<int64_t>(value));
    return mlir::arith::ConstantOp::create(
        *this, mlir::DenseElementsAttr::get(type, attr));
  }
  Value minusInfinity(TileType type) {
    return splat(type, -std::numeric_limits<double>::infinity());
  }

  Value widen(Value tile, TileType type) {
    return createOrFold<BroadcastOp>(
        tileLike(type, type.getShape(), typeOf(tile).getElementType()), tile);
  }

  Value add(Value a, Value b) {
    return mlir::arith::AddFOp::create(*this, a, b);
  }
  Value subtract(Value a, Value b) {
    return mlir::arith::SubFOp::create(*this, a, b);
  }
  Value multiply(Value a, Value b) {
    return mlir::arith::MulFOp::create(*this, a, b);
  }
  Value multiply(Value a, double factor) {
    return multiply(a, splat(typeOf(a), factor));
  }
  /// With the approximate division instruction: the softmax rounds its results
  /// once more.
  Value divide(Value a, Value b) {
    return mlir::arith::DivFOp::create(*this, a, b,
                                       mlir::arith::FastMathFlags::afn);
  }
  /// a * b + c, rounded once.
  Value multiplyAdd(Value a, Value b, Value c) {
    return mlir::math::FmaOp::create(*this, a, b, c);
  }
  Value negate(Value a) { return mlir::arith::NegFOp::create(*this, a); }
  Value exp2(Value a) { return mlir::math::Exp2Op::create(*this, a); }
  Value log2(Value a) { return mlir::math::Log2Op::create(*this, a); }
  /// NaN if either operand is NaN.
  Value maximum(Value a, Value b) {
    return mlir::arith::MaximumFOp::create(*this, a, b);
  }
  /// The other operand if one is NaN.
  Value maximumNumber(Value a, Value b) {
    return mlir::arith::MaxNumFOp::create(*this, a, b);
  }
  Value compare(mlir::arith::CmpFPredicate predicate, Value a, Value b) {
    return mlir::arith::CmpFOp::create(*this, predicate, a, b);
  }
  /// a >= b of signed integers.
  Value isAtLeast(Value a, Value b) {
    return mlir::arith::CmpIOp::create(*this, mlir::arith::CmpIPredicate::sge,
                                       a, b);
  }
  Value isEqual(Value a, double value) {
    return compare(mlir::arith::CmpFPredicate::OEQ, a, splat(typeOf(a), value));
  }
  Value select(Value condition, Value a, Value b) {
    return mlir::arith::SelectOp::create(*this, condition, a, b);
  }

  /// A value that can be subtracted from numbers up to `maximum`: `maximum`, or
  /// 0 where it is -inf, since x - maximum would be NaN.
  Value guard(Value maximum) {
    Value empty = isEqual(maximum, -std::numeric_limits<double>::infinity());
    return select(empty, splat(typeOf(maximum), 0.0), maximum);
  }

  /// Reduces the columns to `width` columns.
  Value reduceColumns(ReduceKind kind, Value tile, int64_t width) {
    TileType type = typeOf(tile);
    if (type.getDimSize(1) == width)
      return tile;
    return ReduceOp::create(
        *this,
        tileLike(type, {type.getDimSize(0), width}, type.getElementType()),
        kind, /*dim=*/1, tile);
  }
};

/// log2(e) and ln(2).
inline constexpr double kLog2E = 1.44269504088896340735992;
inline constexpr double kLn2 = 0.693147180559945309417232;

} // namespace fovea::tile

#endif // FOVEA_LIB_DIALECT_TILE_TRANSFORMS_TILEBUILDER_H
