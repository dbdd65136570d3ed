//===- BackwardScratch.cpp - Scratch memory of a backward pass ------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Backward/BackwardScratch.h"

using namespace mlir;
using namespace fovea;

AffineExpr fovea::countBlocks(attn::BackwardOp op, SizeExpressions &sizes,
                              int64_t rows) {
  AffineExpr of = sizes.getSize(2);
  if (!op.getSequence().getPlaces().packsKeys()) {
    AffineExpr one = getAffineConstantExpr(1, of.getContext());
    return of.ceilDiv(rows) + one.floorDiv(of + 1);
  }
  // Sequence lengths are known only on the device: this is an upper bound.
  unsigned offsets = op.getSequenceOperands().getBeginOperandIndex();
  return of.floorDiv(rows) + sizes.getSize(offsets, 0);
}

/// Adds a scratch argument with one value, or one row of `columns`, per query.
/// In fragments it covers all queries of a block.
static unsigned declareOfQueries(KernelBuilder &kb, attn::BackwardOp op,
                                 const BackwardPlan &plan, StringRef name,
                                 int64_t columns) {
  SizeExpressions sizes(kb, /*operand=*/0);
  SmallVector<AffineExpr> extents;
  for (int64_t dim = 0; dim < 3; ++dim)
    extents.push_back(sizes.getSize(dim));
  int64_t block = plan.keys ? plan.keys->tileN : 0;
  if (plan.dqAccum.accumulates)
    extents.back() = countBlocks(op, sizes, block) * block;
  if (columns)
    extents.push_back(kb.builder.getAffineConstantExpr(columns));
  return declareScratch(kb, name, sizes.getNames(), extents,
                        kb.builder.getF32Type());
}

/// Adds the semaphores and, if needed, the table of slots.
static void declareSemaphores(KernelBuilder &kb, attn::BackwardOp op,
                              const BackwardPlan &plan,
                              ScratchArguments &declared) {
  Type i32 = kb.builder.getI32Type();
  SizeExpressions sizes(kb, /*operand=*/0);
  AffineExpr batch = sizes.getSize(0), heads = sizes.getSize(1),
             slots = countBlocks(op, sizes, plan.keys->tileN);
  declared.semaphores = declareScratch(kb, "semaphores", sizes.getNames(),
                                       {batch, heads, slots}, i32);
  if (!plan.hasSlotTable)
    return;
  AffineExpr tiles =
      sizes.getSize(/*of=*/1, /*dim=*/2).ceilDiv(plan.keys->tileM);
  declared.slots = declareScratch(kb, "turns", sizes.getNames(),
                                  {batch, heads, tiles, slots}, i32);
}

/// Adds the buffers between kernels over query tiles and over key tiles.
static ScratchArguments declareAll(KernelBuilder &kb, attn::BackwardOp op,
                                   const BackwardPlan &plan) {
  ScratchArguments declared;
  auto declare = [&](StringRef name, int64_t columns) {
    return declareOfQueries(kb, op, plan, name, columns);
  };
  if (op.getKeyGradient())
    declared.delta = declare("delta", /*columns=*/0);
  if (!plan.dqAccum.accumulates)
    return declared;
  declared.exponents = declare("exponents", /*columns=*/0);
  declared.dqAccum = declare("dq_sum", plan.getMain().headDim);
  if (plan.dqAccum.isOrdered)
    declareSemaphores(kb, op, plan, declared);
  return declared;
}

/// True if key tiles can read the op's own transposed lists. Ordered
/// accumulation needs bitmaps. Tiles past the end are iterated in those lists,
/// which costs too much in blocks of many tiles.
static bool canReadQueryBlocks(attn::BackwardOp op, const BackwardPlan &plan) {
  constexpr int64_t kMostTiles = 8;
  return op.hasQueryBlocks() && !plan.dqAccum.isOrdered &&
         op.getQueryBlock() <= kMostTiles * plan.getMain().getColumns();
}

BackwardScratch BackwardScratch::declare(KernelBuilder &kb, attn::BackwardOp op,
                                         const BackwardPlan &plan) {
  BackwardScratch memory{declareAll(kb, op, plan),
                         CaptureGrads::declare(kb, op),
                         /*transposed=*/{}};
  if (op.hasBlocks() && !plan.getMain().hasQueryTiles() &&
      !canReadQueryBlocks(op, plan))
    memory.transposed =
        TransposeBlockLists::declare(kb, op, /*asBits=*/plan.dqAccum.isOrdered);
  return memory;
}
