//===- Schedule.h - Chooses tile sizes, stages, warps -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_SCHEDULE_SCHEDULE_H
#define FOVEA_SCHEDULE_SCHEDULE_H

#include "fovea/Dialect/Launch/IR/Launch.h"
#include "fovea/Support/Target.h"

#include "llvm/ADT/StringSet.h"

namespace fovea {

/// What a schedule depends on.
struct ScheduleProblem {
  const TargetInfo *target;
  /// Bits of an element of Q, K and V.
  int64_t elementBits;
  /// Head dims of Q and K, and of V, padded to what instructions need.
  int64_t headDim, valueHeadDim;
  /// The number of keys that a tile of queries visits varies.
  bool uneven = false;
  /// Elements have the exponents of f32 (bf16).
  bool wideExponent = true;
  /// The log-sum-exp is wanted, to full precision.
  bool lse = true;
  /// Rows that tiles have at most, if that is known, else 0.
  int64_t rows = 0;
  /// A score_mod changes scores.
  bool scoreMod = false;
  /// Weights change between their sum and their product.
  bool dropout = false;
  /// A value is loaded for each score: captured, at query and key.
  bool loadsPerScore = false;
  /// Queries and keys of a block that is visited or not; 0 if there are none.
  /// Tiles divide them.
  int64_t queryBlock = 0, keyBlock = 0;
  /// The kernel can tell which blocks a tile of queries sees, one by one.
  bool classifies = false;
  /// Bits of captured tensors that come in blocks, for one score.
  int64_t scoreBits = 0;
  /// Rows may see few of the keys: blocks are listed or told apart, or bounded
  /// from below.
  bool sparse = false;
  /// Bits of captured values that are read for each key.
  int64_t keyBits = 0;
  /// Which blocks are visited is computed from captured values.
  bool blocksByCaptures = false;
  /// Neighbouring keys that have one captured value, for which blocks are best
  /// a multiple; 1 if each has its own.
  int64_t keyChunk = 1;
  /// Sequences are packed: the device alone knows how many keys each has.
  bool packed = false;
  /// A sequence may end before the tensor does.
  bool endsEarly = false;
};

/// Loops in which the recurrence computes the scores, each with buffers of K of
/// its own.
int64_t getScoreLoops(plan::RecurrenceKind recurrence);

/// The fields of a schedule, one by one, as ScheduleFields.def lists them: what
/// planners decide on, in the words that users know.
struct ScheduleFields {
#define FOVEA_SCHEDULE_FIELD(type, member, word, default, least, most, scope,  \
                             found)                                            \
  type member = default;
#include "fovea/Schedule/ScheduleFields.def"

  /// Queries that a cluster works on at a time.
  int64_t getClusterRows() const { return tileM * cluster; }
  /// Buffers of K.
  int64_t getKeyStages() const { return keyStages != 0 ? keyStages : stages; }
  bool hasRoles() const { return producerRegisters != 0; }

  /// Sets the field that users know as `name`. Fails with a diagnostic if there
  /// is none, or if it can't be `text`.
  mlir::LogicalResult
  set(llvm::StringRef name, llvm::StringRef text,
      llvm::function_ref<mlir::InFlightDiagnostic()> emitError);
  /// Sets all fields of a list such as "tile_n=32,stages=3"; "auto" sets none.
  mlir::LogicalResult
  set(llvm::StringRef list,
      llvm::function_ref<mlir::InFlightDiagnostic()> emitError);
  /// Gives fields that only kernels with roles have a use for their defaults:
  /// an error of those in `asked`; others may have been chosen with roles in
  /// mind.
  mlir::LogicalResult
  dropRoleFields(const llvm::StringSet<> &asked,
                 llvm::function_ref<mlir::InFlightDiagnostic()> emitError);
  /// Whether all fields are within their ranges, and make sense together.
  mlir::LogicalResult
  verify(llvm::function_ref<mlir::InFlightDiagnostic()> emitError) const;

  /// What the words say of a plan.
  static ScheduleFields from(plan::KernelAttr plan);
  /// As a list that `set` reads.
  std::string print() const;
  /// The same as members of a JSON object.
  void writeJSON(llvm::json::OStream &json) const;
};

/// Names and values in a list such as "tile_n=32,stages=3", in order; none in
/// "auto".
llvm::SmallVector<std::pair<llvm::StringRef, llvm::StringRef>>
parseFields(llvm::StringRef list);
/// The names in a list such as "tile_n=32,stages=3", in order; none in "auto".
llvm::SmallVector<llvm::StringRef> getFieldNames(llvm::StringRef list);

/// Whether the field 'output' speaks of the store with that name: what a kernel
/// writes all the time. Of others the planner decides.
bool isOutputStore(llvm::StringRef name);

/// To be called where a pass can't do what `field` of the kernel's schedule
/// says. An error at `where` if the field was set by hand, else a remark.
mlir::LogicalResult reportMissed(mlir::Operation *where, launch::AbiOp abi,
                                 llvm::StringRef field,
                                 const llvm::Twine &reason);
/// The same before there is a 'launch.abi'.
mlir::LogicalResult reportMissed(mlir::Operation *where, llvm::StringRef kernel,
                                 bool isAsked, llvm::StringRef field,
                                 const llvm::Twine &reason);
/// To be called where a pass has done what `field` of the kernel's schedule
/// says: a remark, with what was changed and how often.
void reportDone(mlir::Operation *where, launch::AbiOp abi,
                llvm::StringRef field, llvm::StringRef what, int64_t count);
/// Bytes of shared memory that a forward kernel with these fields needs.
int64_t getSharedMemory(mlir::MLIRContext *context,
                        const ScheduleProblem &problem,
                        const ScheduleFields &fields);

/// The plan of a kernel with these fields, which must be right.
plan::KernelAttr makePlan(mlir::MLIRContext *context,
                          const ScheduleFields &fields);

/// What head dims are padded to: the extent that products of elements of so
/// many bits sum over is a multiple of it, whichever unit of the target makes
/// them.
int64_t getSumStep(mlir::MLIRContext *context, const TargetInfo &target,
                   int64_t elementBits);

class ScheduleTable;

/// The plan for `problem`: of a field, what `overrides` says, else what
/// `table` (which may be null) has for the problem, else the built-in table's
/// or, without an entry there, the largest tile that fits. `overrides` is
/// "auto" or a list such as "tile_n=32,stages=3". Fails with a diagnostic on
/// unknown fields and on schedules that do not fit the target.
mlir::FailureOr<plan::KernelAttr>
chooseSchedule(mlir::MLIRContext *context, const ScheduleProblem &problem,
               llvm::StringRef overrides, const ScheduleTable *table,
               llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace fovea

#endif // FOVEA_SCHEDULE_SCHEDULE_H
