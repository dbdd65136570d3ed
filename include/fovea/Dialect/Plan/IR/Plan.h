//===- Plan.h - The plan dialect --------------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a plan says of a stream, a dot, a store and the kernel as a whole is a
// struct each: a member with its default, and a line in `getFields` with the
// name that it is written by and, of numbers, its range. Nothing else lists
// fields: printing, parsing, comparing and verifying go over `getFields`.
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

/// One field of a plan's struct.
template <typename Plan, typename T>
struct Field {
  llvm::StringLiteral name;
  T Plan::*member;
  /// Of numbers.
  int64_t least = 0, most = 0;
};
template <typename Plan, typename T>
Field(llvm::StringLiteral, T Plan::*) -> Field<Plan, T>;
template <typename Plan, typename T>
Field(llvm::StringLiteral, T Plan::*, int64_t, int64_t) -> Field<Plan, T>;

/// What is said of a stream: boxes that come one after the other.
struct StreamPlan {
  /// Buffers of a ring that roles share.
  int64_t stages = 1;
  /// Whether it comes through memory on chip even if no dot reads it there.
  bool isStaged = false;
  /// The dot in whose accumulator, once that is read, it lies; null: a buffer
  /// in shared memory. Parts of a family lie in those of the part alike.
  mlir::StringAttr over;
  /// The stream whose pipeline brings it, too; null: one of its own.
  mlir::StringAttr with;
  /// The position of its ring is counted for it alone, not with those of rings
  /// beside it.
  bool countsAlone = false;
  /// Threads read it ahead of the fence behind what they stored last.
  bool readsEarly = false;

  static constexpr auto getFields() {
    return std::tuple(Field{"stages", &StreamPlan::stages, 1, 32},
                      Field{"staged", &StreamPlan::isStaged},
                      Field{"over", &StreamPlan::over},
                      Field{"with", &StreamPlan::with},
                      Field{"counts_alone", &StreamPlan::countsAlone},
                      Field{"read_early", &StreamPlan::readsEarly});
  }
};

/// What is said of a dot.
struct DotPlan {
  /// A first operand that is loaded is kept in registers.
  bool aInRegisters = false;
  /// Blocks by which its loop issues it early.
  int64_t ahead = 0;
  /// It alone is early then, in flight around its loop; what is computed from
  /// its result stays in its block.
  bool isCarried = false;
  /// The matrix units add what its result is added to.
  bool addsToSummand = false;
  /// Its loop issues it before the last round's is done.
  bool inFlight = false;
  /// Its role waits for it where its result is used first.
  bool waitsLate = false;
  /// Per cent of a register operand's columns that are computed before the wait
  /// for the dot that reads the one before it.
  int64_t operandAbove = 100;
  /// Each element of those is, not only what stands for them.
  bool isEachAbove = false;
  /// Per cent of the exponentials in a register operand that are polynomials.
  int64_t operandByFma = 0;

  static constexpr auto getFields() {
    return std::tuple(Field{"a_in_registers", &DotPlan::aInRegisters},
                      Field{"ahead", &DotPlan::ahead, 0, 1},
                      Field{"carried", &DotPlan::isCarried},
                      Field{"adds_to_summand", &DotPlan::addsToSummand},
                      Field{"in_flight", &DotPlan::inFlight},
                      Field{"wait_late", &DotPlan::waitsLate},
                      Field{"operand_above", &DotPlan::operandAbove, 1, 100},
                      Field{"each_above", &DotPlan::isEachAbove},
                      Field{"operand_by_fma", &DotPlan::operandByFma, 0, 100});
  }
};

/// What is said of a store.
struct StorePlan {
  /// Through shared memory, by the copy engine.
  bool isCopied = false;
  /// The stream whose buffer it goes through; null: one of its own.
  mlir::StringAttr over;
  /// What is added in a loop is added a round later, under its owner's first
  /// product.
  bool isLate = false;

  static constexpr auto getFields() {
    return std::tuple(Field{"copied", &StorePlan::isCopied},
                      Field{"over", &StorePlan::over},
                      Field{"late", &StorePlan::isLate});
  }
};

/// What is said of a kernel as a whole; `#plan.kernel` says what it means.
struct KernelPlan {
  int64_t tileM = 64, tileN = 64, warps = 4, stages = 2, minBlocks = 1;
  int64_t columnWarps = 1, rowTiles = 0, cluster = 1;
  WorkSchedule work = WorkSchedule::Single;
  bool longestFirst = false;
  int64_t chain = 0;
  bool pingPong = false, classify = false;
  RecurrenceKind recurrence = RecurrenceKind::Deferred;
  int64_t tau = 8;
  bool sumByDot = false;

  static constexpr auto getFields() {
    return std::tuple(Field{"tile_m", &KernelPlan::tileM, 1, 1024},
                      Field{"tile_n", &KernelPlan::tileN, 1, 1024},
                      Field{"warps", &KernelPlan::warps, 1, 32},
                      Field{"stages", &KernelPlan::stages, 1, 32},
                      Field{"min_blocks", &KernelPlan::minBlocks, 1, 32},
                      Field{"column_warps", &KernelPlan::columnWarps, 1, 32},
                      Field{"row_tiles", &KernelPlan::rowTiles, 0, 8},
                      Field{"cluster", &KernelPlan::cluster, 1, 16},
                      Field{"work", &KernelPlan::work},
                      Field{"longest_first", &KernelPlan::longestFirst},
                      Field{"chain", &KernelPlan::chain, 0, 2},
                      Field{"ping_pong", &KernelPlan::pingPong},
                      Field{"classify", &KernelPlan::classify},
                      Field{"recurrence", &KernelPlan::recurrence},
                      Field{"tau", &KernelPlan::tau, 0, 64},
                      Field{"sum_by_dot", &KernelPlan::sumByDot});
  }
};

/// Calls `visit` with each field of a plan's struct.
template <typename Plan, typename Visitor>
void forEachField(Visitor visit) {
  std::apply([&](const auto &...field) { (visit(field), ...); },
             Plan::getFields());
}

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
