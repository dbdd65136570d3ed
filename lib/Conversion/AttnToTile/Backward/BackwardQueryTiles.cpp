//===- BackwardQueryTiles.cpp - Query tiles of a backward kernel ----------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Backward/BackwardBlocks.h"
#include "Backward/BackwardResults.h"
#include "Backward/BackwardScores.h"
#include "Backward/BackwardTiles.h"
#include "Backward/DeterministicDq.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fovea;

/// Adds the tile's contribution to the gradient with respect to the scale: over
/// all pairs, the gradient with respect to the scaled product times the
/// product. Per query that is its row of Q times its row of `sums`, the
/// unscaled dQ.
static void addScaleGradient(const BackwardKernel &kernel,
                             const QueryPlace &place, Value sums) {
  KernelBuilder &kb = kernel.kb;
  const BackwardKernelPlan &part = kernel.part;
  attn::BackwardOp op = kernel.op;
  Value queries = loadWide(kernel, kernel.arguments.q, part.headDim, place);
  Value shares = kb.make<tile::ReduceOp>(
      kb.tileType(part.getRows(), 1, kb.builder.getF32Type()),
      tile::ReduceKind::Add, /*dim=*/1, kb.make<arith::MulFOp>(sums, queries));
  addToSums(kb.builder, kb.getLoc(), shares,
            kernel.memory.sums.getMemory(kb, op.getScaleGradient()),
            kb.constant(0), emitQueriesExist(kernel, place));
}

/// Stores dQ; `sums` is unscaled.
static void storeQueryGradient(const BackwardKernel &kernel,
                               const QueryPlace &place, Value sums) {
  attn::BackwardOp op = kernel.op;
  if (kernel.part.scale)
    addScaleGradient(kernel, place, sums);
  storeScaledGradient(kernel, sums,
                      {op.getQueryGradient(), place.first, "dq_out"});
}

/// Converts dq_accum to dQ.
static void emitRounded(const BackwardKernel &kernel, const QueryPlace &place) {
  const BackwardKernelPlan &part = kernel.part;
  Value sums = kernel.kb.loadHead(
      kernel.getScratch(kernel.memory.scratch.dqAccum), kernel.tile.memoryBatch,
      place.head, place.scratchRow, 0, part.getRows(), part.headDim,
      /*limit=*/Value(), "");
  auto load = sums.getDefiningOp<tile::LoadOp>();
  load.setFragments(true);
  load.setByRegister(part.dqAccum.isByRegister);
  storeQueryGradient(kernel, place, sums);
}

/// Clears dq_accum and the semaphores.
static void emitZeroSums(const BackwardKernel &kernel,
                         const QueryPlace &place) {
  KernelBuilder &kb = kernel.kb;
  const BackwardKernelPlan &part = kernel.part;
  tile::StoreOp::create(
      kb.builder, kb.getLoc(), kb.splat(part.getRows(), part.headDim, 0.0),
      kernel.getScratch(kernel.memory.scratch.dqAccum),
      ValueRange{kernel.tile.memoryBatch, place.head, place.scratchRow,
                 kb.constant(0)},
      ArrayRef<int64_t>{2, 3}, kb.builder.getStringAttr("dq_sum"))
      .setFragments(true);
  if (part.ordersSums())
    zeroSemaphores(kernel);
}

/// Adds the tile's contribution to the gradient of its head's sink, whose
/// probability is exp(sink - lse) and which has no value.
static void addSinkGradient(const BackwardKernel &kernel,
                            const QueryPlace &place, Value minusDelta) {
  KernelBuilder &kb = kernel.kb;
  attn::BackwardOp op = kernel.op;
  Value lse = loadOfQueries(kernel, kernel.arguments.lse, place);
  unsigned operand = op.getSinksMutable().begin()->getOperandNumber();
  Value sink = kb.make<memref::LoadOp>(kb.operandArgument(operand), place.head);
  if (!sink.getType().isF32())
    sink = kb.make<arith::ExtFOp>(kb.builder.getF32Type(), sink);
  Value sinks = kb.make<tile::BroadcastOp>(lse.getType(), sink);
  Value exponent =
      kb.make<arith::MulFOp>(kb.make<arith::SubFOp>(sinks, lse),
                             splatLike(kb, lse, llvm::numbers::log2e));
  // A row without a visible key contributes 0, not exp2(inf).
  Value weight = kb.make<arith::SelectOp>(emitSeesNothing(kb, lse),
                                          splatLike(kb, lse, 0.0),
                                          kb.make<math::Exp2Op>(exponent));
  Value share = kb.make<arith::MulFOp>(weight, minusDelta);
  addToSums(kb.builder, kb.getLoc(), share,
            kernel.memory.sums.getMemory(kb, op.getSinksGradient()), place.head,
            emitQueriesExist(kernel, place));
}

/// Processes a key block; returns the new dQ accumulator, if dQ is needed.
static FailureOr<SmallVector<Value>> emitBlock(const BackwardKernel &kernel,
                                               const ScoreBlock &block,
                                               ValueRange carried) {
  FailureOr<Probabilities> weights = emitProbabilities(kernel, block);
  if (failed(weights))
    return failure();
  FailureOr<ScoreGradients> gradients =
      emitScoreGradients(kernel, block, *weights, emitDp(kernel, block));
  if (failed(gradients))
    return failure();
  if (!kernel.part.query)
    return SmallVector<Value>();
  return SmallVector<Value>{addProduct(kernel, "dq", gradients->rounded,
                                       block.keys.keys, carried[0])};
}

/// Processes all key blocks of the tile.
static LogicalResult emitPairs(const BackwardKernel &kernel,
                               const QueryPlace &place, Value minusDelta) {
  KernelBuilder &kb = kernel.kb;
  const BackwardKernelPlan &part = kernel.part;
  QueryRows queries = loadQueries(kernel, place);
  queries.minusDelta = minusDelta;
  FailureOr<BackwardBlocks> blocks = emitKeyBlocks(kernel);
  if (failed(blocks))
    return failure();
  SmallVector<Value> inits;
  if (part.query)
    inits.push_back(kb.splat(part.getRows(), part.headDim, 0.0));
  FailureOr<ValueRange> results =
      emitBlockLoop(kernel, *blocks, /*upwards=*/false, inits,
                    [&](Value key, Value partial, ValueRange carried) {
                      ScoreBlock block{queries, loadKeys(kernel, key), partial,
                                       blocks->keyEnd};
                      return emitBlock(kernel, block, carried);
                    });
  if (failed(results))
    return failure();
  if (part.query)
    storeQueryGradient(kernel, place, results->front());
  return success();
}

LogicalResult fovea::emitQueryTile(const BackwardKernel &kernel) {
  const BackwardKernelPlan &part = kernel.part;
  const KernelBuilder::Work &work = kernel.tile.work;
  QueryPlace place = kernel.placeQueries(work.head, work.row);
  if (part.kind == BackwardKernelPlan::Round) {
    emitRounded(kernel, place);
    return success();
  }
  FailureOr<Value> minusDelta = emitDelta(kernel, place);
  if (failed(minusDelta))
    return failure();
  if (part.sinks)
    addSinkGradient(kernel, place, *minusDelta);
  if (part.kind != BackwardKernelPlan::Delta)
    return emitPairs(kernel, place, *minusDelta);
  if (part.addsQuery)
    emitZeroSums(kernel, place);
  return success();
}
