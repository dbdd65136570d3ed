//===- WorkShares.cpp - Equal shares of the blocks of tiles ---------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernel/WorkShares.h"

#include "fovea/Support/ValueNames.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fovea;

// No GPU has more SMs.
static constexpr int64_t kMostMultiprocessors = 512;

/// Tiles of a head.
static Value countTilesOfHead(KernelBuilder &kb, const SharedTiles &tiles) {
  return kb.make<arith::CeilDivUIOp>(tiles.rows, kb.constant(tiles.tileM));
}

Value fovea::countSharedTiles(KernelBuilder &kb, const SharedTiles &tiles) {
  Value count = countTilesOfHead(kb, tiles);
  return kb.make<arith::MulIOp>(
      kb.make<arith::MulIOp>(tiles.batch, tiles.heads), count);
}

KernelBuilder::Work fovea::decodeSharedTile(KernelBuilder &kb,
                                            const SharedTiles &tiles,
                                            Value item) {
  KernelBuilder::Work work;
  work.head = kb.make<arith::RemUIOp>(item, tiles.heads);
  Value tileOfAll = kb.make<arith::DivUIOp>(item, tiles.heads);
  Value count = countTilesOfHead(kb, tiles);
  Value tile = kb.make<arith::RemUIOp>(tileOfAll, count);
  work.batch = kb.make<arith::DivUIOp>(tileOfAll, count);
  work.row = kb.make<arith::MulIOp>(tile, kb.constant(tiles.tileM));
  named("row", work.row);
  named("head", work.head);
  named("batch", work.batch);
  return work;
}

void fovea::beginShares(KernelBuilder &kb, Value items, Value per,
                        bool hasTiles) {
  named("items", items);
  OpBuilder &b = kb.builder;
  kb.workLoop =
      tile::ForeachWorkOp::create(b, kb.getLoc(), items, per, hasTiles);
  tile::ForeachWorkOp loop = kb.workLoop;
  SmallVector<Type> types(1 + hasTiles, b.getIndexType());
  SmallVector<Location> locs(types.size(), kb.getLoc());
  b.createBlock(&loop.getExtent(), {}, types, locs);
  if (hasTiles) {
    b.createBlock(&loop.getTiles(), {}, types.front(), kb.getLoc());
    named("tile", loop.getTile());
  }
  named("item", loop.getItem());
  named("first", loop.getFirst());
  named("end", loop.getEnd());
  named("part", loop.getPart());
  named("parts", loop.getParts());
  named("cta", loop.getCta());
  kb.builder.setInsertionPointToStart(loop.getBody());
}

ValueRange fovea::beginRegion(KernelBuilder &kb, Region &region) {
  Block &block = region.front();
  kb.builder.setInsertionPointToEnd(&block);
  named("group", block.getArgument(0));
  if (block.getNumArguments() == 2)
    named("tile", block.getArgument(1));
  return block.getArguments();
}

Value fovea::declareCounters(KernelBuilder &kb, int64_t minBlocks) {
  Builder &b = kb.builder;
  kb.scratch.push_back(
      launch::WorkspaceMemRefParameterAttr::get(b.getContext()));
  unsigned position = kb.kernel.getNumArguments();
  auto type =
      MemRefType::get({kMostMultiprocessors * minBlocks}, b.getI32Type());
  (void)kb.kernel.insertArgument(position, type, {}, kb.getLoc());
  return kb.kernel.getArgument(position);
}
