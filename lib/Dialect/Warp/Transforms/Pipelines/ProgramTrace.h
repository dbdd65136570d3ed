//===- ProgramTrace.h - Traces of shared-memory ops -------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Executes the control flow of a kernel and its roles on integers only, and
// records the ops that access state that the CTA shares: shared memory,
// pipelines, mailboxes and ping-pong sections. A value that is unknown at
// compile time (a size, an element of memory, the CTA index) comes from a
// `World`, which gives the same value to every program. SimulatePipelines runs
// the traces against each other.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_WARP_TRANSFORMS_PIPELINES_PROGRAMTRACE_H
#define FOVEA_LIB_DIALECT_WARP_TRANSFORMS_PIPELINES_PROGRAMTRACE_H

#include "fovea/Dialect/Warp/IR/PipelineUses.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace fovea::warp {

/// One execution of an op that accesses shared state. `operands` has the
/// integer value of each operand: the stage index for a buffer, the dot's
/// number for an outstanding dot.
struct TraceEvent {
  mlir::Operation *op;
  llvm::SmallVector<std::optional<int64_t>, 4> operands;
  /// The number of an asynchronous dot.
  int64_t dot = -1;

  std::optional<int64_t> get(mlir::OpOperand &operand) const {
    return operands[operand.getOperandNumber()];
  }
};

/// The events of one agent between two points at which all threads synchronise.
struct ProgramTrace {
  Party party;
  std::vector<TraceEvent> events;
  /// False if tracing stopped before the end of the program.
  bool isComplete = true;
};

/// An assignment of values to the values that are unknown at compile time. Each
/// world has different values.
class World {
public:
  /// `values` are the candidates; their number must be prime.
  World(llvm::ArrayRef<int64_t> values, unsigned number)
      : values(values), number(number) {}

  /// The value of a result of `op` for these operands.
  int64_t getValue(mlir::Operation *op, unsigned result,
                   llvm::ArrayRef<std::optional<int64_t>> operands);
  /// The value of a kernel argument.
  int64_t getValue(mlir::BlockArgument argument);
  int64_t fetchWork() { return nextWork++; }
  int64_t makeDot() { return nextDot++; }

  /// Values sent to each mailbox, in order, and how many each agent has
  /// received.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<int64_t>> sent;
  llvm::DenseMap<std::pair<mlir::Value, std::pair<mlir::Region *, int64_t>>,
                 size_t>
      received;

  bool hasUnknowns() const { return !unknowns.empty(); }
  /// Attaches the chosen values to the diagnostic.
  void describe(mlir::Diagnostic &diagnostic) const;

private:
  int64_t choose(mlir::Location loc);

  llvm::ArrayRef<int64_t> values;
  unsigned number;
  int64_t nextWork = 1, nextDot = 0;
  /// Chosen values, by a textual key of the op and its operands.
  llvm::StringMap<int64_t> known;
  llvm::SmallVector<std::pair<mlir::Location, int64_t>> unknowns;
};

/// The ops that determine the accesses to shared state, by block.
class TracedOps {
public:
  explicit TracedOps(mlir::gpu::GPUFuncOp kernel);
  llvm::ArrayRef<mlir::Operation *> in(mlir::Block &block) const {
    auto entry = ops.find(&block);
    if (entry == ops.end())
      return {};
    return entry->second;
  }

  /// True if the region queries the rows that its threads own.
  bool hasRows(mlir::Region &region) const {
    return withRows.contains(&region);
  }

  /// True if the op accesses shared state.
  bool isEvent(mlir::Operation *op) const { return events.contains(op); }

private:
  llvm::DenseSet<mlir::Operation *> events;
  llvm::DenseSet<mlir::Region *> withRows;
  llvm::DenseMap<mlir::Block *, std::vector<mlir::Operation *>> ops;
};

/// Traces a kernel in a world. The outer vector has the parts that run in
/// sequence, the inner one the programs that run concurrently.
std::vector<std::vector<ProgramTrace>>
traceKernel(mlir::gpu::GPUFuncOp kernel, const TracedOps &ops, World &world);

} // namespace fovea::warp

#endif // FOVEA_LIB_DIALECT_WARP_TRANSFORMS_PIPELINES_PROGRAMTRACE_H
