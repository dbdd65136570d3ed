//===- BackwardSchedule.cpp - Choice of backward plans ----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Selects the planner of a backward pass, applies user-specified fields, and
// checks the resulting plans against the problem and the target.
//
//===----------------------------------------------------------------------===//

#include "fovea/Schedule/BackwardSchedule.h"

#include "Planner.h"

#include "fovea/Support/Warps.h"

using namespace mlir;
using namespace fovea;

// The field that is 0 for kernels without roles.
static constexpr StringRef kRolesField = "producer_registers";

static bool isChosenField(StringRef word) {
  return word == "tile_n" || word == "stages" || word == "key_stages" ||
         word == "work" || word == "output" || word == kRolesField;
}

/// Parses the user-specified fields that can be chosen.
static FailureOr<BackwardFields>
parseUserFields(StringRef overrides,
                function_ref<InFlightDiagnostic()> emitError) {
  BackwardFields asked;
  for (auto [name, text] : parseFields(overrides)) {
    // tile_m only selects between plans; checkOtherFields verifies that a
    // kernel has it.
    if (!isChosenField(name) && name != "tile_m")
      continue;
    ScheduleFields said;
    if (failed(said.set(name, text, emitError)))
      return failure();
    if (name == "tile_m")
      asked.tileM = said.tileM;
    else if (name == "tile_n")
      asked.tileN = said.tileN;
    else if (name == "stages")
      asked.stages = said.stages;
    else if (name == "key_stages")
      asked.keyStages = said.keyStages;
    else if (name == "work")
      asked.work = said.work;
    else if (name == "output")
      asked.output = said.output;
    else
      asked.producerRegisters = said.producerRegisters;
  }
  return asked;
}

/// Checks all other fields: they must have the value of one of the kernels, as
/// the fields of a schedule from launch metadata do.
static LogicalResult
checkOtherFields(const BackwardPlans &plans, StringRef overrides,
                 function_ref<InFlightDiagnostic()> emitError) {
  for (auto [name, text] : parseFields(overrides)) {
    if (isChosenField(name))
      continue;
    bool isSame = false;
    for (plan::KernelAttr plan : {plans.keys, plans.queries}) {
      ScheduleFields fields = ScheduleFields::from(plan);
      std::string before = fields.print();
      if (failed(fields.set(name, text, emitError)))
        return failure();
      isSame |= fields.print() == before;
    }
    if (!isSame)
      return emitError() << "backward schedules can set 'tile_n', 'stages', "
                            "'key_stages', 'work', 'output' and '"
                         << kRolesField << "', found '" << name
                         << "', which is not " << text
                         << " in any of the kernels";
  }
  return success();
}

/// Returns the first planner that matches the user-specified
/// 'producer_registers' (roles unless it is 0); by default the first one that
/// supports the problem.
static std::unique_ptr<Planner> findPlanner(MLIRContext *context,
                                            const BackwardProblem &problem,
                                            const BackwardFields &asked) {
  for (std::unique_ptr<Planner> &planner : makePlanners(context)) {
    Planner::BackwardForm form = planner->getBackwardForm();
    if (form == Planner::BackwardForm::None)
      continue;
    bool hasRoles = form == Planner::BackwardForm::Roles;
    bool isWanted = asked.producerRegisters
                        ? hasRoles == (*asked.producerRegisters != 0)
                        : !planner->findObstacle(problem);
    if (isWanted)
      return std::move(planner);
  }
  llvm_unreachable("the last planner supports every backward problem");
}

/// Returns the plan of a kernel that only computes sums over pairs: the plan
/// over query tiles of a backward pass without roles. Null after an error.
static plan::KernelAttr planSums(MLIRContext *context,
                                 const BackwardProblem &problem,
                                 function_ref<InFlightDiagnostic()> emitError) {
  BackwardFields withoutRoles;
  withoutRoles.producerRegisters = 0;
  FailureOr<BackwardPlans> plans =
      findPlanner(context, problem, withoutRoles)
          ->planBackward(problem, withoutRoles, emitError);
  return failed(plans) ? plan::KernelAttr() : plans->queries;
}

/// Applies the user-specified block sizes.
static plan::KernelAttr applyUserFields(plan::KernelAttr plan,
                                        const BackwardFields &asked) {
  return plan.change([&](plan::KernelPlan &kernel) {
    kernel.tileN = asked.tileN.value_or(kernel.tileN);
    kernel.stages = asked.stages.value_or(kernel.stages);
  });
}

LogicalResult
fovea::checkBackwardTiles(const BackwardPlans &plans,
                          const BackwardProblem &problem,
                          function_ref<InFlightDiagnostic()> emitError) {
  auto check = [&](StringRef queries, int64_t queryTile, StringRef keys,
                   int64_t keyTile) {
    return checkBlocks(problem.queryBlock, problem.keyBlock,
                       {queries, queryTile}, {keys, keyTile}, emitError);
  };
  return success(
      (!plans.queries || succeeded(check("tile_m", plans.queries->tileM,
                                         "tile_n", plans.queries->tileN))) &&
      (!plans.keys || succeeded(check("tile_n", plans.keys->tileN, "tile_m",
                                      plans.keys->tileM))));
}

LogicalResult
fovea::checkBackwardRegisters(plan::KernelAttr keys,
                              const BackwardProblem &problem,
                              function_ref<InFlightDiagnostic()> emitError) {
  int64_t wanted = 0, threads = 0;
  for (plan::RoleAttr role : keys.getRoles()) {
    if (role.getRegisters() < kLeastBudget || role.getRegisters() > kMostBudget)
      return emitError() << "schedule's 'producer_registers' leaves role '"
                         << role.getName() << "' " << role.getRegisters()
                         << " registers per thread, which must be in ["
                         << kLeastBudget << ", " << kMostBudget << "]";
    wanted += role.getRegisters() * role.getWarps() * kLanes;
    threads += role.getWarps() * kLanes;
  }
  if (threads == 0)
    return success();
  int64_t launched =
      problem.target->registers / threads / kBudgetStep * kBudgetStep * threads;
  if (wanted > launched)
    return emitError() << "schedule's 'producer_registers' leaves other roles "
                          "too few: all need "
                       << wanted << " registers, but a CTA of " << threads
                       << " threads has " << launched;
  return success();
}

FailureOr<BackwardPlans>
fovea::chooseBackwardPlans(MLIRContext *context, const BackwardProblem &problem,
                           StringRef overrides,
                           function_ref<InFlightDiagnostic()> emitError) {
  FailureOr<BackwardFields> asked = parseUserFields(overrides, emitError);
  if (failed(asked))
    return failure();
  std::unique_ptr<Planner> planner = findPlanner(context, problem, *asked);
  if (std::optional<std::string> obstacle = planner->findObstacle(problem))
    return emitError() << *obstacle;
  FailureOr<BackwardPlans> plans =
      planner->planBackward(problem, *asked, emitError);
  if (failed(plans))
    return failure();
  if (problem.sums && plans->accumulatesDq() && !plans->keys->pairSums &&
      !plans->sums) {
    plans->sums = planSums(context, problem, emitError);
    if (!plans->sums)
      return failure();
  }
  for (plan::KernelAttr *plan :
       {&plans->keys, &plans->values, &plans->queries}) {
    if (!*plan)
      continue;
    ScheduleFields fields;
    fields.tileN = asked->tileN.value_or((*plan)->tileN);
    fields.stages = asked->stages.value_or((*plan)->stages);
    if (failed(fields.verify(emitError)))
      return failure();
    *plan = applyUserFields(*plan, *asked).withAsked(getFieldNames(overrides));
  }
  if (failed(checkBackwardTiles(*plans, problem, emitError)) ||
      failed(checkBackwardRegisters(plans->keys, problem, emitError)) ||
      failed(checkOtherFields(*plans, overrides, emitError)))
    return failure();
  return plans;
}
