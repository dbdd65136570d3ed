//===- Schedule.h - Chooses tile sizes, stages, warps -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The schedule of a forward kernel: user-visible fields, their checks, and the
// choice of values by planners. `attn-to-tile` requests a schedule and stores
// the resulting plan in `launch.abi`.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_SCHEDULE_SCHEDULE_H
#define FOVEA_SCHEDULE_SCHEDULE_H

#include "fovea/Dialect/Launch/IR/Launch.h"
#include "fovea/Support/Target.h"

#include "llvm/ADT/StringSet.h"

namespace fovea {

/// The properties of a problem that determine its schedule.
struct ScheduleProblem {
  const TargetInfo *target;
  /// Bits of an element of Q, K and V.
  int64_t elementBits;
  /// Head dims of Q and K, and of V, padded to the requirements of the
  /// instructions.
  int64_t headDim, valueHeadDim;
  /// Query tiles iterate over different numbers of keys.
  bool uneven = false;
  /// Elements have the exponent range of f32 (bf16).
  bool wideExponent = true;
  /// The log-sum-exp is an output, in full precision.
  bool lse = true;
  /// Maximum number of rows of a tile if known, else 0.
  int64_t rows = 0;
  /// There is a score_mod.
  bool scoreMod = false;
  /// Dropout changes P after its row sum and before its product with V.
  bool dropout = false;
  /// A captured value is loaded per score, indexed by query and key.
  bool loadsPerScore = false;
  /// Size in queries and keys of the blocks of a block-sparse mask; 0 if there
  /// is none. Tile sizes divide it.
  int64_t queryBlock = 0, keyBlock = 0;
  /// The kernel can evaluate, block by block, which key blocks a query tile
  /// sees.
  bool classifies = false;
  /// Bits per score of captured tensors that are copied in tiles.
  int64_t scoreBits = 0;
  /// Rows may see few keys: the mask has block lists, a runtime block
  /// predicate, or a lower bound.
  bool sparse = false;
  /// Bits per key of captured values.
  int64_t keyBits = 0;
  /// The iterated blocks depend on captured values.
  bool blocksByCaptures = false;
  /// Number of adjacent keys that share a captured value, or 1. `tile_n` is
  /// best a multiple of it.
  int64_t keyChunk = 1;
  /// Sequences are packed: their lengths are known only on the device.
  bool packed = false;
  /// A sequence may end before the tensor does.
  bool endsEarly = false;
};

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

/// Returns the bytes of shared memory that a forward kernel with these fields
/// needs.
int64_t getSharedMemory(mlir::MLIRContext *context,
                        const ScheduleProblem &problem,
                        const ScheduleFields &fields);

/// Returns the plan of a kernel with these fields, which must be valid.
plan::KernelAttr makePlan(mlir::MLIRContext *context,
                          const ScheduleFields &fields);

/// Returns the multiple to which head dims are padded: the reduction step of
/// all MMA units of the target that support elements of this width.
int64_t getSumStep(mlir::MLIRContext *context, const TargetInfo &target,
                   int64_t elementBits);

class ScheduleTable;

/// Returns the plan for `problem`. A field has the value of `overrides`, else
/// of `table` (which may be null), else of the planner's rules. `overrides` is
/// "auto" or a list such as "tile_n=32,stages=3". Fails with a diagnostic on
/// unknown fields and on schedules that do not fit the target.
mlir::FailureOr<plan::KernelAttr>
chooseSchedule(mlir::MLIRContext *context, const ScheduleProblem &problem,
               llvm::StringRef overrides, const ScheduleTable *table,
               llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace fovea

#endif // FOVEA_SCHEDULE_SCHEDULE_H
