//===- ScheduleTable.h - Schedules that were measured -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file of schedules for problems, as `fovea-run --tune` writes it:
//
//   {"schedules": [
//     {"problem": {"target": "sm_90a", "elements": "bf16", "head_dim": 128,
//                  "value_head_dim": 128, "uneven": false},
//      "schedule": "tile_n=112,chain=2"}]}
//
// A problem fits if all that the entry says of it is so; the first one counts.
// What the schedule leaves open is chosen as without a table.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_SCHEDULE_SCHEDULETABLE_H
#define FOVEA_SCHEDULE_SCHEDULETABLE_H

#include "fovea/Schedule/Schedule.h"

#include "llvm/Support/JSON.h"

namespace fovea {

/// All facts of a problem, as a table's entry has them.
llvm::json::Object describeProblem(const ScheduleProblem &problem);

class ScheduleTable {
public:
  struct Entry {
    llvm::json::Object problem;
    std::string schedule;
    /// As measured; 0 if the table does not say.
    double milliseconds = 0;
  };

  /// Reads a file. Fails with a diagnostic that says where it is wrong.
  static mlir::FailureOr<ScheduleTable>
  load(llvm::StringRef path,
       llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

  /// The first entry that fits, or null.
  const Entry *lookup(const ScheduleProblem &problem) const;
  /// Which entry it is, for messages.
  std::string describe(const Entry &entry) const;

  /// Replaces the entry of exactly that problem, or adds one before the others.
  void set(Entry entry);
  /// The file's text.
  std::string print() const;

private:
  std::string path;
  std::vector<Entry> entries;
};

} // namespace fovea

#endif // FOVEA_SCHEDULE_SCHEDULETABLE_H
