//===- WarpGroupBackward.cpp - Gradients by warp groups ---------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarpGroupBackward.h"

#include "fovea/Support/Warps.h"

using namespace mlir;
using namespace fovea;

// Both sums of 64 keys stay in a warp group's registers, beside scores, up to
// so wide heads.
static constexpr int64_t kWidestHead = 128;
// Beside so many columns of sums a group has registers for derivatives, too.
static constexpr int64_t kMostColumnsBesideGradients = 128;
// Queries of a block; warp groups, and keys of each.
static constexpr int64_t kBlockQueries = 64, kGroups = 2, kGroupKeys = 64;
// Registers of a thread that copies, of one that has sums, and of one that
// finds dQ's share of a block: four groups have 128 for each on average.
static constexpr int64_t kLoadRegisters = 24, kComputeRegisters = 208,
                         kReduceRegisters = 72;

std::optional<std::string>
fovea::findWarpGroupObstacle(const BackwardProblem &problem) {
  auto because = [](const Twine &reason) {
    return ("schedule has roles ('producer_registers'), which " + reason).str();
  };
  if (!problem.target->warpGroupDots)
    return because("'" + problem.target->name + "' does not support");
  if (problem.isDeterministic)
    return because("add up dq in any order, where it is to be deterministic");
  if (!problem.query || !problem.key || !problem.value)
    return because("find all of the gradients by q, k and v");
  constexpr int64_t kBlockKeys = kGroups * kGroupKeys;
  if (problem.keyBlock % kBlockKeys != 0 ||
      problem.queryBlock % kBlockQueries != 0)
    return because("have tiles of " + Twine(kBlockQueries) + " queries and " +
                   Twine(kBlockKeys) +
                   " keys, which must divide the blocks, found size = [" +
                   Twine(problem.queryBlock) + ", " + Twine(problem.keyBlock) +
                   "]");
  if (problem.getWidestHead() > kWidestHead)
    return because("have registers for head dims up to " + Twine(kWidestHead) +
                   ", found " + Twine(problem.getWidestHead()));
  return std::nullopt;
}

/// Roles for the kernel of keys: one copies, two warp groups with 64 keys each
/// find dK and dV, one dQ's share of a block.
static plan::KernelAttr makeKeysPlan(plan::MatrixUnitAttrInterface unit,
                                     const BackwardProblem &problem,
                                     int64_t loadRegisters) {
  MLIRContext *context = unit.getContext();
  Builder b(context);
  plan::KernelPlan kernel;
  kernel.tileM = kGroups * unit.getGroupRows();
  kernel.tileN = kBlockQueries;
  kernel.warps = kGroups * unit.getGroupWarps();
  kernel.stages = 2;
  kernel.classify = problem.classifies;
  auto stream = [&](StringRef name, int64_t stages, StringRef with = "") {
    plan::StreamPlan said;
    said.stages = stages;
    if (!with.empty()) {
      said.isStaged = true;
      said.with = b.getStringAttr(with);
    }
    return plan::StreamAttr::get(context, b.getStringAttr(name), said);
  };
  auto role = [&](StringRef name, int64_t warps, int64_t registers,
                  ArrayRef<StringRef> owns) {
    return plan::RoleAttr::get(context, name, warps, registers,
                               b.getStrArrayAttr(owns));
  };
  // The next block's weights are computed while dK of this one is.
  plan::DotPlan early;
  early.ahead = 1;
  auto ahead = plan::DotAttr::get(context, b.getStringAttr("s"), early);
  return plan::KernelAttr::get(
      context, unit, kernel,
      {stream("k", 1), stream("v", 1), stream("kq", 1),
       stream("exponents", kernel.stages, "q"),
       stream("delta", kernel.stages, "do")},
      {ahead}, /*stores=*/{},
      {role("load", kGroupWarps, loadRegisters,
            {"k", "kq", "v", "q", "do", "exponents", "delta"}),
       role("compute", kernel.warps, kComputeRegisters,
            {"s", "dp", "ds", "dv", "dk", "dv_out", "dk_out"}),
       role("reduce", kGroupWarps, kReduceRegisters, {"dq", "dq_sum"})},
      /*asked=*/{});
}

/// The same rows for a kernel beside it, whose fragments it has.
static plan::KernelAttr makeRowsPlan(plan::MatrixUnitAttrInterface unit) {
  plan::KernelPlan kernel;
  kernel.tileM = kernel.tileN = kBlockQueries;
  kernel.warps = unit.getGroupWarps();
  return plan::KernelAttr::get(unit.getContext(), unit, kernel, {}, {}, {}, {},
                               {});
}

FailureOr<BackwardPlans> fovea::planWarpGroupBackward(
    plan::MatrixUnitAttrInterface unit, const BackwardProblem &problem,
    const ScheduleFields &asked, function_ref<InFlightDiagnostic()> emitError) {
  int64_t registers =
      asked.producerRegisters == -1 ? kLoadRegisters : asked.producerRegisters;
  if (registers % kBudgetStep != 0)
    return emitError() << "schedule's 'producer_registers' must be a multiple "
                          "of "
                       << kBudgetStep << ", found " << registers;
  if (asked.tileN != -1 && asked.tileN != kBlockQueries)
    return emitError() << "schedule's 'tile_n' is " << kBlockQueries
                       << " where roles share the work "
                          "('producer_registers=0': none do), found "
                       << asked.tileN;
  BackwardPlans plans;
  plans.keys = makeKeysPlan(unit, problem, registers);
  plans.queries = makeRowsPlan(unit);
  plans.sumsQueries = true;
  plans.keepsGradients = problem.getColumns() <= kMostColumnsBesideGradients;
  return plans;
}
