//===- Trace.h - Events of a CTA's warps ------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Records the events of a grid's first CTA at the warp level, for timelines of
// `fovea explain`.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_INTERPRETER_TRACE_H
#define FOVEA_INTERPRETER_TRACE_H

#include "fovea/Dialect/Launch/IR/Launch.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/Support/JSON.h"

namespace fovea::interp {

struct Agent;

/// The events of the agents of a grid's first CTA at the warp level:
/// synchronisation, copies, dots and computation. The order within an agent is
/// the program's; across agents it is one of the possible orders.
///
/// As JSON: `agents`, `buffers` and `pipelines`, which events refer to by
/// index, and `events`, arrays that begin with the kind and the agent:
///
///   acquire, commit, wait, release: pipeline, stage
///   copy: buffer, bytes
///   dot: index, rows, columns, depth, whether it is asynchronous, transposed,
///     the buffers of both operands, -1 for operands in registers
///   dot_wait: the dot's index
///   compute: elements computed by ordinary and by special-function units, and
///     scores that a mask is applied to
///   load, store: bytes, of global memory
///   begin_turn, end_turn
///   send: a number to a mailbox
///   work: index of the work item
class WarpTrace {
public:
  /// Stops the CTA after `maxEvents` events.
  explicit WarpTrace(size_t maxEvents) : maxEvents(maxEvents) {}

  bool isFull() const { return events.size() >= maxEvents; }
  llvm::json::Value toJSON(launch::AbiOp abi);

  /// For the interpreter: `agent` has executed `op`.
  void record(mlir::Operation *op, Agent &agent);

private:
  struct Computation {
    int64_t ordinary = 0, special = 0, masked = 0;
  };

  unsigned getAgent(Agent &agent);
  bool recordMove(mlir::Operation *op, Agent &agent);
  bool recordDot(mlir::Operation *op, Agent &agent);
  int64_t findBuffer(mlir::Value operand, Agent &agent) const;
  bool masksScores(mlir::Operation *op) const;
  void recordComputation(mlir::Operation *op, Agent &agent);
  void add(llvm::StringRef kind, Agent &agent,
           llvm::ArrayRef<int64_t> numbers = {});
  void flush(unsigned agent);

  size_t maxEvents;
  llvm::json::Array agents, events;
  /// Agents by role and group.
  llvm::DenseMap<std::pair<mlir::Region *, int64_t>, unsigned> agentNumbers;
  /// Computation since each agent's last event.
  std::vector<Computation> computations;
  /// Ops that create pipelines and buffers, in the order of their execution,
  /// and the tensors that are copied into buffers.
  llvm::MapVector<mlir::Operation *, unsigned> pipelines;
  llvm::MapVector<const void *, mlir::Operation *> buffers;
  llvm::DenseMap<mlir::Operation *, mlir::Value> sources;
  llvm::DenseMap<const void *, int64_t> dots;
  /// Shapes of dots with a transposed operand, which are scores, and of their
  /// column slices.
  llvm::SmallSet<std::pair<int64_t, int64_t>, 4> scores;
  int64_t numDots = 0;
};

/// Environment of kernels that are traced.
struct TraceEnvironment {
  WarpTrace *trace;
};

} // namespace fovea::interp

#endif // FOVEA_INTERPRETER_TRACE_H
