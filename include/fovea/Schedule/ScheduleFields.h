//===- ScheduleFields.h - The fields of --schedule --------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The user-visible fields of a schedule: their values, text form and checks.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_SCHEDULE_SCHEDULEFIELDS_H
#define FOVEA_SCHEDULE_SCHEDULEFIELDS_H

#include "fovea/Dialect/Launch/IR/Launch.h"

#include "llvm/ADT/StringSet.h"

namespace fovea {

/// The stream of V's blocks with keys along contiguous memory, which a role of
/// its own fills if the MMA unit reads V's elements in no other order.
inline constexpr llvm::StringLiteral kTransposedValues = "vt";
/// True if a role of the plan fills that stream.
bool transposesValues(plan::KernelAttr plan);

/// Number of loops in which the recurrence computes scores. Each has its own
/// buffers of K.
int64_t getScoreLoops(plan::RecurrenceKind recurrence);

/// The fields of a schedule under their user-visible names, as listed in
/// ScheduleFields.def. Planners choose their values.
struct ScheduleFields {
#define FOVEA_SCHEDULE_FIELD(type, member, word, default, least, most, scope,  \
                             found)                                            \
  type member = default;
#include "fovea/Schedule/ScheduleFields.def"

  /// Number of queries per cluster.
  int64_t getClusterRows() const { return tileM * cluster; }
  /// Number of buffers of K.
  int64_t getKeyStages() const { return keyStages != 0 ? keyStages : stages; }
  bool hasRoles() const { return producerRegisters != 0; }

  /// Sets the field `name`. Fails with a diagnostic on an unknown field or an
  /// invalid value.
  mlir::LogicalResult
  set(llvm::StringRef name, llvm::StringRef text,
      llvm::function_ref<mlir::InFlightDiagnostic()> emitError);
  /// Sets all fields of a list such as "tile_n=32,stages=3"; "auto" sets none.
  mlir::LogicalResult
  set(llvm::StringRef list,
      llvm::function_ref<mlir::InFlightDiagnostic()> emitError);
  /// Resets fields that apply only to kernels with roles to their defaults.
  /// Emits an error for those in `asked`, which are user-specified; others may
  /// have been chosen for a kernel with roles.
  mlir::LogicalResult
  dropRoleFields(const llvm::StringSet<> &asked,
                 llvm::function_ref<mlir::InFlightDiagnostic()> emitError);
  /// Checks the ranges of all fields and their combinations.
  mlir::LogicalResult
  verify(llvm::function_ref<mlir::InFlightDiagnostic()> emitError) const;

  /// Returns the fields that describe a plan.
  static ScheduleFields from(plan::KernelAttr plan);
  /// Prints the fields as a list that `set` parses.
  std::string print() const;
  /// Writes the fields as members of a JSON object.
  void writeJSON(llvm::json::OStream &json) const;
};

/// Returns names and values in a list such as "tile_n=32,stages=3", in order;
/// none for "auto".
llvm::SmallVector<std::pair<llvm::StringRef, llvm::StringRef>>
parseFields(llvm::StringRef list);
/// Returns the names in a list such as "tile_n=32,stages=3", in order; none for
/// "auto".
llvm::SmallVector<llvm::StringRef> getFieldNames(llvm::StringRef list);

} // namespace fovea

#endif // FOVEA_SCHEDULE_SCHEDULEFIELDS_H
