//===- InsertAsyncCopies.cpp - Asynchronous copies without roles ----------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes the copies of a kernel without roles asynchronous: each stream gets a
// ring of stages and a pipeline, and all warps prefetch the copies of later
// iterations. `warp-insert-pipelines` does this for kernels with roles.
//
//===----------------------------------------------------------------------===//

#include "Pipelines/Ring.h"

#include "fovea/Dialect/Warp/Transforms/Passes.h"
#include "fovea/Support/ValueNames.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"

namespace fovea::warp {
#define GEN_PASS_DEF_WARPINSERTASYNCCOPIES
#include "fovea/Dialect/Warp/Transforms/Passes.h.inc"
} // namespace fovea::warp

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

namespace {
/// A copy with its multi-stage buffer and pipeline.
struct Stream {
  warp::CopyOp copy;
  Value buffer, pipeline;
  SmallVector<Operation *> readers;
  /// After the last reader.
  warp::ConsumerReleaseOp release;
};

struct InsertAsyncCopiesPass
    : warp::impl::WarpInsertAsyncCopiesBase<InsertAsyncCopiesPass> {
  void runOnKernel() override;

private:
  FailureOr<Stream> makeStream(warp::CopyOp copy, int64_t stages);
  LogicalResult convertSingle(warp::CopyOp copy);
  LogicalResult convertLoop(scf::ForOp loop, ArrayRef<warp::CopyOp> copies,
                            int64_t stages);
};
} // namespace

/// The prefetch distance in iterations. A single stage is refilled for the next
/// iteration as soon as its readers are done.
static int64_t getPrefetchDistance(int64_t stages) {
  return std::max<int64_t>(stages - 1, 1);
}

/// Emits acquire, copy and commit. The copy's operands are mapped by `mapping`.
static void emitProducer(OpBuilder &b, const Stream &stream, RingState state,
                         IRMapping &mapping, Value condition) {
  warp::CopyOp copy = stream.copy;
  Location loc = copy.getLoc();
  warp::ProducerAcquireOp::create(b, loc, stream.pipeline, state.stage,
                                  state.phase);
  Value target = makeStageView(b, loc, stream.buffer, state.stage);
  auto map = [&](ValueRange values) {
    return llvm::map_to_vector(
        values, [&](Value value) { return mapping.lookupOrDefault(value); });
  };
  Value limit = copy.getLimit();
  warp::CopyOp::create(
      b, loc, copy.getSource(), map(copy.getIndices()),
      limit ? mapping.lookupOrDefault(limit) : Value(), copy.getTable(),
      map(copy.getTableIndices()), condition, target, copy.getDimsAttr(),
      copy.getFoldAttr(), copy.getFragmentsAttr(),
      /*async=*/b.getUnitAttr(), copy.getNameAttr(), copy.getGroupsAttr());
  warp::ProducerCommitOp::create(b, loc, stream.pipeline, state.stage,
                                 state.phase);
}

FailureOr<Stream> InsertAsyncCopiesPass::makeStream(warp::CopyOp copy,
                                                    int64_t stages) {
  auto alloc = copy.getTarget().getDefiningOp<warp::AllocOp>();
  bool hasOthers = alloc && llvm::any_of(alloc->getUsers(), [&](Operation *op) {
                     return op != copy && isa<warp::CopyOp>(op);
                   });
  if (!alloc || hasOthers || copy.getCondition())
    return copy.emitError(
        "only unconditional copies into a buffer of their own "
        "can be made asynchronous");
  Stream stream;
  stream.copy = copy;
  for (Operation *user : alloc->getUsers()) {
    if (user == copy.getOperation())
      continue;
    if (!copy->getBlock()->findAncestorOpInBlock(*user))
      return user->emitError("reads a buffer outside the ")
             << (isa<scf::ForOp>(copy->getParentOp()) ? "loop" : "block")
             << " that fills it";
    stream.readers.push_back(user);
  }
  OpBuilder b(alloc);
  MemRefType type = alloc.getBuffer().getType();
  stream.buffer =
      warp::AllocOp::create(b, addToName(alloc.getLoc(), "_buffer"),
                            getStagedType(type, stages), IntegerAttr());
  stream.pipeline =
      warp::PipelineOp::create(b, addToName(copy.getLoc(), "_pipeline"),
                               warp::PipelineType::get(&getContext(), stages),
                               IntegerAttr(), copy.getNameAttr());
  ++numPipelines;
  return stream;
}

/// The loops around an op if a ring position can be carried through them all,
/// or else none.
static SmallVector<Operation *> getCarryingLoops(Operation *op) {
  SmallVector<Operation *> around = getLoopsAround(op);
  bool carries = llvm::all_of(around, [](Operation *loop) {
    return isa<scf::ForOp>(loop) || isDoWhile(loop);
  });
  return carries ? around : SmallVector<Operation *>();
}

/// The ring position inside of the loops, the innermost of which advances it by
/// `steps`.
static FailureOr<RingState> carryFromStart(ArrayRef<Operation *> around,
                                           int64_t steps, int64_t stages) {
  OpBuilder b(around.front());
  Value zero = makeI32(b, around.front()->getLoc(), 0);
  return carryThrough(around, {zero, zero}, steps, stages);
}

/// Converts a copy outside of the loops over blocks: one stage, which is
/// released if a loop over work fills it again.
LogicalResult InsertAsyncCopiesPass::convertSingle(warp::CopyOp copy) {
  FailureOr<Stream> stream = makeStream(copy, 1);
  if (failed(stream))
    return failure();
  SmallVector<Operation *> around = getCarryingLoops(copy);
  RingState state;
  if (!around.empty()) {
    FailureOr<RingState> carried =
        carryFromStart(around, /*steps=*/1, /*stages=*/1);
    if (failed(carried))
      return failure();
    state = *carried;
  }
  Block *block = copy->getBlock();
  OpBuilder b(copy);
  if (around.empty()) {
    Value zero = makeI32(b, copy.getLoc(), 0);
    state = {zero, zero};
  }
  IRMapping none;
  emitProducer(b, *stream, state, none, Value());

  // Sink shared loads to their first use, so that the loop's prefetches are
  // issued before the wait.
  for (Operation *reader : stream->readers)
    if (isa<warp::LocalLoadOp>(reader) && reader->getBlock() == block) {
      SmallVector<Operation *> users(reader->getUsers());
      if (Operation *use = getRange(block, users).first)
        reader->moveBefore(use);
    }
  if (!stream->readers.empty()) {
    auto [first, last] = getRange(block, stream->readers);
    b.setInsertionPoint(first);
    warp::ConsumerWaitOp::create(b, copy.getLoc(), stream->pipeline,
                                 state.stage, state.phase);
    Value view = makeStageView(b, copy.getLoc(), stream->buffer, state.stage);
    if (!around.empty()) {
      b.setInsertionPointAfter(last);
      warp::ConsumerReleaseOp::create(b, copy.getLoc(), stream->pipeline,
                                      state.stage, state.phase);
    }
    copy.getTarget().replaceUsesWithIf(view, [&](OpOperand &use) {
      return llvm::is_contained(stream->readers, use.getOwner());
    });
  }
  Operation *alloc = copy.getTarget().getDefiningOp();
  copy.erase();
  alloc->erase();
  return success();
}

/// True if a clone of the op at any place has the same result: the op is pure,
/// or loads from an argument that the kernel only reads.
static bool isRepeatable(Operation *op) {
  if (op->getNumRegions() != 0)
    return false;
  auto load = dyn_cast<memref::LoadOp>(op);
  if (!load)
    return isPure(op);
  auto argument = dyn_cast<BlockArgument>(load.getMemRef());
  if (!argument || !isa<gpu::GPUFuncOp>(argument.getOwner()->getParentOp()))
    return false;
  return llvm::all_of(argument.getUsers(), [](Operation *user) {
    return isMemoryEffectFree(user) ||
           hasSingleEffect<MemoryEffects::Read>(user);
  });
}

/// Clones the ops of the loop body that compute `values`, for another
/// iteration. Fails if an op is not repeatable.
static LogicalResult cloneSlice(OpBuilder &b, scf::ForOp loop,
                                ValueRange values, IRMapping &mapping) {
  for (Value value : values) {
    Operation *op = value.getDefiningOp();
    if (mapping.contains(value) || loop.isDefinedOutsideOfLoop(value))
      continue;
    if (!op)
      return loop.emitError("the indices or the limit of a prefetched copy "
                            "depend on a loop-carried value");
    if (!isRepeatable(op))
      return op->emitError("the indices or the limit of a prefetched copy "
                           "depend on this op: expected a pure op without "
                           "regions or a load from a read-only kernel "
                           "argument");
    if (failed(cloneSlice(b, loop, op->getOperands(), mapping)))
      return failure();
    b.clone(*op, mapping);
  }
  return success();
}

/// The operands that select the rows of a copy.
static SmallVector<Value> getSource(warp::CopyOp copy) {
  SmallVector<Value> place(copy.getIndices());
  llvm::append_range(place, copy.getTableIndices());
  if (copy.getLimit())
    place.push_back(copy.getLimit());
  return place;
}

/// Drains the ring after a loop that runs again: its last iterations committed
/// empty stages that no op reads. Waits for and releases them, and advances the
/// ring position.
static void emitDrain(IRRewriter &b, scf::ForOp loop, ArrayRef<Stream> streams,
                      int64_t stages) {
  Location loc = loop.getLoc();
  b.setInsertionPointAfter(loop);
  auto results = loop.getResults().take_back(2);
  RingState state = {results[0], results[1]};
  for (int64_t iteration = 0; iteration < getPrefetchDistance(stages);
       ++iteration) {
    for (const Stream &stream : streams) {
      warp::ConsumerWaitOp::create(b, loc, stream.pipeline, state.stage,
                                   state.phase);
      warp::ConsumerReleaseOp::create(b, loc, stream.pipeline, state.stage,
                                      state.phase);
    }
    state = advance(b, loc, state, 1, stages);
  }
  Operation *yield = loop->getBlock()->getTerminator();
  unsigned count = yield->getNumOperands();
  yield->setOperand(count - 2, state.stage);
  yield->setOperand(count - 1, state.phase);
}

/// Emits the prefetches before the loop.
static LogicalResult emitPrologue(IRRewriter &b, scf::ForOp loop,
                                  ArrayRef<Stream> streams, RingState start,
                                  bool isNested, int64_t stages) {
  Location loc = loop.getLoc();
  Value zero = start.phase;
  b.setInsertionPoint(loop);
  for (int64_t iteration = 0; iteration < getPrefetchDistance(stages);
       ++iteration) {
    Value distance = arith::MulIOp::create(
        b, loc, loop.getStep(),
        arith::ConstantIndexOp::create(b, loc, iteration));
    Value index = arith::AddIOp::create(b, loc, loop.getLowerBound(), distance);
    Value runs = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, index,
                                       loop.getUpperBound());
    for (const Stream &stream : streams) {
      IRMapping mapping;
      mapping.map(loop.getInductionVar(), index);
      auto copy = stream.copy;
      if (failed(cloneSlice(b, loop, getSource(copy), mapping)))
        return failure();
      RingState at = isNested ? advance(b, loc, start, iteration, stages)
                              : RingState{makeI32(b, loc, iteration), zero};
      emitProducer(b, stream, at, mapping, runs);
    }
  }
  return success();
}

/// Emits a wait before the first reader and a release after the last one.
/// Returns the first wait.
static warp::ConsumerWaitOp emitConsumers(IRRewriter &b, Block *body,
                                          MutableArrayRef<Stream> streams,
                                          RingState current) {
  Location loc = body->getParentOp()->getLoc();
  warp::ConsumerWaitOp firstWait;
  for (Stream &stream : streams) {
    if (stream.readers.empty())
      continue;
    b.setInsertionPoint(getRange(body, stream.readers).first);
    auto wait = warp::ConsumerWaitOp::create(b, loc, stream.pipeline,
                                             current.stage, current.phase);
    Value view = makeStageView(b, loc, stream.buffer, current.stage);
    auto copy = stream.copy;
    copy.getTarget().replaceUsesWithIf(view, [&](OpOperand &use) {
      return llvm::is_contained(stream.readers, use.getOwner());
    });
    // Releases after the same reader are in the order of the streams.
    Operation *last = getRange(body, stream.readers).second;
    while (isa<warp::ConsumerReleaseOp>(last->getNextNode()))
      last = last->getNextNode();
    b.setInsertionPointAfter(last);
    stream.release = warp::ConsumerReleaseOp::create(
        b, loc, stream.pipeline, current.stage, current.phase);
    if (!firstWait || wait->isBeforeInBlock(firstWait))
      firstWait = wait;
  }
  return firstWait;
}

/// Emits the prefetches in the loop: after the first wait, when all threads are
/// done with the stage that is refilled. A single stage is refilled after its
/// release.
static LogicalResult emitProducers(IRRewriter &b, scf::ForOp loop,
                                   ArrayRef<Stream> streams, RingState current,
                                   warp::ConsumerWaitOp firstWait,
                                   int64_t stages) {
  Location loc = loop.getLoc();
  Block *body = loop.getBody();
  if (firstWait)
    b.setInsertionPointAfter(firstWait);
  else
    b.setInsertionPointToStart(body);
  int64_t distance = getPrefetchDistance(stages);
  Value ahead = arith::MulIOp::create(
      b, loc, loop.getStep(), arith::ConstantIndexOp::create(b, loc, distance));
  Value index = arith::AddIOp::create(b, loc, loop.getInductionVar(), ahead);
  Value runs = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, index,
                                     loop.getUpperBound());
  RingState filled = advance(b, loc, current, distance, stages);
  for (const Stream &stream : streams) {
    if (stages == 1 && stream.release)
      b.setInsertionPointAfter(stream.release);
    IRMapping mapping;
    mapping.map(loop.getInductionVar(), index);
    auto copy = stream.copy;
    if (failed(cloneSlice(b, loop, getSource(copy), mapping)))
      return failure();
    emitProducer(b, stream, filled, mapping, runs);
  }
  return success();
}

/// True if the last reader of stream `a` in `body` precedes that of `b`.
/// Streams with the same last reader are in the order of their copies.
static bool isReleasedBefore(Block *body, const Stream &a, const Stream &b) {
  auto getLast = [&](const Stream &stream) {
    return stream.readers.empty() ? &body->front()
                                  : getRange(body, stream.readers).second;
  };
  Operation *ofA = getLast(a), *ofB = getLast(b);
  if (ofA != ofB)
    return ofA->isBeforeInBlock(ofB);
  Operation *copyOfA = a.copy;
  return copyOfA->isBeforeInBlock(b.copy);
}

LogicalResult InsertAsyncCopiesPass::convertLoop(scf::ForOp loop,
                                                 ArrayRef<warp::CopyOp> copies,
                                                 int64_t stages) {
  Location loc = loop.getLoc();
  if (!loop.getInductionVar().getType().isIndex())
    return loop.emitError("a loop with copies must count in 'index', found ")
           << loop.getInductionVar().getType();
  SmallVector<Stream> streams;
  for (warp::CopyOp copy : copies) {
    FailureOr<Stream> stream = makeStream(copy, stages);
    if (failed(stream))
      return failure();
    streams.push_back(*stream);
  }
  // Commits are in the order in which an iteration refills the stages.
  if (stages == 1)
    llvm::sort(streams, [&](const Stream &a, const Stream &b) {
      return isReleasedBefore(loop.getBody(), a, b);
    });

  // An outer loop carries the ring position.
  IRRewriter b(loop);
  Value zero = makeI32(b, loc, 0);
  SmallVector<Operation *> around = getCarryingLoops(loop);
  bool isNested = !around.empty();
  RingState start = {zero, zero};
  if (isNested) {
    FailureOr<RingState> carried = carryFromStart(around, /*steps=*/0, stages);
    if (failed(carried))
      return failure();
    start = *carried;
  }
  if (failed(emitPrologue(b, loop, streams, start, isNested, stages)))
    return failure();

  // The loop carries the ring position.
  auto yields = [&](OpBuilder &inner, Location loc,
                    ArrayRef<BlockArgument> arguments) {
    RingState next =
        advance(inner, loc, {arguments[0], arguments[1]}, 1, stages);
    return SmallVector<Value>{next.stage, next.phase};
  };
  // Never fails for an scf.for.
  FailureOr<LoopLikeOpInterface> replaced = loop.replaceWithAdditionalYields(
      b, {start.stage, start.phase}, /*replaceInitOperandUsesInLoop=*/false,
      yields);
  loop = cast<scf::ForOp>(replaced->getOperation());
  Block *body = loop.getBody();
  auto arguments = loop.getRegionIterArgs().take_back(2);
  RingState current = {arguments[0], arguments[1]};

  warp::ConsumerWaitOp firstWait = emitConsumers(b, body, streams, current);
  if (failed(emitProducers(b, loop, streams, current, firstWait, stages)))
    return failure();
  if (isNested)
    emitDrain(b, loop, streams, stages);
  for (Stream &stream : streams) {
    Operation *alloc = stream.copy.getTarget().getDefiningOp();
    stream.copy.erase();
    alloc->erase();
  }
  return success();
}

void InsertAsyncCopiesPass::runOnKernel() {
  launch::AbiOp abi = launch::requireAbi(getOperation());
  if (!abi)
    return signalPassFailure();
  // `warp-insert-pipelines` converts kernels with roles.
  plan::KernelAttr plan = abi.getPlan();
  if (plan.hasRoles())
    return;
  llvm::MapVector<Operation *, SmallVector<warp::CopyOp>> loops;
  SmallVector<warp::CopyOp> single;
  getOperation().walk([&](warp::CopyOp copy) {
    if (copy.getAsync())
      return;
    if (auto loop = dyn_cast<scf::ForOp>(copy->getParentOp()))
      loops[loop].push_back(copy);
    else
      single.push_back(copy);
  });
  for (auto &[_, copies] : loops) {
    // Do not use the key: conversions replace the outer loops.
    auto loop = cast<scf::ForOp>(copies.front()->getParentOp());
    // One ring position serves all of a loop's streams.
    int64_t stages = plan.getStream(copies.front().getNameAttr()).stages;
    for (warp::CopyOp copy : copies)
      if (int64_t other = plan.getStream(copy.getNameAttr()).stages;
          other != stages) {
        InFlightDiagnostic diag =
            copy.emitError("has ")
            << other << " stages, but another copy of its loop has " << stages;
        diag.attachNote(copies.front().getLoc()) << "the other copy";
        return signalPassFailure();
      }
    if (failed(convertLoop(loop, copies, stages)))
      return signalPassFailure();
  }
  for (warp::CopyOp copy : single)
    if (failed(convertSingle(copy)))
      return signalPassFailure();
}
