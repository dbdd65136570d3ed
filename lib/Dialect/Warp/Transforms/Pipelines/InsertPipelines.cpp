//===- InsertPipelines.cpp - Pipelines for streams ------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gives each tile that passes through shared or tensor memory a pipeline:
// copies, stores and dots in tensor memory. Without roles,
// `warp-insert-async-copies` converts the copies. Emits acquire and commit
// around the op that fills a stage, and wait and release around its readers.
// The kernel is still one program; `warp-specialize` splits it into roles.
//
//===----------------------------------------------------------------------===//

#include "Pipelines/Ring.h"
#include "Scheduling/PipelineLoop.h"

#include "fovea/Dialect/Warp/Transforms/Passes.h"
#include "fovea/Support/ValueNames.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/MapVector.h"

namespace fovea::warp {
#define GEN_PASS_DEF_WARPINSERTPIPELINES
#include "fovea/Dialect/Warp/Transforms/Passes.h.inc"
} // namespace fovea::warp

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

namespace {
/// The op that fills a buffer of its own: a copy, a store with its fence, or a
/// dot.
struct Fill {
  static FailureOr<Fill> get(Operation *op, AllocOp alloc);
  /// For tensor memory: the op writes an accumulator, or a view of one.
  static FailureOr<Fill> getOfTensorMemory(Operation *op);

  /// Emits the op for a stage, between acquire and commit.
  void emit(OpBuilder &b, Value stage) const;
  void erase(RewriterBase &b) const;

  /// Null for tensor memory, which has one stage.
  AllocOp alloc;
  StringAttr name;
  /// In order.
  SmallVector<Operation *, 2> ops;
  /// Ops that read the buffer or change it in place.
  SmallVector<Operation *> readers;
};

struct InsertPipelinesPass
    : warp::impl::WarpInsertPipelinesBase<InsertPipelinesPass> {
  void runOnKernel() override;

private:
  /// `others` are copies that share the pipeline of this one.
  LogicalResult convert(const Fill &fill, plan::KernelAttr plan,
                        ArrayRef<Fill> others = {});
  LogicalResult convertAccumulation(const Fill &fill);
  Value makePipeline(const Fill &fill, Operation *place, int64_t stages);
  /// The ring position at the op, carried through all loops around it. Rings
  /// with the same number of stages in the same block share a position, except
  /// those with `countsAlone`.
  FailureOr<RingState> makeState(const Fill &fill, Value pipeline,
                                 int64_t stages, bool countsAlone = false);

  /// Pipelines whose position others may share.
  SmallVector<Value> shared;
};
} // namespace

/// True if asynchronous dots read the stage; it is then released when they
/// complete.
static bool isReadByDots(ArrayRef<Operation *> readers) {
  return llvm::any_of(readers, llvm::IsaPred<DotIntoOp>);
}

static void createRelease(OpBuilder &b, Location loc, Value pipeline,
                          RingState at, bool afterDots) {
  if (afterDots)
    ReleaseAfterDotsOp::create(b, loc, pipeline, at.stage, at.phase);
  else
    ConsumerReleaseOp::create(b, loc, pipeline, at.stage, at.phase);
}

static void createCommit(OpBuilder &b, Location loc, Value pipeline,
                         RingState at, bool afterDots) {
  if (afterDots)
    CommitAfterDotsOp::create(b, loc, pipeline, at.stage, at.phase);
  else
    ProducerCommitOp::create(b, loc, pipeline, at.stage, at.phase);
}

FailureOr<Fill> Fill::get(Operation *op, AllocOp alloc) {
  auto copy = dyn_cast<CopyOp>(op);
  if (!alloc || (copy && copy.getCondition()))
    return op->emitError("only unconditional copies into a buffer of their "
                         "own get a pipeline");
  Fill fill;
  fill.alloc = alloc;
  fill.name = cast<tile::NamedOpInterface>(op).getNameAttr();
  fill.ops.push_back(op);
  if (!copy)
    for (Operation *user : alloc->getUsers())
      if (isa<FenceStoresOp>(user))
        fill.ops.push_back(user);
  Block *block = op->getBlock();
  for (Operation *user : alloc->getUsers()) {
    if (llvm::is_contained(fill.ops, user))
      continue;
    if (isa<CopyOp, LocalStoreOp>(user) || !block->findAncestorOpInBlock(*user))
      return user->emitError("expected one ")
             << (copy ? "copy" : "store")
             << " that fills this buffer, and all its readers in one block";
    fill.readers.push_back(user);
  }
  if (fill.readers.empty())
    return op->emitError("no op reads the buffer");
  Operation *first = getRange(block, fill.readers).first;
  if (first->isBeforeInBlock(op))
    return first->emitError("reads a buffer before the ")
           << (copy ? "copy" : "store") << " that fills it";
  return fill;
}

FailureOr<Fill> Fill::getOfTensorMemory(Operation *op) {
  Fill fill;
  fill.name = cast<tile::NamedOpInterface>(op).getNameAttr();
  fill.ops.push_back(op);
  auto dot = dyn_cast<DotIntoOp>(op);
  Value memory = dot ? dot.getAcc() : cast<TmemStoreOp>(op).getTarget();
  for (Operation *user : memory.getUsers()) {
    if (user == op)
      continue;
    if (auto other = dyn_cast<DotIntoOp>(user);
        other && other.getAcc() == memory)
      return user->emitError(
          "accumulates into the same tensor memory as another dot");
    // A reader may overwrite the accumulator, because it holds the stage.
    if (auto view = dyn_cast<TmemViewOp>(user))
      for (Operation *over : view->getUsers()) {
        if (isa<TmemStoreOp>(over))
          fill.readers.push_back(over);
      }
    else
      fill.readers.push_back(user);
  }
  if (fill.readers.empty())
    return op->emitError("no op reads this result in tensor memory");
  return fill;
}

void Fill::emit(OpBuilder &b, Value stage) const {
  Operation *op = ops.front();
  if (auto copy = dyn_cast<CopyOp>(op)) {
    CopyOp::create(b, op->getLoc(), copy.getSource(), copy.getIndices(),
                   copy.getLimit(), copy.getTable(), copy.getTableIndices(),
                   /*condition=*/Value(), stage, copy.getDimsAttr(),
                   copy.getFoldAttr(), copy.getFragmentsAttr(),
                   /*async=*/b.getUnitAttr(), name, copy.getGroupsAttr());
    return;
  }
  LocalStoreOp::create(b, op->getLoc(), cast<LocalStoreOp>(op).getValue(),
                       stage, name);
  for (Operation *fence : ArrayRef(ops).drop_front())
    FenceStoresOp::create(b, fence->getLoc(), stage);
}

void Fill::erase(RewriterBase &b) const {
  for (Operation *op : llvm::reverse(ops))
    b.eraseOp(op);
}

Value InsertPipelinesPass::makePipeline(const Fill &fill, Operation *place,
                                        int64_t stages) {
  OpBuilder b(place);
  ++numPipelines;
  return warp::PipelineOp::create(
      b, addToName(fill.ops.front()->getLoc(), "_pipeline"),
      warp::PipelineType::get(&getContext(), stages), IntegerAttr(), fill.name);
}

FailureOr<RingState> InsertPipelinesPass::makeState(const Fill &fill,
                                                    Value pipeline,
                                                    int64_t stages,
                                                    bool countsAlone) {
  Operation *op = fill.ops.front();
  if (!countsAlone) {
    for (auto acquire : op->getBlock()->getOps<ProducerAcquireOp>())
      if (llvm::is_contained(shared, acquire.getPipeline()) &&
          acquire.getPipeline().getType().getStages() == stages)
        return RingState{acquire.getStage(), acquire.getPhase()};
    shared.push_back(pipeline);
  }
  OpBuilder b(&getContext());
  b.setInsertionPointAfterValue(pipeline);
  Value zero = makeI32(b, op->getLoc(), 0);
  RingState state = {zero, zero};
  SmallVector<Operation *> loops = getLoopsAround(op);
  if (loops.empty())
    return state;
  return carryThrough(loops, state, /*steps=*/1, stages);
}

/// Checks that a companion copy can move to the leading copy `fill`.
static LogicalResult checkCompanion(const Fill &fill, const Fill &other) {
  Operation *op = fill.ops.front(), *with = other.ops.front();
  if (!isa<CopyOp>(op) || !isa<CopyOp>(with) ||
      op->getBlock() != with->getBlock())
    return with->emitError("shares the pipeline of ")
           << fill.name << ", which is not copied in the same block";
  for (Value operand : with->getOperands())
    if (Operation *def = operand.getDefiningOp();
        def && def->getBlock() == op->getBlock() && !isa<AllocOp>(def) &&
        !def->isBeforeInBlock(op))
      return with->emitError("shares the pipeline of ")
             << fill.name
             << ", but its address is not computed before that copy";
  return success();
}

/// The op of the kernel's entry block that is or contains `op`.
static Operation *getPlace(gpu::GPUFuncOp kernel, Operation *op) {
  Operation *place = kernel.getBody().front().findAncestorOpInBlock(*op);
  return place ? place : op;
}

/// The store of a tile that `op` loads transposed, or null. Both stages are
/// held around load and store, so that they can alternate in parts: the whole
/// tile would need more registers than the role has.
static LocalStoreOp getTransposedStore(Operation *op) {
  auto load = dyn_cast<LocalLoadOp>(op);
  if (!load || !load.getTranspose() || !load->hasOneUse())
    return {};
  auto store = dyn_cast<LocalStoreOp>(*load->user_begin());
  return store && store->getBlock() == load->getBlock() ? store
                                                        : LocalStoreOp();
}

/// The first op of a fill: the load of the tile that it stores transposed, or
/// the fill itself.
static Operation *getStart(Operation *fill) {
  auto store = dyn_cast<LocalStoreOp>(fill);
  Operation *load = store ? store.getValue().getDefiningOp() : nullptr;
  return load && getTransposedStore(load) == store ? load : fill;
}

LogicalResult InsertPipelinesPass::convert(const Fill &fill,
                                           plan::KernelAttr plan,
                                           ArrayRef<Fill> others) {
  Operation *op = fill.ops.front();
  AllocOp alloc = fill.alloc;
  // The readers of all buffers of the pipeline.
  SmallVector<Operation *> readers(fill.readers);
  for (const Fill &other : others) {
    if (failed(checkCompanion(fill, other)))
      return failure();
    llvm::append_range(readers, other.readers);
  }
  auto [first, last] = getRange(op->getBlock(), readers);
  if (LocalStoreOp store = getTransposedStore(last))
    last = store;
  Location loc = op->getLoc();
  int64_t stages = alloc ? plan.getStream(fill.name).stages : 1;
  // A buffer lives as long as the CTA. Its ring position is carried through all
  // loops around the copy and starts outside of them.
  IRRewriter b(&getContext());
  Operation *place =
      getPlace(getOperation(), alloc ? alloc.getOperation() : op);
  auto makeBuffer = [&](AllocOp of) -> Value {
    b.setInsertionPoint(place);
    return warp::AllocOp::create(
        b, addToName(of.getLoc(), "_buffer"),
        getStagedType(of.getBuffer().getType(), stages), IntegerAttr());
  };
  Value buffer = alloc ? makeBuffer(alloc) : Value();
  auto buffersOfOthers = llvm::map_to_vector(
      others, [&](const Fill &other) { return makeBuffer(other.alloc); });
  Value pipeline = makePipeline(fill, place, stages);
  FailureOr<RingState> state =
      makeState(fill, pipeline, stages, plan.getStream(fill.name).countsAlone);
  if (failed(state))
    return failure();

  b.setInsertionPoint(getStart(op));
  warp::ProducerAcquireOp::create(b, loc, pipeline, state->stage, state->phase);
  if (alloc) {
    Value stage = makeStageView(b, loc, buffer, state->stage);
    b.setInsertionPoint(op);
    fill.emit(b, stage);
  } else {
    b.setInsertionPointAfter(op);
  }
  for (auto [other, ring] : llvm::zip(others, buffersOfOthers))
    other.emit(b, makeStageView(b, loc, ring, state->stage));
  createCommit(b, loc, pipeline, *state, isa<DotIntoOp>(op));
  b.setInsertionPoint(first);
  warp::ConsumerWaitOp::create(b, loc, pipeline, state->stage, state->phase);
  Value view;
  if (alloc)
    view = makeStageView(b, loc, buffer, state->stage);
  for (auto [other, ring] : llvm::zip(others, buffersOfOthers)) {
    AllocOp old = other.alloc;
    ArrayRef<Operation *> readers = other.readers;
    Value stage = makeStageView(b, loc, ring, state->stage);
    old.getBuffer().replaceUsesWithIf(stage, [&](OpOperand &use) {
      return llvm::is_contained(readers, use.getOwner());
    });
  }
  b.setInsertionPointAfter(last);
  createRelease(b, loc, pipeline, *state, isReadByDots(readers));
  if (!alloc)
    return success();
  fill.erase(b);
  b.replaceAllUsesWith(alloc.getBuffer(), view);
  b.eraseOp(alloc);
  for (const Fill &other : others) {
    other.erase(b);
    b.eraseOp(other.alloc);
  }
  return success();
}

/// Converts a dot that accumulates over a loop. Each iteration commits the
/// accumulator; readers in the next iteration may change it in place before its
/// dot, and readers after the loop get the final value.
LogicalResult InsertPipelinesPass::convertAccumulation(const Fill &fill) {
  auto dot = cast<DotIntoOp>(fill.ops.front());
  Location loc = dot.getLoc();
  auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
  if (!loop || !runsOnce(loop))
    return dot.emitError("is read after a loop that may run zero iterations");
  SmallVector<Operation *> inside, after;
  for (Operation *reader : fill.readers)
    (loop->isProperAncestor(reader) ? inside : after).push_back(reader);
  // Readers may be nested deeper, for example under a ballot; wait and release
  // are always in the branch.
  scf::IfOp update;
  for (Operation *reader : inside) {
    auto branch =
        dyn_cast<scf::IfOp>(dot->getBlock()->findAncestorOpInBlock(*reader));
    if (!branch || branch.getCondition() != dot.getAccumulate() ||
        !branch.thenBlock()->findAncestorOpInBlock(*reader) ||
        !branch->isBeforeInBlock(dot))
      return reader->emitError(
          "reads the previous iteration's accumulator: expected a branch on "
          "the dot's 'accumulate' condition before the dot");
    if (update && update != branch)
      return reader->emitError("all uses of the previous iteration's "
                               "accumulator must be in one branch");
    update = branch;
  }
  for (Operation *reader : after)
    if (!loop->getBlock()->findAncestorOpInBlock(*reader) ||
        !loop->isBeforeInBlock(
            loop->getBlock()->findAncestorOpInBlock(*reader)))
      return reader->emitError("reads an accumulator: expected a position "
                               "after the loop that computes it");
  if (after.empty())
    return dot.emitError("accumulator has no reader: expected an op after the "
                         "dot's loop that reads it");

  Value pipeline = makePipeline(fill, getPlace(getOperation(), dot), 1);
  FailureOr<RingState> state = makeState(fill, pipeline, 1);
  if (failed(state))
    return failure();
  loop = cast<scf::ForOp>(dot->getParentOp());
  OpBuilder b(dot);
  if (!update) {
    update = scf::IfOp::create(b, loc, dot.getAccumulate(),
                               /*withElseRegion=*/false);
    inside.push_back(update.thenBlock()->getTerminator());
    b.setInsertionPoint(dot);
  }
  warp::ProducerAcquireOp::create(b, loc, pipeline, state->stage, state->phase);
  b.setInsertionPointAfter(dot);
  createCommit(b, loc, pipeline, *state, /*afterDots=*/true);

  // There is one stage, so the previous iteration had the other phase.
  auto emitConsumer = [&](Block *block, ArrayRef<Operation *> readers,
                          RingState next) {
    auto [first, last] = getRange(block, readers);
    b.setInsertionPoint(first);
    RingState at = advance(b, loc, next, 1, 1);
    warp::ConsumerWaitOp::create(b, loc, pipeline, at.stage, at.phase);
    if (!last->hasTrait<OpTrait::IsTerminator>())
      b.setInsertionPointAfter(last);
    createRelease(b, loc, pipeline, at, /*afterDots=*/false);
  };
  emitConsumer(update.thenBlock(), inside, *state);
  // Another ring may share the position, so it need not be carried last.
  auto getFinal = [&](Value carried) -> Value {
    return loop.getTiedLoopResult(cast<BlockArgument>(carried));
  };
  emitConsumer(loop->getBlock(), after,
               {getFinal(state->stage), getFinal(state->phase)});
  return success();
}

/// The buffer that an op fills, if it is not a stage of a ring.
static std::optional<AllocOp> getFilled(Operation *op) {
  if (auto copy = dyn_cast<CopyOp>(op); copy && !copy.getAsync())
    return copy.getTarget().getDefiningOp<AllocOp>();
  auto store = dyn_cast<LocalStoreOp>(op);
  if (store && !store.getTarget().getDefiningOp<StageOp>())
    return store.getTarget().getDefiningOp<AllocOp>();
  return std::nullopt;
}

void InsertPipelinesPass::runOnKernel() {
  launch::AbiOp abi = launch::requireAbi(getOperation());
  if (!abi)
    return signalPassFailure();
  // Without roles, `warp-insert-async-copies` has converted the copies.
  bool hasRoles = abi.getPlan().hasRoles();
  SmallVector<std::pair<Operation *, AllocOp>> fills;
  getOperation().walk([&](Operation *op) {
    std::optional<AllocOp> alloc = getFilled(op);
    if (alloc && (hasRoles || isa<LocalStoreOp>(op)))
      fills.emplace_back(op, *alloc);
  });
  // Companion streams are converted with their leader.
  auto getLeader = [&](StringAttr name) {
    return abi.getPlan().getStream(name).with;
  };
  llvm::MapVector<StringAttr, SmallVector<Fill>> companions;
  SmallVector<Fill> leaders;
  for (auto [op, alloc] : fills) {
    FailureOr<Fill> fill = Fill::get(op, alloc);
    if (failed(fill))
      return signalPassFailure();
    StringAttr leader = getLeader(fill->name);
    (leader ? companions[leader] : leaders).push_back(*fill);
  }
  for (const Fill &fill : leaders) {
    SmallVector<Fill> others = companions.lookup(fill.name);
    companions.erase(fill.name);
    if (failed(convert(fill, abi.getPlan(), others)))
      return signalPassFailure();
  }
  for (auto &[leader, others] : companions) {
    others.front().ops.front()->emitError("shares the pipeline of ")
        << leader << ", which no copy loads";
    return signalPassFailure();
  }
  // Dots in tensor memory, and stores over their results.
  SmallVector<Operation *> ops;
  getOperation().walk([&](Operation *op) {
    auto store = dyn_cast<TmemStoreOp>(op);
    if (isa<DotIntoOp>(op) ||
        (store && store.getTarget().getDefiningOp<TmemViewOp>()))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    FailureOr<Fill> fill = Fill::getOfTensorMemory(op);
    if (failed(fill))
      return signalPassFailure();
    bool isAccumulation = !llvm::all_of(fill->readers, [&](Operation *reader) {
      Operation *ancestor = op->getBlock()->findAncestorOpInBlock(*reader);
      return ancestor && op->isBeforeInBlock(ancestor);
    });
    if (isAccumulation && !isa<DotIntoOp>(op)) {
      op->emitError("has a reader before it or in another block: expected all "
                    "readers after it in its block");
      return signalPassFailure();
    }
    if (failed(isAccumulation ? convertAccumulation(*fill)
                              : convert(*fill, abi.getPlan())))
      return signalPassFailure();
  }
}
