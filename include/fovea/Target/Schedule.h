//===- Schedule.h - Chooses tile sizes, stages, warps -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_TARGET_SCHEDULE_H
#define FOVEA_TARGET_SCHEDULE_H

#include "fovea/Dialect/Tile/IR/Tile.h"
#include "fovea/Target/Target.h"

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
int64_t getScoreLoops(tile::RecurrenceKind recurrence);

/// The fields of a schedule, one by one; `#tile.schedule` says what they mean.
struct ScheduleFields {
  int64_t tileM = 64, tileN = 64, warps = 4, stages = 2, queryInRegisters = 0,
          minBlocks = 1, keyStages = 0, queryStages = 1, producerRegisters = 0,
          consumerRegisters = 0, overlap = 0, chain = 0, pingPong = 0,
          softmaxPart = 100;
  tile::WorkSchedule work = tile::WorkSchedule::Single;
  tile::RecurrenceKind recurrence = tile::RecurrenceKind::Deferred;
  int64_t tau = 8, sumByDot = 0, cluster = 1, scoreStages = 0, classify = 0,
          exp2ByFma = 0, addByDot = 0;
  tile::OutputPath output = tile::OutputPath::Direct;
  int64_t outputStages = 0, longestFirst = 0;
  /// Not of a forward kernel: users of those can't set it by name.
  int64_t inFlight = 0;
  int64_t rowTiles = 0;

  /// Sets the field that users know as `name`. Fails with a diagnostic if there
  /// is none, or if it can't be `text`.
  mlir::LogicalResult
  set(llvm::StringRef name, llvm::StringRef text,
      llvm::function_ref<mlir::InFlightDiagnostic()> emitError);
  /// Sets all fields of a list such as "tile_n=32,stages=3"; "auto" sets none.
  mlir::LogicalResult
  set(llvm::StringRef list,
      llvm::function_ref<mlir::InFlightDiagnostic()> emitError);
  static ScheduleFields from(tile::ScheduleAttr schedule);
  /// The attribute, or null after a diagnostic.
  tile::ScheduleAttr
  get(mlir::MLIRContext *context,
      llvm::function_ref<mlir::InFlightDiagnostic()> emitError) const;
};

/// The names in a list such as "tile_n=32,stages=3", in order; none in "auto".
llvm::SmallVector<llvm::StringRef> getFieldNames(llvm::StringRef list);

/// To be called where a pass can't do what `field` of the kernel's schedule
/// says. An error at `where` if the field was set by hand, else a remark.
mlir::LogicalResult reportMissed(mlir::Operation *where, tile::AbiOp abi,
                                 llvm::StringRef field,
                                 const llvm::Twine &reason);
/// The same before there is a 'tile.abi'.
mlir::LogicalResult reportMissed(mlir::Operation *where, llvm::StringRef kernel,
                                 bool isAsked, llvm::StringRef field,
                                 const llvm::Twine &reason);
/// Lets the schedule say what the code has: a list such as "overlap=0,chain=0".
void updateSchedule(tile::AbiOp abi, llvm::StringRef list);

/// Bytes of shared memory that a forward kernel with this schedule needs.
int64_t getSharedMemory(const ScheduleProblem &problem,
                        tile::ScheduleAttr schedule);

/// The #tile.role attributes of a schedule that has more roles than one that
/// copies and one that computes; null for others.
mlir::ArrayAttr getRoles(tile::ScheduleAttr schedule);

class ScheduleTable;

/// The schedule for `problem`: of a field, what `overrides` says, else what
/// `table` (which may be null) has for the problem, else the built-in table's
/// or, without an entry there, the largest tile that fits. `overrides` is
/// "auto" or a list such as "tile_n=32,stages=3". Fails with a diagnostic on
/// unknown fields and on schedules that do not fit the target.
mlir::FailureOr<tile::ScheduleAttr>
chooseSchedule(mlir::MLIRContext *context, const ScheduleProblem &problem,
               llvm::StringRef overrides, const ScheduleTable *table,
               llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace fovea

#endif // FOVEA_TARGET_SCHEDULE_H
