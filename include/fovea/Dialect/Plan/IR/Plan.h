//===- Plan.h - The plan dialect --------------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The fields of a stream, a dot, a store and the kernel as a whole are one
// struct each. A field is a member with its default and an entry in `getFields`
// with its keyword and, for numbers, its range. Printing, parsing, comparison
// and verification iterate over `getFields`; there is no other list of fields.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_PLAN_IR_PLAN_H
#define FOVEA_DIALECT_PLAN_IR_PLAN_H

#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"

#include <tuple>

#include "fovea/Dialect/Plan/IR/PlanDialect.h.inc"
#include "fovea/Dialect/Plan/IR/PlanEnums.h.inc"

namespace fovea::plan {

/// One field of a plan's struct, with the range of a number.
template <typename Plan, typename T>
struct Field {
  llvm::StringLiteral name;
  T Plan::*member;
  int64_t least = 0, most = 0;
};
template <typename Plan, typename T>
Field(llvm::StringLiteral, T Plan::*) -> Field<Plan, T>;
template <typename Plan, typename T>
Field(llvm::StringLiteral, T Plan::*, int64_t, int64_t) -> Field<Plan, T>;

/// The fields of a stream: tiles of one name that pass through one ring of
/// stages.
struct StreamPlan {
  /// Number of stages of the ring.
  int64_t stages = 1;
  /// The stream passes through shared memory even if no dot reads it there.
  bool isStaged = false;
  /// The dot whose tensor-memory accumulator the stream overlays after the
  /// accumulator is read; null: a buffer in shared memory. Members of a family
  /// overlay the accumulator of the same member.
  mlir::StringAttr over;
  /// The stream whose pipeline also synchronises this one; null: none.
  mlir::StringAttr with;
  /// The stream has its own loop-carried stage counter and does not share one
  /// with other rings of the loop.
  bool countsAlone = false;
  /// All uses read the value in its rounded type, also those in the role that
  /// computes it: no register holds it in f32.
  bool isRounded = false;

  static constexpr auto getFields() {
    return std::tuple(Field{"stages", &StreamPlan::stages, 1, 32},
                      Field{"staged", &StreamPlan::isStaged},
                      Field{"over", &StreamPlan::over},
                      Field{"with", &StreamPlan::with},
                      Field{"counts_alone", &StreamPlan::countsAlone},
                      Field{"rounded", &StreamPlan::isRounded});
  }
};

/// The fields of a dot.
struct DotPlan {
  /// A first operand that is loaded or streamed is kept in registers.
  bool aInRegisters = false;
  /// An addition to the result becomes the dot's accumulator.
  bool addsToSummand = false;
  /// Percentage of a register operand's columns that is computed before the
  /// wait for the dot that reads the previous operand.
  int64_t operandBeforeWait = 100;
  /// The wait depends on each element of these columns, not only on a sample.
  bool isEachBeforeWait = false;
  /// Percentage of the exponentials in a register operand that is computed as
  /// polynomials.
  int64_t operandByFma = 0;
  /// Rows and columns of the product that one dot of the family computes; 0:
  /// all.
  int64_t chunkRows = 0, chunkColumns = 0;

  static constexpr auto getFields() {
    return std::tuple(
        Field{"a_in_registers", &DotPlan::aInRegisters},
        Field{"adds_to_summand", &DotPlan::addsToSummand},
        Field{"operand_above", &DotPlan::operandBeforeWait, 1, 100},
        Field{"each_above", &DotPlan::isEachBeforeWait},
        Field{"operand_by_fma", &DotPlan::operandByFma, 0, 100},
        Field{"chunk_rows", &DotPlan::chunkRows, 0, 1024},
        Field{"chunk_columns", &DotPlan::chunkColumns, 0, 1024});
  }
};

/// The fields of a store.
struct StorePlan {
  /// TMA stores the tile from shared memory.
  bool isCopied = false;
  /// The stream whose buffer the store uses; null: a buffer of its own.
  mlir::StringAttr over;
  /// The atomic add of an iteration is delayed into the next one, where it
  /// overlaps the first MMA of its role.
  bool isLate = false;
  /// The stores of a kernel accumulate in memory.
  bool accumulates = false;
  /// With `accumulates`: CTAs accumulate in a fixed order, by semaphores.
  bool isOrdered = false;
  /// Memory holds the tiles in register order: the elements that a warp stores
  /// with one instruction are contiguous.
  bool isByRegister = false;

  static constexpr auto getFields() {
    return std::tuple(Field{"copied", &StorePlan::isCopied},
                      Field{"over", &StorePlan::over},
                      Field{"late", &StorePlan::isLate},
                      Field{"accumulate", &StorePlan::accumulates},
                      Field{"ordered", &StorePlan::isOrdered},
                      Field{"by_register", &StorePlan::isByRegister});
  }
};

/// The fields of the kernel as a whole; `#plan.kernel` documents them.
struct KernelPlan {
  int64_t tileM = 64, tileN = 64, warps = 4, stages = 2, minBlocks = 1;
  int64_t columnWarps = 1, rowTiles = 0, rowChunks = 1, cluster = 1;
  WorkSchedule work = WorkSchedule::Single;
  int64_t split = 0;
  bool longestFirst = false;
  int64_t chain = 0;
  bool pingPong = false, classify = false;
  RecurrenceKind recurrence = RecurrenceKind::Deferred;
  int64_t tau = 8;
  bool sumByDot = false, pairSums = false, tf32 = false;

  static constexpr auto getFields() {
    return std::tuple(Field{"tile_m", &KernelPlan::tileM, 1, 1024},
                      Field{"tile_n", &KernelPlan::tileN, 1, 1024},
                      Field{"warps", &KernelPlan::warps, 1, 32},
                      Field{"stages", &KernelPlan::stages, 1, 32},
                      Field{"min_blocks", &KernelPlan::minBlocks, 1, 32},
                      Field{"column_warps", &KernelPlan::columnWarps, 1, 32},
                      Field{"row_tiles", &KernelPlan::rowTiles, 0, 8},
                      Field{"row_chunks", &KernelPlan::rowChunks, 1, 8},
                      Field{"cluster", &KernelPlan::cluster, 1, 16},
                      Field{"work", &KernelPlan::work},
                      Field{"split", &KernelPlan::split, 0, 1 << 20},
                      Field{"longest_first", &KernelPlan::longestFirst},
                      Field{"chain", &KernelPlan::chain, 0, 2},
                      Field{"ping_pong", &KernelPlan::pingPong},
                      Field{"classify", &KernelPlan::classify},
                      Field{"recurrence", &KernelPlan::recurrence},
                      Field{"tau", &KernelPlan::tau, 0, 64},
                      Field{"sum_by_dot", &KernelPlan::sumByDot},
                      Field{"pair_sums", &KernelPlan::pairSums},
                      Field{"tf32", &KernelPlan::tf32});
  }
};

/// Calls `action` with each field of a plan's struct.
template <typename Plan, typename Action>
void forEachField(Action action) {
  std::apply([&](const auto &...field) { (action(field), ...); },
             Plan::getFields());
}

/// The kinds of steps of an iteration: an op, a part of a dot or of a stream,
/// or the rest of a stage.
enum class StepPart { Op, Operand, Wide, Accumulator, Done, Read, Store, Rest };
/// The step that stands for all other ops of its stage.
inline constexpr llvm::StringLiteral kRestOfStage = "*";

/// Returns true if the schedule field 'output' applies to the store with that
/// name: a main output of a kernel. The planner decides on other stores.
bool isOutputStore(llvm::StringRef name);

namespace detail {
template <typename Plan>
using IfPlan =
    std::enable_if_t<std::is_class_v<decltype(Plan::getFields())>, Plan>;
} // namespace detail

template <typename Plan, typename = detail::IfPlan<Plan>>
bool operator==(const Plan &a, const Plan &b) {
  bool isEqual = true;
  forEachField<Plan>(
      [&](auto field) { isEqual &= a.*field.member == b.*field.member; });
  return isEqual;
}
template <typename Plan, typename = detail::IfPlan<Plan>>
llvm::hash_code hash_value(const Plan &plan) {
  llvm::hash_code hash(0);
  forEachField<Plan>(
      [&](auto field) { hash = llvm::hash_combine(hash, plan.*field.member); });
  return hash;
}

} // namespace fovea::plan

#include "fovea/Dialect/Plan/IR/PlanAttrInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "fovea/Dialect/Plan/IR/PlanAttrs.h.inc"

#endif // FOVEA_DIALECT_PLAN_IR_PLAN_H
