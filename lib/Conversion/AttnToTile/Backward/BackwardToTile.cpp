//===- BackwardToTile.cpp - Lowers attn.backward to kernels ---------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers attn.backward to kernels that follow each other on a stream. Kernels
// over query tiles compute dQ and delta, kernels over key tiles dK and dV; or
// key tiles also accumulate dQ in memory, between a preprocess kernel that
// clears it and a postprocess kernel that converts it. The last kernel over key
// tiles, if any, is the main kernel; the others are its prologue and epilogue.
//
//===----------------------------------------------------------------------===//

#include "Backward/BackwardTiles.h"
#include "Backward/DeterministicDq.h"
#include "Kernel/KernelLowering.h"
#include "Regions/CaptureMinMax.h"

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
  /// Upper bound of the CTAs per batch entry and head.
  AffineExpr countCtasOfHead(const BackwardKernelPlan &part,
                             SizeExpressions &sizes);
  LogicalResult emitHelper(KernelBuilder &kb, const BackwardKernelPlan &part,
                           launch::AbiOp main, bool isAfter);

  attn::BackwardOp op;
  /// Set when the main kernel is emitted.
  BackwardPlan plan;
  std::optional<BackwardScratch> memory;
};
} // namespace

/// Declares the block min/max buffers that a kernel needs. Buffers are
/// arguments of the main kernel.
static void declareMinMaxBuffers(KernelBuilder &kb, attn::BackwardOp op,
                                 plan::KernelAttr plan) {
  if (plan->classify)
    CaptureMinMax(kb, op.getKvClassify(), op.getFirstCapture(),
                  /*queries=*/plan->tileN, /*keys=*/plan->tileM);
}

LogicalResult BackwardLowering::emitPart(KernelBuilder &kb,
                                         const BackwardKernelPlan &part) {
  if (part.kind == BackwardKernelPlan::SlotCounts)
    return emitSlotCounts(kb, op, part, *memory);
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
    declareMinMaxBuffers(kb, op, part.plan);
  if (failed(emitPart(kb, plan.getMain())))
    return failure();
  return plan.getMain().plan;
}

//===----------------------------------------------------------------------===//
// Prologue and epilogue kernels
//===----------------------------------------------------------------------===//

AffineExpr BackwardLowering::countCtasOfHead(const BackwardKernelPlan &part,
                                             SizeExpressions &sizes) {
  if (part.kind == BackwardKernelPlan::SlotCounts)
    return countBlocks(op, sizes, part.getColumns()).ceilDiv(kSlotsPerCta);
  int64_t rows = part.getTileRows();
  if (part.fillsFragments() || op.getSequence().getPlaces().packsKeys())
    return countBlocks(op, sizes, rows);
  return sizes.getSize(2).ceilDiv(rows);
}

/// The plan of a helper kernel. The slot counts run in one warp and use the
/// tile shape of the keys kernel.
static plan::KernelAttr getHelperPlan(const BackwardKernelPlan &part) {
  if (part.kind != BackwardKernelPlan::SlotCounts)
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
  // The host reads the random generator from the main kernel's ABI.
  if (inner.generator && part.kind != BackwardKernelPlan::SlotCounts) {
    launch::lookupAbi(inner.kernel).setGeneratorAttr(inner.generator);
    main.setGeneratorAttr(inner.generator);
  }
  return success();
}

LogicalResult BackwardLowering::emitHelpers(KernelBuilder &kb,
                                            launch::AbiOp main) {
  if (memory->transposed)
    memory->transposed->buildKernel(kb, main);
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
