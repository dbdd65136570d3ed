//===- VerifyPipelines.cpp - Verify pipeline protocols --------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks the use of pipelines, buffers, asynchronous dots and ping-pong
// sections. Local checks on SSA values come first, because their errors are at
// the op at fault; SimulatePipelines then runs the roles against each other.
//
//===----------------------------------------------------------------------===//

#include "Pipelines/SimulatePipelines.h"

#include "fovea/Dialect/Warp/IR/PipelineUses.h"
#include "fovea/Dialect/Warp/Transforms/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

namespace fovea::warp {
#define GEN_PASS_DEF_WARPVERIFYPIPELINES
#include "fovea/Dialect/Warp/Transforms/Passes.h.inc"
} // namespace fovea::warp

using namespace mlir;
using namespace fovea;
using warp::PipelineOpKind;

//===----------------------------------------------------------------------===//
// Stages and pipeline ops
//===----------------------------------------------------------------------===//

/// The captured value of a role argument, or the value itself.
static Value getCaptured(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    if (auto op = dyn_cast_or_null<warp::SpecializeOp>(
            argument.getOwner()->getParentOp()))
      return op.getCaptures()[argument.getArgNumber()];
  return value;
}

namespace {
/// A stage of a pipeline or a buffer, identified by SSA values.
struct Stage {
  Value root, index;
  bool operator==(const Stage &other) const {
    return root == other.root && index == other.index;
  }
};

/// The kind and the stage of a pipeline op; no kind for other ops.
struct Verb {
  explicit Verb(Operation &op) {
    auto verb = dyn_cast<warp::PipelineOpInterface>(&op);
    if (!verb)
      return;
    kind = verb.getOpKind();
    stage = {getCaptured(verb.getPipeline()), verb.getStage()};
  }
  bool is(PipelineOpKind wanted, const Stage &of) const {
    return kind == wanted && stage == of;
  }
  std::optional<PipelineOpKind> kind;
  Stage stage;
};

/// Uses of a pipeline in one role, or in the kernel outside of roles.
struct PartyUses {
  llvm::SmallVector<Operation *> acquires, waits, releases;
};
} // namespace

/// The buffer stage that a memref refers to; without index for a whole buffer.
static Stage getBufferStage(Value memref) {
  if (auto stage = memref.getDefiningOp<warp::StageOp>())
    return {getCaptured(stage.getBuffer()), stage.getStage()};
  return {getCaptured(memref), Value()};
}

static std::string describe(Region *role) {
  if (!role)
    return "the kernel outside of its roles";
  auto op = cast<warp::SpecializeOp>(role->getParentOp());
  return ("role '" +
          cast<StringAttr>(op.getNames()[role->getRegionNumber()]).getValue() +
          "'")
      .str();
}

/// Calls `visit` for the ops that precede `op` in its block, then for those
/// that precede its parent, and so on. Continues out of loops only if
/// `throughLoops`. Returns the first op for which `visit` returns true, or null
/// at the start of the role or the kernel.
template <typename Visit>
static Operation *findPreceding(Operation *op, bool throughLoops, Visit visit) {
  while (true) {
    for (Operation *prev = op->getPrevNode(); prev; prev = prev->getPrevNode())
      if (visit(*prev))
        return prev;
    Operation *parent = op->getParentOp();
    if (!parent || !isa_and_nonnull<scf::SCFDialect>(parent->getDialect()) ||
        (isa<LoopLikeOpInterface>(parent) && !throughLoops))
      return nullptr;
    op = parent;
  }
}

/// The latest acquire before `op` whose stage is not yet committed.
static Operation *findOpenAcquire(Operation *op) {
  SmallVector<Stage> committed;
  return findPreceding(op, /*throughLoops=*/true, [&](Operation &prev) {
    Verb verb(prev);
    if (verb.kind == PipelineOpKind::Commit)
      committed.push_back(verb.stage);
    if (verb.kind != PipelineOpKind::Acquire)
      return false;
    auto *closed = llvm::find(committed, verb.stage);
    if (closed == committed.end())
      return true;
    committed.erase(closed);
    return false;
  });
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct VerifyPipelinesPass
    : warp::impl::WarpVerifyPipelinesBase<VerifyPipelinesPass> {
  void runOnKernel() override;

private:
  void collect();
  LogicalResult verify(Operation *op);
  LogicalResult verifyParties(Value pipeline);
  LogicalResult verifyAcquire(Operation *acquire);
  LogicalResult verifyCommit(Operation *commit);
  LogicalResult verifyCopy(warp::CopyOp copy);
  LogicalResult verifySend(warp::SendOp send);
  LogicalResult verifyRead(Operation *op, OpOperand &operand);
  LogicalResult verifyDot(warp::DotOp dot);
  LogicalResult verifyPingPongSection(warp::BeginTurnOp begin);
  LogicalResult verifyWork();

  llvm::MapVector<Value, llvm::MapVector<Region *, PartyUses>> pipelines;
  /// The pipeline that fills each buffer; null if there are several.
  llvm::DenseMap<Value, Value> producers;
};
} // namespace

void VerifyPipelinesPass::collect() {
  getOperation().walk([&](Operation *op) {
    if (auto make = dyn_cast<warp::PipelineOp>(op))
      pipelines.try_emplace(make.getPipeline());
    Verb verb(*op);
    if (verb.kind) {
      PartyUses &uses = pipelines[verb.stage.root][warp::getRole(op)];
      if (verb.kind == PipelineOpKind::Acquire)
        uses.acquires.push_back(op);
      else if (verb.kind == PipelineOpKind::Wait)
        uses.waits.push_back(op);
      else if (verb.kind == PipelineOpKind::Release)
        uses.releases.push_back(op);
    }
    Value target;
    if (auto copy = dyn_cast<warp::CopyOp>(op); copy && copy.getAsync())
      target = copy.getTarget();
    else if (auto store = dyn_cast<warp::LocalStoreOp>(op))
      target = store.getTarget();
    if (!target)
      return;
    if (Operation *acquire = findOpenAcquire(op)) {
      Value pipeline = Verb(*acquire).stage.root;
      auto [entry, isNew] =
          producers.try_emplace(getBufferStage(target).root, pipeline);
      if (!isNew && entry->second != pipeline)
        entry->second = Value();
    }
  });
}

/// A pipeline has one producer, and a consumer releases stages that are
/// refilled.
LogicalResult VerifyPipelinesPass::verifyParties(Value pipeline) {
  auto &parties = pipelines[pipeline];
  Operation *acquire = nullptr;
  Region *producer = nullptr;
  for (auto &[role, uses] : parties) {
    if (uses.acquires.empty())
      continue;
    if (acquire) {
      InFlightDiagnostic error = uses.acquires.front()->emitError(
          "a pipeline must have one producer role, found ");
      error << describe(producer) << " and " << describe(role);
      error.attachNote(acquire->getLoc()) << "acquired here too";
      return error;
    }
    acquire = uses.acquires.front();
    producer = role;
  }
  for (auto &[role, uses] : parties) {
    if (!uses.waits.empty() && !acquire)
      return uses.waits.front()->emitError(
          "waits for a pipeline without a producer");
    bool refilled = acquire && acquire->getParentOfType<LoopLikeOpInterface>();
    if (!uses.waits.empty() && uses.releases.empty() && refilled) {
      InFlightDiagnostic error = uses.waits.front()->emitError();
      error << describe(role)
            << " waits for stages that it never releases, and they are filled "
               "again";
      error.attachNote(acquire->getLoc()) << "filled here";
      return error;
    }
    if (uses.waits.empty() && !uses.releases.empty())
      return uses.releases.front()->emitError()
             << describe(role) << " releases stages that it never waits for";
  }
  return success();
}

LogicalResult VerifyPipelinesPass::verifyAcquire(Operation *acquire) {
  Stage stage = Verb(*acquire).stage;
  for (Operation *op = acquire->getNextNode(); op; op = op->getNextNode()) {
    Verb verb(*op);
    if (verb.is(PipelineOpKind::Commit, stage))
      return success();
    if (!verb.is(PipelineOpKind::Acquire, stage))
      continue;
    InFlightDiagnostic error =
        op->emitError("acquires a stage again before it is committed");
    error.attachNote(acquire->getLoc()) << "acquired here";
    return error;
  }
  return acquire->emitError(
      "no commit of the acquired stage follows in this block");
}

LogicalResult VerifyPipelinesPass::verifyCommit(Operation *commit) {
  Stage stage = Verb(*commit).stage;
  for (Operation *op = commit->getPrevNode(); op; op = op->getPrevNode()) {
    Verb verb(*op);
    if (verb.is(PipelineOpKind::Acquire, stage))
      return success();
    if (verb.is(PipelineOpKind::Commit, stage))
      break;
  }
  return commit->emitError(
      "no acquire of the committed stage precedes in this block");
}

LogicalResult VerifyPipelinesPass::verifyCopy(warp::CopyOp copy) {
  if (!copy.getAsync()) {
    if (Region *role = warp::getRole(copy))
      return copy.emitError("a copy in ") << describe(role)
                                          << " must be asynchronous: the CTA's "
                                             "threads don't synchronise there";
    return success();
  }
  Operation *acquire = findOpenAcquire(copy);
  if (!acquire)
    return copy.emitError("an asynchronous copy must be between the acquire "
                          "and the commit of a stage");
  Stage buffer = getBufferStage(copy.getTarget());
  Stage stage = Verb(*acquire).stage;
  if (!buffer.index || buffer.index != stage.index)
    return success();
  int64_t stages = cast<warp::PipelineType>(stage.root.getType()).getStages();
  int64_t room = cast<MemRefType>(buffer.root.getType()).getDimSize(0);
  if (room >= stages)
    return success();
  InFlightDiagnostic error = copy.emitError("the buffer has ");
  error << room << " stages, but its pipeline has " << stages;
  error.attachNote(stage.root.getLoc()) << "the pipeline";
  return error;
}

LogicalResult VerifyPipelinesPass::verifySend(warp::SendOp send) {
  Operation *acquire = findOpenAcquire(send);
  if (acquire && Verb(*acquire).stage.index == send.getStage())
    return success();
  return send.emitError("sends to a slot whose stage is not acquired here");
}

/// A read must follow the wait for its stage and precede the release.
LogicalResult VerifyPipelinesPass::verifyRead(Operation *op,
                                              OpOperand &operand) {
  Stage buffer = getBufferStage(operand.get());
  Value pipeline = producers.lookup(buffer.root);
  if (!pipeline || !buffer.index)
    return success();
  Region *role = warp::getRole(op);
  const PartyUses &uses = pipelines[pipeline][role];
  // The producer may read back its own rows.
  if (uses.waits.empty() && !uses.acquires.empty() &&
      warp::readsOwnRows(operand, role ? warp::getParties(*role).front()
                                       : warp::Party()))
    return success();
  if (uses.waits.empty()) {
    InFlightDiagnostic error = op->emitError();
    error << describe(role)
          << " reads a buffer and never waits for the pipeline that fills it";
    error.attachNote(pipeline.getLoc()) << "the pipeline";
    return error;
  }
  Stage stage = {pipeline, buffer.index};
  Operation *release = nullptr;
  findPreceding(op, /*throughLoops=*/false, [&](Operation &prev) {
    Verb verb(prev);
    if (verb.is(PipelineOpKind::Release, stage))
      release = &prev;
    return release || verb.is(PipelineOpKind::Wait, stage);
  });
  if (!release)
    return success();
  InFlightDiagnostic error =
      op->emitError("reads a stage that has been released");
  error.attachNote(release->getLoc()) << "released here";
  return error;
}

/// True if a wait may consume the pending result, also through loops and
/// branches.
static bool reachesWait(Value pending) {
  SmallVector<Value> worklist = {pending};
  llvm::DenseSet<Value> seen;
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (isa<warp::DotWaitOp>(user))
        return true;
      if (isa<warp::AwaitReadsOp>(user))
        continue;
      if (auto dot = dyn_cast<warp::DotOp>(user)) {
        worklist.push_back(dot.getResult());
        continue;
      }
      unsigned index = use.getOperandNumber();
      if (auto loop = dyn_cast<scf::ForOp>(user)) {
        worklist.push_back(loop.getTiedLoopRegionIterArg(&use));
      } else if (isa<scf::YieldOp>(user)) {
        Operation *parent = user->getParentOp();
        // Values that a do-while yields are assumed to reach a wait.
        if (isa<scf::WhileOp>(parent))
          return true;
        worklist.push_back(parent->getResult(index));
        if (auto loop = dyn_cast<scf::ForOp>(parent))
          worklist.push_back(loop.getRegionIterArg(index));
      } else {
        return true;
      }
    }
  }
  return false;
}

/// An asynchronous dot must be waited for, and the stages that it reads must
/// not be released before.
LogicalResult VerifyPipelinesPass::verifyDot(warp::DotOp dot) {
  if (!dot.getAsync())
    return success();
  if (!reachesWait(dot.getResult()))
    return dot.emitError(
        "the result of an asynchronous dot is never waited for");
  SmallVector<Stage> stages;
  for (Value operand : {dot.getA(), Value(dot.getB())}) {
    if (isa<TensorType>(operand.getType()))
      continue;
    Stage buffer = getBufferStage(operand);
    Value pipeline = producers.lookup(buffer.root);
    if (pipeline && buffer.index)
      stages.push_back({pipeline, buffer.index});
  }
  for (Operation *op = dot->getNextNode(); op; op = op->getNextNode()) {
    if (auto wait = dyn_cast<warp::DotWaitOpInterface>(op)) {
      // Dots complete in order: the wait for a later dot suffices.
      Operation *waited = wait.getPending().getDefiningOp();
      if (waited && waited->getBlock() == dot->getBlock() &&
          !waited->isBeforeInBlock(dot))
        return success();
    }
    Verb verb(*op);
    if (verb.kind != PipelineOpKind::Release ||
        !llvm::is_contained(stages, verb.stage))
      continue;
    InFlightDiagnostic error =
        op->emitError("releases a stage that an outstanding dot reads: "
                      "expected a wait for the dot before the release");
    error.attachNote(dot.getLoc()) << "the dot";
    return error;
  }
  return success();
}

LogicalResult
VerifyPipelinesPass::verifyPingPongSection(warp::BeginTurnOp begin) {
  for (Operation *op = begin->getNextNode(); op; op = op->getNextNode()) {
    if (auto end = dyn_cast<warp::EndTurnOp>(op))
      if (end.getTurns() == begin.getTurns())
        return success();
    if (auto again = dyn_cast<warp::BeginTurnOp>(op))
      if (again.getTurns() == begin.getTurns())
        break;
  }
  return begin.emitError(
      "no end of the ping-pong section follows in this block");
}

/// `warp.finish_work` resets the work counter for the next launch.
LogicalResult VerifyPipelinesPass::verifyWork() {
  Operation *fetch = nullptr, *finish = nullptr;
  getOperation().walk([&](Operation *op) {
    if (isa<warp::FetchWorkOp>(op) && !fetch)
      fetch = op;
    if (isa<warp::FinishWorkOp>(op))
      finish = op;
  });
  if (fetch && !finish)
    return fetch->emitError(
        "work is fetched, but the kernel has no 'warp.finish_work'");
  return success();
}

LogicalResult VerifyPipelinesPass::verify(Operation *op) {
  Verb verb(*op);
  if (verb.kind == PipelineOpKind::Acquire)
    return verifyAcquire(op);
  if (verb.kind == PipelineOpKind::Commit)
    return verifyCommit(op);
  if (auto copy = dyn_cast<warp::CopyOp>(op))
    return verifyCopy(copy);
  if (auto send = dyn_cast<warp::SendOp>(op))
    return verifySend(send);
  if (auto begin = dyn_cast<warp::BeginTurnOp>(op))
    return verifyPingPongSection(begin);
  if (isa<warp::LocalLoadOp, warp::ZeroRowsOp, warp::DotOp, warp::DotIntoOp,
          warp::CopyOutOp>(op))
    for (OpOperand &operand : op->getOpOperands())
      if (warp::isSharedBuffer(operand.get().getType()) &&
          failed(verifyRead(op, operand)))
        return failure();
  if (auto dot = dyn_cast<warp::DotOp>(op))
    return verifyDot(dot);
  return success();
}

void VerifyPipelinesPass::runOnKernel() {
  pipelines.clear();
  producers.clear();
  collect();
  bool failedAny = false;
  for (auto &[pipeline, parties] : pipelines)
    failedAny |= failed(verifyParties(pipeline));
  getOperation().walk([&](Operation *op) { failedAny |= failed(verify(op)); });
  failedAny |= failed(verifyWork());
  // Simulate only after the local checks, which give better messages.
  if (failedAny || failed(warp::simulatePipelines(getOperation())))
    signalPassFailure();
  numPipelines += pipelines.size();
  markAllAnalysesPreserved();
}
