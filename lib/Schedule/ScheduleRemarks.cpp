//===- ScheduleRemarks.cpp - Explanations of schedules ----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Schedule/ScheduleRemarks.h"

#include "Planner.h"

#include "fovea/Schedule/ScheduleTable.h"

#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Threading.h"

using namespace mlir;
using namespace fovea;

namespace {
/// Emits the remarks that explain where the fields of a schedule come from.
class Explainer {
public:
  Explainer(const ScheduleChoice &choice, const ScheduleProblem &problem,
            plan::KernelAttr plan)
      : choice(choice), problem(problem), plan(plan),
        context(choice.where->getContext()), chosen(ScheduleFields::from(plan)),
        planner(makePlanner(context, chosen)),
        entry(choice.table ? choice.table->lookup(problem) : nullptr) {
    for (StringRef list :
         {choice.overrides, entry ? StringRef(entry->schedule) : "auto"})
      for (StringRef name : getFieldNames(list))
        asked.insert(name);
  }

  void run();

private:
  remark::RemarkOpts getOptions(StringRef name) const {
    return remark::RemarkOpts::name(name)
        .category("schedule")
        .function(choice.kernel);
  }
  void remarkUnits();
  void remarkLimits();
  void remarkReasons();
  void remarkReason(StringRef field, const Twine &value, const Twine &reason);
  void remarkUnused(StringRef field, const Twine &reason);
  void remarkLimit(StringRef field, int64_t value, int64_t more);
  StringRef getOrigin(StringRef field) const {
    return llvm::is_contained(getFieldNames(choice.overrides), field)
               ? "user-specified"
               : "from the table of measured schedules";
  }
  std::string findError(StringRef field, const Twine &text);
  std::string explainRegisters(const ScheduleFields &fields) const;

  const ScheduleChoice &choice;
  const ScheduleProblem &problem;
  plan::KernelAttr plan;
  MLIRContext *context;
  ScheduleFields chosen;
  std::unique_ptr<Planner> planner;
  const ScheduleTable::Entry *entry;
  /// Fields that the user or the table sets.
  llvm::SetVector<StringRef> asked;
};
} // namespace

/// The user-visible name of an MMA unit: "wgmma".
static std::string getUnitName(plan::MatrixUnitAttrInterface unit) {
  std::string text = llvm::formatv("{0}", Attribute(unit)).str();
  StringRef name = text;
  name.consume_back("_unit");
  return name.rsplit('.').second.str();
}

/// Explains a difference in registers per compute thread from the chosen
/// schedule; empty if there is none.
std::string Explainer::explainRegisters(const ScheduleFields &fields) const {
  if (fields.consumerRegisters == chosen.consumerRegisters ||
      !fields.hasRoles())
    return {};
  return llvm::formatv("; {0} compute warps share the SM's registers, which "
                       "leaves {1} per compute thread instead of {2}",
                       fields.warps, fields.consumerRegisters,
                       chosen.consumerRegisters);
}

/// Returns the planner's error for the same schedule with another value of a
/// field; empty if that schedule is valid.
std::string Explainer::findError(StringRef field, const Twine &text) {
  std::string said;
  uint64_t thread = llvm::get_threadid();
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    if (llvm::get_threadid() != thread)
      return failure();
    if (said.empty())
      said = diagnostic.str();
    return success();
  });
  auto emitError = [&] { return mlir::emitError(UnknownLoc::get(context)); };
  ScheduleFields fields = chosen;
  SmallString<16> value;
  llvm::StringSet<> names;
  names.insert(field);
  for (StringRef name : asked)
    names.insert(name);
  // Dependent fields are adjusted to the new value; all others keep theirs.
  for (StringRef other : {"output", "output_stages", "key_stages", "stages"})
    names.insert(other);
  if (failed(fields.set(field, text.toStringRef(value), emitError)) ||
      failed(planner->fit(problem, names, fields, emitError)) ||
      failed(fields.verify(emitError)) ||
      failed(planner->check(problem, fields, emitError)))
    return StringRef(said).split(": reduce").first.str() +
           explainRegisters(fields);
  return {};
}

void Explainer::remarkReason(StringRef field, const Twine &value,
                             const Twine &reason) {
  remark::analysis(choice.where->getLoc(), getOptions(field))
      << remark::metric("Value", value.str())
      << remark::reason("{0}", reason.str());
}

void Explainer::remarkUnused(StringRef field, const Twine &reason) {
  remark::missed(choice.where->getLoc(), getOptions(field))
      << remark::reason("{0}", reason.str());
}

void Explainer::remarkLimit(StringRef field, int64_t value, int64_t more) {
  if (asked.contains(field))
    return remarkReason(field, Twine(value), getOrigin(field));
  // A value that is invalid in every schedule does not explain this one.
  std::string fault = findError(field, Twine(more));
  if (!fault.empty() && !StringRef(fault).contains("must be"))
    remarkReason(field, Twine(value), Twine(more) + " does not fit: " + fault);
}

/// Explains the chosen MMA unit and why preferred ones are not used.
void Explainer::remarkUnits() {
  std::string others;
  for (const std::unique_ptr<Planner> &other : makePlanners(context)) {
    std::string unit = getUnitName(other->getUnit());
    if (other->getUnit() == plan.getUnit())
      break;
    if (other->isOn(*problem.target))
      remarkUnused("unit",
                   unit + " is not used: " +
                       (asked.contains("producer_registers") ||
                                asked.contains("row_tiles")
                            ? std::string("the user-specified schedule is "
                                          "for another MMA unit")
                            : other->explainRefusal(problem)));
    else
      others += (others.empty() ? "" : ", ") + unit;
  }
  std::string text = "the best MMA unit that '" + problem.target->name.str() +
                     "' has for the problem";
  if (!others.empty())
    text += "; it has no " + others;
  remarkReason("unit", getUnitName(plan.getUnit()), text);
}

/// Explains fields whose next larger value does not fit.
void Explainer::remarkLimits() {
  int64_t step = planner->getUnit().getColumnStep();
  if (problem.keyBlock)
    remarkReason("tile_n", Twine(chosen.tileN),
                 "it must divide the block-sparse mask's blocks of " +
                     Twine(problem.keyBlock) + " keys");
  else if (problem.page % (2 * chosen.tileN) != 0)
    remarkReason("tile_n", Twine(chosen.tileN),
                 "it must divide the pages of " + Twine(problem.page) +
                     " rows, or be a multiple");
  else
    remarkLimit("tile_n", chosen.tileN,
                chosen.tileN + std::max<int64_t>(step, 16));
  remarkLimit("warps", chosen.warps, chosen.warps + 4);
  remarkLimit("stages", chosen.stages, chosen.stages + 1);
  if (chosen.keyStages)
    remarkLimit("key_stages", chosen.keyStages, chosen.keyStages + 1);
  if (chosen.hasRoles() && chosen.queryStages == 1)
    remarkLimit("query_stages", 1, 2);
  if (problem.scoreBits && chosen.hasRoles() && !chosen.scoreStages)
    if (std::string fault = findError("score_stages", "2"); !fault.empty())
      remarkUnused("score_stages",
                   "tiles of captured scores are not prefetched: " + fault);
}

/// Explains fields that follow from the problem.
void Explainer::remarkReasons() {
  for (StringRef name : asked)
    if (!llvm::is_contained(
            {"tile_n", "warps", "stages", "key_stages", "query_stages"},
            name) &&
        (name != "sum_by_dot" || chosen.sumByDot))
      remarkReason(name, "", getOrigin(name));
  if (!chosen.hasRoles())
    return;
  if (!asked.contains("work") && chosen.work != plan::WorkSchedule::Single)
    remarkReason("work", plan::stringifyWorkSchedule(chosen.work),
                 problem.uneven
                     ? "query tiles iterate over different numbers of "
                       "keys, so CTAs fetch the next tile dynamically"
                     : "all query tiles iterate over the same number of "
                       "keys, so tiles are assigned to CTAs in advance");
  if (!asked.contains("tau") && !problem.wideExponent)
    remarkReason("tau", Twine(chosen.tau),
                 "probabilities reach 2^tau, near the largest f16");
  if (!asked.contains("classify") && chosen.classify)
    remarkReason("classify", "1", "the mask can skip single blocks");
  if (!chosen.sumByDot && (problem.lse || problem.dropout))
    remarkUnused("sum_by_dot",
                 problem.dropout
                     ? "dropout zeroes probabilities of the product "
                       "that the row sum needs"
                     : "row sums of rounded probabilities are too "
                       "inaccurate for the log-sum-exp");
  if (!chosen.addByDot && problem.scoreMod &&
      (problem.lse || problem.loadsPerScore))
    remarkUnused("add_by_dot",
                 problem.lse ? "MMA accumulators round large sums, which "
                               "makes the log-sum-exp inaccurate"
                             : "MMA accumulators round large sums, and loaded "
                               "summands may be of any size");
  if (!chosen.chain && !asked.contains("chain") && chosen.queryStages == 1)
    remarkUnused("chain",
                 "with one buffer of Q the next tile would wait for the "
                 "last scores of the current tile");
}

void Explainer::run() {
  remark::analysis(choice.where->getLoc(), getOptions("chosen"))
      << remark::metric("Schedule", chosen.print())
      << remark::metric(
             "Problem",
             llvm::formatv("{0}", llvm::json::Value(describeProblem(problem)))
                 .str())
      << remark::reason(
             "{0}",
             entry ? choice.table->describe(*entry)
             : choice.table
                 ? "by the planner's rules: the table of measured schedules "
                   "has "
                   "no entry for this problem"
                 : "by the planner's rules for the target, the head dims and "
                   "the mods: there is no table of measured schedules");
  remarkUnits();
  remarkLimits();
  remarkReasons();
}

void fovea::remarkSchedule(const ScheduleChoice &choice,
                           const ScheduleProblem &problem,
                           plan::KernelAttr plan) {
  if (choice.where->getContext()->getRemarkEngine())
    Explainer(choice, problem, plan).run();
}

void fovea::remarkBackwardPlans(const ScheduleChoice &choice,
                                const BackwardProblem &problem,
                                const BackwardPlans &plans) {
  MLIRContext *context = choice.where->getContext();
  if (!context->getRemarkEngine())
    return;
  auto getOptions = [&](StringRef name) {
    return remark::RemarkOpts::name(name)
        .category("schedule")
        .function(choice.kernel);
  };
  remark::analysis(choice.where->getLoc(), getOptions("chosen"))
      << remark::metric("Schedule", ScheduleFields::from(plans.keys).print())
      << remark::reason("{0}",
                        plans.accumulatesDq() && !plans.values
                            ? "one kernel over key tiles computes all "
                              "gradients; it accumulates dQ in memory"
                        : plans.accumulatesDq()
                            ? "kernels over key tiles compute all gradients, "
                              "dV in a kernel of its own; they accumulate dQ "
                              "in memory"
                            : "kernels over key tiles compute dK and dV, "
                              "others over query tiles dQ");
  for (const std::unique_ptr<Planner> &planner : makePlanners(context)) {
    if (planner->getUnit() == plans.keys.getUnit())
      return;
    if (planner->getBackwardForm() == Planner::BackwardForm::None ||
        !planner->isOn(*problem.target))
      continue;
    std::optional<std::string> obstacle = planner->findObstacle(problem);
    remark::missed(choice.where->getLoc(), getOptions("unit"))
        << remark::reason("{0} is not used: {1}",
                          getUnitName(planner->getUnit()),
                          obstacle.value_or("the schedule is user-specified"));
  }
}
