//===- BackwardMask.cpp - Masks of a score block --------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Backward/BackwardMask.h"

#include "Regions/RegionToTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fovea;

namespace {
/// Emits the masks of one block.
class MaskEmitter {
public:
  MaskEmitter(const BackwardKernel &kernel, const ScoreBlock &block)
      : kernel(kernel), kb(kernel.kb), op(kernel.op), block(block),
        context(kernel.makeContext(block.queries.place.head,
                                   block.queries.place.first,
                                   block.keys.first)) {}

  FailureOr<Value> emitVisible(Value exponent);

private:
  /// The result of `emit` if `condition` holds, else `exponent`.
  FailureOr<Value> emitWhere(Value condition, Value exponent,
                             function_ref<FailureOr<Value>()> emit);
  /// `exponent` where `keep` holds, else -inf.
  Value emitSelected(Value keep, Value exponent);
  /// -inf for pairs that mask_mod hides.
  FailureOr<Value> emitMasked(Value exponent);
  /// -inf for pairs with a missing query or key, if `condition` holds.
  Value hideMissing(Value condition, Value exponent);
  /// True for pairs whose query and key exist.
  Value emitExist();
  /// True if some pair has a missing query or key, i1.
  Value emitIsRagged();

  const BackwardKernel &kernel;
  KernelBuilder &kb;
  attn::BackwardOp op;
  const ScoreBlock &block;
  RegionContext context;
};
} // namespace

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
  const BackwardKernelPlan &part = kernel.part;
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

FailureOr<Value> MaskEmitter::emitWhere(Value condition, Value exponent,
                                        function_ref<FailureOr<Value>()> emit) {
  OpBuilder &b = kb.builder;
  Location loc = kb.getLoc();
  auto branch = scf::IfOp::create(b, loc, exponent.getType(), condition,
                                  /*addThenBlock=*/true,
                                  /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(branch.thenBlock());
  FailureOr<Value> emitted = emit();
  if (failed(emitted))
    return failure();
  scf::YieldOp::create(b, loc, *emitted);
  b.setInsertionPointToEnd(branch.elseBlock());
  scf::YieldOp::create(b, loc, exponent);
  return branch.getResult(0);
}

Value MaskEmitter::emitSelected(Value keep, Value exponent) {
  return kb.make<arith::SelectOp>(
      keep, exponent,
      kernel.splatScore(-std::numeric_limits<double>::infinity()));
}

FailureOr<Value> MaskEmitter::emitMasked(Value exponent) {
  FailureOr<Value> shown =
      RegionToTile(kb.builder, context).cloneMaskMod(op.getMaskMod());
  if (failed(shown))
    return failure();
  return emitSelected(*shown, exponent);
}

Value MaskEmitter::hideMissing(Value condition, Value exponent) {
  return *emitWhere(condition, exponent, [&] {
    return FailureOr<Value>(emitSelected(emitExist(), exponent));
  });
}

/// Few blocks have missing queries or keys, and finding those pairs costs as
/// much as a mask, so it is a branch of its own. Blocks of block-sparse lists
/// can be ragged without being partial.
FailureOr<Value> MaskEmitter::emitVisible(Value exponent) {
  bool isListed = op.hasBlocks();
  FailureOr<Value> shown = exponent;
  if (!op.getMaskMod().empty())
    shown = emitWhere(block.partial, exponent, [&]() -> FailureOr<Value> {
      FailureOr<Value> masked = emitMasked(exponent);
      if (failed(masked) || isListed)
        return masked;
      return hideMissing(emitIsRagged(), *masked);
    });
  else if (!isListed)
    shown = hideMissing(block.partial, exponent);
  if (failed(shown) || !isListed)
    return shown;
  return hideMissing(emitIsRagged(), *shown);
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
