//===- RegionToTile.cpp - Evaluates a region on tiles -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RegionToTile.h"

#include "Divisors.h"
#include "KeyChunks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

using namespace mlir;
using namespace fovea;

ConstantIntRanges RegionToTile::makeRange(int64_t low, int64_t high) {
  return ConstantIntRanges::fromSigned(APInt(64, low, /*isSigned=*/true),
                                       APInt(64, high, /*isSigned=*/true));
}

RankedTensorType RegionToTile::tileType(ArrayRef<int64_t> shape, Type element) {
  return RankedTensorType::get(shape, element,
                               tile::RegAttr::get(builder.getContext()));
}

//===----------------------------------------------------------------------===//
// Coordinates
//===----------------------------------------------------------------------===//

Value RegionToTile::makeCoordinates(Location loc, Value first,
                                    int64_t alignment, RankedTensorType type,
                                    int64_t dim) {
  Value base =
      arith::IndexCastOp::create(builder, loc, builder.getI32Type(), first);
  int64_t bits = std::numeric_limits<int32_t>::max() & -alignment;
  base = arith::AndIOp::create(
      builder, loc, base, arith::ConstantIntOp::create(builder, loc, bits, 32));
  Value iota = tile::IotaOp::create(builder, loc, type, dim);
  Value start = tile::BroadcastOp::create(builder, loc, type, base);
  return arith::AddIOp::create(builder, loc, iota, start,
                               arith::IntegerOverflowFlags::nsw);
}

RankedTensorType RegionToTile::getLineType(int64_t count, int64_t dim) {
  SmallVector<int64_t, 2> shape = {1, 1};
  shape[dim] = count;
  return tileType(shape, builder.getI32Type());
}

Value RegionToTile::getQueryTile(Location loc) {
  int64_t count = context.countQueries(), dim = getQueryDim();
  return makeCoordinates(loc, context.row,
                         context.queriesOfHead == 0 ? getPowerOf2(count) : 1,
                         getLineType(count, dim), dim);
}

Value RegionToTile::getKeyTile(Location loc) {
  int64_t count = context.countKeys(), dim = getKeyDim();
  return makeCoordinates(loc, context.key, getPowerOf2(count),
                         getLineType(count, dim), dim);
}

SmallVector<Value> RegionToTile::getPlaces(Region &region) {
  Location loc = region.getLoc();
  if (context.queriesOfHead > 1) {
    auto [heads, queries] = getFoldedRows(loc);
    return {context.batch, heads, queries, getKeyTile(loc)};
  }
  Value rows = getQueryTile(loc), keys = getKeyTile(loc);
  if (context.queriesOfHead == 0)
    return {context.batch, context.head, rows, keys};
  // Also what stands before the loop over blocks may read at it.
  OpBuilder &b = invariant ? *invariant : builder;
  Value query = arith::ConstantIndexOp::create(b, loc, 0);
  return {context.batch, rows, query, keys};
}

std::pair<Value, Value> RegionToTile::getFoldedRows(Location loc) {
  RankedTensorType type = tileType({context.rows, 1}, builder.getI32Type());
  Value row = tile::IotaOp::create(builder, loc, type, 0);
  Value queries = arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(type, int32_t(context.queriesOfHead)));
  Value first = arith::IndexCastOp::create(builder, loc, builder.getI32Type(),
                                           context.row);
  Value head = arith::AddIOp::create(
      builder, loc, arith::DivUIOp::create(builder, loc, row, queries),
      tile::BroadcastOp::create(builder, loc, type, first));
  return {head, arith::RemUIOp::create(builder, loc, row, queries)};
}

Value RegionToTile::loadOfHeads(Location loc, Value vector) {
  RankedTensorType type = tileType(
      {context.rows, 1}, cast<MemRefType>(vector.getType()).getElementType());
  if (context.queriesOfHead == 1)
    return tile::LoadOp::create(builder, loc, type, vector, context.row,
                                /*limit=*/Value(), ArrayRef<int64_t>{0, -1});
  return tile::GatherOp::create(builder, loc, type, vector,
                                getFoldedRows(loc).first, /*mask=*/Value());
}

Value RegionToTile::toFullTile(Location loc, Value value) {
  Type element = getElementTypeOrSelf(value.getType());
  RankedTensorType type = tileType({context.rows, context.columns}, element);
  if (value.getType() == type)
    return value;
  return tile::BroadcastOp::create(builder, loc, type, value);
}

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

FailureOr<ScoreForm> RegionToTile::cloneScoreMod(Region &region,
                                                 ScoreForm score,
                                                 OpBuilder &invariantBuilder) {
  invariant = &invariantBuilder;
  forms.try_emplace(region.getArgument(0), std::move(score));
  auto coordinates =
      region.getArguments().slice(1, attn::ForwardOp::kMaskModArguments);
  mapping.map(coordinates, getPlaces(region));
  // Where heads are rows, rows that follow each other have no distances that
  // do. What is read once for the whole block is no tile of diagonals.
  if (context.queriesOfHead == 0 && !places && !context.rowsAreKeys)
    dependences.emplace(region, context.captures.size());
  if (failed(cloneBody(region)))
    return failure();
  Value result = region.front().getTerminator()->getOperand(0);
  return getForm(result);
}

FailureOr<SmallVector<Value>>
RegionToTile::cloneScores(Region &region, ArrayRef<Value> leading) {
  Location loc = region.getLoc();
  auto arguments = region.getArguments();
  for (auto [argument, value] : llvm::zip(arguments, leading))
    if (!forms.contains(argument))
      mapping.map(argument, value);
  mapping.map(arguments.slice(leading.size(),
                              attn::AttentionOpInterface::kMaskModArguments),
              getPlaces(region));
  if (failed(cloneBody(region)))
    return failure();
  return llvm::map_to_vector(
      region.front().getTerminator()->getOperands(),
      [&](Value result) { return toFullTile(loc, lookup(result)); });
}

FailureOr<SmallVector<Value>>
RegionToTile::cloneScoreGradient(Region &region, ScoreForm score,
                                 Value gradient, OpBuilder &invariantBuilder) {
  invariant = &invariantBuilder;
  forms.try_emplace(region.getArgument(0), std::move(score));
  return cloneScores(region, {Value(), gradient});
}

FailureOr<Value> RegionToTile::cloneMaskMod(Region &region) {
  Location loc = region.getLoc();
  auto coordinates =
      region.getArguments().take_front(attn::ForwardOp::kMaskModArguments);
  mapping.map(coordinates, getPlaces(region));
  if (failed(cloneBody(region)))
    return failure();
  Value result = region.front().getTerminator()->getOperand(0);
  return toFullTile(loc, mapping.lookup(result));
}

FailureOr<SmallVector<Value>>
RegionToTile::cloneScalars(Region &region, ArrayRef<Value> arguments) {
  mapping.map(region.getArguments().take_front(arguments.size()), arguments);
  if (failed(cloneBody(region)))
    return failure();
  return llvm::map_to_vector(region.front().getTerminator()->getOperands(),
                             [&](Value result) { return asIndex(result); });
}

FailureOr<std::pair<Value, Value>>
RegionToTile::cloneClassify(Region &region, Value last,
                            const BlockCandidates &candidates) {
  seesElements = false;
  firstBlock = candidates.number;
  SmallVector<Value> values = {context.batch, context.head};
  if (context.rowsAreKeys)
    llvm::append_values(values, candidates.first, candidates.last, context.key,
                        last);
  else
    llvm::append_values(values, context.row, last, candidates.first,
                        candidates.last);
  mapping.map(region.getArguments().take_front(values.size()), values);
  if (failed(cloneBody(region)))
    return failure();
  Operation *yield = region.front().getTerminator();
  return std::pair(mapping.lookup(yield->getOperand(0)),
                   mapping.lookup(yield->getOperand(1)));
}

//===----------------------------------------------------------------------===//
// Body
//===----------------------------------------------------------------------===//

bool RegionToTile::isUniform(Value regionValue) {
  return !forms.contains(regionValue) && !diagonals.contains(regionValue) &&
         !tile::isRegisterTile(mapping.lookup(regionValue).getType());
}

bool RegionToTile::fitsI32(Value regionValue) {
  auto range = ranges.find(regionValue);
  return range != ranges.end() && range->second.smin().isSignedIntN(32) &&
         range->second.smax().isSignedIntN(32);
}

LogicalResult RegionToTile::cloneBody(Region &region) {
  unsigned captures = context.captures.size();
  mapping.map(region.getArguments().take_back(captures), context.captures);
  exact = findExactValues(region);
  // A captured scalar of type index may be anything, and tiles read it as is.
  for (BlockArgument capture : region.getArguments().take_back(captures))
    noteWidth(capture);
  for (BlockArgument argument : region.getArguments().drop_back(captures)) {
    Type type = argument.getType();
    if (!type.isIndex())
      continue;
    ranges.try_emplace(argument,
                       makeRange(0, attn::ForwardOp::kMaxSequenceLength));
    if (isUniform(argument) || !seesElements)
      continue;
    auto tile = cast<RankedTensorType>(mapping.lookup(argument).getType());
    int64_t dim = tile.getDimSize(0) == 1 ? 1 : 0;
    if (dim == getKeyDim()) {
      affine.try_emplace(argument, UnitAffine{dim, context.key});
      keyArgument = argument;
    } else if (context.queriesOfHead <= 1) {
      affine.try_emplace(argument, UnitAffine{dim, context.row});
    }
  }
  for (Operation &op : region.front().without_terminator())
    if (failed(cloneOp(&op)))
      return failure();
  return success();
}

/// Whether the op computes numbers from numbers, and from nothing else.
static bool isScalarArithmetic(Operation *op) {
  return isa_and_nonnull<arith::ArithDialect, math::MathDialect>(
             op->getDialect()) &&
         llvm::all_of(op->getOperandTypes(),
                      [](Type type) { return type.isIntOrIndexOrFloat(); }) &&
         llvm::all_of(op->getResultTypes(),
                      [](Type type) { return type.isIntOrIndexOrFloat(); });
}

LogicalResult RegionToTile::cloneDim(tensor::DimOp op) {
  // A captured one: what computes a tensor is refused (cloneOp).
  Value source = mapping.lookup(op.getSource());
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
  OpBuilder &b = invariant ? *invariant : builder;
  Value size = memref::DimOp::create(b, op.getLoc(), source, *dim);
  mapping.map(op.getResult(), size);
  // Sizes are 32-bit parameters of the kernel.
  ranges.insert_or_assign(op.getResult(),
                          makeRange(0, std::numeric_limits<int32_t>::max()));
  return success();
}

LogicalResult RegionToTile::cloneOp(Operation *op) {
  inferRanges(op);
  if (isa<attn::QueryLengthOp, attn::KeyLengthOp>(op)) {
    Value length =
        isa<attn::QueryLengthOp>(op) ? context.queryLength : context.keyLength;
    mapping.map(op->getResult(0), length);
    ranges.insert_or_assign(op->getResult(0),
                            makeRange(0, attn::ForwardOp::kMaxSequenceLength));
    return success();
  }
  if (isForDiagonals(op))
    return cloneForDiagonals(op);
  if (auto extract = dyn_cast<tensor::ExtractOp>(op))
    return cloneExtract(extract);
  if (auto contribute = dyn_cast<attn::ContributeOp>(op))
    return cloneContribute(contribute);
  if (auto least = dyn_cast<attn::BlockMinOp>(op)) {
    cloneExtreme(least);
    return success();
  }
  if (auto most = dyn_cast<attn::BlockMaxOp>(op)) {
    cloneExtreme(most);
    return success();
  }
  if (auto dim = dyn_cast<tensor::DimOp>(op))
    return cloneDim(dim);
  if (op->getNumRegions() != 0)
    return op->emitError("'")
           << op->getName()
           << "' has regions and can't be evaluated on a tile; use "
              "'arith.select'";
  if (!isScalarArithmetic(op))
    return op->emitError("'")
           << op->getName()
           << "' is not supported in a kernel, only 'arith' and 'math' on "
              "numbers, and 'tensor.extract' and 'tensor.dim' of captured "
              "tensors are";
  if (llvm::all_of(op->getOperands(), [&](Value v) { return isUniform(v); })) {
    cloneUniform(op);
    return success();
  }
  noteAffine(op);
  noteCoordinates(op);
  if (noteForm(op))
    return success();
  return cloneElementwise(op);
}

void RegionToTile::allowApproximation(Operation *op, Operation *clone) {
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

Value RegionToTile::makeHarmlessDivisor(OpBuilder &b, Operation *op,
                                        Value divisor) {
  auto range = ranges.find(op->getOperand(1));
  if (range != ranges.end() && !range->second.umin().isZero())
    return divisor;
  return emitHarmlessDivisor(b, op->getLoc(), divisor,
                             isNonNegative(op->getOperand(1)));
}

void RegionToTile::cloneUniform(Operation *op) {
  OpBuilder &b = invariant ? *invariant : builder;
  bool isWide = llvm::any_of(
      llvm::concat<Value>(op->getOperands(), op->getResults()),
      [&](Value v) { return v.getType().isIndex() && !fitsI32(v); });
  bool isKnown =
      OpTrait::hasElementwiseMappableTraits(op) || isa<arith::ConstantOp>(op);
  if (isWide && isKnown) {
    cloneWide(b, op);
    return;
  }
  context.hasWideIndex |= isWide;
  Operation *clone = b.clone(*op, mapping);
  if (isIntegerDivision(op)) {
    OpBuilder before(clone);
    clone->setOperand(1, makeHarmlessDivisor(before, op, clone->getOperand(1)));
  }
  // One tanh costs nothing.
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

void RegionToTile::cloneWide(OpBuilder &b, Operation *op) {
  Location loc = op->getLoc();
  hasWideScalar = true;
  Type i64 = b.getI64Type();
  auto widen = [&](Type type) { return type.isIndex() ? i64 : type; };
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    Value value = mapping.lookup(operand);
    operands.push_back(
        value.getType().isIndex()
            ? arith::IndexCastOp::create(b, loc, i64, value).getResult()
            : value);
  }
  if (isIntegerDivision(op))
    operands[1] = makeHarmlessDivisor(b, op, operands[1]);
  SmallVector<Value> results;
  APInt constant;
  if (matchPattern(op, m_ConstantInt(&constant))) {
    results.push_back(
        arith::ConstantIntOp::create(b, loc, i64, constant.getSExtValue()));
  } else if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op)) {
    results.push_back(castScalar(b, loc, operands[0],
                                 widen(op->getResult(0).getType()),
                                 isa<arith::IndexCastUIOp>(op)));
  } else {
    OperationState state(loc, op->getName(), operands,
                         llvm::map_to_vector(op->getResultTypes(), widen),
                         op->getAttrs());
    llvm::append_range(results, b.create(state)->getResults());
  }
  for (auto [was, result] : llvm::zip_equal(op->getResults(), results)) {
    bool isNarrow = was.getType().isIndex() && fitsI32(was);
    mapping.map(was, isNarrow ? arith::IndexCastOp::create(
                                    b, loc, b.getIndexType(), result)
                                    .getResult()
                              : result);
  }
}

Value RegionToTile::asIndex(Value regionValue) {
  Value value = mapping.lookup(regionValue);
  if (!regionValue.getType().isIndex() || !value.getType().isInteger(64))
    return value;
  context.hasWideIndex = true;
  // A scalar stands where what it is computed from does.
  OpBuilder &b = invariant ? *invariant : builder;
  return arith::IndexCastOp::create(b, regionValue.getLoc(), b.getIndexType(),
                                    value);
}

void RegionToTile::noteWidth(Value regionValue) {
  if (regionValue.getType().isIndex() && !fitsI32(regionValue))
    context.hasWideIndex = true;
}

/// Of ops that upstream has no ranges for: `math` on integers.
static std::optional<ConstantIntRanges> inferMathRange(Operation *op,
                                                       ConstantIntRanges of) {
  unsigned width = of.smin().getBitWidth();
  if (isa<math::CtPopOp, math::CountLeadingZerosOp, math::CountTrailingZerosOp>(
          op))
    return ConstantIntRanges::fromUnsigned(APInt(width, 0),
                                           APInt(width, width));
  if (!isa<math::AbsIOp>(op) || of.smin().isMinSignedValue())
    return {};
  APInt zero(width, 0);
  APInt least =
      llvm::APIntOps::smax(llvm::APIntOps::smax(of.smin(), -of.smax()), zero);
  return ConstantIntRanges::fromSigned(
      least, llvm::APIntOps::smax(-of.smin(), of.smax()));
}

void RegionToTile::inferRanges(Operation *op) {
  if (op->getNumOperands() == 1 && op->getNumResults() == 1) {
    auto known = ranges.find(op->getOperand(0));
    if (known != ranges.end())
      if (auto range = inferMathRange(op, known->second))
        ranges.insert_or_assign(op->getResult(0), *range);
  }
  auto infer = dyn_cast<InferIntRangeInterface>(op);
  if (!infer)
    return;
  SmallVector<ConstantIntRanges> operands;
  for (Value operand : op->getOperands()) {
    auto known = ranges.find(operand);
    if (known != ranges.end()) {
      operands.push_back(known->second);
      continue;
    }
    unsigned width = ConstantIntRanges::getStorageBitwidth(operand.getType());
    operands.push_back(ConstantIntRanges::maxRange(width));
  }
  infer.inferResultRanges(
      operands, [&](Value value, const ConstantIntRanges &range) {
        // A select of floats has one of no bits.
        if (getElementTypeOrSelf(value.getType()).isIntOrIndex())
          ranges.insert_or_assign(value, range);
      });
}

/// Follows `coordinate +- scalar`.
void RegionToTile::noteAffine(Operation *op) {
  if (!isa<arith::AddIOp, arith::SubIOp>(op))
    return;
  Value left = op->getOperand(0), right = op->getOperand(1);
  if (isa<arith::AddIOp>(op) && isUniform(left))
    std::swap(left, right);
  auto known = affine.find(left);
  if (known == affine.end() || !isUniform(right))
    return;
  noteWidth(op->getResult(0));
  UnitAffine shifted = known->second;
  Value scalar = asIndex(right);
  shifted.first =
      isa<arith::AddIOp>(op)
          ? arith::AddIOp::create(builder, op->getLoc(), shifted.first, scalar)
                .getResult()
          : arith::SubIOp::create(builder, op->getLoc(), shifted.first, scalar)
                .getResult();
  affine.try_emplace(op->getResult(0), shifted);
}

Value RegionToTile::asTile(Location loc, Value regionValue,
                           ArrayRef<int64_t> shape, unsigned indexWidth) {
  return asTile(loc, regionValue, lookup(regionValue), shape, indexWidth);
}

Value RegionToTile::asTile(Location loc, Value regionValue, Value value,
                           ArrayRef<int64_t> shape, unsigned indexWidth) {
  Type element = getElementTypeOrSelf(value.getType());
  if (element.isIndex())
    return splat(loc, value,
                 tileType(shape, builder.getIntegerType(indexWidth)));
  if (regionValue.getType().isIndex() &&
      element.getIntOrFloatBitWidth() < indexWidth) {
    element = builder.getIntegerType(indexWidth);
    auto narrow = cast<RankedTensorType>(value.getType());
    value = arith::ExtSIOp::create(builder, loc,
                                   tileType(narrow.getShape(), element), value);
  }
  RankedTensorType type = tileType(shape, element);
  if (value.getType() == type)
    return value;
  return tile::BroadcastOp::create(builder, loc, type, value);
}

Value RegionToTile::splat(Location loc, Value index, RankedTensorType type) {
  // One for all uses in a block: the canonicalizer's time is proportional to
  // the number of such ops and the length of the loops around them.
  Value &tile = splats[{index, type}];
  if (tile && tile.getParentBlock() == builder.getInsertionBlock())
    return tile;
  Value scalar =
      arith::IndexCastOp::create(builder, loc, type.getElementType(), index);
  return tile = tile::BroadcastOp::create(builder, loc, type, scalar);
}

bool RegionToTile::isNonNegative(Value regionValue) {
  auto range = ranges.find(regionValue);
  return range != ranges.end() && range->second.smin().isNonNegative();
}

/// The op that does the same to values of which none is negative, with fewer
/// instructions.
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

LogicalResult RegionToTile::cloneElementwise(Operation *op) {
  Location loc = op->getLoc();
  if (!OpTrait::hasElementwiseMappableTraits(op) || op->getNumResults() != 1)
    return op->emitError("'") << op->getName()
                              << "' is not supported on values that differ "
                                 "within a block of scores";
  int64_t rows = 1, columns = 1;
  for (Value operand : op->getOperands()) {
    auto type = dyn_cast<RankedTensorType>(lookup(operand).getType());
    if (!type)
      continue;
    rows = std::max(rows, type.getDimSize(0));
    columns = std::max(columns, type.getDimSize(1));
  }
  // An op on indices computes in i32 if all it touches fits.
  Value result = op->getResult(0);
  bool narrow = true;
  for (Value value : llvm::concat<Value>(op->getOperands(), op->getResults()))
    if (value.getType().isIndex())
      narrow &= fitsI32(value);
  unsigned width = narrow ? 32 : 64;
  SmallVector<int64_t, 2> shape = {rows, columns};
  SmallVector<Value> operands =
      llvm::map_to_vector(op->getOperands(), [&](Value operand) {
        Value value = lookup(operand);
        if (isIntegerDivision(op) && operand == op->getOperand(1))
          value = makeHarmlessDivisor(builder, op, value);
        return asTile(loc, operand, value, shape, width);
      });

  Type element = result.getType();
  if (element.isIndex())
    element = builder.getIntegerType(width);
  RankedTensorType type = tileType(shape, element);

  // Casts between index and integers are casts between widths now.
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op)) {
    Value source = operands[0];
    unsigned from =
        getElementTypeOrSelf(source.getType()).getIntOrFloatBitWidth();
    if (result.getType().isIndex() && from > element.getIntOrFloatBitWidth()) {
      element = builder.getIntegerType(from);
      type = tileType(shape, element);
    }
    unsigned to = element.getIntOrFloatBitWidth();
    bool isUnsigned = isa<arith::IndexCastUIOp>(op);
    Value cast = source;
    if (from < to && isUnsigned)
      cast = arith::ExtUIOp::create(builder, loc, type, source);
    else if (from < to)
      cast = arith::ExtSIOp::create(builder, loc, type, source);
    else if (from > to)
      cast = arith::TruncIOp::create(builder, loc, type, source);
    mapping.map(result, cast);
    return success();
  }

  OperationName name = op->getName();
  if (llvm::all_of(op->getOperands(),
                   [&](Value v) { return isNonNegative(v); }))
    name = getUnsigned(name);
  OperationState state(loc, name, operands, type, op->getAttrs());
  Operation *clone = builder.create(state);
  allowApproximation(op, clone);
  Value value = clone->getResult(0);
  // What was computed wide may fit afterwards, for example a remainder.
  if (result.getType().isIndex() && width == 64 && fitsI32(result))
    value = arith::TruncIOp::create(
        builder, loc, tileType(shape, builder.getI32Type()), value);
  mapping.map(result, value);
  return success();
}

/// An extreme is an entry of a summary, of whole blocks.
template <typename OpTy>
void RegionToTile::cloneExtreme(OpTy op) {
  SmallVector<Value> others = llvm::map_to_vector(
      op.getIndices(), [&](Value index) { return asIndex(index); });
  const BlockSummaries &summaries = *context.summaries;
  if (op.isOverQueries() == context.rowsAreKeys) {
    mapping.map(op.getResult(),
                summaries.emitOfCandidates(builder, op, others, firstBlock,
                                           tile::BallotOp::kColumns));
    return;
  }
  Value tile = arith::DivUIOp::create(
      builder, op.getLoc(), context.rowsAreKeys ? context.key : context.row,
      arith::ConstantIndexOp::create(builder, op.getLoc(), context.rows));
  mapping.map(op.getResult(), summaries.emitOfBlock(builder, op, others, tile));
}
