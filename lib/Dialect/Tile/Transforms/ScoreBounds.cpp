//===- ScoreBounds.cpp - Bounds of scores ---------------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScoreBounds.h"

#include "fovea/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace fovea::tile;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

namespace {
/// Bounds of the unmasked elements, and whether elements may be masked.
struct Bounds {
  double least = -kInfinity, most = kInfinity;
  bool isMasked = false;
};

/// Computes bounds of values, with a cache.
class BoundsFinder {
public:
  explicit BoundsFinder(double largestProduct)
      : largestProduct(largestProduct) {}

  Bounds get(Value value);

private:
  Bounds find(Value value);
  Bounds ofOp(Operation *op, Value result);
  /// The range of the value's type.
  Bounds ofType(Value value) const;
  /// For ops that do not preserve the -inf of masked elements.
  Bounds getUnmasked(Value value) {
    Bounds bounds = get(value);
    return bounds.isMasked ? Bounds() : bounds;
  }

  double largestProduct;
  DenseMap<Value, Bounds> known;
};
} // namespace

static Bounds fromCorners(std::initializer_list<double> corners) {
  // 0 * inf is NaN and gives no bound.
  if (llvm::any_of(corners, [](double x) { return std::isnan(x); }))
    return {};
  return {std::min(corners), std::max(corners)};
}

static Bounds fromConstant(const APFloat &constant) {
  double value = constant.convertToDouble();
  // All elements are masked: the range of the unmasked ones is empty.
  if (value == -kInfinity)
    return {kInfinity, -kInfinity, /*isMasked=*/true};
  return std::isnan(value) ? Bounds() : Bounds{value, value};
}

static Bounds join(Bounds a, Bounds b) {
  return {std::min(a.least, b.least), std::max(a.most, b.most),
          a.isMasked || b.isMasked};
}

static Bounds divide(Bounds a, Bounds b) {
  if (b.least <= 0 && b.most >= 0)
    return {};
  return fromCorners(
      {a.least / b.least, a.least / b.most, a.most / b.least, a.most / b.most});
}

/// True if `op` multiplies a product of queries and keys by a run-time scale, a
/// kernel argument.
static bool isScaledProduct(Operation *op) {
  auto isScale = [](Value value) {
    if (auto broadcast = value.getDefiningOp<BroadcastOp>())
      value = broadcast.getSource();
    return isa<BlockArgument>(value) && isa<FloatType>(value.getType());
  };
  auto isProduct = [](Value value) {
    auto dot = value.getDefiningOp<DotOp>();
    return dot && matchPattern(dot.getAcc(), m_AnyZeroFloat());
  };
  Value a = op->getOperand(0), b = op->getOperand(1);
  return (isProduct(a) && isScale(b)) || (isScale(a) && isProduct(b));
}

Bounds BoundsFinder::ofType(Value value) const {
  // A loaded infinity may be a mask.
  if (std::isinf(largestProduct))
    return {};
  APFloat most = APFloat::getLargest(
      cast<FloatType>(getElementTypeOrSelf(value)).getFloatSemantics());
  double largest = most.convertToDouble();
  return {-largest, largest};
}

Bounds BoundsFinder::ofOp(Operation *op, Value result) {
  // The bounds of the first two operands.
  Bounds a, b;
  if (op->getNumOperands() >= 1)
    a = getUnmasked(op->getOperand(0));
  if (op->getNumOperands() >= 2)
    b = getUnmasked(op->getOperand(1));
  return llvm::TypeSwitch<Operation *, Bounds>(op)
      .Case<math::TanhOp, math::ErfOp, math::SinOp, math::CosOp>(
          [](auto) { return Bounds{-1, 1}; })
      .Case([&](math::AbsFOp) {
        return Bounds{std::max({a.least, -a.most, 0.0}),
                      std::max(-a.least, a.most)};
      })
      .Case([&](math::ExpOp) {
        return Bounds{std::exp(a.least), std::exp(a.most)};
      })
      .Case([&](math::Exp2Op) {
        return Bounds{std::exp2(a.least), std::exp2(a.most)};
      })
      .Case([&](arith::NegFOp) { return Bounds{-a.most, -a.least}; })
      .Case([&](arith::AddFOp) {
        return Bounds{a.least + b.least, a.most + b.most};
      })
      .Case([&](arith::SubFOp) {
        return Bounds{a.least - b.most, a.most - b.least};
      })
      .Case([&](arith::MulFOp) {
        if (isScaledProduct(op))
          return Bounds{-largestProduct, largestProduct};
        return fromCorners({a.least * b.least, a.least * b.most,
                            a.most * b.least, a.most * b.most});
      })
      .Case([&](arith::DivFOp) { return divide(a, b); })
      .Case<arith::MaximumFOp, arith::MaxNumFOp>([&](auto) {
        return Bounds{std::max(a.least, b.least), std::max(a.most, b.most)};
      })
      .Case<arith::MinimumFOp, arith::MinNumFOp>([&](auto) {
        return Bounds{std::min(a.least, b.least), std::min(a.most, b.most)};
      })
      .Case([&](arith::SelectOp select) {
        return join(get(select.getTrueValue()), get(select.getFalseValue()));
      })
      .Case([&](scf::IfOp branch) {
        unsigned number = cast<OpResult>(result).getResultNumber();
        return join(get(branch.thenYield().getOperand(number)),
                    get(branch.elseYield().getOperand(number)));
      })
      .Case([&](DotOp dot) {
        Bounds start = getUnmasked(dot.getAcc());
        return Bounds{start.least - largestProduct,
                      start.most + largestProduct};
      })
      .Case([&](arith::ExtFOp extension) { return ofType(extension.getIn()); })
      .Case([&](BroadcastOp broadcast) { return get(broadcast.getSource()); })
      .Default([](Operation *) { return Bounds(); });
}

Bounds BoundsFinder::find(Value value) {
  FloatAttr constant;
  if (matchPattern(value, m_Constant(&constant)))
    return fromConstant(constant.getValue());
  DenseFPElementsAttr elements;
  if (matchPattern(value, m_Constant(&elements)))
    return elements.isSplat() ? fromConstant(elements.getSplatValue<APFloat>())
                              : Bounds();
  Operation *op = value.getDefiningOp();
  return op && isa<FloatType>(getElementTypeOrSelf(value)) ? ofOp(op, value)
                                                           : Bounds();
}

Bounds BoundsFinder::get(Value value) {
  auto [entry, isNew] = known.try_emplace(value);
  if (!isNew)
    return entry->second;
  Bounds found = find(value);
  // inf - inf is NaN and has no order.
  if (std::isnan(found.least) || std::isnan(found.most))
    found = {};
  return known[value] = found;
}

std::optional<ScoreBounds> fovea::tile::getScoreBounds(Value scores,
                                                       double largestProduct) {
  Bounds bounds = BoundsFinder(largestProduct).get(scores);
  if (!std::isfinite(bounds.least) || !std::isfinite(bounds.most))
    return std::nullopt;
  return ScoreBounds{bounds.least, bounds.most};
}
