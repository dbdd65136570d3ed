//===- BackwardPlans.cpp - Which unit finds gradients, and how --*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Planner.h"

#include "fovea/Support/Warps.h"

using namespace mlir;
using namespace fovea;

// The field that is 0 where all warps run one program.
static constexpr StringRef kRolesWord = "producer_registers";

static bool isOpen(StringRef word) {
  return word == "tile_n" || word == "stages" || word == "key_stages" ||
         word == "work" || word == "output" || word == kRolesWord;
}

/// What the caller says of the fields that can be chosen.
static FailureOr<BackwardFields>
parseAsked(StringRef overrides, function_ref<InFlightDiagnostic()> emitError) {
  BackwardFields asked;
  for (auto [name, text] : parseFields(overrides)) {
    // A kernel must have the rows: they only choose between plans.
    if (!isOpen(name) && name != "tile_m")
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

/// Other fields can only be asked for as a kernel has them, such as those of
/// the schedule in its metadata.
static LogicalResult checkOthers(const BackwardPlans &plans,
                                 StringRef overrides,
                                 function_ref<InFlightDiagnostic()> emitError) {
  for (auto [name, text] : parseFields(overrides)) {
    if (isOpen(name))
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
      return emitError() << "schedules of gradients have the fields 'tile_n', "
                            "'stages', 'key_stages', 'work', 'output' and '"
                         << kRolesWord << "', found '" << name
                         << "', which no kernel has as " << text;
  }
  return success();
}

/// The first planner that fits what is asked for: one of roles if registers
/// are, one without if 0 are; of others the one that is best for the problem.
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
  llvm_unreachable("the last planner finds gradients for every problem");
}

/// The plan of a kernel that finds sums over pairs and nothing else: that of
/// queries where no roles share the work. Null after an error.
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

/// Takes over what is asked for of the blocks.
static plan::KernelAttr takeAsked(plan::KernelAttr plan,
                                  const BackwardFields &asked) {
  return plan.change([&](plan::KernelPlan &kernel) {
    kernel.tileN = asked.tileN.value_or(kernel.tileN);
    kernel.stages = asked.stages.value_or(kernel.stages);
  });
}

/// Tiles divide the blocks that are visited.
static LogicalResult checkTiles(const BackwardPlans &plans,
                                const BackwardProblem &problem,
                                function_ref<InFlightDiagnostic()> emitError) {
  auto check = [&](StringRef queries, int64_t queryTile, StringRef keys,
                   int64_t keyTile) {
    return checkBlocks(problem.queryBlock, problem.keyBlock,
                       {queries, queryTile}, {keys, keyTile}, emitError);
  };
  return success(succeeded(check("tile_m", plans.queries->tileM, "tile_n",
                                 plans.queries->tileN)) &&
                 succeeded(check("tile_n", plans.keys->tileN, "tile_m",
                                 plans.keys->tileM)));
}

/// Roles share the registers that a launch of all of them has.
static LogicalResult
checkRegisters(plan::KernelAttr keys, const BackwardProblem &problem,
               function_ref<InFlightDiagnostic()> emitError) {
  int64_t wanted = 0, threads = 0;
  for (plan::RoleAttr role : keys.getRoles()) {
    if (role.getRegisters() < kLeastBudget || role.getRegisters() > kMostBudget)
      return emitError() << "schedule's 'producer_registers' leaves role '"
                         << role.getName() << "' " << role.getRegisters()
                         << " registers a thread, which must be in ["
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
                       << wanted << " registers, a CTA of " << threads
                       << " threads has " << launched;
  return success();
}

FailureOr<BackwardPlans>
fovea::chooseBackwardPlans(MLIRContext *context, const BackwardProblem &problem,
                           StringRef overrides,
                           function_ref<InFlightDiagnostic()> emitError) {
  FailureOr<BackwardFields> asked = parseAsked(overrides, emitError);
  if (failed(asked))
    return failure();
  std::unique_ptr<Planner> planner = findPlanner(context, problem, *asked);
  if (std::optional<std::string> obstacle = planner->findObstacle(problem))
    return emitError() << *obstacle;
  FailureOr<BackwardPlans> plans =
      planner->planBackward(problem, *asked, emitError);
  if (failed(plans))
    return failure();
  if (problem.sums && plans->sumsQueries && !plans->keysFindSums &&
      !plans->sums) {
    plans->sums = planSums(context, problem, emitError);
    if (!plans->sums)
      return failure();
  }
  for (plan::KernelAttr *plan : {&plans->keys, &plans->queries}) {
    ScheduleFields fields;
    fields.tileN = asked->tileN.value_or((*plan)->tileN);
    fields.stages = asked->stages.value_or((*plan)->stages);
    if (failed(fields.verify(emitError)))
      return failure();
    *plan = takeAsked(*plan, *asked).withAsked(getFieldNames(overrides));
  }
  if (failed(checkTiles(*plans, problem, emitError)) ||
      failed(checkRegisters(plans->keys, problem, emitError)) ||
      failed(checkOthers(*plans, overrides, emitError)))
    return failure();
  return plans;
}
