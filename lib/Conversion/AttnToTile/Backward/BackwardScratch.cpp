//===- BackwardScratch.cpp - Memory of a backward pass --------------------===//
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
  if (!op.getSequence().getKeyPlaces().arePacked) {
    AffineExpr one = getAffineConstantExpr(1, of.getContext());
    return of.ceilDiv(rows) + one.floorDiv(of + 1);
  }
  // Where each sequence ends is the device's knowledge: no fewer than it has.
  unsigned offsets = op.getSequenceOperands().getBeginOperandIndex();
  return of.floorDiv(rows) + sizes.getSize(offsets, 0);
}

/// A value of each query, or rows of them, as the kernel's next argument; in
/// fragments for all queries of a block.
static unsigned declareOfQueries(KernelBuilder &kb, attn::BackwardOp op,
                                 const BackwardPlan &plan, StringRef name,
                                 int64_t columns) {
  SizeExpressions sizes(kb, /*operand=*/0);
  SmallVector<AffineExpr> extents;
  for (int64_t dim = 0; dim < 3; ++dim)
    extents.push_back(sizes.getSize(dim));
  int64_t block = plan.keys ? plan.keys->tileN : 0;
  if (plan.sumsQueries)
    extents.back() = countBlocks(op, sizes, block) * block;
  if (columns)
    extents.push_back(kb.builder.getAffineConstantExpr(columns));
  return declareScratch(kb, name, sizes.getNames(), extents,
                        kb.builder.getF32Type());
}

/// What tiles take turns by.
static void declareTurns(KernelBuilder &kb, attn::BackwardOp op,
                         const BackwardPlan &plan, BackwardScratch &declared) {
  Type i32 = kb.builder.getI32Type();
  SizeExpressions sizes(kb, /*operand=*/0);
  AffineExpr batch = sizes.getSize(0), heads = sizes.getSize(1),
             turns = countBlocks(op, sizes, plan.keys->tileN);
  declared.semaphores = declareScratch(kb, "semaphores", sizes.getNames(),
                                       {batch, heads, turns}, i32);
  if (!plan.hasTurnTable)
    return;
  AffineExpr tiles =
      sizes.getSize(/*of=*/1, /*dim=*/2).ceilDiv(plan.keys->tileM);
  declared.turns = declareScratch(kb, "turns", sizes.getNames(),
                                  {batch, heads, tiles, turns}, i32);
}

/// What kernels over queries and over keys leave for each other.
static BackwardScratch declareAll(KernelBuilder &kb, attn::BackwardOp op,
                                  const BackwardPlan &plan) {
  BackwardScratch declared;
  auto declare = [&](StringRef name, int64_t columns) {
    return declareOfQueries(kb, op, plan, name, columns);
  };
  if (op.getKeyGradient())
    declared.delta = declare("delta", /*columns=*/0);
  if (!plan.sumsQueries)
    return declared;
  declared.exponents = declare("exponents", /*columns=*/0);
  declared.querySums = declare("dq_sum", plan.getMain().headDim);
  if (plan.ordersSums)
    declareTurns(kb, op, plan, declared);
  return declared;
}

BackwardScratch BackwardScratch::declare(KernelBuilder &kb, attn::BackwardOp op,
                                       const BackwardPlan &plan) {
  BackwardScratch memory{declareAll(kb, op, plan), CaptureGrads::declare(kb, op),
                        /*turned=*/{}};
  if (op.hasBlocks() && !plan.getMain().hasQueryTiles())
    memory.turned = TransposeBlockLists::declare(kb, op, /*asBits=*/plan.ordersSums);
  return memory;
}
