//===- ForwardScores.cpp - Scores of a forward kernel ---------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Forward/ForwardScores.h"

#include "Regions/BlockUniformLoads.h"
#include "Regions/Dropout.h"
#include "Regions/RegionToTile.h"

#include "fovea/Support/ValueNames.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fovea;

/// The name of the dot Q times K^T in plans.
static constexpr StringLiteral kScoreDotName = "s";

namespace {
/// Emits the scores of the key block that begins with `key`.
class ScoreEmitter {
public:
  ScoreEmitter(const ForwardKernel &kernel, Value key)
      : kernel(kernel), kb(kernel.kb), op(kernel.op), loc(kernel.getLoc()),
        context(kernel.makeContext(key)) {}

  /// Q times K^T of the block.
  Value emitProducts(Value queries);
  /// The result of score_mod on the products, without the terms in `rest`.
  FailureOr<Value> emitScore(OpBuilder &invariant, Value products,
                             ScoreRest &rest);
  /// Masks the block's hidden and missing keys, if there are any. `partial`
  /// tells if some pairs are hidden, i1.
  FailureOr<Value> emitVisible(const KeyBlocks &blocks, Value partial,
                               Value score);

private:
  int64_t getRows() const { return kernel.plan.rows; }
  int64_t getColumns() const { return kernel.plan.columns; }
  /// The product of the scales of Q and K, an f32; or null.
  Value emitDequantization(OpBuilder &invariant);
  /// Emits two versions of the block: the first one runs if `condition` holds.
  FailureOr<Value> emitWays(OpBuilder &invariant, const AffineScore &products,
                            Value condition, const ExtractPlaces &places,
                            ScoreRest &rest);
  /// Chooses the terms to factor out of scores that are one of `forms`.
  LeftOut leaveOut(OpBuilder &invariant, ArrayRef<AffineScore> forms,
                   ScoreRest &rest);
  AffineScoreEmitter getEmitter(OpBuilder &invariant) {
    return {kb.builder, invariant, loc, getRows(), getColumns()};
  }

  /// `score` where `keep` holds, else -inf.
  Value hide(Value keep, Value score);
  /// Masks keys past the last one.
  Value hideMissingKeys(Value score);
  /// Masks keys past the last one, if the block has such keys.
  Value hideIfRagged(Value score);
  /// Masks the pairs that mask_mod hides.
  FailureOr<Value> applyMask(Value score);
  /// Masks the pairs that mask_mod hides and the missing keys of a block.
  FailureOr<Value> emitMask(Value score);

  const ForwardKernel &kernel;
  KernelBuilder &kb;
  attn::ForwardOp op;
  Location loc;
  const RegionContext context;
};
} // namespace

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

Value ScoreEmitter::hide(Value keep, Value score) {
  Value hidden = kb.splat(getRows(), getColumns(),
                          -std::numeric_limits<double>::infinity());
  return arith::SelectOp::create(kb.builder, getNamedLoc(loc, "masked"), keep,
                                 score, hidden);
}

Value ScoreEmitter::hideMissingKeys(Value score) {
  OpBuilder &b = kb.builder;
  BlockTiles tiles(b, context);
  Value places = tiles.getKeyTile(loc);
  Value count =
      arith::IndexCastOp::create(b, loc, b.getI32Type(), kernel.tile.keys);
  Value counts = tile::BroadcastOp::create(b, loc, places.getType(), count);
  Value exists =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, places, counts);
  return hide(tiles.toFullTile(loc, exists), score);
}

FailureOr<Value> ScoreEmitter::applyMask(Value score) {
  FailureOr<Value> keep =
      RegionToTile(kb.builder, context).cloneMaskMod(op.getMaskMod());
  if (failed(keep))
    return failure();
  return hide(*keep, score);
}

Value ScoreEmitter::hideIfRagged(Value score) {
  OpBuilder &b = kb.builder;
  Value end =
      arith::AddIOp::create(b, loc, context.key, kb.constant(getColumns()));
  Value isRagged = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, end,
                                         kernel.tile.keys);
  auto branch = scf::IfOp::create(b, loc, score.getType(), isRagged,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(branch.thenBlock());
  Value existing = hideMissingKeys(score);
  scf::YieldOp::create(b, loc, existing);
  b.setInsertionPointToEnd(branch.elseBlock());
  scf::YieldOp::create(b, loc, score);
  return branch.getResult(0);
}

FailureOr<Value> ScoreEmitter::emitMask(Value score) {
  if (op.getMaskMod().empty())
    return hideMissingKeys(score);
  FailureOr<Value> kept = applyMask(score);
  if (failed(kept))
    return failure();
  // Of the blocks that need the mask, only the last one can be ragged.
  return hideIfRagged(*kept);
}

FailureOr<Value> ScoreEmitter::emitVisible(const KeyBlocks &blocks,
                                           Value partial, Value score) {
  OpBuilder &b = kb.builder;
  const BlockIterator *visited = blocks.single.get();
  bool isMasked = !op.getMaskMod().empty();
  if (visited && isMasked && !visited->hasFullBlocks()) {
    FailureOr<Value> kept = applyMask(score);
    if (failed(kept))
      return failure();
    score = *kept;
  } else if (!visited || isMasked) {
    auto masked = scf::IfOp::create(b, loc, score.getType(), partial,
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(masked.thenBlock());
    // Block-sparse lists are in any order, so any block may be the last one.
    FailureOr<Value> kept = visited ? applyMask(score) : emitMask(score);
    if (failed(kept))
      return failure();
    scf::YieldOp::create(b, loc, *kept);
    b.setInsertionPointToEnd(masked.elseBlock());
    scf::YieldOp::create(b, loc, score);
    score = masked.getResult(0);
  }
  return visited ? hideIfRagged(score) : score;
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

Value ScoreEmitter::emitProducts(Value queries) {
  OpBuilder &b = kb.builder;
  Value keys = kernel.loadKeys(context.key);
  return tile::DotOp::create(b, getNamedLoc(loc, "s"), queries, keys,
                             kb.splat(getRows(), getColumns(), 0.0),
                             /*transposeA=*/false, /*transposeB=*/true,
                             b.getStringAttr(kScoreDotName));
}

LeftOut ScoreEmitter::leaveOut(OpBuilder &invariant,
                               ArrayRef<AffineScore> forms, ScoreRest &rest) {
  plan::KernelAttr plan = kernel.plan.kernel;
  LeftOut leftOut =
      LeftOut::of(forms, plan.getDot(kScoreDotName).addsToSummand);
  rest.scale = leftOut.scale;
  if (!leftOut.rowSteps.empty())
    rest.rowStep = getEmitter(invariant).emitSum(leftOut.rowSteps);
  return leftOut;
}

FailureOr<Value> ScoreEmitter::emitWays(OpBuilder &invariant,
                                        const AffineScore &products,
                                        Value condition,
                                        const ExtractPlaces &places,
                                        ScoreRest &rest) {
  OpBuilder &b = kb.builder;
  FailureOr<SharedLoads> loads =
      RegionToTile(b, context).emitSharedLoads(op.getScoreMod(), invariant);
  if (failed(loads))
    return failure();
  auto branch = scf::IfOp::create(b, loc, products.full.front().value.getType(),
                                  condition,
                                  /*addThenBlock=*/true, /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(b);
  Block *blocks[] = {branch.thenBlock(), branch.elseBlock()};
  SmallVector<AffineScore, 2> ways;
  for (Block *block : blocks) {
    b.setInsertionPointToEnd(block);
    RegionToTile version(b, context, block == blocks[0] ? &places : nullptr,
                         &*loads);
    FailureOr<AffineScore> way =
        version.cloneScoreMod(op.getScoreMod(), products, invariant);
    if (failed(way))
      return failure();
    ways.push_back(std::move(*way));
  }
  LeftOut leftOut = leaveOut(invariant, ways, rest);
  for (auto [block, way] : llvm::zip_equal(blocks, ways)) {
    b.setInsertionPointToEnd(block);
    scf::YieldOp::create(b, loc, getEmitter(invariant).emitScore(way, leftOut));
  }
  return branch.getResult(0);
}

Value ScoreEmitter::emitDequantization(OpBuilder &invariant) {
  OpBuilder::InsertionGuard guard(kb.builder);
  kb.builder.restoreInsertionPoint(invariant.saveInsertionPoint());
  Value product;
  for (StringRef name : {"q", "k"})
    if (Value scale = kernel.loadScale(name))
      product = product ? kb.make<arith::MulFOp>(product, scale) : scale;
  return product;
}

FailureOr<Value> ScoreEmitter::emitScore(OpBuilder &invariant, Value products,
                                         ScoreRest &rest) {
  AffineScore form = scaleProducts(kb, op, products);
  if (Value dequantize = emitDequantization(invariant)) {
    // A score_mod needs the scores themselves.
    Value &scalar = form.full.front().factor.scalar;
    if (op.getScoreMod().empty())
      rest.runtimeScale = dequantize;
    else if (!scalar)
      scalar = dequantize;
    else
      scalar = arith::MulFOp::create(invariant, loc, scalar, dequantize);
  }
  if (!op.getScoreMod().empty()) {
    BlockUniformLoads extracts(kb.builder, context, op.getScoreMod());
    if (Value isUniform = extracts.emitCondition())
      return emitWays(invariant, form, isUniform, extracts.getPlaces(), rest);
    FailureOr<AffineScore> only =
        RegionToTile(kb.builder, context)
            .cloneScoreMod(op.getScoreMod(), form, invariant);
    if (failed(only))
      return failure();
    form = std::move(*only);
  }
  LeftOut leftOut = leaveOut(invariant, form, rest);
  if (leftOut.startsDot)
    return getEmitter(invariant).emitScoreByDot(
        form, leftOut, products.getDefiningOp<tile::DotOp>());
  return getEmitter(invariant).emitScore(form, leftOut);
}

FailureOr<ScoreRest> fovea::emitScores(const ForwardKernel &kernel,
                                       const KeyBlocks &blocks, Value queries,
                                       Region &scores) {
  OpBuilder &b = kernel.kb.builder;
  Location loc = kernel.getLoc();
  OpBuilder::InsertionGuard guard(b);
  OpBuilder invariant = b;
  Block &block = scores.emplaceBlock();
  block.addArguments({b.getIndexType(), b.getI1Type()}, {loc, loc});
  b.setInsertionPointToEnd(&block);
  ScoreEmitter emitter(kernel, /*key=*/block.getArgument(0));
  ScoreRest rest;
  FailureOr<Value> score =
      emitter.emitScore(invariant, emitter.emitProducts(queries), rest);
  if (succeeded(score))
    score =
        emitter.emitVisible(blocks, /*partial=*/block.getArgument(1), *score);
  if (failed(score))
    return failure();
  tile::YieldOp::create(b, loc, *score);
  return rest;
}

//===----------------------------------------------------------------------===//
// Dropout and sinks
//===----------------------------------------------------------------------===//

void fovea::emitDropout(const ForwardKernel &kernel, Region &weights) {
  KernelBuilder &kb = kernel.kb;
  OpBuilder &b = kb.builder;
  Location loc = kernel.getLoc();
  OpBuilder::InsertionGuard guard(b);
  int64_t rows = kernel.plan.rows, columns = kernel.plan.columns;
  const KernelBuilder::Work &work = kernel.tile.work;
  RankedTensorType scores = kb.tileType(rows, columns, b.getF32Type());
  DropoutStream numbers =
      emitDropoutStream(kb, kernel.op, work.batch, work.head);
  Block &block = weights.emplaceBlock();
  block.addArguments({b.getIndexType(), scores}, {loc, loc});
  b.setInsertionPointToEnd(&block);
  Value isKept = emitIsKept(kb, kernel.op, numbers, work.row,
                            block.getArgument(0), rows, columns, /*keyDim=*/1);
  Value kept = arith::SelectOp::create(b, loc, isKept, block.getArgument(1),
                                       kb.splat(rows, columns, 0.0));
  tile::YieldOp::create(b, loc, kept);
}

Value ScoreRest::emitCommon(const ForwardKernel &kernel) const {
  if (!rowStep)
    return {};
  KernelBuilder &kb = kernel.kb;
  OpBuilder &b = kb.builder;
  Location loc = kernel.getLoc();
  Value start = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0.0));
  if (kernel.firstRow)
    start = arith::MulFOp::create(
        b, loc, rowStep,
        arith::UIToFPOp::create(b, loc, b.getF32Type(),
                                kb.toInteger(kernel.firstRow)));
  return tile::RampOp::create(b, loc,
                              kb.tileType(kernel.plan.rows, 1, b.getF32Type()),
                              start, rowStep, 0);
}

Value fovea::emitSink(const ForwardKernel &kernel, const ScoreRest &rest) {
  attn::ForwardOp op = kernel.op;
  if (!op.getSinks())
    return {};
  KernelBuilder &kb = kernel.kb;
  OpBuilder &b = kb.builder;
  Location loc = kernel.getLoc();
  Type rowType = kb.tileType(kernel.plan.rows, 1, b.getF32Type());
  Value sinks = kb.operandArgument(op.getSinksMutable()[0].getOperandNumber());
  Value sink;
  if (kernel.plan.packedHeads) {
    RegionContext context = kernel.makeContext(Value());
    sink = BlockTiles(b, context).loadOfHeads(loc, sinks);
  } else {
    Value scalar = memref::LoadOp::create(b, loc, sinks, kernel.tile.work.head);
    sink = tile::BroadcastOp::create(b, loc, rowType, scalar);
  }
  if (Value common = rest.emitCommon(kernel))
    sink = arith::SubFOp::create(b, loc, sink, common);
  return sink;
}
