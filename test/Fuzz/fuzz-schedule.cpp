//===- fuzz-schedule.cpp - Fuzzes schedules and schedule tables -----------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text that begins with a brace or bracket is parsed as a schedule table, other
// text as the fields of a schedule, for kernels of several kinds.
//
//===----------------------------------------------------------------------===//

#include "ScratchFile.h"
#include "TextMutator.h"

#include "fovea/Dialect/Tile/IR/Tile.h"
#include "fovea/Dialect/Warp/IR/Warp.h"
#include "fovea/Schedule/Schedule.h"
#include "fovea/Schedule/ScheduleTable.h"
#include "fovea/Support/Target.h"

#include "mlir/IR/MLIRContext.h"

using namespace mlir;
using namespace fovea;

static std::vector<ScheduleProblem> makeProblems() {
  std::vector<ScheduleProblem> problems;
  for (const TargetInfo &target : getTargets())
    for (int64_t headDim : {64, 128}) {
      ScheduleProblem plain{&target, StreamBits(), headDim, headDim};
      ScheduleProblem rich = plain;
      rich.uneven = rich.scoreMod = rich.packed = rich.classifies = true;
      rich.lse = false;
      rich.queryBlock = rich.keyBlock = 128;
      problems.push_back(plain);
      problems.push_back(rich);
    }
  return problems;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static MLIRContext context(MLIRContext::Threading::DISABLED);
  static const std::vector<ScheduleProblem> problems = makeProblems();
  context.loadDialect<tile::TileDialect, warp::WarpDialect>();
  bool complained = false;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    complained |= diagnostic.getSeverity() == DiagnosticSeverity::Error;
    return success();
  });
  auto emitError = [&] { return mlir::emitError(UnknownLoc::get(&context)); };
  StringRef text(reinterpret_cast<const char *>(data), size);
  StringRef start = text.ltrim();
  std::optional<ScheduleTable> table;
  if (start.starts_with("{") || start.starts_with("[")) {
    fuzz::ScratchFile file(data, size);
    auto loaded = ScheduleTable::load(file.path, emitError);
    if (failed(loaded) != complained)
      abort();
    if (failed(loaded))
      return 0;
    table = std::move(*loaded);
  }
  for (const ScheduleProblem &problem : problems) {
    complained = false;
    auto schedule = chooseSchedule(&context, problem, table ? "auto" : text,
                                   table ? &*table : nullptr, emitError);
    if (failed(schedule) != complained)
      abort();
    if (succeeded(schedule) &&
        getSharedMemory(&context, problem, ScheduleFields::from(*schedule)) >
            problem.target->sharedMemory)
      abort();
  }
  return 0;
}
