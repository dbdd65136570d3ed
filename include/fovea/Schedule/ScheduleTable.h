//===- ScheduleTable.h - Tables of measured schedules -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file of measured schedules, as `fovea-run --tune` writes it:
//
//   {"schedules": [
//     {"problem": {"target": "sm_90a", "elements": "bf16", "head_dim": 128,
//                  "value_head_dim": 128, "uneven": false},
//      "schedule": "tile_n=112,chain=2"}]}
//
// An entry matches a problem if all facts of the entry hold; the first match is
// used. Fields that its schedule does not set are chosen as without a table.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_SCHEDULE_SCHEDULETABLE_H
#define FOVEA_SCHEDULE_SCHEDULETABLE_H

#include "fovea/Schedule/ScheduleProblem.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/JSON.h"

namespace fovea {

/// Returns all facts of a problem in the form of a table entry.
llvm::json::Object describeProblem(const ScheduleProblem &problem);

class ScheduleTable {
public:
  struct Entry {
    llvm::json::Object problem;
    std::string schedule;
    /// Measured time; 0 if the table has none.
    double milliseconds = 0;
  };

  /// Reads a file. Fails with a diagnostic that gives the invalid position.
  static mlir::FailureOr<ScheduleTable>
  load(llvm::StringRef path,
       llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

  /// Returns the first entry that matches, or null.
  const Entry *lookup(const ScheduleProblem &problem) const;
  /// Describes an entry for messages.
  std::string describe(const Entry &entry) const;

  /// Replaces the entry with exactly the same problem, or inserts one before
  /// the others.
  void set(Entry entry);
  /// Returns the text of the file.
  std::string print() const;

private:
  std::string path;
  std::vector<Entry> entries;
};

} // namespace fovea

#endif // FOVEA_SCHEDULE_SCHEDULETABLE_H
