//===- BackwardToTile.cpp - The kernels of a backward pass ------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradients that attn.backward asks for. A tile of queries meets all keys
// that it sees: dQ, and on the way D, what the derivatives by a row's scores
// share. A tile of keys meets all queries that see it, of all heads that share
// it: dK and dV; the scores lie the other way there, so that they are operands
// as they are. Either both are done, in kernels that sum nothing in memory; or
// tiles of keys add what they know of dQ to a sum in memory, which a kernel
// before them sets to zero and one behind them rounds. Kernels follow each
// other on a stream; the last one over tiles of keys, if there is one, is the
// main kernel, the others are its prologue and epilogue.
//
//===----------------------------------------------------------------------===//

#include "Backward/BackwardTiles.h"
#include "Backward/DeterministicDq.h"
#include "Regions/CaptureMinMax.h"
#include "Kernel/KernelLowering.h"

using namespace mlir;
using namespace fovea;

namespace {
class BackwardLowering final : public KernelLowering {
public:
  explicit BackwardLowering(attn::BackwardOp op) : op(op) {}
  FailureOr<plan::KernelAttr> emit(KernelBuilder &kb) override;
  LogicalResult emitHelpers(KernelBuilder &kb, launch::AbiOp main) override;

private:
  LogicalResult emitPart(KernelBuilder &kb, const BackwardKernelPlan &part);
  /// CTAs that share a batch entry and a head, at most.
  AffineExpr countCtasOfHead(const BackwardKernelPlan &part, SizeExpressions &sizes);
  LogicalResult emitHelper(KernelBuilder &kb, const BackwardKernelPlan &part,
                           launch::AbiOp main, bool isAfter);

  attn::BackwardOp op;
  /// Made with the main kernel.
  BackwardPlan plan;
  std::optional<BackwardScratch> memory;
};
} // namespace

/// The extremes that a kernel asks for: what kernels share is the main one's.
static void declareSummaries(KernelBuilder &kb, attn::BackwardOp op,
                             plan::KernelAttr plan) {
  if (plan->classify)
    CaptureMinMax(kb, op.getKvClassify(), op.getFirstCapture(),
                   /*queries=*/plan->tileN, /*keys=*/plan->tileM);
}

LogicalResult BackwardLowering::emitPart(KernelBuilder &kb,
                                         const BackwardKernelPlan &part) {
  if (part.kind == BackwardKernelPlan::Turns)
    return emitTurns(kb, op, part, *memory);
  BackwardKernel kernel = BackwardKernel::begin(kb, op, part, *memory);
  if (failed(part.hasQueryTiles() ? emitQueryTile(kernel)
                                  : emitKeyTile(kernel)))
    return failure();
  kb.endWork();
  return success();
}

FailureOr<plan::KernelAttr> BackwardLowering::emit(KernelBuilder &kb) {
  FailureOr<BackwardPlan> planned = planBackward(op, kb);
  if (failed(planned))
    return failure();
  plan = std::move(*planned);
  memory = BackwardScratch::declare(kb, op, plan);
  for (const BackwardKernelPlan &part : plan.parts)
    declareSummaries(kb, op, part.plan);
  if (failed(emitPart(kb, plan.getMain())))
    return failure();
  return plan.getMain().plan;
}

//===----------------------------------------------------------------------===//
// Before and after
//===----------------------------------------------------------------------===//

AffineExpr BackwardLowering::countCtasOfHead(const BackwardKernelPlan &part,
                                             SizeExpressions &sizes) {
  if (part.kind == BackwardKernelPlan::Turns)
    return countBlocks(op, sizes, part.getColumns()).ceilDiv(kTurnsOfWarp);
  int64_t rows = part.getTileRows();
  if (part.fillsFragments() || op.getSequence().getKeyPlaces().arePacked)
    return countBlocks(op, sizes, rows);
  return sizes.getSize(2).ceilDiv(rows);
}

/// The plan of the kernel's warps. Those that count turns are one warp's, and
/// visit blocks as the kernel of keys does.
static plan::KernelAttr getHelperPlan(const BackwardKernelPlan &part) {
  if (part.kind != BackwardKernelPlan::Turns)
    return part.plan;
  ScheduleFields fields;
  fields.tileM = part.plan->tileM;
  fields.tileN = part.plan->tileN;
  fields.warps = fields.stages = 1;
  return makePlan(part.plan.getContext(), fields);
}

LogicalResult BackwardLowering::emitHelper(KernelBuilder &kb,
                                           const BackwardKernelPlan &part,
                                           launch::AbiOp main, bool isAfter) {
  SizeExpressions sizes(kb, /*operand=*/part.kind == BackwardKernelPlan::Keys);
  AffineExpr ctas =
      countCtasOfHead(part, sizes) * sizes.getSize(1) * sizes.getSize(0);
  auto arguments =
      llvm::to_vector(llvm::seq<unsigned>(0, kb.kernel.getNumArguments()));
  KernelBuilder inner = kb;
  inner.kernel = beginHelperKernel(inner.builder, kb, main,
                                   {part.suffix, arguments, sizes.getNames(),
                                    ctas, getHelperPlan(part), isAfter});
  if (failed(emitPart(inner, part)))
    return failure();
  gpu::ReturnOp::create(inner.builder, op.getLoc());
  kb.hasWideIndex |= inner.hasWideIndex;
  // The host asks the main kernel which numbers are drawn.
  if (inner.generator && part.kind != BackwardKernelPlan::Turns) {
    launch::lookupAbi(inner.kernel).setGeneratorAttr(inner.generator);
    main.setGeneratorAttr(inner.generator);
  }
  return success();
}

LogicalResult BackwardLowering::emitHelpers(KernelBuilder &kb,
                                            launch::AbiOp main) {
  if (memory->turned)
    memory->turned->buildKernel(kb, main);
  for (auto [index, part] : llvm::enumerate(plan.parts))
    if (index != plan.mainPart &&
        failed(emitHelper(kb, part, main, /*isAfter=*/index > plan.mainPart)))
      return failure();
  memory->sums.emitRounding(kb, main);
  return success();
}

std::unique_ptr<KernelLowering>
fovea::makeBackwardLowering(attn::BackwardOp op) {
  return std::make_unique<BackwardLowering>(op);
}
