//===- ProgramTrace.h - What a program does with shared things --*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Follows the control flow of a kernel and its roles with integers only, and
// lists the ops that touch what the CTA shares. What a program can't know (a
// size, an element of memory, the CTA's number) gets a value from a `World`,
// the same one wherever it is asked for.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_WARP_TRANSFORMS_PIPELINES_PROGRAMTRACE_H
#define FOVEA_LIB_DIALECT_WARP_TRANSFORMS_PIPELINES_PROGRAMTRACE_H

#include "fovea/Dialect/Warp/IR/PipelineRounds.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace fovea::warp {

/// The op that makes a shared thing, through roles' arguments and stages.
mlir::Value getShared(mlir::Value value);

/// An op that touches shared things, at one time. Of each operand the integer
/// that it stands for: of a buffer the number of its stage, of a dot in flight
/// the dot's own.
struct TraceEvent {
  mlir::Operation *op;
  llvm::SmallVector<std::optional<int64_t>, 4> operands;
  /// Of an asynchronous dot: its number.
  int64_t dot = -1;

  std::optional<int64_t> get(mlir::OpOperand &operand) const {
    return operands[operand.getOperandNumber()];
  }
};

/// What one party does between two points where all threads meet.
struct ProgramTrace {
  Party party;
  std::vector<TraceEvent> events;
  /// Does the program end here, or is the rest not known?
  bool isComplete = true;
};

/// Values of what programs ask for. Each world has others.
class World {
public:
  /// `values` are those to choose from, a prime number of them.
  World(llvm::ArrayRef<int64_t> values, unsigned number)
      : values(values), number(number) {}

  /// The value of what `op` gives for these integers as operands.
  int64_t ask(mlir::Operation *op, unsigned result,
              llvm::ArrayRef<std::optional<int64_t>> operands);
  /// The value of an argument of the kernel.
  int64_t ask(mlir::BlockArgument argument);
  int64_t fetchWork() { return nextWork++; }
  int64_t makeDot() { return nextDot++; }

  /// Numbers that were sent, in order, and how many each party received.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<int64_t>> sent;
  llvm::DenseMap<std::pair<mlir::Value, std::pair<mlir::Region *, int64_t>>,
                 size_t>
      received;

  bool wasAsked() const { return !questions.empty(); }
  /// Says on the diagnostic what was asked for.
  void describe(mlir::Diagnostic &diagnostic) const;

private:
  int64_t choose(mlir::Location loc);

  llvm::ArrayRef<int64_t> values;
  unsigned number;
  int64_t nextWork = 1, nextDot = 0;
  /// What was asked, as the question's text.
  llvm::StringMap<int64_t> answers;
  llvm::SmallVector<std::pair<mlir::Location, int64_t>> questions;
};

/// The ops that decide what programs do with shared things, block by block.
class TracedOps {
public:
  explicit TracedOps(mlir::gpu::GPUFuncOp kernel);
  llvm::ArrayRef<mlir::Operation *> in(mlir::Block &block) const {
    auto entry = ops.find(&block);
    if (entry == ops.end())
      return {};
    return entry->second;
  }

  /// Whether the region asks which rows its threads hold.
  bool hasRows(mlir::Region &region) const {
    return withRows.contains(&region);
  }

  /// Whether the op touches what the CTA shares.
  bool isEvent(mlir::Operation *op) const { return events.contains(op); }

private:
  llvm::DenseSet<mlir::Operation *> events;
  llvm::DenseSet<mlir::Region *> withRows;
  llvm::DenseMap<mlir::Block *, std::vector<mlir::Operation *>> ops;
};

/// Traces a kernel in a world: what runs one after the other, and in each part
/// who runs side by side.
std::vector<std::vector<ProgramTrace>>
traceKernel(mlir::gpu::GPUFuncOp kernel, const TracedOps &ops, World &world);

} // namespace fovea::warp

#endif // FOVEA_LIB_DIALECT_WARP_TRANSFORMS_PIPELINES_PROGRAMTRACE_H
