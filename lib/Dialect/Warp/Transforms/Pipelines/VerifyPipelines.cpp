//===- VerifyPipelines.cpp - Pipelines are used as they must be -*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Pipelines/SimulatePipelines.h"

#include "fovea/Dialect/Warp/IR/PipelineRounds.h"
#include "fovea/Dialect/Warp/Transforms/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

namespace fovea::warp {
#define GEN_PASS_DEF_WARPVERIFYPIPELINES
#include "fovea/Dialect/Warp/Transforms/Passes.h.inc"
} // namespace fovea::warp

using namespace mlir;
using namespace fovea;
using warp::PipelineVerb;

//===----------------------------------------------------------------------===//
// What values stand for
//===----------------------------------------------------------------------===//

/// What the kernel captured, if the value is a role's argument.
static Value getCaptured(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    if (auto op = dyn_cast_or_null<warp::SpecializeOp>(
            argument.getOwner()->getParentOp()))
      return op.getCaptures()[argument.getArgNumber()];
  return value;
}

namespace {
/// A stage of a pipeline or of a buffer: two are the same if their SSA values
/// are.
struct Stage {
  Value root, index;
  bool operator==(const Stage &other) const {
    return root == other.root && index == other.index;
  }
};

/// What an op does to which stage, if it is a pipeline's verb.
struct Verb {
  explicit Verb(Operation &op) {
    auto verb = dyn_cast<warp::PipelineVerbOpInterface>(&op);
    if (!verb)
      return;
    kind = verb.getVerb();
    stage = {getCaptured(verb.getPipeline()), verb.getStage()};
  }
  bool is(PipelineVerb wanted, const Stage &of) const {
    return kind == wanted && stage == of;
  }
  std::optional<PipelineVerb> kind;
  Stage stage;
};

/// Uses of a pipeline in one role, or in the kernel outside of roles.
struct PartyUses {
  llvm::SmallVector<Operation *> acquires, waits, releases;
};
} // namespace

/// The buffer's stage that a memref stands for; without index if it is all of a
/// buffer.
static Stage getBufferStage(Value memref) {
  if (auto stage = memref.getDefiningOp<warp::StageOp>())
    return {getCaptured(stage.getBuffer()), stage.getStage()};
  return {getCaptured(memref), Value()};
}

/// The role that the op belongs to, or null.
static Region *getRole(Operation *op) {
  Region *region = op->getParentRegion();
  while (region && !isa<warp::SpecializeOp>(region->getParentOp()))
    region = region->getParentRegion();
  return region;
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

/// Calls `visit` for the ops before `op` that are executed right before it:
/// those above it in its block, then above the op that contains it, which may
/// be a loop if `throughLoops`. Ends where `visit` returns true, and returns
/// that op, or null at the start of the role or the kernel.
template <typename Visit>
static Operation *findAbove(Operation *op, bool throughLoops, Visit visit) {
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

/// The acquire whose stage is open at `op`, the latest one.
static Operation *findOpenAcquire(Operation *op) {
  SmallVector<Stage> committed;
  return findAbove(op, /*throughLoops=*/true, [&](Operation &prev) {
    Verb verb(prev);
    if (verb.kind == PipelineVerb::Commit)
      committed.push_back(verb.stage);
    if (verb.kind != PipelineVerb::Acquire)
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
  LogicalResult verifyTurn(warp::BeginTurnOp begin);
  LogicalResult verifyWork();

  llvm::MapVector<Value, llvm::MapVector<Region *, PartyUses>> pipelines;
  /// The pipeline whose producer fills a buffer; null if there are several.
  llvm::DenseMap<Value, Value> fillers;
};
} // namespace

void VerifyPipelinesPass::collect() {
  getOperation().walk([&](Operation *op) {
    if (auto make = dyn_cast<warp::PipelineOp>(op))
      pipelines.try_emplace(make.getPipeline());
    Verb verb(*op);
    if (verb.kind) {
      PartyUses &uses = pipelines[verb.stage.root][getRole(op)];
      if (verb.kind == PipelineVerb::Acquire)
        uses.acquires.push_back(op);
      else if (verb.kind == PipelineVerb::Wait)
        uses.waits.push_back(op);
      else if (verb.kind == PipelineVerb::Release)
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
          fillers.try_emplace(getBufferStage(target).root, pipeline);
      if (!isNew && entry->second != pipeline)
        entry->second = Value();
    }
  });
}

/// One role produces; who waits gives back what is filled again.
LogicalResult VerifyPipelinesPass::verifyParties(Value pipeline) {
  auto &parties = pipelines[pipeline];
  Operation *acquire = nullptr;
  Region *producer = nullptr;
  for (auto &[role, uses] : parties) {
    if (uses.acquires.empty())
      continue;
    if (acquire) {
      InFlightDiagnostic error = uses.acquires.front()->emitError(
          "a pipeline has one producing role, found ");
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
          "waits for a pipeline that nobody fills");
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
    if (verb.is(PipelineVerb::Commit, stage))
      return success();
    if (!verb.is(PipelineVerb::Acquire, stage))
      continue;
    InFlightDiagnostic error =
        op->emitError("acquires a stage again that is not committed");
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
    if (verb.is(PipelineVerb::Acquire, stage))
      return success();
    if (verb.is(PipelineVerb::Commit, stage))
      break;
  }
  return commit->emitError(
      "no acquire of the committed stage precedes in this block");
}

LogicalResult VerifyPipelinesPass::verifyCopy(warp::CopyOp copy) {
  if (!copy.getAsync()) {
    if (Region *role = getRole(copy))
      return copy.emitError("a copy in ")
             << describe(role)
             << " must be asynchronous: the CTA's threads don't meet there";
    return success();
  }
  Operation *acquire = findOpenAcquire(copy);
  if (!acquire)
    return copy.emitError("an asynchronous copy must stand between the acquire "
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
  error << room << " stages, its pipeline " << stages;
  error.attachNote(stage.root.getLoc()) << "the pipeline";
  return error;
}

LogicalResult VerifyPipelinesPass::verifySend(warp::SendOp send) {
  Operation *acquire = findOpenAcquire(send);
  if (acquire && Verb(*acquire).stage.index == send.getStage())
    return success();
  return send.emitError("sends to a slot whose stage is not acquired here");
}

/// A read must follow a wait and precede the release of its stage.
LogicalResult VerifyPipelinesPass::verifyRead(Operation *op,
                                              OpOperand &operand) {
  Stage buffer = getBufferStage(operand.get());
  Value pipeline = fillers.lookup(buffer.root);
  if (!pipeline || !buffer.index)
    return success();
  Region *role = getRole(op);
  const PartyUses &uses = pipelines[pipeline][role];
  // Who fills it may read back its own rows.
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
  findAbove(op, /*throughLoops=*/false, [&](Operation &prev) {
    Verb verb(prev);
    if (verb.is(PipelineVerb::Release, stage))
      release = &prev;
    return release || verb.is(PipelineVerb::Wait, stage);
  });
  if (!release)
    return success();
  InFlightDiagnostic error = op->emitError("reads a stage that is released");
  error.attachNote(release->getLoc()) << "released here";
  return error;
}

/// Does a wait take the result, wherever it goes from here?
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
        // What a loop's body yields to its condition is not followed further.
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

/// The result of an asynchronous dot is waited for, and the stages that it
/// reads are not released before.
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
    Value pipeline = fillers.lookup(buffer.root);
    if (pipeline && buffer.index)
      stages.push_back({pipeline, buffer.index});
  }
  for (Operation *op = dot->getNextNode(); op; op = op->getNextNode()) {
    if (auto wait = dyn_cast<warp::DotWaitOpInterface>(op)) {
      // Dots complete in order: a younger one's wait will do.
      Operation *waited = wait.getPending().getDefiningOp();
      if (waited && waited->getBlock() == dot->getBlock() &&
          !waited->isBeforeInBlock(dot))
        return success();
    }
    Verb verb(*op);
    if (verb.kind != PipelineVerb::Release ||
        !llvm::is_contained(stages, verb.stage))
      continue;
    InFlightDiagnostic error =
        op->emitError("releases a stage that an asynchronous dot reads, before "
                      "the dot is waited for");
    error.attachNote(dot.getLoc()) << "the dot";
    return error;
  }
  return success();
}

LogicalResult VerifyPipelinesPass::verifyTurn(warp::BeginTurnOp begin) {
  for (Operation *op = begin->getNextNode(); op; op = op->getNextNode()) {
    if (auto end = dyn_cast<warp::EndTurnOp>(op))
      if (end.getTurns() == begin.getTurns())
        return success();
    if (auto again = dyn_cast<warp::BeginTurnOp>(op))
      if (again.getTurns() == begin.getTurns())
        break;
  }
  return begin.emitError("no end of the turn follows in this block");
}

/// The counter must be reset for the next launch.
LogicalResult VerifyPipelinesPass::verifyWork() {
  Operation *fetch = nullptr, *finish = nullptr;
  getOperation().walk([&](Operation *op) {
    if (isa<warp::FetchWorkOp>(op) && !fetch)
      fetch = op;
    if (isa<warp::FinishWorkOp>(op))
      finish = op;
  });
  if (fetch && !finish)
    return fetch->emitError("work is fetched and never finished");
  return success();
}

LogicalResult VerifyPipelinesPass::verify(Operation *op) {
  Verb verb(*op);
  if (verb.kind == PipelineVerb::Acquire)
    return verifyAcquire(op);
  if (verb.kind == PipelineVerb::Commit)
    return verifyCommit(op);
  if (auto copy = dyn_cast<warp::CopyOp>(op))
    return verifyCopy(copy);
  if (auto send = dyn_cast<warp::SendOp>(op))
    return verifySend(send);
  if (auto begin = dyn_cast<warp::BeginTurnOp>(op))
    return verifyTurn(begin);
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
  fillers.clear();
  collect();
  bool failedAny = false;
  for (auto &[pipeline, parties] : pipelines)
    failedAny |= failed(verifyParties(pipeline));
  getOperation().walk([&](Operation *op) { failedAny |= failed(verify(op)); });
  failedAny |= failed(verifyWork());
  // What the program shows where it stands makes the better message.
  if (failedAny || failed(warp::simulatePipelines(getOperation())))
    signalPassFailure();
  numPipelines += pipelines.size();
  markAllAnalysesPreserved();
}
