//===- BackwardMask.cpp - Which pairs of a block count ----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BackwardMask.h"

#include "RegionToTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fovea;

namespace {
/// What is hidden of one block.
class MaskEmitter {
public:
  MaskEmitter(const BackwardKernel &kernel, const ScoreBlock &block)
      : kernel(kernel), kb(kernel.kb), op(kernel.op), block(block),
        context(kernel.makeContext(block.queries.place.head,
                                   block.queries.place.first,
                                   block.keys.first)) {}

  FailureOr<Value> emitVisible(Value exponent);

private:
  /// Of listed blocks the partial ones are masked; what does not exist may lie
  /// in others, too, which the mask is not asked about.
  FailureOr<Value> emitListedVisible(Value exponent);
  /// Hides what `keep` does not keep, if `condition` holds.
  FailureOr<Value> emitHidden(Value condition, Value exponent,
                              function_ref<FailureOr<Value>()> keep);
  /// What mask_mod shows, a tile of i1.
  FailureOr<Value> emitShown();
  /// What it shows of the pairs that exist.
  FailureOr<Value> emitKeep();
  /// The pairs whose query and key exist.
  Value emitExist();
  /// Whether some pair's does not, i1.
  Value emitIsRagged();

  const BackwardKernel &kernel;
  KernelBuilder &kb;
  attn::BackwardOp op;
  const ScoreBlock &block;
  RegionContext context;
};
} // namespace

FailureOr<Value> MaskEmitter::emitShown() {
  return RegionToTile(kb.builder, context).cloneMaskMod(op.getMaskMod());
}

FailureOr<Value> MaskEmitter::emitKeep() {
  Value keep = emitExist();
  if (op.getMaskMod().empty())
    return keep;
  FailureOr<Value> shown = emitShown();
  if (failed(shown))
    return failure();
  return kb.make<arith::AndIOp>(keep, *shown);
}

Value MaskEmitter::emitExist() {
  Location loc = kb.getLoc();
  BlockTiles places(kb.builder, context);
  auto exists = [&](Value tile, Value count) {
    Value narrow = kb.make<arith::IndexCastOp>(kb.builder.getI32Type(), count);
    Value counts = kb.make<tile::BroadcastOp>(tile.getType(), narrow);
    Value is = kb.make<arith::CmpIOp>(arith::CmpIPredicate::slt, tile, counts);
    return places.toFullTile(loc, is);
  };
  Value keep = exists(places.getKeyTile(loc), block.keyEnd);
  if (!kernel.part.hasQueryTiles())
    keep = kb.make<arith::AndIOp>(
        keep, exists(places.getQueryTile(loc), kernel.tile.queries));
  return keep;
}

Value MaskEmitter::emitIsRagged() {
  const BackwardPart &part = kernel.part;
  auto endsBehind = [&](Value first, int64_t count, Value limit) -> Value {
    Value end = kb.make<arith::AddIOp>(first, kb.constant(count));
    return kb.make<arith::CmpIOp>(arith::CmpIPredicate::sgt, end, limit);
  };
  if (part.hasQueryTiles())
    return endsBehind(context.key, part.countKeys(), block.keyEnd);
  return kb.make<arith::OrIOp>(
      endsBehind(context.key, part.countKeys(), block.keyEnd),
      endsBehind(context.row, part.countQueries(), kernel.tile.queries));
}

FailureOr<Value>
MaskEmitter::emitHidden(Value condition, Value exponent,
                        function_ref<FailureOr<Value>()> keep) {
  OpBuilder &b = kb.builder;
  Location loc = kb.getLoc();
  auto branch = scf::IfOp::create(b, loc, exponent.getType(), condition,
                                  /*addThenBlock=*/true,
                                  /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(branch.thenBlock());
  FailureOr<Value> kept = keep();
  if (failed(kept))
    return failure();
  Value hidden = kb.make<arith::SelectOp>(
      *kept, exponent,
      kernel.splatScore(-std::numeric_limits<double>::infinity()));
  scf::YieldOp::create(b, loc, hidden);
  b.setInsertionPointToEnd(branch.elseBlock());
  scf::YieldOp::create(b, loc, exponent);
  return branch.getResult(0);
}

FailureOr<Value> MaskEmitter::emitListedVisible(Value exponent) {
  FailureOr<Value> shown = exponent;
  if (!op.getMaskMod().empty())
    shown = emitHidden(block.partial, exponent, [&] { return emitShown(); });
  if (failed(shown))
    return failure();
  return emitHidden(emitIsRagged(), *shown,
                    [&] { return FailureOr<Value>(emitExist()); });
}

FailureOr<Value> MaskEmitter::emitVisible(Value exponent) {
  if (op.hasBlocks())
    return emitListedVisible(exponent);
  return emitHidden(block.partial, exponent, [&] { return emitKeep(); });
}

FailureOr<Value> fovea::emitVisible(const BackwardKernel &kernel,
                                    const ScoreBlock &block, Value exponent) {
  return MaskEmitter(kernel, block).emitVisible(exponent);
}

Value fovea::emitCounted(const BackwardKernel &kernel, const ScoreBlock &block,
                         Value weight) {
  KernelBuilder &kb = kernel.kb;
  const QueryPlace &place = block.queries.place;
  RegionContext context =
      kernel.makeContext(place.head, place.first, block.keys.first);
  Value exists = emitQueriesExist(kernel, place);
  Value counts = kb.make<arith::CmpFOp>(arith::CmpFPredicate::UNE, weight,
                                        kernel.splatScore(0.0));
  return kb.make<arith::AndIOp>(
      counts, BlockTiles(kb.builder, context).toFullTile(kb.getLoc(), exists));
}
