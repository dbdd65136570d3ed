//===- RegionEmitter.cpp - Region ops on tiles ----------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Regions/RegionEmitter.h"

#include "fovea/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fovea;

bool RegionValues::isUniform(Value value) const {
  Value known = lookupOrNull(value);
  return known && !tile::isRegisterTile(known.getType());
}

/// True if the op computes scalars from scalars only.
static bool isScalarArithmetic(Operation *op) {
  return isa_and_nonnull<arith::ArithDialect, math::MathDialect>(
             op->getDialect()) &&
         llvm::all_of(op->getOperandTypes(),
                      [](Type type) { return type.isIntOrIndexOrFloat(); }) &&
         llvm::all_of(op->getResultTypes(),
                      [](Type type) { return type.isIntOrIndexOrFloat(); });
}

/// An operand or result type without native arithmetic, or null.
static Type findUncomputed(Operation *op) {
  SmallVector<Type> types(op->getOperandTypes());
  llvm::append_range(types, op->getResultTypes());
  auto *found = llvm::find_if(types, [](Type type) {
    return isa<FloatType>(type) &&
           !isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(type);
  });
  return found == types.end() ? Type() : *found;
}

LogicalResult RegionEmitter::checkArithmetic(Operation *op) {
  if (op->getNumRegions() != 0)
    return op->emitError("'")
           << op->getName()
           << "' has regions and cannot be evaluated on a tile: use "
              "'arith.select'";
  if (!isScalarArithmetic(op))
    return op->emitError("'")
           << op->getName()
           << "' is not supported in a kernel: expected 'arith' or 'math' on "
              "scalars, or 'tensor.extract' or 'tensor.dim' of a captured "
              "tensor";
  if (Type type = findUncomputed(op))
    return op->emitError("'")
           << op->getName() << "' is not supported on " << type
           << " in a kernel, which computes with f16, bf16, f32 and f64";
  return success();
}

void RegionEmitter::emitLength(Operation *op) {
  values.map(op->getResult(0), isa<attn::QueryLengthOp>(op)
                                   ? context.queryLength
                                   : context.keyLength);
}

LogicalResult RegionEmitter::emitDim(tensor::DimOp op) {
  // The tensor is a captured one: ops that compute tensors are rejected.
  Value source = values.lookup(op.getSource());
  auto memref = cast<MemRefType>(source.getType());
  std::optional<int64_t> dim = op.getConstantIndex();
  if (!dim || *dim < 0 || *dim >= memref.getRank()) {
    InFlightDiagnostic diag = op.emitError("dimension must be a constant from "
                                           "0 to ");
    diag << memref.getRank() - 1;
    if (dim)
      diag << ", found " << *dim;
    return diag;
  }
  Value size = memref::DimOp::create(scalars, op.getLoc(), source, *dim);
  values.map(op.getResult(), size);
  return success();
}

void RegionEmitter::allowApproximation(Operation *op, Operation *clone) {
  if (exact.contains(op->getResult(0)) ||
      !(isa<arith::DivFOp, math::SqrtOp, math::RsqrtOp>(clone) ||
        (isa<math::TanhOp>(clone) && !context.accurateTanh)))
    return;
  auto math = cast<arith::ArithFastMathInterface>(clone);
  arith::FastMathFlags flags = math.getFastMathFlagsAttr().getValue();
  clone->setAttr(math.getFastMathAttrName(),
                 arith::FastMathFlagsAttr::get(
                     clone->getContext(), flags | arith::FastMathFlags::afn));
}

bool fovea::isIntegerDivision(Operation *op) {
  return isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp,
             arith::CeilDivSIOp, arith::CeilDivUIOp, arith::RemSIOp,
             arith::RemUIOp>(op);
}

Value fovea::emitHarmlessDivisor(OpBuilder &b, Location loc, Value divisor,
                                 bool isNonNegative) {
  auto makeConstant = [&](int64_t value) -> Value {
    TypedAttr attr =
        b.getIntegerAttr(getElementTypeOrSelf(divisor.getType()), value);
    if (auto tile = dyn_cast<RankedTensorType>(divisor.getType()))
      attr = DenseElementsAttr::get(tile, static_cast<Attribute>(attr));
    return arith::ConstantOp::create(b, loc, attr);
  };
  if (isNonNegative)
    return arith::MaxUIOp::create(b, loc, divisor, makeConstant(1));
  Value isZero = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                       divisor, makeConstant(0));
  return arith::SelectOp::create(b, loc, isZero, makeConstant(1), divisor);
}

Value RegionEmitter::makeHarmlessDivisor(OpBuilder &b, Operation *op,
                                         Value divisor) {
  Value of = op->getOperand(1);
  if (ranges.isNonZero(of))
    return divisor;
  return emitHarmlessDivisor(b, op->getLoc(), divisor,
                             ranges.isNonNegative(of));
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

void RegionEmitter::emitUniform(Operation *op) {
  bool isWide = llvm::any_of(
      llvm::concat<Value>(op->getOperands(), op->getResults()),
      [&](Value v) { return v.getType().isIndex() && !ranges.fitsI32(v); });
  bool isKnown =
      OpTrait::hasElementwiseMappableTraits(op) || isa<arith::ConstantOp>(op);
  if (isWide && isKnown) {
    emitWide(op);
    return;
  }
  context.hasWideIndex |= isWide;
  Operation *clone = values.clone(scalars, op);
  if (isIntegerDivision(op)) {
    OpBuilder before(clone);
    clone->setOperand(1, makeHarmlessDivisor(before, op, clone->getOperand(1)));
  }
  // A single exact tanh is cheap.
  if (!isa<math::TanhOp>(op))
    allowApproximation(op, clone);
}

/// Casts a scalar integer to another width.
static Value castScalar(OpBuilder &b, Location loc, Value value, Type to,
                        bool isUnsigned) {
  unsigned from = value.getType().getIntOrFloatBitWidth();
  unsigned width = to.getIntOrFloatBitWidth();
  if (from == width)
    return value;
  if (from > width)
    return arith::TruncIOp::create(b, loc, to, value);
  if (isUnsigned)
    return arith::ExtUIOp::create(b, loc, to, value);
  return arith::ExtSIOp::create(b, loc, to, value);
}

SmallVector<Value> RegionEmitter::emitWideResults(Operation *op) {
  OpBuilder &b = scalars;
  Location loc = op->getLoc();
  Type i64 = b.getI64Type();
  auto widen = [&](Type type) { return type.isIndex() ? i64 : type; };
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    Value value = values.lookup(operand);
    operands.push_back(
        value.getType().isIndex()
            ? arith::IndexCastOp::create(b, loc, i64, value).getResult()
            : value);
  }
  if (isIntegerDivision(op))
    operands[1] = makeHarmlessDivisor(b, op, operands[1]);
  APInt constant;
  if (matchPattern(op, m_ConstantInt(&constant))) {
    Value wide =
        arith::ConstantIntOp::create(b, loc, i64, constant.getSExtValue());
    return {wide};
  }
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op))
    return {castScalar(b, loc, operands[0], widen(op->getResult(0).getType()),
                       isa<arith::IndexCastUIOp>(op))};
  OperationState state(loc, op->getName(), operands,
                       llvm::map_to_vector(op->getResultTypes(), widen),
                       op->getAttrs());
  return llvm::to_vector_of<Value>(b.create(state)->getResults());
}

void RegionEmitter::emitWide(Operation *op) {
  hasWideScalar = true;
  for (auto [was, result] :
       llvm::zip_equal(op->getResults(), emitWideResults(op))) {
    Value value = result;
    if (was.getType().isIndex() && ranges.fitsI32(was))
      value = arith::IndexCastOp::create(scalars, op->getLoc(),
                                         scalars.getIndexType(), result);
    values.map(was, value);
  }
}

Value RegionEmitter::asIndex(Value of) {
  Value value = values.lookup(of);
  if (!of.getType().isIndex() || !value.getType().isInteger(64))
    return value;
  context.hasWideIndex = true;
  // Emitted with the scalars, like its operand.
  return arith::IndexCastOp::create(scalars, of.getLoc(),
                                    scalars.getIndexType(), value);
}

void RegionEmitter::noteWidth(Value value) {
  if (value.getType().isIndex() && !ranges.fitsI32(value))
    context.hasWideIndex = true;
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

Value RegionEmitter::asTile(Location loc, Value of, Value value,
                            ArrayRef<int64_t> shape, unsigned indexWidth) {
  Type element = getElementTypeOrSelf(value.getType());
  if (element.isIndex())
    return splat(loc, value,
                 tiles.getType(shape, builder.getIntegerType(indexWidth)));
  if (of.getType().isIndex() && element.getIntOrFloatBitWidth() < indexWidth) {
    element = builder.getIntegerType(indexWidth);
    auto narrow = cast<RankedTensorType>(value.getType());
    value = arith::ExtSIOp::create(
        builder, loc, tiles.getType(narrow.getShape(), element), value);
  }
  RankedTensorType type = tiles.getType(shape, element);
  if (value.getType() == type)
    return value;
  return tile::BroadcastOp::create(builder, loc, type, value);
}

Value RegionEmitter::splat(Location loc, Value index, RankedTensorType type) {
  // One splat for all uses in a block: the canonicalizer's time is proportional
  // to the number of such ops and the length of the loops around them.
  Value &tile = splats[{index, type}];
  if (tile && tile.getParentBlock() == builder.getInsertionBlock())
    return tile;
  Value scalar =
      arith::IndexCastOp::create(builder, loc, type.getElementType(), index);
  return tile = tile::BroadcastOp::create(builder, loc, type, scalar);
}

/// The cheaper op that is equivalent for non-negative operands.
static OperationName getUnsigned(OperationName name) {
  std::pair<StringRef, StringRef> names[] = {
      {arith::DivSIOp::getOperationName(), arith::DivUIOp::getOperationName()},
      {arith::FloorDivSIOp::getOperationName(),
       arith::DivUIOp::getOperationName()},
      {arith::CeilDivSIOp::getOperationName(),
       arith::CeilDivUIOp::getOperationName()},
      {arith::RemSIOp::getOperationName(), arith::RemUIOp::getOperationName()}};
  for (auto [isSigned, isUnsigned] : names)
    if (name.getStringRef() == isSigned)
      return OperationName(isUnsigned, name.getContext());
  return name;
}

SmallVector<int64_t, 2> RegionEmitter::joinShapes(Operation *op) {
  SmallVector<int64_t, 2> shape = {1, 1};
  for (Value operand : op->getOperands())
    if (auto type =
            dyn_cast<RankedTensorType>(values.lookup(operand).getType()))
      for (auto [extent, other] : llvm::zip_equal(shape, type.getShape()))
        extent = std::max(extent, other);
  return shape;
}

unsigned RegionEmitter::getIndexWidth(Operation *op) {
  for (Value value : llvm::concat<Value>(op->getOperands(), op->getResults()))
    if (value.getType().isIndex() && !ranges.fitsI32(value))
      return 64;
  return 32;
}

Value RegionEmitter::castIndex(Operation *op, Value source,
                               RankedTensorType type) {
  Location loc = op->getLoc();
  unsigned from = getElementTypeOrSelf(source).getIntOrFloatBitWidth(),
           to = type.getElementTypeBitWidth();
  if (from > to && op->getResult(0).getType().isIndex())
    return source;
  if (from < to && isa<arith::IndexCastUIOp>(op))
    return arith::ExtUIOp::create(builder, loc, type, source);
  if (from < to)
    return arith::ExtSIOp::create(builder, loc, type, source);
  if (from > to)
    return arith::TruncIOp::create(builder, loc, type, source);
  return source;
}

LogicalResult RegionEmitter::emitElementwise(Operation *op) {
  Location loc = op->getLoc();
  if (!OpTrait::hasElementwiseMappableTraits(op) || op->getNumResults() != 1)
    return op->emitError("'") << op->getName()
                              << "' is not supported on values that differ "
                                 "within a block of scores";
  SmallVector<int64_t, 2> shape = joinShapes(op);
  unsigned width = getIndexWidth(op);
  SmallVector<Value> operands =
      llvm::map_to_vector(op->getOperands(), [&](Value operand) {
        Value value = values.lookup(operand);
        if (isIntegerDivision(op) && operand == op->getOperand(1))
          value = makeHarmlessDivisor(builder, op, value);
        return asTile(loc, operand, value, shape, width);
      });

  Value result = op->getResult(0);
  Type element = result.getType();
  if (element.isIndex())
    element = builder.getIntegerType(width);
  RankedTensorType type = tiles.getType(shape, element);
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op)) {
    values.map(result, castIndex(op, operands[0], type));
    return success();
  }

  OperationName name = op->getName();
  if (llvm::all_of(op->getOperands(),
                   [&](Value v) { return ranges.isNonNegative(v); }))
    name = getUnsigned(name);
  OperationState state(loc, name, operands, type, op->getAttrs());
  Operation *clone = builder.create(state);
  allowApproximation(op, clone);
  Value value = clone->getResult(0);
  // A wide result, such as a remainder, may fit 32 bits.
  if (result.getType().isIndex() && width == 64 && ranges.fitsI32(result))
    value = arith::TruncIOp::create(
        builder, loc, tiles.getType(shape, builder.getI32Type()), value);
  values.map(result, value);
  return success();
}
