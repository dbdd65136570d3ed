//===- Schedule.cpp - Chooses tile sizes, stages, warps ---------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chooses the schedule of a forward kernel: the planner's rules, overridden by
// the table of measured schedules and then by user-specified fields.
//
//===----------------------------------------------------------------------===//

#include "fovea/Schedule/Schedule.h"

#include "Planner.h"

#include "fovea/Schedule/ScheduleTable.h"

using namespace mlir;
using namespace fovea;
using plan::RecurrenceKind;

//===----------------------------------------------------------------------===//
// Facts of schedules
//===----------------------------------------------------------------------===//

int64_t fovea::getSumStep(MLIRContext *context, const TargetInfo &target,
                          int64_t elementBits) {
  int64_t step = 1;
  for (const std::unique_ptr<Planner> &planner : makePlanners(context))
    if (planner->isOn(target) && planner->getUnit().multiplies(elementBits))
      step = std::max(step, planner->getUnit().getSumStep(elementBits));
  return step;
}

int64_t fovea::getSharedMemory(MLIRContext *context,
                               const ScheduleProblem &problem,
                               const ScheduleFields &fields) {
  return makePlanner(context, fields)->getSharedMemory(problem, fields);
}

plan::KernelAttr fovea::makePlan(MLIRContext *context,
                                 const ScheduleFields &fields) {
  return makePlanner(context, fields)->makePlan(fields);
}

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

LogicalResult
fovea::checkScheduleFields(const ScheduleProblem &problem,
                           const ScheduleFields &fields,
                           function_ref<InFlightDiagnostic()> emitError) {
  if (failed(checkBlocks(problem.queryBlock, problem.keyBlock,
                         {"tile_m", fields.getClusterRows()},
                         {"tile_n", fields.tileN}, emitError)))
    return failure();
  if (problem.copiesRows() && fields.hasRoles())
    return emitError() << "with roles ('producer_registers'), pages of K and V "
                          "must have a multiple of "
                       << ScheduleProblem::kPageStep << " rows, found "
                       << problem.page;
  if (!problem.fitsPages(fields.tileN))
    return emitError() << "schedule's 'tile_n' must divide the pages of "
                       << problem.page << " rows, or be a multiple, found "
                       << fields.tileN;
  if (fields.longestFirst && !problem.hasLongestFirst())
    return emitError() << "schedule's 'longest_first' needs packed sequences "
                          "('packed') with different numbers of keys";
  return success();
}

/// Row sums of rounded probabilities are too inaccurate for a log-sum-exp, and
/// with dropout they lack the dropped probabilities.
static LogicalResult
dropSumByDot(const ScheduleProblem &problem, StringRef overrides,
             ScheduleFields &fields,
             function_ref<InFlightDiagnostic()> emitError) {
  if (!fields.sumByDot || (!problem.lse && !problem.dropout))
    return success();
  if (llvm::is_contained(getFieldNames(overrides), "sum_by_dot"))
    return emitError() << "schedule's 'sum_by_dot' is user-specified but "
                          "cannot be applied: "
                       << (problem.dropout
                               ? "dropout zeroes probabilities of the product "
                                 "that the row sum needs"
                               : "row sums of rounded probabilities are too "
                                 "inaccurate for the log-sum-exp");
  fields.sumByDot = 0;
  return success();
}

/// Returns the fields of the first planner that supports the problem. Fails
/// with the reasons of all if there is none.
static FailureOr<ScheduleFields>
decide(MLIRContext *context, const ScheduleProblem &problem,
       std::optional<RecurrenceKind> recurrence,
       function_ref<InFlightDiagnostic()> emitError) {
  for (const std::unique_ptr<Planner> &planner : makePlanners(context))
    if (std::optional<ScheduleFields> fields =
            planner->decide(problem, recurrence)) {
      fields->longestFirst = problem.hasLongestFirst() &&
                             fields->work != plan::WorkSchedule::Shares;
      return *fields;
    }
  InFlightDiagnostic error = emitError()
                             << "there is no kernel for this problem on '"
                             << problem.target->name << "'";
  for (const std::unique_ptr<Planner> &planner : makePlanners(context))
    if (planner->isOn(*problem.target))
      error << "; " << planner->getUnit() << ": "
            << planner->explainRefusal(problem);
  return failure();
}

FailureOr<plan::KernelAttr>
fovea::chooseSchedule(MLIRContext *context, const ScheduleProblem &problem,
                      StringRef overrides, const ScheduleTable *table,
                      function_ref<InFlightDiagnostic()> emitProblem) {
  const ScheduleTable::Entry *entry = table ? table->lookup(problem) : nullptr;
  auto emitError = [&] {
    InFlightDiagnostic diag = emitProblem();
    if (entry)
      diag.attachNote() << "with " << table->describe(*entry);
    return diag;
  };
  assert(std::max(problem.headDim, problem.valueHeadDim) <= 256 &&
         "tensors are checked before a schedule is chosen");
  SmallVector<std::pair<StringRef, StringRef>> wanted =
      parseFields(entry ? StringRef(entry->schedule) : "auto");
  llvm::append_range(wanted, parseFields(overrides));
  // The number of buffers that fit depends on the recurrence.
  std::optional<RecurrenceKind> recurrence;
  for (auto [name, text] : wanted)
    if (name == "recurrence")
      recurrence = plan::symbolizeRecurrenceKind(text);
  FailureOr<ScheduleFields> decided =
      decide(context, problem, recurrence, emitError);
  if (failed(decided))
    return failure();
  ScheduleFields &fields = *decided;
  llvm::StringSet<> asked;
  for (auto [name, text] : wanted) {
    asked.insert(name);
    if (failed(fields.set(name, text, emitError)))
      return failure();
  }
  std::unique_ptr<Planner> planner = makePlanner(context, fields);
  if (failed(dropSumByDot(problem, overrides, fields, emitError)) ||
      failed(planner->fit(problem, asked, fields, emitError)) ||
      failed(fields.verify(emitError)) ||
      failed(checkScheduleFields(problem, fields, emitError)) ||
      failed(planner->check(problem, fields, emitError)))
    return failure();
  return planner->makePlan(fields).withAsked(getFieldNames(overrides));
}
