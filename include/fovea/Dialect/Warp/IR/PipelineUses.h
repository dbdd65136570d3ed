//===- PipelineUses.h - Pipeline and ping-pong rules ------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules of pipelines and ping-pong sections, stated as counts of stage uses
// instead of phases. Both the interpreter, which executes programs, and
// `warp-verify-pipelines`, which simulates them, use this model.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_WARP_IR_PIPELINEUSES_H
#define FOVEA_DIALECT_WARP_IR_PIPELINEUSES_H

#include "fovea/Dialect/Warp/IR/Warp.h"

#include <string>
#include <vector>

namespace fovea::warp {

class PipelineUses;

/// The unit of synchronisation: a warp group of a role, or a role that acts as
/// a single thread. `role` is null for the kernel before its roles start;
/// `groups` is the number of warp groups that run the role.
struct Party {
  mlir::Region *role = nullptr;
  int64_t group = 0, groups = 1;
  bool operator==(const Party &other) const {
    return role == other.role && group == other.group;
  }
  std::string describe() const;
};

/// Returns the agents that run a role: one per warp group, or a single one if
/// the role issues copies, messages, work-item fetches or `warp.dot_into`,
/// which one of its threads does.
llvm::SmallVector<Party> getParties(mlir::Region &role);

/// Consecutive rows of a tile.
struct OwnedRows {
  int64_t first, count;
};
/// Returns the rows of a tile that an agent owns: the part of its warp group if
/// the tile's layout divides the rows among warp groups, otherwise all rows.
OwnedRows getOwnedRows(const Party &party, mlir::RankedTensorType tile);
/// Returns the rows of a shared buffer, or of a stage of it, that an agent
/// stores and copies out.
OwnedRows getOwnedRows(const Party &party, mlir::MemRefType buffer);

/// Returns true if an agent reads only its own rows of a shared operand: the
/// operand is the first one of a dot, or the role has a single warp group,
/// which owns all rows.
bool readsOwnRows(mlir::OpOperand &operand, const Party &party);

/// The result of a pipeline op or a memory access: it completes, has to wait,
/// or is an error.
struct Outcome {
  enum Kind { Done, Waits, Wrong };
  Kind kind = Done;
  /// The awaited event, or the error message.
  std::string text;
  /// The op to report the error at, if not the current one.
  mlir::Operation *where = nullptr;
  llvm::SmallVector<std::pair<mlir::Operation *, std::string>, 2> notes;

  static Outcome waits(std::string text) {
    return {Waits, std::move(text), nullptr, {}};
  }
  static Outcome wrong(std::string text) {
    return {Wrong, std::move(text), nullptr, {}};
  }
  Outcome &&note(mlir::Operation *op, std::string text) && {
    notes.push_back({op, std::move(text)});
    return std::move(*this);
  }
  Outcome &&at(mlir::Operation *op) && {
    where = op;
    return std::move(*this);
  }
  bool isDone() const { return kind == Done; }
};

/// One use of a stage: its `round`-th fill, counted from 0.
struct StageUse {
  PipelineUses *pipeline = nullptr;
  int64_t stage = 0, round = 0;
  explicit operator bool() const { return pipeline != nullptr; }
  /// Returns true if the agent has filled its rows of the stage and has not
  /// acquired the stage again, so that it may read these rows.
  bool isFilledBy(const Party &party) const;
  bool operator==(const StageUse &other) const {
    return pipeline == other.pipeline && stage == other.stage &&
           round == other.round;
  }
};

/// Progress of a consumer with a stage: it holds the stage between `waited` and
/// `released`. `given` counts the releases that the producer sees, which follow
/// `released` only after outstanding dots have finished.
struct ConsumerState {
  int64_t waited = 0, released = 0, given = 0;
  mlir::Operation *wait = nullptr;
};

/// Progress of a producer with a stage. If several warp groups fill a stage,
/// each of them acquires it, writes its own rows and commits it.
struct ProducerState {
  int64_t acquired = 0, committed = 0;
  /// Commits, including those whose preceding dots have not finished.
  int64_t issuedCommits = 0;
};

/// The barriers of a stage, as counts of completed uses.
struct StageState {
  /// Number of uses that all producers have committed and whose copies have
  /// arrived.
  int64_t full = 0;
  int64_t outstandingCopies = 0;
  /// The last copy into the stage, and the use that it belongs to.
  mlir::Operation *copy = nullptr;
  int64_t copiedUse = -1;
  llvm::SmallVector<std::pair<Party, ProducerState>, 2> producers;
  llvm::SmallVector<std::pair<Party, ConsumerState>, 4> consumers;

  ProducerState &getProducer(const Party &party);
  ConsumerState &getConsumer(const Party &party);
  bool hasFilled(const Party &party, int64_t round) const;
};

/// A pipeline, with counts of uses in place of barrier phases.
class PipelineUses {
public:
  explicit PipelineUses(PipelineOp op)
      : op(op), stages(op.getPipeline().getType().getStages()) {}

  /// Collects the producers and consumers of the pipeline, which determine its
  /// arrival counts. Fails if the pipeline has a second producer role or is
  /// used by another op.
  Outcome findUsers();

  /// The four pipeline ops. `acquire` sets `use`. `commit` and `release` do not
  /// signal the other side yet, since dots may have to finish first.
  Outcome acquire(const Party &producer, int64_t stage, int64_t phase,
                  StageUse &use);
  Outcome commit(const Party &producer, const StageUse &use, int64_t phase);
  Outcome wait(mlir::Operation *op, const Party &consumer, int64_t stage,
               int64_t phase);
  Outcome release(const Party &consumer, int64_t stage, int64_t phase,
                  StageUse &use);
  /// Makes a commit or a release visible to the other side.
  void signalCommit(const Party &producer, int64_t stage);
  void signalRelease(const Party &consumer, int64_t stage);

  /// Checks that a consumer may read the data that `writer` put into a stage.
  Outcome read(const StageUse &use, const Party &consumer,
               mlir::Operation *writer);
  /// Checks that a consumer may overwrite the data that `writer` put into a
  /// stage.
  Outcome change(const StageUse &use, const Party &consumer,
                 mlir::Operation *writer);
  /// Returns the error for overwriting a stage that a consumer has not
  /// released.
  Outcome overwrites(const StageUse &use, mlir::Operation *writer) const;
  /// Checks that every copy has been waited for.
  Outcome finish();

  /// Marks the stage full if it is committed and all copies have arrived.
  void update(int64_t stage);

  PipelineOp op;
  std::vector<StageState> stages;
  /// The pipeline orders accesses to tensor memory. Set by `findUsers`.
  bool ordersTensorMemory = false;

private:
  Outcome addUsers(mlir::Value value, mlir::Region *region);
  /// Number of uses of a stage that all consumers have released; `limit` if
  /// there are no consumers.
  int64_t countReleased(int64_t stage, int64_t limit) const;
  /// Describes the consumers that have not released a use of a stage.
  std::string describeUnreleased(int64_t stage, int64_t round) const;

  /// The producer role; null is the kernel.
  std::optional<mlir::Region *> producer;
};

/// The ping-pong order of one role's warp groups.
class PingPongOrder {
public:
  explicit PingPongOrder(int64_t groups) : begun(groups) {}
  Outcome begin(const Party &party);
  void end() { ++ended; }

private:
  mlir::Region *role = nullptr;
  int64_t ended = 0;
  /// Number of sections begun by each group.
  llvm::SmallVector<int64_t> begun;
};

/// The synchronisation state of an agent. The interpreter and the simulation
/// keep one per agent, and track outstanding dots and copies separately.
struct AgentState {
  explicit AgentState(const Party &party) : party(party) {}

  /// The stage that was acquired last and is not committed, or an empty use.
  StageUse getAcquired() const {
    return acquired.empty() ? StageUse() : acquired.back().first;
  }

  /// The pipeline ops, as in `PipelineUses`. Commits and releases do not
  /// signal the other side yet.
  Outcome acquire(mlir::Operation *op, PipelineUses &pipeline, int64_t stage,
                  int64_t phase);
  Outcome commit(PipelineUses &pipeline, int64_t stage, int64_t phase,
                 StageUse &use);
  /// `findDot` and `findCopyOut` return an outstanding dot or copy out that may
  /// still read the stage, or null.
  using FindReader = llvm::function_ref<mlir::Operation *(const StageUse &)>;
  Outcome release(PipelineUses &pipeline, int64_t stage, int64_t phase,
                  FindReader findDot, FindReader findCopyOut);
  /// Check that an asynchronous copy has an acquired stage to fill, and that a
  /// message has acquired the stage of its slot.
  Outcome checkCopy() const;
  Outcome checkSend(int64_t slot) const;

  /// Records an access that each lane makes by itself, to a stage or, without
  /// `use`, to tensor memory. Ops that the warp executes as a whole, and ops
  /// outside of roles, are ignored.
  void accessByLanes(LaneAccessOpInterface access, const StageUse &use);
  /// The lanes of each warp synchronise, if the op is a barrier.
  void synchronizeLanes(mlir::Operation *op);
  /// Checks that no lane may still access the stage that the agent `arrives`
  /// at: "commits" or "releases".
  Outcome checkLanes(const StageUse &use, llvm::StringRef arrives) const;

  Outcome beginSection(mlir::Operation *op, PingPongOrder &order);
  Outcome endSection(PingPongOrder &order);

  Party party;
  /// Acquired stages without a commit, the latest last, each with its acquire
  /// op.
  llvm::SmallVector<std::pair<StageUse, mlir::Operation *>, 2> acquired;
  /// Accesses of lanes since they last synchronised, with the stage of each or
  /// none for tensor memory. An arrival may precede them: any lane may be ahead
  /// of all others.
  llvm::SmallVector<std::pair<StageUse, LaneAccessOpInterface>, 2> laneAccesses;
  /// Ping-pong sections begun and not ended.
  llvm::SmallVector<std::pair<PingPongOrder *, mlir::Operation *>, 1> turns;
};

/// Errors of accesses to shared memory: the memory was never written, `store`
/// is not yet visible to the async proxy, or `dot` or `copy` may still read the
/// overwritten memory.
Outcome readsUnwritten();
Outcome readsUnfenced(mlir::Operation *store);
Outcome overwritesOperand(mlir::Operation *dot);
Outcome overwritesSource(mlir::Operation *copy);

} // namespace fovea::warp

#endif // FOVEA_DIALECT_WARP_IR_PIPELINEUSES_H
