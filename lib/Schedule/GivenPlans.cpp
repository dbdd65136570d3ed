//===- GivenPlans.cpp - Plans that the user gives ---------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parses plans and checks them as the planners check theirs: an emitter of tile
// programs relies on these limits.
//
//===----------------------------------------------------------------------===//

#include "fovea/Schedule/GivenPlans.h"

#include "Planner.h"

#include "fovea/Schedule/Schedule.h"

#include "mlir/AsmParser/AsmParser.h"

#include "llvm/ADT/StringMap.h"

#include <numeric>

using namespace mlir;
using namespace fovea;

using EmitError = function_ref<InFlightDiagnostic()>;

bool GivenPlans::isPlan(StringRef text) { return text.contains("#plan."); }

FailureOr<GivenPlans> GivenPlans::parse(MLIRContext *context, StringRef text,
                                        EmitError emitError) {
  text = text.trim();
  // Pass pipelines drop the outer braces of an option.
  std::string whole = text.starts_with("{") || text.starts_with("#")
                          ? text.str()
                          : ("{" + text + "}").str();
  llvm::replace(whole, '\'', '"');
  Attribute parsed = parseAttribute(whole, context);
  if (!parsed)
    return emitError() << "schedule's plans are not an attribute";
  auto plans = dyn_cast<DictionaryAttr>(parsed);
  if (!plans)
    return emitError() << "schedule's plans must be a dictionary of "
                          "'#plan.kernel' by kernel name, found "
                       << parsed;
  for (NamedAttribute entry : plans)
    if (!isa<plan::KernelAttr>(entry.getValue()))
      return emitError() << "schedule's plan of '" << entry.getName().getValue()
                         << "' must be '#plan.kernel', found "
                         << entry.getValue();
  return GivenPlans(plans);
}

/// Returns the planner of the plan's MMA unit. Fails if the target lacks it.
static FailureOr<std::unique_ptr<Planner>> findPlanner(plan::KernelAttr plan,
                                                       const TargetInfo &target,
                                                       EmitError emitError) {
  for (std::unique_ptr<Planner> &planner : makePlanners(plan.getContext()))
    if (planner->getUnit() == plan.getUnit() && planner->isOn(target))
      return std::move(planner);
  return emitError() << "schedule's plan is for " << plan.getUnit()
                     << ", which '" << target.name << "' does not have";
}

DictionaryAttr fovea::getPlans(launch::AbiOp main) {
  NamedAttrList plans;
  for (launch::AbiOp kernel : launch::getLaunchedKernels(main))
    plans.set(kernel.getKernel(), kernel.getPlan());
  return plans.getDictionary(main.getContext());
}

LogicalResult GivenPlans::checkUsed(Operation *module,
                                    EmitError emitError) const {
  llvm::StringMap<launch::AbiOp> kernels;
  module->walk(
      [&](launch::AbiOp abi) { kernels.try_emplace(abi.getKernel(), abi); });
  for (NamedAttribute entry : plans) {
    StringRef name = entry.getName();
    launch::AbiOp abi = kernels.lookup(name);
    if (!abi)
      return emitError() << "schedule has a plan of kernel '" << name
                         << "', but there is no such kernel";
    bool isMain = llvm::is_contained(launch::getEntryKernels(module), abi);
    if (!isMain && abi.getPlan() != entry.getValue())
      return abi.emitError() << "schedule's plan of kernel '" << name
                             << "' can't be changed: expected " << abi.getPlan()
                             << ", found " << entry.getValue();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

FailureOr<plan::KernelAttr>
GivenPlans::getForward(StringRef kernel, const ScheduleProblem &problem,
                       EmitError emitError) const {
  plan::KernelAttr plan = get(kernel);
  FailureOr<std::unique_ptr<Planner>> planner =
      findPlanner(plan, *problem.target, emitError);
  if (failed(planner))
    return failure();
  ScheduleFields fields = ScheduleFields::from(plan);
  if (!(*planner)->isFor(fields))
    return emitError() << "schedule's plan has "
                       << (plan.hasRoles() ? "roles" : "no roles")
                       << ", which kernels for " << plan.getUnit()
                       << " don't support";
  if (failed(fields.verify(emitError)) ||
      failed(checkScheduleFields(problem, fields, emitError)) ||
      failed((*planner)->check(problem, fields, emitError)))
    return failure();
  return plan;
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

/// Tiles consist of complete MMA instructions.
static LogicalResult checkTileSteps(plan::KernelAttr plan, int64_t elementBits,
                                    EmitError emitError) {
  plan::MatrixUnitAttrInterface unit = plan.getUnit();
  int64_t groups = plan->warps / plan->columnWarps / unit.getGroupWarps();
  int64_t rows =
      std::max<int64_t>(groups, 1) * unit.getGroupRows() * plan->rowChunks;
  if (plan->tileM % rows != 0)
    return emitError() << "schedule's plan has tile_m = " << plan->tileM
                       << ", expected a multiple of " << rows << " for "
                       << plan->warps << " warps of " << unit;
  int64_t columns =
      std::lcm(unit.getColumnStep(), unit.getSumStep(elementBits));
  if (plan->tileN % columns != 0)
    return emitError() << "schedule's plan has tile_n = " << plan->tileN
                       << ", expected a multiple of " << columns << " for "
                       << unit;
  plan::DotPlan dq = plan.getDot("dq");
  if (dq.chunkRows != 0 && (plan->tileN % dq.chunkRows != 0 ||
                            dq.chunkRows % unit.getGroupRows() != 0))
    return emitError() << "schedule's plan has chunk_rows = " << dq.chunkRows
                       << " for dot \"dq\", expected a multiple of "
                       << unit.getGroupRows()
                       << " that divides tile_n = " << plan->tileN;
  if (dq.chunkColumns % columns != 0)
    return emitError() << "schedule's plan has chunk_columns = "
                       << dq.chunkColumns
                       << " for dot \"dq\", expected a multiple of " << columns;
  return success();
}

/// The kernels compute the gradients that the op requests.
static LogicalResult checkGradients(const BackwardPlans &plans,
                                    const BackwardProblem &problem,
                                    EmitError emitError) {
  plan::StorePlan dqAccum = plans.getDqAccum();
  if (dqAccum.accumulates && !(problem.query && problem.key))
    return emitError() << "schedule's plan accumulates dq over tiles of keys, "
                          "which needs the gradients of q and k";
  if (dqAccum.accumulates && dqAccum.isOrdered != problem.isDeterministic)
    return emitError() << "schedule's plan accumulates dq in "
                       << (dqAccum.isOrdered ? "a fixed" : "no fixed")
                       << " order, but the op "
                       << (problem.isDeterministic ? "must" : "need not")
                       << " be deterministic";
  if (dqAccum.accumulates && plans.queries &&
      plans.queries->tileM != plans.keys->tileN)
    return emitError() << "schedule's plan has tile_n = " << plans.keys->tileN
                       << " for tiles of keys, which accumulate dq, but tile_m "
                          "= "
                       << plans.queries->tileM
                       << " for tiles of queries, expected the same";
  if (plans.keys->pairSums &&
      !(problem.keyTilesComputeSums && dqAccum.accumulates))
    return emitError() << "schedule's plan has 'pair_sums', but its kernel "
                          "can't compute sums over pairs";
  if (plans.keys->classify && (!problem.classifies || problem.isPacked))
    return emitError() << "schedule's plan has 'classify', but the op has no "
                          "'kv_classify' that a kernel can evaluate";
  return success();
}

FailureOr<BackwardPlans> GivenPlans::getBackward(StringRef kernel,
                                                 const BackwardProblem &problem,
                                                 EmitError emitError) const {
  auto getHelper = [&](StringRef suffix) {
    return get((kernel + "_" + suffix).str());
  };
  BackwardPlans plans;
  plans.keys = get(kernel);
  plans.values = getHelper("values");
  plans.sums = getHelper("sums");
  // The main kernel is the one over query tiles if no gradient of keys or
  // values is requested.
  bool hasKeyTiles = problem.key || problem.value;
  plans.queries = hasKeyTiles ? getHelper("queries") : plans.keys;
  if (!plans.queries)
    plans.queries = getHelper("delta");
  for (plan::KernelAttr plan :
       {plans.keys, plans.values, plans.queries, plans.sums})
    if (plan && (failed(findPlanner(plan, *problem.target, emitError)) ||
                 failed(ScheduleFields::from(plan).verify(emitError)) ||
                 failed(checkTileSteps(plan, problem.elementBits, emitError))))
      return failure();
  // A main kernel over query tiles has the tile shape of `queries`.
  BackwardPlans checked = plans;
  if (!hasKeyTiles)
    checked.keys = {};
  if (failed(checkBackwardTiles(checked, problem, emitError)) ||
      failed(checkBackwardRegisters(plans.keys, problem, emitError)) ||
      failed(checkGradients(plans, problem, emitError)))
    return failure();
  return plans;
}
