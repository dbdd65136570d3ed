//===- TileOps.cpp - Verifiers and folders of the tile dialect ------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Blocks.h"

#include "fovea/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace fovea::tile;

#include "fovea/Dialect/Tile/IR/TileOpInterfaces.cpp.inc"

#define GET_OP_CLASSES
#include "fovea/Dialect/Tile/IR/TileOps.cpp.inc"

/// True if `type` has `shape` and the encoding of `like`.
static bool hasShape(RankedTensorType type, ArrayRef<int64_t> shape,
                     RankedTensorType like) {
  return type.getShape() == shape && type.getEncoding() == like.getEncoding();
}

//===----------------------------------------------------------------------===//
// Elementary ops
//===----------------------------------------------------------------------===//

/// Checks that the result's extent is 1 in the dimension other than `dim`.
template <typename Op>
static LogicalResult verifyCounts(Op op) {
  RankedTensorType type = op.getResult().getType();
  int64_t dim = op.getDim();
  if (dim != 0 && dim != 1)
    return op.emitOpError("dim must be 0 or 1, found ") << dim;
  if (type.getDimSize(1 - dim) != 1)
    return op.emitOpError(
               "result must have extent 1 along the other dimension, found ")
           << type;
  return success();
}

LogicalResult IotaOp::verify() {
  Type element = getResult().getType().getElementType();
  if (!element.isSignlessInteger(32) && !element.isSignlessInteger(64))
    return emitOpError("result must be of i32 or i64, found ")
           << getResult().getType();
  return verifyCounts(*this);
}

LogicalResult RampOp::verify() { return verifyCounts(*this); }

void OwnedRowsOp::inferResultRanges(ArrayRef<ConstantIntRanges>,
                                    SetIntRangeFn setRange) {
  int64_t rows = getTile().getDimSize(0);
  unsigned width = ConstantIntRanges::getStorageBitwidth(getFirst().getType());
  auto setBounds = [&](Value result, int64_t least, int64_t most) {
    setRange(result, ConstantIntRanges::fromSigned(APInt(width, least),
                                                   APInt(width, most)));
  };
  setBounds(getFirst(), 0, rows - 1);
  setBounds(getCount(), 1, rows);
}

LogicalResult BroadcastOp::verify() {
  RankedTensorType result = getResult().getType();
  Type source = getSource().getType();
  if (!isRegisterTile(source)) {
    if (source != result.getElementType())
      return emitOpError("source must be a register tile or a scalar ")
             << result.getElementType() << ", found " << source;
    return success();
  }
  auto tile = cast<RankedTensorType>(source);
  if (tile.getEncoding() != result.getEncoding() ||
      tile.getElementType() != result.getElementType())
    return emitOpError("source and result must have the same element type and "
                       "encoding, found ")
           << tile << " and " << result;
  for (auto [from, to] : llvm::zip(tile.getShape(), result.getShape()))
    if (from != 1 && from != to)
      return emitOpError("cannot broadcast ") << tile << " to " << result;
  return success();
}

LogicalResult DiagonalsOp::verify() {
  RankedTensorType source = getSource().getType(),
                   result = getResult().getType();
  if (source.getElementType() != result.getElementType())
    return emitOpError(
               "source and result must have the same element type, found ")
           << source << " and " << result;
  int64_t diagonals = result.getDimSize(0) + result.getDimSize(1);
  if (source.getDimSize(0) != 1 || source.getDimSize(1) != diagonals)
    return emitOpError("source must be a column tile of ")
           << diagonals << " for the relative positions of " << result
           << ", found " << source;
  return success();
}

LogicalResult RandomOp::verify() {
  RankedTensorType type = getType();
  int64_t dim = getDim();
  if (dim != 0 && dim != 1)
    return emitOpError("dim must be 0 or 1, found ") << dim;
  if (!type.getElementType().isSignlessInteger(32) ||
      type.getDimSize(dim) % fovea::generator::kNeighbours != 0)
    return emitOpError("result must be an i32 tile whose extent along "
                       "dimension ")
           << dim << " is a multiple of " << fovea::generator::kNeighbours
           << ", found " << type;
  int64_t version = getGenerator();
  if (version != fovea::generator::kVersion)
    return emitOpError("generator ") << version << " is not known, expected "
                                     << fovea::generator::kVersion;
  return success();
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getSource().getType() == getType())
    return getSource();
  Attribute source = adaptor.getSource();
  if (auto splat = dyn_cast_or_null<SplatElementsAttr>(source))
    return SplatElementsAttr::get(getResult().getType(),
                                  splat.getSplatValue<Attribute>());
  if (isa_and_nonnull<IntegerAttr, FloatAttr>(source))
    return SplatElementsAttr::get(getResult().getType(), source);
  // A broadcast of a broadcast is one.
  if (auto inner = getSource().getDefiningOp<BroadcastOp>()) {
    getSourceMutable().assign(inner.getSource());
    return getResult();
  }
  return {};
}

LogicalResult ReduceOp::verify() {
  RankedTensorType source = getSource().getType(), result = getType();
  int64_t dim = getDim();
  if (dim != 0 && dim != 1)
    return emitOpError("dim must be 0 or 1, found ") << dim;
  SmallVector<int64_t> shape(source.getShape());
  shape[dim] = result.getDimSize(dim);
  if (!hasShape(result, shape, source) ||
      result.getElementType() != source.getElementType() ||
      source.getDimSize(dim) % result.getDimSize(dim) != 0)
    return emitOpError("result must be the source with an extent along dim ")
           << dim << " that divides it, found " << source << " to " << result;
  return success();
}

/// Checks that `stored` has `count` columns starting at `first`.
static LogicalResult verifyPart(Operation *dot, StringRef what, int64_t count,
                                int64_t first, ShapedType stored) {
  if (first < 0 || first > stored.getDimSize(1) - count)
    return dot->emitOpError()
           << what << " must be inside the operand, found " << count
           << " starting at " << first << " of " << stored;
  return success();
}

LogicalResult fovea::tile::verifyRows(Operation *dot, ShapedType a,
                                      ShapedType acc, bool transposeA,
                                      int64_t first) {
  if (!transposeA)
    return dot->emitOpError("'rows' needs a transposed first operand");
  return verifyPart(dot, "rows", acc.getDimSize(0), first, a);
}

LogicalResult fovea::tile::verifyColumns(Operation *dot, ShapedType b,
                                         ShapedType acc, bool transposeB,
                                         int64_t first) {
  if (transposeB)
    return dot->emitOpError("'columns' needs a second operand that is not "
                            "transposed");
  return verifyPart(dot, "columns", acc.getDimSize(1), first, b);
}

LogicalResult DotOp::verify() {
  auto a = getA().getType(), b = getB().getType(), acc = getAcc().getType();
  int64_t m = a.getDimSize(getTransposeA() ? 1 : 0),
          k = a.getDimSize(getTransposeA() ? 0 : 1),
          n = b.getDimSize(getTransposeB() ? 0 : 1);
  if (std::optional<uint64_t> first = getFirstRow()) {
    if (failed(verifyRows(*this, a, acc, getTransposeA(), *first)))
      return failure();
    m = acc.getDimSize(0);
  }
  if (std::optional<uint64_t> first = getFirstColumn()) {
    if (failed(verifyColumns(*this, b, acc, getTransposeB(), *first)))
      return failure();
    n = acc.getDimSize(1);
  }
  if (b.getDimSize(getTransposeB() ? 1 : 0) != k)
    return emitOpError("operands differ in the dimension that is summed over: ")
           << a << " and " << b;
  auto isOperandType = [](Type type) {
    return isa<FloatType>(type) && type.getIntOrFloatBitWidth() <= 32;
  };
  if (a.getElementType() != b.getElementType() ||
      !isOperandType(a.getElementType()))
    return emitOpError(
               "operands must have one float type of at most 32 bits, found ")
           << a << " and " << b;
  if (!hasShape(acc, {m, n}, a) || b.getEncoding() != a.getEncoding())
    return emitOpError("accumulator must be ")
           << m << "x" << n << " with the operands' encoding, found " << acc;
  return success();
}

LogicalResult TransposeOp::verify() {
  RankedTensorType source = getSource().getType(), result = getType();
  if (result == tileLike(source, {source.getDimSize(1), source.getDimSize(0)},
                         source.getElementType()))
    return success();
  return emitOpError("result must be the source with its extents swapped, "
                     "found ")
         << source << " to " << result;
}

LogicalResult StreamOp::verify() {
  if (!getNameAttr())
    return emitOpError("needs the name of its stream");
  return success();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Checks `dims` and the number of indices of a load or store.
static LogicalResult verifyBox(Operation *op, MemRefType memref,
                               unsigned indices, ArrayRef<int64_t> dims,
                               RankedTensorType tile) {
  if (indices != memref.getRank())
    return op->emitOpError("needs ")
           << memref.getRank() << " indices, found " << indices;
  if (tile.getElementType() != memref.getElementType())
    return op->emitOpError(
               "tile and memref must have the same element type, found ")
           << tile << " and " << memref;
  if (dims.size() != 2)
    return op->emitOpError("dims must have two entries, found ") << dims.size();
  for (auto [dim, extent] : llvm::zip(dims, tile.getShape())) {
    if (dim < -1 || dim >= memref.getRank())
      return op->emitOpError("dims must be -1 or a dimension of the memref, "
                             "found ")
             << dim;
    if (dim == -1 && extent != 1)
      return op->emitOpError("dims may be -1 where the tile's extent is 1, "
                             "found extent ")
             << extent;
  }
  if (dims[0] == dims[1] && dims[0] != -1)
    return op->emitOpError("dims must differ, found ") << dims[0] << " twice";
  return success();
}

LogicalResult fovea::tile::verifyFold(Operation *op, MemRefType memref,
                                      ArrayRef<int64_t> dims,
                                      std::optional<ArrayRef<int64_t>> fold,
                                      int64_t rows) {
  if (!fold)
    return success();
  if (fold->size() != 2 && fold->size() != 3)
    return op->emitOpError("fold must be a dimension, an extent and optionally "
                           "a number of rows that exist, found ")
           << fold->size() << " entries";
  int64_t dim = (*fold)[0], extent = (*fold)[1];
  if (dims[0] == -1 || dim < 0 || dim >= memref.getRank() ||
      llvm::is_contained(dims, dim))
    return op->emitOpError("fold needs a dimension of the memref besides those "
                           "of dims, found ")
           << dim;
  if (extent < 1 || rows % extent != 0)
    return op->emitOpError("fold's extent must divide the ")
           << rows << " rows, found " << extent;
  int64_t count = fold->back();
  if (fold->size() == 3 && (count < 1 || count > extent))
    return op->emitOpError("from 1 to ")
           << extent << " rows of a fold must exist, found " << count;
  return success();
}

LogicalResult fovea::tile::verifyGroups(Operation *op, MemRefType memref,
                                        ArrayRef<int64_t> dims,
                                        std::optional<ArrayRef<int64_t>> fold,
                                        std::optional<ArrayRef<int64_t>> groups,
                                        Value table, OperandRange tableIndices,
                                        int64_t rows, size_t numIndices) {
  size_t expected = memref.getRank();
  if (groups) {
    if (groups->size() != 2)
      return op->emitOpError("groups must be a dimension and a number of rows, "
                             "found ")
             << groups->size() << " entries";
    int64_t dim = (*groups)[0], extent = (*groups)[1];
    if (fold || dims[0] == -1 || dim < 0 || dim >= memref.getRank() ||
        llvm::is_contained(dims, dim))
      return op->emitOpError("groups need a dimension of the memref besides "
                             "those of dims, and no fold, found ")
             << dim;
    // Groups of a table need not begin where the tile does.
    if (extent < 1 || (!table && rows % extent != 0))
      return op->emitOpError("groups must divide the ")
             << rows << " rows, found groups of " << extent;
    if (!table)
      expected += rows / extent - 1;
  }
  if (numIndices != expected)
    return op->emitOpError("needs ")
           << expected << " indices, found " << numIndices;
  if (!table)
    return success();
  if (!groups)
    return op->emitOpError("a table needs 'groups', whose indices it has");
  auto type = cast<MemRefType>(table.getType());
  if (type.getRank() == 0 || int64_t(tableIndices.size()) != type.getRank())
    return op->emitOpError("needs an index for each dimension of the table ")
           << type << ", found " << tableIndices.size();
  return success();
}

/// Checks the optional `limit` of a load or store.
static LogicalResult verifyLimit(Operation *op, Value limit,
                                 ArrayRef<int64_t> dims) {
  if (limit && dims[0] == -1)
    return op->emitOpError("limit needs a memref dimension in dims[0]");
  return success();
}

SmallVector<SmallVector<unsigned, 4>>
BoxDims::groupFragments(ArrayRef<int64_t> rows, ArrayRef<int64_t> columns,
                        size_t most) const {
  // The row of fragments, and the offset in it.
  auto getPlace = [&](unsigned index) {
    int64_t row = rows[index], place = getFragmentOffset(columns[index]);
    if (isVector())
      return std::pair(row, place);
    return std::pair(row / kFragmentRows, place + getFragmentRowOffset(row));
  };
  bool areApart = holdsPairs(columns) && (isVector() || holdsChunks(rows));
  auto order = llvm::to_vector(llvm::seq<unsigned>(rows.size()));
  llvm::sort(order, [&](unsigned left, unsigned right) {
    return std::pair(getPlace(left), left) < std::pair(getPlace(right), right);
  });
  SmallVector<SmallVector<unsigned, 4>> groups;
  for (unsigned index : order) {
    auto [row, column] = getPlace(index);
    bool goesOn = areApart && !groups.empty() && groups.back().size() < most &&
                  column % most != 0;
    if (goesOn) {
      auto [lastRow, lastColumn] = getPlace(groups.back().back());
      goesOn = row == lastRow && column == lastColumn + 1;
    }
    if (!goesOn)
      groups.emplace_back();
    groups.back().push_back(index);
  }
  return groups;
}

/// Checks that each fragment is contiguous in memory.
static LogicalResult verifyFragments(Operation *op, MemRefType memref,
                                     const BoxDims &dims, Value limit,
                                     RankedTensorType tile) {
  if (dims.byRegister && (!dims.inFragments || dims.isVector()))
    return op->emitOpError("'by_register' needs a matrix in 'fragments'");
  if (!dims.inFragments)
    return success();
  if (limit || dims.isFolded() || dims.hasGroups())
    return op->emitOpError(
        "tiles in fragments must have no limit, no fold and no groups");
  int64_t last = memref.getRank() - 1;
  bool isVector = dims.isVector();
  if (isVector ? std::max(dims.row, dims.column) != last
               : dims.column != last || dims.row != last - 1)
    return op->emitOpError("fragments must be along the memref's last "
                           "dimensions, found dims ")
           << dims.row << " and " << dims.column;
  auto [strides, offset] = memref.getStridesAndOffset();
  int64_t columns = memref.getDimSize(last);
  if (strides[last] != 1 ||
      (!isVector && (columns % BoxDims::kFragmentColumns != 0 ||
                     strides[last - 1] != columns)))
    return op->emitOpError("rows of fragments must be contiguous and a "
                           "multiple of ")
           << BoxDims::kFragmentColumns << " columns, found " << memref;
  int64_t rows = tile.getDimSize(0), along = tile.getDimSize(1);
  if (isVector) {
    if (std::max(rows, along) % BoxDims::kFragmentElements != 0)
      return op->emitOpError("vectors in fragments must be a multiple of ")
             << BoxDims::kFragmentElements << " elements, found " << tile;
    return success();
  }
  if (rows % BoxDims::kFragmentRows != 0 ||
      along % BoxDims::kFragmentColumns != 0)
    return op->emitOpError("matrices in fragments must be a multiple of ")
           << BoxDims::kFragmentRows << " rows and "
           << BoxDims::kFragmentColumns << " columns, found " << tile;
  return success();
}

LogicalResult LoadOp::verify() {
  int64_t rows = getResult().getType().getDimSize(0);
  // The check of groups is that of the number of indices.
  if (failed(verifyBox(*this, getSource().getType(),
                       getSource().getType().getRank(), getDims(),
                       getResult().getType())) ||
      failed(verifyFold(*this, getSource().getType(), getDims(), getFold(),
                        rows)) ||
      failed(verifyGroups(*this, getSource().getType(), getDims(), getFold(),
                          getGroups(), getTable(), getTableIndices(), rows,
                          getIndices().size())) ||
      failed(verifyFragments(*this, getSource().getType(), getBoxDims(),
                             getLimit(), getResult().getType())))
    return failure();
  return verifyLimit(*this, getLimit(), getDims());
}

LogicalResult StoreOp::verify() {
  if (failed(verifyBox(*this, getTarget().getType(), getIndices().size(),
                       getDims(), getValue().getType())) ||
      failed(verifyFold(*this, getTarget().getType(), getDims(), getFold(),
                        getValue().getType().getDimSize(0))) ||
      failed(verifyFragments(*this, getTarget().getType(), getBoxDims(),
                             getLimit(), getValue().getType())))
    return failure();
  if (getAdd() && !getValue().getType().getElementType().isF32())
    return emitOpError("'add' needs f32 elements, found ")
           << getValue().getType();
  return verifyLimit(*this, getLimit(), getDims());
}

static void
addEffect(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
              &effects,
          MemoryEffects::Effect *effect, OpOperand &memory) {
  effects.emplace_back(effect, &memory, SideEffects::DefaultResource::get());
}
void LoadOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  addEffect(effects, MemoryEffects::Read::get(), getSourceMutable());
  for (OpOperand &table : getTableMutable())
    addEffect(effects, MemoryEffects::Read::get(), table);
}
void GatherOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  addEffect(effects, MemoryEffects::Read::get(), getSourceMutable());
}
void ScatterOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  addEffect(effects, MemoryEffects::Write::get(), getTargetMutable());
  if (getAdd())
    addEffect(effects, MemoryEffects::Read::get(), getTargetMutable());
}
void CopyRowsOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  for (OpOperand &source : getSourcesMutable())
    addEffect(effects, MemoryEffects::Read::get(), source);
  for (OpOperand &target : getTargetsMutable())
    addEffect(effects, MemoryEffects::Write::get(), target);
}
void StoreOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  addEffect(effects, MemoryEffects::Write::get(), getTargetMutable());
  if (getAdd())
    addEffect(effects, MemoryEffects::Read::get(), getTargetMutable());
}

//===----------------------------------------------------------------------===//
// IfAnyOp
//===----------------------------------------------------------------------===//

LogicalResult IfAnyOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                        ValueRange operands, DictionaryAttr,
                                        OpaqueProperties, RegionRange,
                                        SmallVectorImpl<Type> &types) {
  llvm::append_range(types, operands.drop_front().getTypes());
  return success();
}

LogicalResult IfAnyOp::verify() {
  RankedTensorType condition = getCondition().getType();
  if (getInits().getTypes() != getResultTypes() ||
      getBody().getArgumentTypes() != getResultTypes())
    return emitOpError("inits, body arguments and results must have the same "
                       "types");
  for (Value init : getInits())
    if (cast<RankedTensorType>(init.getType()).getDimSize(0) !=
        condition.getDimSize(0))
      return emitOpError("inits must have the condition's ")
             << condition.getDimSize(0) << " rows, found " << init.getType();
  return success();
}

LogicalResult IfAnyOp::verifyRegions() {
  Operation *terminator = getBody().front().getTerminator();
  if (!isa<YieldOp>(terminator))
    return terminator->emitOpError("must be tile.yield to end tile.if_any");
  if (terminator->getOperandTypes() != getResultTypes())
    return terminator->emitOpError("must yield (")
           << getResultTypes() << "), found (" << terminator->getOperandTypes()
           << ")";
  return success();
}

/// True if `compare` is `x >= INT_MIN`.
static bool holdsAlways(arith::CmpIOp compare) {
  APInt value;
  return compare && compare.getPredicate() == arith::CmpIPredicate::sge &&
         matchPattern(compare.getRhs(), m_ConstantInt(&value)) &&
         value.isMinSignedValue();
}

/// True if a condition is known to hold for all elements, false for none,
/// nullopt if unknown.
static std::optional<bool> isKnown(Value condition) {
  APInt value;
  if (matchPattern(condition, m_ConstantInt(&value)))
    return !value.isZero();
  if (holdsAlways(condition.getDefiningOp<arith::CmpIOp>()))
    return true;
  return std::nullopt;
}

/// Folds comparisons between `begin` and `end` that always hold; upstream does
/// not fold them for tiles.
static void foldCompares(Block::iterator begin, Block::iterator end,
                         PatternRewriter &rewriter) {
  for (Operation &inner :
       llvm::make_early_inc_range(llvm::make_range(begin, end))) {
    auto compare = dyn_cast<arith::CmpIOp>(inner);
    if (!holdsAlways(compare))
      continue;
    auto type = dyn_cast<RankedTensorType>(compare.getType());
    if (!type)
      continue;
    rewriter.setInsertionPoint(compare);
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(
        compare, DenseElementsAttr::get(type, true));
  }
}

LogicalResult IfAnyOp::canonicalize(IfAnyOp op, PatternRewriter &rewriter) {
  std::optional<bool> holds = isKnown(op.getCondition());
  if (!holds)
    return failure();
  if (!*holds) {
    rewriter.replaceOp(op, op.getInits());
    return success();
  }
  Block *body = &op.getBody().front();
  Operation *yield = body->getTerminator();
  SmallVector<Value> results(yield->getOperands());
  for (auto [result, argument] : llvm::enumerate(body->getArguments()))
    for (Value &value : results)
      if (value == argument)
        value = op.getInits()[result];
  Operation *first = &body->front();
  rewriter.inlineBlockBefore(body, op, op.getInits());
  rewriter.replaceOp(op, results);
  foldCompares(first->getIterator(), yield->getIterator(), rewriter);
  rewriter.eraseOp(yield);
  return success();
}

LogicalResult BallotOp::verify() {
  RankedTensorType type = getFlags().getType();
  if (type.getDimSize(0) != 1 || type.getDimSize(1) != kColumns)
    return emitOpError("flags must be a column tile of ")
           << kColumns << ", found " << type;
  return success();
}
