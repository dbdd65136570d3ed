//===- AttnToTile.cpp - Attention functions to tile programs --------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pass attn-to-tile: turns each function of one kernel op into a GPU module
// with a kernel in the tile dialect, its helper kernels and their ABIs. The
// lowering of the op itself is a KernelLowering.
//
//===----------------------------------------------------------------------===//

#include "fovea/Conversion/Passes.h"

#include "Kernel/HelperKernels.h"
#include "Kernel/KernelLowering.h"
#include "Kernel/KernelSignature.h"
#include "Kernel/LaunchCalls.h"
#include "Kernel/SequenceOrder.h"
#include "Regions/CaptureMinMax.h"

#include "fovea/Dialect/Attn/IR/KernelFunction.h"
#include "fovea/Dialect/Launch/IR/PassRemarks.h"
#include "fovea/Support/Warps.h"

#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringSet.h"

namespace fovea {
#define GEN_PASS_DEF_ATTNTOTILE
#include "fovea/Conversion/Passes.h.inc"
} // namespace fovea

using namespace mlir;
using namespace fovea;

/// Sets the index width in the module's data layout, which upstream lowerings
/// read.
static void setIndexWidth(gpu::GPUModuleOp module, int64_t bits) {
  Builder b(module.getContext());
  auto entry =
      DataLayoutEntryAttr::get(b.getIndexType(), b.getI32IntegerAttr(bits));
  module->setAttr(DLTIDialect::kDataLayoutAttrName,
                  DataLayoutSpecAttr::get(module.getContext(), {entry}));
}

/// Reports an op that is not alone in its function: it gets no kernel, and no
/// later pass could lower it.
static LogicalResult checkNoneLeft(ModuleOp module) {
  WalkResult walk = module.walk([](attn::KernelOpInterface op) {
    auto func = op->getParentOfType<func::FuncOp>();
    InFlightDiagnostic error =
        op->emitOpError("shares its function with other ops: expected a "
                        "function of its own");
    if (func)
      error.attachNote(func.getLoc())
          << "'attn-outline' moves it into a function that this one calls";
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

namespace {
struct AttnToTilePass : fovea::impl::AttnToTileBase<AttnToTilePass> {
  using AttnToTileBase::AttnToTileBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    // Errors in options have no location in the program.
    auto emitError = [&](StringRef option) {
      return mlir::emitError(UnknownLoc::get(&getContext()))
             << "option '" << option << "': ";
    };
    const TargetInfo *info =
        lookupTarget(target, [&] { return emitError("target"); });
    if (!info)
      return signalPassFailure();
    table.reset();
    if (!scheduleTable.empty()) {
      auto loaded = ScheduleTable::load(
          scheduleTable, [&] { return emitError("schedule-table"); });
      if (failed(loaded))
        return signalPassFailure();
      table = std::move(*loaded);
    }
    plans.reset();
    if (GivenPlans::isPlan(schedule)) {
      auto parsed = GivenPlans::parse(&getContext(), schedule,
                                      [&] { return emitError("schedule"); });
      if (failed(parsed))
        return signalPassFailure();
      plans = *parsed;
    }
    SymbolTable symbols(module);
    for (auto func : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (attn::KernelOpInterface op = attn::getKernelOp(func)) {
        if (failed(convert(func, op, *info, symbols)))
          return signalPassFailure();
        ++numKernels;
      }
    if (failed(checkNoneLeft(module)) ||
        (plans && failed(plans->checkUsed(
                      module, [&] { return emitError("schedule"); }))))
      signalPassFailure();
  }

  LogicalResult convert(func::FuncOp func, attn::KernelOpInterface op,
                        const TargetInfo &info, SymbolTable &symbols);

  std::optional<ScheduleTable> table;
  std::optional<GivenPlans> plans;
};
} // namespace

/// Creates an empty kernel for the function, in a new GPU module.
static gpu::GPUFuncOp createKernel(OpBuilder &builder, func::FuncOp func,
                                   Location loc, KernelSignature &signature) {
  auto module = gpu::GPUModuleOp::create(builder, loc,
                                         (func.getName() + "_module").str());
  builder.setInsertionPointToStart(module.getBody());
  auto kernel =
      gpu::GPUFuncOp::create(builder, loc, func.getName(),
                             builder.getFunctionType(signature.getTypes(), {}));
  kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                  builder.getUnitAttr());
  signature.nameArguments(kernel);
  builder.setInsertionPointToStart(&kernel.getBody().front());
  return kernel;
}

/// Number of CTAs per SM if the kernel is persistent, else null. The loop over
/// work items determines that: a persistent grid would skip items if each CTA
/// took only one.
static IntegerAttr getPersistent(gpu::GPUFuncOp kernel, plan::KernelAttr plan) {
  WalkResult loops = kernel.walk([](tile::ForeachWorkOp loop) {
    return loop.getSchedule() == plan::WorkSchedule::Single
               ? WalkResult::advance()
               : WalkResult::interrupt();
  });
  if (!loops.wasInterrupted())
    return {};
  return Builder(kernel.getContext()).getI64IntegerAttr(plan->minBlocks);
}

/// Creates the ABI next to the kernel, after the lowering has filled `kb`.
static launch::AbiOp createAbi(const KernelBuilder &kb,
                               KernelSignature &signature,
                               plan::KernelAttr plan) {
  OpBuilder builder(kb.kernel);
  SmallVector<Attribute> sizes;
  // Items count clusters, the grid counts CTAs.
  int64_t cluster = plan->cluster;
  int64_t rows = plan.getClusterRows();
  AffineExpr items =
      plan->work == plan::WorkSchedule::Shares
          ? signature.getWorkBlocks(rows, plan->tileN, kb.packedHeads, sizes)
          : signature.getWorkItems(rows, kb.packedHeads, sizes) * cluster;
  SmallVector<Attribute> parameters = signature.describeParameters();
  llvm::append_range(parameters, kb.scratch);
  return launch::AbiOp::create(
      builder, kb.op->getLoc(), SymbolRefAttr::get(kb.kernel),
      builder.getStringAttr(kb.target->name), plan,
      signature.describeTensors(kb.kernel), builder.getArrayAttr(parameters),
      builder.getArrayAttr(sizes),
      AffineMapAttr::get(AffineMap::get(0, sizes.size(), items)),
      builder.getI64IntegerAttr(kLanes * plan->warps),
      builder.getI64IntegerAttr(0), signature.describeConstraints(),
      getPersistent(kb.kernel, plan),
      cluster > 1 ? builder.getI64IntegerAttr(cluster) : IntegerAttr(),
      /*prologue=*/ArrayAttr(), /*epilogue=*/ArrayAttr(),
      signature.describeContents(),
      /*overlapped=*/UnitAttr(), kb.generator);
}

/// Reports which planned dots of a kernel add to a summand, and drops that from
/// the plan of the others.
static LogicalResult dropUnusedStarts(attn::KernelOpInterface op,
                                      gpu::GPUFuncOp kernel) {
  constexpr StringLiteral kField = "add_by_dot";
  launch::AbiOp abi = launch::lookupAbi(kernel);
  int64_t count = 0;
  llvm::StringSet<> used;
  kernel.walk([&](tile::DotOp dot) {
    if (!abi.getPlan().getDot(dot.getNameAttr()).addsToSummand ||
        matchPattern(dot.getAcc(), m_AnyZeroFloat()))
      return;
    used.insert(dot.getNameAttr().getValue());
    used.insert(tile::getFamily(dot.getNameAttr()));
    ++count;
  });
  if (count != 0)
    reportDone(op, abi, kField, "Dots", count);
  plan::KernelAttr plan = abi.getPlan();
  for (plan::DotAttr dot : plan.getDots()) {
    if (!dot.getFields().addsToSummand || used.contains(dot.getName()))
      continue;
    if (failed(reportMissed(
            op, abi, kField,
            "score_mod adds no term that an accumulator may start from: one "
            "linear in the key position, or in backward kernels one of the "
            "relative position")))
      return failure();
    plan = plan.changeDot(dot.getName(), [](plan::DotPlan &unused) {
      unused.addsToSummand = false;
    });
  }
  if (plan != abi.getPlan())
    abi.setPlanAttr(plan.changeDots([](plan::DotPlan &) {}));
  return success();
}

/// Emits the main kernel, its helper kernels and their ABIs.
static FailureOr<launch::AbiOp> emitKernels(KernelBuilder &kb,
                                            KernelSignature &signature) {
  std::unique_ptr<KernelLowering> lowering = makeKernelLowering(kb.op);
  if (!lowering)
    return failure();
  FailureOr<plan::KernelAttr> plan = lowering->emit(kb);
  if (failed(plan))
    return failure();
  gpu::ReturnOp::create(kb.builder, kb.getLoc());
  launch::AbiOp abi = createAbi(kb, signature, *plan);
  if (kb.sequenceOrder)
    buildSequenceOrder(kb, abi);
  if (!kb.minMaxBuffers.empty())
    buildMinMaxKernel(kb, abi);
  if (failed(lowering->emitHelpers(kb, abi)))
    return failure();
  overlapKernels(kb, abi);
  auto module = kb.kernel->getParentOfType<gpu::GPUModuleOp>();
  for (auto kernel : module.getOps<gpu::GPUFuncOp>())
    if (failed(dropUnusedStarts(kb.op, kernel)))
      return failure();
  return abi;
}

/// True if the results must have about the error of f32. Approximate functions
/// have a larger error.
static bool hasErrorOfF32(attn::KernelOpInterface op) {
  auto attention = dyn_cast<attn::AttentionOpInterface>(op.getOperation());
  return attention && attention.getQueryType().getElementType().isF32() &&
         !attention.getTf32();
}

LogicalResult AttnToTilePass::convert(func::FuncOp func,
                                      attn::KernelOpInterface op,
                                      const TargetInfo &info,
                                      SymbolTable &symbols) {
  OpBuilder builder(func);
  KernelSignature signature(op);
  gpu::GPUFuncOp kernel = createKernel(builder, func, op->getLoc(), signature);
  auto module = kernel->getParentOfType<gpu::GPUModuleOp>();
  KernelOptions options{&info,
                        plans ? StringRef("auto") : StringRef(schedule),
                        plans ? &*plans : nullptr,
                        table ? &*table : nullptr,
                        explainSchedule,
                        accurateTanh || hasErrorOfF32(op),
                        heldRows,
                        finalTiles,
                        overlapPrologue};
  KernelBuilder kb{options, builder, kernel, op};
  FailureOr<launch::AbiOp> abi = emitKernels(kb, signature);
  if (failed(abi)) {
    module->erase();
    return failure();
  }
  // Coordinates and sizes fit 32 bits, and 64-bit divisions take many
  // instructions; addresses are always computed in 64 bits.
  if (!kb.hasWideIndex)
    setIndexWidth(module, 32);
  symbols.insert(module);

  if (launchCalls && failed(replaceCallsByLaunches(func, op, *abi)))
    return failure();
  if (SymbolTable::symbolKnownUseEmpty(func, getOperation())) {
    func.erase();
    return success();
  }
  func.getBody().getBlocks().clear();
  func.setPrivate();
  return success();
}
