//===- ForwardScores.cpp - Scores of a forward kernel -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockWays.h"
#include "Dropout.h"
#include "ForwardEmitter.h"
#include "UniformExtracts.h"

#include "fovea/Support/ValueNames.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fovea;

/// `score` where `keep` holds, else -inf.
Value ForwardEmitter::hide(Value keep, Value score) {
  Value hidden =
      kb.splat(rows, columns, -std::numeric_limits<double>::infinity());
  return arith::SelectOp::create(kb.builder, getNamedLoc(loc, "masked"), keep,
                                 score, hidden);
}

/// Hides keys past the last one.
Value ForwardEmitter::hideMissingKeys(Value key, Value score) {
  OpBuilder &b = kb.builder;
  RegionContext context = makeContext(key);
  RegionToTile cloner(b, context);
  Value keyTile = cloner.getKeyTile(loc);
  Value count = arith::IndexCastOp::create(b, loc, b.getI32Type(), keys);
  Value counts = tile::BroadcastOp::create(b, loc, keyTile.getType(), count);
  Value exists =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, keyTile, counts);
  return hide(cloner.toFullTile(loc, exists), score);
}

/// `score` without what mask_mod drops.
FailureOr<Value> ForwardEmitter::applyMask(Value key, Value score) {
  RegionContext context = makeContext(key);
  FailureOr<Value> keep =
      RegionToTile(kb.builder, context).cloneMaskMod(op.getMaskMod());
  if (failed(keep))
    return failure();
  return hide(*keep, score);
}

/// Hides missing keys where the block has such.
Value ForwardEmitter::hideIfRagged(Value key, Value score) {
  OpBuilder &b = kb.builder;
  Value end = arith::AddIOp::create(b, loc, key, kb.constant(columns));
  Value isRagged =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, end, keys);
  auto branch = scf::IfOp::create(b, loc, score.getType(), isRagged,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(branch.thenBlock());
  Value existing = hideMissingKeys(key, score);
  scf::YieldOp::create(b, loc, existing);
  b.setInsertionPointToEnd(branch.elseBlock());
  scf::YieldOp::create(b, loc, score);
  return branch.getResult(0);
}

/// Hides the keys of a block that don't exist or that mask_mod drops.
FailureOr<Value> ForwardEmitter::emitMask(Value key, Value score) {
  if (op.getMaskMod().empty())
    return hideMissingKeys(key, score);
  FailureOr<Value> kept = applyMask(key, score);
  if (failed(kept))
    return failure();
  // Of the blocks that need the mask, only the last one can be ragged.
  return hideIfRagged(key, *kept);
}

/// What score_mod makes of the products of queries and keys, without `scale`
/// and `rowStep`.
FailureOr<Value> ForwardEmitter::emitScore(OpBuilder &invariant, Value key,
                                           Value products, double &scale) {
  ScoreForm form = ScoreForm::of(products);
  Factor &factor = form.full.front().factor;
  if (std::optional<double> constant = op.getConstantScale())
    factor.constant = *constant;
  else
    factor.scalar = kb.operandArgument(op.getFirstVariantOperand());
  ScoreFormEmitter emitter(kb.builder, invariant, loc, rows, columns);
  auto leaveOut = [&](ArrayRef<ScoreForm> forms) {
    LeftOut leftOut = LeftOut::of(forms);
    scale = leftOut.scale;
    if (!leftOut.rowSteps.empty())
      rowStep = emitter.emitSum(leftOut.rowSteps);
    return leftOut;
  };
  if (op.getScoreMod().empty())
    return emitter.emitScore(form, leaveOut(form));
  RegionContext context = makeContext(key);
  auto clone = [&](const ExtractPlaces *places) {
    return RegionToTile(kb.builder, context, places)
        .cloneScoreMod(op.getScoreMod(), form, invariant);
  };
  UniformExtracts extracts(kb.builder, context, op.getScoreMod());
  Value isUniform = extracts.emitCondition();
  if (!isUniform) {
    FailureOr<ScoreForm> only = clone(nullptr);
    if (failed(only))
      return failure();
    return emitter.emitScore(*only, leaveOut(*only));
  }
  auto branch = scf::IfOp::create(kb.builder, loc, products.getType(),
                                  isUniform, /*addThenBlock=*/true,
                                  /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(kb.builder);
  Block *blocks[] = {branch.thenBlock(), branch.elseBlock()};
  const ExtractPlaces *places[] = {&extracts.getPlaces(), nullptr};
  SmallVector<ScoreForm, 2> ways;
  for (auto [block, place] : llvm::zip_equal(blocks, places)) {
    kb.builder.setInsertionPointToEnd(block);
    FailureOr<ScoreForm> way = clone(place);
    if (failed(way))
      return failure();
    ways.push_back(std::move(*way));
  }
  LeftOut leftOut = leaveOut(ways);
  for (auto [block, way] : llvm::zip_equal(blocks, ways)) {
    kb.builder.setInsertionPointToEnd(block);
    scf::YieldOp::create(kb.builder, loc, emitter.emitScore(way, leftOut));
  }
  hoistLoads(branch);
  return branch.getResult(0);
}

/// `score` without the keys that are not visible, where the block has such.
FailureOr<Value> ForwardEmitter::emitVisible(Value key, Value partial,
                                             Value score) {
  OpBuilder &b = kb.builder;
  bool isMasked = !op.getMaskMod().empty();
  if (visited && isMasked && !visited->hasFullBlocks()) {
    FailureOr<Value> kept = applyMask(key, score);
    if (failed(kept))
      return failure();
    score = *kept;
  } else if (!visited || isMasked) {
    auto masked = scf::IfOp::create(b, loc, score.getType(), partial,
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(masked.thenBlock());
    // Listed blocks come in any order, so any may be the last one.
    FailureOr<Value> kept =
        visited ? applyMask(key, score) : emitMask(key, score);
    if (failed(kept))
      return failure();
    scf::YieldOp::create(b, loc, *kept);
    b.setInsertionPointToEnd(masked.elseBlock());
    scf::YieldOp::create(b, loc, score);
    score = masked.getResult(0);
  }
  return visited ? hideIfRagged(key, score) : score;
}

FailureOr<double> ForwardEmitter::emitScores(Region &scores) {
  OpBuilder &b = kb.builder;
  OpBuilder::InsertionGuard guard(b);
  OpBuilder invariant = b;
  Block &block = scores.emplaceBlock();
  block.addArguments({b.getIndexType(), b.getI1Type()}, {loc, loc});
  b.setInsertionPointToEnd(&block);
  Value key = block.getArgument(0), partial = block.getArgument(1);
  // Keys past the last one are no concern: their scores are hidden.
  Value keyTile = kb.loadHead(k, memoryBatch, keyHead, toMemory(firstKey, key),
                              0, columns, headDim, /*limit=*/Value(), "k");
  Value products = tile::DotOp::create(
      b, getNamedLoc(loc, "s"), queryTile, keyTile,
      kb.splat(rows, columns, 0.0),
      /*transposeA=*/false, /*transposeB=*/true, b.getStringAttr("s"));
  double scale = 1.0;
  FailureOr<Value> score = emitScore(invariant, key, products, scale);
  if (succeeded(score))
    score = emitVisible(key, partial, *score);
  if (failed(score))
    return failure();
  tile::YieldOp::create(b, loc, *score);
  return scale;
}

/// The weights that are kept; those are scaled at the end, with the output.
void ForwardEmitter::emitDropout(Region &weights) {
  OpBuilder &b = kb.builder;
  OpBuilder::InsertionGuard guard(b);
  RankedTensorType scores = kb.tileType(rows, columns, b.getF32Type());
  DropoutStream numbers = emitDropoutStream(kb, op, work.batch, work.head);
  Block &block = weights.emplaceBlock();
  block.addArguments({b.getIndexType(), scores}, {loc, loc});
  b.setInsertionPointToEnd(&block);
  Value isKept = emitIsKept(kb, op, numbers, work.row, block.getArgument(0),
                            rows, columns, /*keyDim=*/1);
  Value kept = arith::SelectOp::create(b, loc, isKept, block.getArgument(1),
                                       kb.splat(rows, columns, 0.0));
  tile::YieldOp::create(b, loc, kept);
}

/// What all scores of a row have in common and were left without, or null.
Value ForwardEmitter::emitCommonScore() {
  if (!rowStep)
    return {};
  OpBuilder &b = kb.builder;
  return tile::RampOp::create(
      b, loc, kb.tileType(rows, 1, b.getF32Type()),
      arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0.0)), rowStep, 0);
}

/// Each row's sink, less what its scores are without, or null.
Value ForwardEmitter::emitSink() {
  if (!op.getSinks())
    return {};
  OpBuilder &b = kb.builder;
  Type rowType = kb.tileType(rows, 1, b.getF32Type());
  Value sinks = kb.operandArgument(op.getSinksMutable()[0].getOperandNumber());
  Value sink;
  if (kb.packedHeads) {
    sink = RegionToTile(b, makeContext(Value())).loadOfHeads(loc, sinks);
  } else {
    Value scalar = memref::LoadOp::create(b, loc, sinks, work.head);
    sink = tile::BroadcastOp::create(b, loc, rowType, scalar);
  }
  if (Value common = emitCommonScore())
    sink = arith::SubFOp::create(b, loc, sink, common);
  return sink;
}
