//===- PipelineRounds.h - Who may do what to a stage, and when --*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules of pipelines and turns, as counts of rounds instead of phases. Both
// who executes programs and who checks them without executing use these.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_WARP_IR_PIPELINEROUNDS_H
#define FOVEA_DIALECT_WARP_IR_PIPELINEROUNDS_H

#include "fovea/Dialect/Warp/IR/Warp.h"

#include <string>
#include <vector>

namespace fovea::warp {

class PipelineRounds;

/// Who takes part in synchronisation: a role's region (null: the kernel before
/// its roles start) and the warp group, of so many that run the role. Programs
/// come and go, parties stay.
struct Party {
  mlir::Region *role = nullptr;
  int64_t group = 0, groups = 1;
  bool operator==(const Party &other) const {
    return role == other.role && group == other.group;
  }
  std::string describe() const;
};

/// Who runs a role: its warp groups, each on its own, or all as one where the
/// role does what is done once: its copies, messages and work numbers, and its
/// dots in memory form, are issued by one of its threads.
llvm::SmallVector<Party> getParties(mlir::Region &role);

/// Neighbouring rows of a tile.
struct HeldRows {
  int64_t first, count;
};
/// The rows of a tile that a party holds: all, or, where warp groups part them
/// by the tile's layout, those of a group.
HeldRows getHeldRows(const Party &party, mlir::RankedTensorType tile);
/// The rows of a shared buffer, or of a stage of it, that a party stores and
/// copies out.
HeldRows getHeldRows(const Party &party, mlir::MemRefType buffer);

/// Whether a party reads of a shared operand no more than the rows that it
/// holds: a dot does of its first one, and a role's only warp group holds all.
bool readsOwnRows(mlir::OpOperand &operand, const Party &party);

/// What comes of a verb or an access: it is done, or must wait for something,
/// or is wrong.
struct Outcome {
  enum Kind { Done, Waits, Wrong };
  Kind kind = Done;
  /// What is waited for, or what is wrong.
  std::string text;
  /// Where it is wrong, if not at the op at hand.
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

/// One use of a stage: the `round`-th time that it is filled.
struct StageUse {
  PipelineRounds *pipeline = nullptr;
  int64_t stage = 0, round = 0;
  explicit operator bool() const { return pipeline != nullptr; }
  /// Whether the party filled its rows of it, and has not acquired the stage
  /// again: it may read these rows back.
  bool isFilledBy(const Party &party) const;
  bool operator==(const StageUse &other) const {
    return pipeline == other.pipeline && stage == other.stage &&
           round == other.round;
  }
};

/// How far a consumer is with a stage: it holds the stage between `waited` and
/// `released`. The producer learns of the release later if dots must be done
/// before: `given`.
struct ConsumerState {
  int64_t waited = 0, released = 0, given = 0;
  mlir::Operation *wait = nullptr;
};

/// How far one who fills a stage is with it. Warp groups that fill a stage
/// together each acquire it, write their own rows and commit it.
struct ProducerState {
  int64_t acquired = 0, committed = 0;
  /// Commits, whether the dots before them are done or not.
  int64_t handedOver = 0;
};

/// One stage's barriers, as counts of completed rounds.
struct StageState {
  /// Rounds that all who fill it have committed, and whose copies landed.
  int64_t full = 0;
  int64_t copiesInFlight = 0;
  /// The last copy into the stage and its round.
  mlir::Operation *copy = nullptr;
  int64_t copiedRound = -1;
  llvm::SmallVector<std::pair<Party, ProducerState>, 2> producers;
  llvm::SmallVector<std::pair<Party, ConsumerState>, 4> consumers;

  ProducerState &getProducer(const Party &party);
  ConsumerState &getConsumer(const Party &party);
  bool hasFilled(const Party &party, int64_t round) const;
};

/// A pipeline; rounds stand for the phases of its barriers.
class PipelineRounds {
public:
  explicit PipelineRounds(PipelineOp op)
      : op(op), stages(op.getPipeline().getType().getStages()) {}

  /// Finds out who uses the pipeline; arrival counts follow. Wrong where it is
  /// used in another way, or by a second producer.
  Outcome findUsers();

  /// The four verbs. `acquire` sets `use`; `commit` and `release` say nothing
  /// to the other side yet: dots may have to be done before.
  Outcome acquire(const Party &producer, int64_t stage, int64_t phase,
                  StageUse &use);
  Outcome commit(const Party &producer, const StageUse &use, int64_t phase);
  Outcome wait(mlir::Operation *op, const Party &consumer, int64_t stage,
               int64_t phase);
  Outcome release(const Party &consumer, int64_t stage, int64_t phase,
                  StageUse &use);
  /// What the other side sees of a commit and of a release.
  void announceCommit(const Party &producer, int64_t stage);
  void announceRelease(const Party &consumer, int64_t stage);

  /// Whether a consumer may read what `writer` put into a stage.
  Outcome read(const StageUse &use, const Party &consumer,
               mlir::Operation *writer);
  /// Whether a consumer may change what `writer` put into a stage.
  Outcome change(const StageUse &use, const Party &consumer,
                 mlir::Operation *writer);
  /// What it says of overwriting a stage that somebody still holds.
  Outcome overwrites(const StageUse &use, mlir::Operation *writer) const;
  /// Whether everything that was copied was waited for.
  Outcome finish();

  /// Lets the stage become full once it is committed and all copies landed.
  void update(int64_t stage);

  PipelineOp op;
  std::vector<StageState> stages;

private:
  Outcome addUsers(mlir::Value value, mlir::Region *region);
  /// Rounds of a stage that all consumers have released; `limit` if there are
  /// none to wait for.
  int64_t countReleased(int64_t stage, int64_t limit) const;
  /// The consumers that a round still waits for, as text.
  std::string describeMissing(int64_t stage, int64_t round) const;

  /// The role that acquires; null is the kernel.
  std::optional<mlir::Region *> producer;
};

/// The order of turns of one role's warp groups.
class TurnOrder {
public:
  explicit TurnOrder(int64_t groups) : begun(groups) {}
  Outcome begin(const Party &party);
  void end() { ++ended; }

private:
  mlir::Region *role = nullptr;
  int64_t ended = 0;
  /// Turns begun by each group.
  llvm::SmallVector<int64_t> begun;
};

/// One who takes part in synchronisation, and what it has begun. Whoever
/// executes or simulates a program keeps one for each party, and knows besides
/// which dots and copies are under way.
struct Participant {
  explicit Participant(const Party &party) : party(party) {}

  /// The stage that was acquired last and is not committed, if any.
  StageUse getAcquired() const {
    return acquired.empty() ? StageUse() : acquired.back().first;
  }

  /// The verbs, as `PipelineRounds` has them. Commits and releases say nothing
  /// to the other side yet.
  Outcome acquire(mlir::Operation *op, PipelineRounds &pipeline, int64_t stage,
                  int64_t phase);
  Outcome commit(PipelineRounds &pipeline, int64_t stage, int64_t phase,
                 StageUse &use);
  /// `findDot` and `findCopyOut` give what may still read a stage, or null.
  using FindReader = llvm::function_ref<mlir::Operation *(const StageUse &)>;
  Outcome release(PipelineRounds &pipeline, int64_t stage, int64_t phase,
                  FindReader findDot, FindReader findCopyOut);
  /// Whether an asynchronous copy has a stage to fill, and a message its slot.
  Outcome checkCopy() const;
  Outcome checkSend(int64_t slot) const;

  Outcome beginTurn(mlir::Operation *op, TurnOrder &order);
  Outcome endTurn(TurnOrder &order);

  Party party;
  /// Stages acquired and not committed, the latest last, and by which op.
  llvm::SmallVector<std::pair<StageUse, mlir::Operation *>, 2> acquired;
  /// Turns begun and not ended.
  llvm::SmallVector<std::pair<TurnOrder *, mlir::Operation *>, 1> turns;
};

/// What is wrong with an access to shared memory: nobody wrote what it reads,
/// or `store` is not shown yet; `dot` or `copy` may still read what it
/// overwrites.
Outcome readsUnwritten();
Outcome readsUnfenced(mlir::Operation *store);
Outcome overwritesOperand(mlir::Operation *dot);
Outcome overwritesSource(mlir::Operation *copy);

} // namespace fovea::warp

#endif // FOVEA_DIALECT_WARP_IR_PIPELINEROUNDS_H
