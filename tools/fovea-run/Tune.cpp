//===- Tune.cpp - Schedule search -----------------------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tries tile sizes, warps and buffers first, then single changes of order and
// arithmetic on the best of these schedules. Candidates that are rejected by
// the schedule's verifier, the compiler or ptxas, or that spill, are dropped
// with the reason. The others are timed in random order, each after 30 ms of
// warm-up.
//
//===----------------------------------------------------------------------===//

#include "Tune.h"

#include "Device.h"

#include "fovea/Dialect/Attn/IR/Attn.h"
#include "fovea/InitAll.h"
#include "fovea/Pipelines/Compile.h"
#include "fovea/Schedule/ScheduleSpace.h"
#include "fovea/Schedule/ScheduleTable.h"
#include "fovea/Target/Assemble.h"
#include "fovea/Target/PTX.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/ThreadPool.h"

#include <random>

using namespace mlir;
using namespace fovea;
using namespace fovea::run;

namespace {
struct Candidate {
  std::string schedule;
  /// The reason for dropping it; empty if it is timed.
  std::string refusal = "";
  std::string image = "", metadata = "";
  double milliseconds = 0;
};

class Tuner {
public:
  Tuner(const Program &program, const Options &options,
        const Workload &workload)
      : program(program), options(options), workload(workload) {
    llvm::raw_string_ostream stream(text);
    ModuleOp module = program.module.get();
    module.print(stream, OpPrintingFlags().enableDebugInfo());
  }

  ExitCode run();

private:
  std::optional<std::string> check(StringRef schedule, std::string &refusal);
  std::vector<Candidate> getShapes();
  std::vector<Candidate> getVariations(StringRef shape);
  void compile(Candidate &candidate) const;
  ExitCode time(std::vector<Candidate> &candidates);
  ExitCode write() const;
  CompileOptions &fill(CompileOptions &compileOptions,
                       StringRef schedule) const;

  const Program &program;
  const Options &options;
  const Workload &workload;
  /// The program's text: each compiling thread parses its own copy.
  std::string text, ptxas;
  llvm::json::Object problem;
  /// Complete schedules that were tried: several option strings may give the
  /// same one.
  llvm::StringSet<> seen;
  Candidate best;
  double untuned = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

CompileOptions &Tuner::fill(CompileOptions &compileOptions,
                            StringRef schedule) const {
  setCompileOptions(options, compileOptions);
  // The search starts from the schedule without a table; options of the command
  // line stay fixed.
  compileOptions.scheduleTable = "";
  compileOptions.schedule = options.schedule == "auto" ? schedule.str()
                            : schedule == "auto"
                                ? options.schedule
                                : schedule.str() + "," + options.schedule;
  return compileOptions;
}

/// The complete schedule of an option string, or the reason why it is not
/// legal. Also records the problem, the table's key, from the lowering's
/// remark.
std::optional<std::string> Tuner::check(StringRef schedule,
                                        std::string &refusal) {
  OwningOpRef<ModuleOp> module = program.module.get().clone();
  std::vector<std::string> remarks;
  ScopedDiagnosticHandler handler(
      module->getContext(), [&](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == DiagnosticSeverity::Remark)
          remarks.push_back(diagnostic.str());
        else if (diagnostic.getSeverity() == DiagnosticSeverity::Error &&
                 refusal.empty())
          refusal = diagnostic.str();
        return success();
      });
  CompileOptions compileOptions;
  fill(compileOptions, schedule).explainSchedule = true;
  PassManager passes(module->getContext());
  buildToTilePipeline(passes, compileOptions);
  if (failed(passes.run(*module)) || remarks.size() != 1) {
    if (refusal.empty())
      refusal = "expected a program with one attn.forward, found " +
                std::to_string(remarks.size());
    return std::nullopt;
  }
  auto [whole, key] = StringRef(remarks.front()).split(" for the problem ");
  auto value = llvm::json::parse(key);
  if (!value)
    llvm::report_fatal_error(value.takeError());
  problem = *value->getAsObject();
  return whole.str();
}

std::vector<Candidate> Tuner::getShapes() {
  std::vector<Candidate> candidates;
  for (auto &shapes : getScheduleShapes(program.module.get()->getContext(),
                                        *lookupTarget(options.target))) {
    std::optional<Candidate> chosen;
    for (std::string &schedule : shapes) {
      std::string refusal;
      std::optional<std::string> whole = check(schedule, refusal);
      if (whole && seen.insert(*whole).second)
        chosen = {schedule};
      else if (!whole && !chosen)
        chosen = {schedule, refusal};
      if (whole)
        break;
    }
    if (chosen)
      candidates.push_back(std::move(*chosen));
  }
  return candidates;
}

std::vector<Candidate> Tuner::getVariations(StringRef shape) {
  std::vector<Candidate> candidates;
  for (std::string &change : getScheduleVariations(
           program.module.get()->getContext(), *lookupTarget(options.target))) {
    Candidate candidate{shape == "auto" ? change : shape.str() + "," + change};
    std::optional<std::string> whole =
        check(candidate.schedule, candidate.refusal);
    if (!whole || seen.insert(*whole).second)
      candidates.push_back(std::move(candidate));
  }
  return candidates;
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

void Tuner::compile(Candidate &candidate) const {
  if (!candidate.refusal.empty())
    return;
  DialectRegistry dialects;
  registerDialects(dialects);
  registerTranslations(dialects);
  MLIRContext context(dialects, MLIRContext::Threading::DISABLED);
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error &&
        candidate.refusal.empty())
      candidate.refusal = diagnostic.str();
    return success();
  });
  auto module = parseSourceString<ModuleOp>(text, ParserConfig(&context));
  if (!module)
    return;
  func::FuncOp function = program.function;
  for (auto other : llvm::make_early_inc_range(module->getOps<func::FuncOp>()))
    if (other.getName() != function.getName())
      other.erase();
  CompileOptions compileOptions;
  auto kernel =
      compileKernel(*module, fill(compileOptions, candidate.schedule));
  if (failed(kernel)) {
    if (candidate.refusal.empty())
      candidate.refusal = "can't be compiled";
    return;
  }
  candidate.image = kernel->ptx;
  candidate.metadata = kernel->metadata;
  if (ptxas.empty())
    return;
  Assembly assembly = assemblePTX(kernel->ptx, options.target, ptxas);
  if (!assembly.machineCode) {
    candidate.refusal = assembly.error;
    return;
  }
  if (!assembly.faults.empty())
    candidate.refusal = assembly.faults.front();
  candidate.image = *assembly.machineCode;
}

//===----------------------------------------------------------------------===//
// Timing
//===----------------------------------------------------------------------===//

ExitCode Tuner::time(std::vector<Candidate> &candidates) {
  if (!options.tuneDryRun) {
    llvm::DefaultThreadPool pool(llvm::hardware_concurrency(options.jobs));
    for (Candidate &candidate : candidates)
      pool.async([&] { compile(candidate); });
    pool.wait();
  }
  std::vector<Candidate *> order;
  for (Candidate &candidate : candidates)
    order.push_back(&candidate);
  if (!options.tuneDryRun)
    std::shuffle(order.begin(), order.end(), std::mt19937(1));
  for (Candidate *candidate : order) {
    if (candidate->refusal.empty() && !options.tuneDryRun)
      if (ExitCode code =
              timeKernel(program, options, workload, candidate->image,
                         candidate->metadata, candidate->milliseconds))
        return code;
    llvm::raw_ostream &out = llvm::outs();
    if (!candidate->refusal.empty())
      out << "refused: " << candidate->schedule << ": " << candidate->refusal;
    else if (options.tuneDryRun)
      out << "candidate: " << candidate->schedule;
    else
      out << llvm::format("%.4f ms: ", candidate->milliseconds)
          << candidate->schedule;
    out << "\n";
    out.flush();
  }
  for (Candidate &candidate : candidates) {
    if (!candidate.refusal.empty())
      continue;
    if (candidate.schedule == "auto")
      untuned = candidate.milliseconds;
    if (best.schedule.empty() || candidate.milliseconds < best.milliseconds)
      best = candidate;
  }
  return kSuccess;
}

ExitCode Tuner::write() const {
  ScheduleTable table;
  if (llvm::sys::fs::exists(options.scheduleTable)) {
    auto loaded = ScheduleTable::load(options.scheduleTable, [&] {
      return mlir::emitError(program.module.get()->getLoc());
    });
    if (failed(loaded))
      return kBadInput;
    table = std::move(*loaded);
  }
  std::string schedule = best.schedule;
  if (options.schedule != "auto")
    schedule = schedule == "auto" ? options.schedule
                                  : schedule + "," + options.schedule;
  table.set({problem, schedule, best.milliseconds});
  std::error_code error;
  llvm::raw_fd_ostream file(options.scheduleTable, error);
  if (!error) {
    file << table.print();
    file.close();
    error = file.error();
  }
  if (error) {
    file.clear_error();
    reportError("cannot write '" + options.scheduleTable +
                "': " + error.message());
    return kBadInput;
  }
  return kSuccess;
}

ExitCode Tuner::run() {
  if (!program.function) {
    reportError("--tune needs a program at attn level");
    return kBadInput;
  }
  if (!lookupTarget(options.target, [&] {
        return mlir::emitError(
                   mlir::UnknownLoc::get(program.module.get()->getContext()))
               << "option 'target': ";
      }))
    return kBadInput;
  ptxas = options.ptxas;
  if (ptxas.empty())
    if (auto found = llvm::sys::findProgramByName("ptxas"))
      ptxas = *found;
  if (ptxas.empty() && !options.tuneDryRun)
    llvm::errs() << "fovea-run: warning: found no ptxas, spills go unnoticed\n";
  std::vector<Candidate> shapes = getShapes();
  if (ExitCode code = time(shapes))
    return code;
  if (best.schedule.empty()) {
    reportError("no schedule can be used for this program");
    return kBadInput;
  }
  std::vector<Candidate> variations = getVariations(best.schedule);
  if (ExitCode code = time(variations))
    return code;
  if (options.tuneDryRun)
    return kSuccess;
  llvm::outs() << "best: " << best.schedule
               << llvm::format(", %.4f ms; without tuning %.4f ms\n",
                               best.milliseconds, untuned);
  return write();
}

ExitCode fovea::run::tune(const Program &program, const Options &options,
                          const Workload &workload) {
  return Tuner(program, options, workload).run();
}
