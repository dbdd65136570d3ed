//===- KernelBuilder.cpp - State of a kernel under construction -----------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernel/KernelBuilder.h"

#include "fovea/Support/ValueNames.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace fovea;

Value KernelBuilder::operandArgument(unsigned index) {
  return kernel.getArgument(index);
}

Value KernelBuilder::resultArgument(unsigned index) {
  if (std::optional<unsigned> operand = op.getUpdatedOperand(index))
    return operandArgument(*operand);
  unsigned updated = llvm::count_if(llvm::seq(index), [&](unsigned before) {
    return op.getUpdatedOperand(before).has_value();
  });
  return kernel.getArgument(op->getNumOperands() + index - updated);
}

SmallVector<Value>
KernelBuilder::captureArguments(attn::AttentionOpInterface attention) {
  return llvm::map_to_vector(
      llvm::seq<unsigned>(attention.getCaptures().size()), [&](unsigned index) {
        return operandArgument(attention.getFirstCapture() + index);
      });
}

void KernelBuilder::makeContiguous(unsigned operand) {
  auto type = cast<MemRefType>(kernel.getArgument(operand).getType());
  auto [strides, offset] = type.getStridesAndOffset();
  strides.back() = 1;
  auto layout = StridedLayoutAttr::get(type.getContext(), offset, strides);
  kernel.getArgument(operand).setType(
      MemRefType::get(type.getShape(), type.getElementType(), layout));
  kernel.setFunctionType(
      builder.getFunctionType(kernel.getBody().front().getArgumentTypes(), {}));
}

Value KernelBuilder::constant(int64_t value) {
  return arith::ConstantIndexOp::create(builder, getLoc(), value);
}

Value KernelBuilder::integer(int64_t value) {
  return make<arith::ConstantIntOp>(value, 32);
}

Value KernelBuilder::toInteger(Value index) {
  return make<arith::IndexCastOp>(builder.getI32Type(), index);
}

Value KernelBuilder::size(Value memref, int64_t dim) {
  auto type = cast<MemRefType>(memref.getType());
  if (!type.isDynamicDim(dim))
    return constant(type.getDimSize(dim));
  return memref::DimOp::create(builder, getLoc(), memref, dim);
}

RankedTensorType KernelBuilder::tileType(int64_t rows, int64_t columns,
                                         Type element) {
  return RankedTensorType::get({rows, columns}, element,
                               tile::RegAttr::get(builder.getContext()));
}

Value KernelBuilder::splat(int64_t rows, int64_t columns, double value) {
  RankedTensorType type = tileType(rows, columns, builder.getF32Type());
  return arith::ConstantOp::create(
      builder, getLoc(),
      DenseElementsAttr::get(type, static_cast<float>(value)));
}

Value KernelBuilder::loadHead(Value memref, Value batch, Value head, Value row,
                              int64_t column, int64_t rows, int64_t columns,
                              Value limit, StringRef name) {
  auto type = cast<MemRefType>(memref.getType());
  SmallVector<Value> indices = {batch, head, row};
  SmallVector<int64_t> dims = {2, -1};
  if (type.getRank() == 4) {
    indices.push_back(constant(column));
    dims[1] = 3;
  }
  RankedTensorType tile = tileType(rows, columns, type.getElementType());
  if (name.empty())
    return tile::LoadOp::create(builder, getLoc(), tile, memref, indices, limit,
                                dims);
  return tile::LoadOp::create(builder, getNamedLoc(getLoc(), name), tile,
                              memref, indices, limit, dims,
                              builder.getStringAttr(name));
}

std::pair<Value, Value> fovea::decodeSections(OpBuilder &b, Location loc,
                                              Value item, Value tiles,
                                              Value allHeads, Value perSection,
                                              Value lastTile, bool inTurn) {
  Value size = arith::MulIOp::create(b, loc, perSection, tiles);
  Value section = arith::DivUIOp::create(b, loc, item, size);
  Value inside = arith::RemUIOp::create(b, loc, item, size);
  Value first = arith::MulIOp::create(b, loc, section, perSection);
  Value left = arith::SubIOp::create(b, loc, allHeads, first);
  Value width = arith::MinUIOp::create(b, loc, left, perSection);
  Value fromEnd = arith::DivUIOp::create(b, loc, inside, width);
  Value tile = arith::SubIOp::create(b, loc, lastTile, fromEnd);
  if (inTurn) {
    Value one = arith::ConstantIndexOp::create(b, loc, 1);
    Value last = arith::DivUIOp::create(
        b, loc, arith::SubIOp::create(b, loc, allHeads, one), perSection);
    Value toCome = arith::SubIOp::create(b, loc, last, section);
    Value isTurned =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne,
                              arith::AndIOp::create(b, loc, toCome, one),
                              arith::ConstantIndexOp::create(b, loc, 0));
    tile = arith::SelectOp::create(b, loc, isTurned, fromEnd, tile);
  }
  Value offset = arith::RemUIOp::create(b, loc, inside, width);
  return {tile, arith::AddIOp::create(b, loc, first, offset)};
}

namespace {
/// Emits the start of a loop over tiles, with the parameters of `beginWork`.
class WorkEmitter {
public:
  using Work = KernelBuilder::Work;
  using TileOrder = KernelBuilder::TileOrder;

  WorkEmitter(KernelBuilder &kb, Value batch, Value heads,
              const KernelBuilder::WorkOrder &order)
      : kb(kb), b(kb.builder), loc(kb.getLoc()), batch(batch), heads(heads),
        order(order) {}

  Work emit(Value rows, int64_t tileM);

private:
  /// An item's tile in its head and its head over all batch entries; or its
  /// batch entry and head, if known.
  struct Place {
    Value tile, headOfAll, batch, head;
  };
  template <typename OpTy>
  Value compute(Value x, Value y) {
    return OpTy::create(b, loc, x, y);
  }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, loc, condition, x, y);
  }
  void emitCounts(Value rows, int64_t tileM);
  /// Decodes an item in an order with L2 sections, and in an order in which the
  /// tiles of one head are consecutive.
  Place emitInSections(Value item);
  Place emitHeadByHead(Value item);
  /// Converts the tile from the order of sections to `order.tiles`.
  Value reorder(Value tile);

  KernelBuilder &kb;
  OpBuilder &b;
  Location loc;
  Value batch, heads;
  const KernelBuilder::WorkOrder &order;
  /// Number of tiles of a head, the last tile, heads of all batch entries,
  /// items.
  Value tiles, lastTile, allHeads, count;
  /// Tail tiles per head, and the items before them; or null.
  Value lateTiles, earlyItems;
};
} // namespace

/// Item-invariant values precede the loop.
void WorkEmitter::emitCounts(Value rows, int64_t tileM) {
  tiles = compute<arith::CeilDivUIOp>(rows, kb.constant(tileM));
  allHeads = compute<arith::MulIOp>(batch, heads);
  count = compute<arith::MulIOp>(allHeads, tiles);
  lastTile = compute<arith::SubIOp>(tiles, kb.constant(1));
  if (!order.finalTiles)
    return;
  lateTiles = compute<arith::MinUIOp>(order.finalTiles, tiles);
  earlyItems = compute<arith::SubIOp>(
      count, compute<arith::MulIOp>(allHeads, lateTiles));
}

Value WorkEmitter::reorder(Value tile) {
  // Sections begin with each head's last tiles.
  if (order.tiles != TileOrder::LastFirst)
    tile = compute<arith::SubIOp>(lastTile, tile);
  if (order.tiles == TileOrder::ShortestFirst)
    tile = kb.emitShortestFirst(tile, tiles, lateTiles);
  return tile;
}

WorkEmitter::Place WorkEmitter::emitInSections(Value item) {
  Value perSection = order.headsPerSection, tilesOfSection = tiles,
        lastOfSection = lastTile;
  if (lateTiles) {
    // Tail tiles are one more section, of all heads.
    Value isLate = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge,
                                         item, earlyItems);
    item = select(isLate, compute<arith::SubIOp>(item, earlyItems), item);
    tilesOfSection =
        select(isLate, lateTiles, compute<arith::SubIOp>(tiles, lateTiles));
    perSection = select(isLate, allHeads, perSection);
    lastOfSection = select(
        isLate, compute<arith::SubIOp>(lateTiles, kb.constant(1)), lastTile);
  }
  auto [tile, headOfAll] = decodeSections(
      b, loc, item, tilesOfSection, allHeads, perSection, lastOfSection,
      /*inTurn=*/order.schedule == tile::WorkSchedule::Static);
  Place place{reorder(tile), headOfAll, {}, {}};
  if (order.batchFirst) {
    place.batch = compute<arith::RemUIOp>(headOfAll, batch);
    place.head = compute<arith::DivUIOp>(headOfAll, batch);
  }
  return place;
}

WorkEmitter::Place WorkEmitter::emitHeadByHead(Value item) {
  Place place;
  if (order.batchFirst) {
    place.batch = compute<arith::RemUIOp>(item, batch);
    item = compute<arith::DivUIOp>(item, batch);
  }
  place.tile = compute<arith::RemUIOp>(item, tiles);
  place.head = place.headOfAll = compute<arith::DivUIOp>(item, tiles);
  // CTAs start in the order of their indices: the longest tiles first.
  if (order.schedule == tile::WorkSchedule::Single &&
      order.tiles == TileOrder::LastFirst)
    place.tile = compute<arith::SubIOp>(lastTile, place.tile);
  return place;
}

KernelBuilder::Work WorkEmitter::emit(Value rows, int64_t tileM) {
  assert((order.tiles != TileOrder::ShortestFirst || order.finalTiles) &&
         "an order of sections with final tiles");
  emitCounts(rows, tileM);
  named("tiles", tiles);
  named("items", count);
  Value items = count;
  if (order.shares != 1)
    items = compute<arith::MulIOp>(count, kb.constant(order.shares));
  kb.workLoop = tile::ForeachWorkOp::create(b, loc, items, order.schedule);
  Value item = kb.workLoop.getItem();
  named("item", item);
  b.setInsertionPointToStart(kb.workLoop.getBody());
  Value share;
  if (order.shares != 1) {
    share = compute<arith::RemUIOp>(item, kb.constant(order.shares));
    named("share", share);
    item = compute<arith::DivUIOp>(item, kb.constant(order.shares));
  }
  if (order.lastItemsFirst)
    item = compute<arith::SubIOp>(compute<arith::SubIOp>(count, kb.constant(1)),
                                  item);

  Place place =
      order.headsPerSection ? emitInSections(item) : emitHeadByHead(item);
  Work work{place.batch, place.head, {}, share};
  work.row = compute<arith::MulIOp>(place.tile, kb.constant(tileM));
  if (!order.batchFirst) {
    work.head = compute<arith::RemUIOp>(place.headOfAll, heads);
    work.batch = compute<arith::DivUIOp>(place.headOfAll, heads);
  }
  named("row", work.row);
  named("head", work.head);
  named("batch", work.batch);
  return work;
}

KernelBuilder::Work KernelBuilder::beginWork(Value batch, Value heads,
                                             Value rows, int64_t tileM,
                                             const WorkOrder &order) {
  return WorkEmitter(*this, batch, heads, order).emit(rows, tileM);
}

Value KernelBuilder::emitShortestFirst(Value place, Value tiles,
                                       Value finalTiles) {
  Location loc = getLoc();
  Value early = arith::SubIOp::create(builder, loc, tiles, finalTiles);
  Value isEarly = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                        place, early);
  Value last = arith::SubIOp::create(builder, loc, early, constant(1));
  Value fromEnd = arith::SubIOp::create(builder, loc, last, place);
  return arith::SelectOp::create(builder, loc, isEarly, fromEnd, place);
}

Value KernelBuilder::emitKeyLength(attn::AttentionOpInterface attention,
                                   Value batch, Value keys) {
  std::optional<unsigned> operand = attention.getSequence().getPlaces().lengths;
  if (!operand)
    return {};
  Location loc = getLoc();
  Value lengths = operandArgument(
      attention.getSequenceOperands().getBeginOperandIndex() + *operand);
  Value length = memref::LoadOp::create(builder, loc, lengths, batch);
  Value wide =
      arith::IndexCastOp::create(builder, loc, builder.getIndexType(), length);
  Value positive = arith::MaxSIOp::create(builder, loc, wide, constant(0));
  return arith::MinSIOp::create(builder, loc, positive, keys);
}

void KernelBuilder::endWork() { builder.setInsertionPointAfter(workLoop); }

AffineScore fovea::scaleProducts(KernelBuilder &kb,
                                 attn::AttentionOpInterface attention,
                                 Value products) {
  AffineScore form = AffineScore::of(products);
  Factor &factor = form.full.front().factor;
  if (std::optional<double> constant = attention.getConstantScale())
    factor.constant = *constant;
  else
    factor.scalar = kb.operandArgument(attention.getFirstVariantOperand());
  return form;
}
