//===- Ring.cpp - Rings of stages -----------------------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements the helpers for ring positions and for loops that carry them.
//
//===----------------------------------------------------------------------===//

#include "Pipelines/Ring.h"

#include "fovea/Support/ValueNames.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

Value warp::makeI32(OpBuilder &b, Location loc, int64_t value) {
  return arith::ConstantIntOp::create(b, loc, value, 32);
}

warp::RingState warp::advance(OpBuilder &b, Location loc, RingState state,
                              int64_t steps, int64_t stages) {
  if (steps == 0)
    return state;
  if (stages == 1)
    return {state.stage,
            arith::XOrIOp::create(b, getNamedLoc(loc, "phase"), state.phase,
                                  makeI32(b, loc, 1))};
  Value ahead =
      arith::AddIOp::create(b, loc, state.stage, makeI32(b, loc, steps));
  Value size = makeI32(b, loc, stages);
  Value wraps =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, ahead, size);
  Value wrapped = arith::SubIOp::create(b, loc, ahead, size);
  Value stage = arith::SelectOp::create(b, getNamedLoc(loc, "stage"), wraps,
                                        wrapped, ahead);
  Value flip = arith::ExtUIOp::create(b, loc, b.getI32Type(), wraps);
  Value phase =
      arith::XOrIOp::create(b, getNamedLoc(loc, "phase"), state.phase, flip);
  return {stage, phase};
}

Value warp::makeStageView(OpBuilder &b, Location loc, Value buffer,
                          Value stage) {
  auto type = cast<MemRefType>(buffer.getType());
  auto view =
      MemRefType::get(type.getShape().drop_front(), type.getElementType(),
                      MemRefLayoutAttrInterface(), type.getMemorySpace());
  return warp::StageOp::create(b, loc, view, buffer, stage);
}

Value warp::getRingBuffer(Value operand) {
  if (auto stage = operand.getDefiningOp<StageOp>())
    return stage.getBuffer();
  return operand;
}

SmallVector<Value, 2> warp::getRingBuffers(DotOp dot) {
  SmallVector<Value, 2> buffers;
  for (Value operand : {Value(dot.getA()), Value(dot.getB())})
    if (isSharedBuffer(operand.getType()))
      buffers.push_back(getRingBuffer(operand));
  return buffers;
}

warp::DotWaitOp warp::getDotWait(DotOp dot) {
  if (!dot.getResult().hasOneUse())
    return {};
  return dyn_cast<DotWaitOp>(*dot.getResult().user_begin());
}

Value warp::getFilledBuffer(Operation *op) {
  if (auto copy = dyn_cast<CopyOp>(op))
    return getRingBuffer(copy.getTarget());
  if (auto store = dyn_cast<LocalStoreOp>(op))
    return getRingBuffer(store.getTarget());
  if (auto fence = dyn_cast<FenceStoresOp>(op))
    return getRingBuffer(fence.getBuffer());
  return {};
}

llvm::MapVector<Value, warp::RingOps> warp::findRings(Block *body) {
  llvm::MapVector<Value, RingOps> rings;
  // A copy belongs to the pipeline whose stage was last acquired before it.
  llvm::MapVector<Value, Value> buffers;
  Value acquired;
  for (Operation &op : *body) {
    if (auto acquire = dyn_cast<ProducerAcquireOp>(op))
      acquired = acquire.getPipeline();
    Value buffer = getFilledBuffer(&op);
    if (!buffer)
      continue;
    if (acquired)
      buffers[buffer] = acquired;
    rings[buffer].fills.insert(&op);
  }
  // Ops of a pipeline belong to all of its buffers.
  for (Operation &op : *body) {
    bool isRelease = isa<ConsumerReleaseOp>(op);
    Value ofOp = getFilledBuffer(&op);
    if (ofOp)
      ofOp = buffers.lookup(ofOp);
    else if (isRelease ||
             isa<ProducerAcquireOp, ProducerCommitOp, ConsumerWaitOp>(op))
      ofOp = op.getOperand(0);
    for (auto [buffer, pipeline] : buffers)
      if (pipeline == ofOp)
        (isRelease ? rings[buffer].releases : rings[buffer].fills).insert(&op);
  }
  return rings;
}

MemRefType warp::getStagedType(MemRefType type, int64_t stages) {
  SmallVector<int64_t> shape = {stages};
  llvm::append_range(shape, type.getShape());
  return MemRefType::get(shape, type.getElementType(),
                         MemRefLayoutAttrInterface(), type.getMemorySpace());
}

std::pair<Operation *, Operation *> warp::getRange(Block *block,
                                                   ArrayRef<Operation *> ops) {
  Operation *first = nullptr, *last = nullptr;
  for (Operation *op : ops) {
    Operation *ancestor = block->findAncestorOpInBlock(*op);
    if (!first || ancestor->isBeforeInBlock(first))
      first = ancestor;
    if (!last || last->isBeforeInBlock(ancestor))
      last = ancestor;
  }
  return {first, last};
}

//===----------------------------------------------------------------------===//
// Carried values
//===----------------------------------------------------------------------===//

bool warp::isDoWhile(Operation *op) {
  auto loop = dyn_cast<scf::WhileOp>(op);
  if (!loop)
    return false;
  Block *after = loop.getAfterBody();
  return llvm::hasSingleElement(*after) &&
         llvm::equal(after->getTerminator()->getOperands(),
                     after->getArguments());
}

static Operation *
addToWhile(IRRewriter &b, scf::WhileOp loop, ValueRange inits,
           function_ref<SmallVector<Value>(OpBuilder &, ValueRange)> next) {
  Location loc = loop.getLoc();
  SmallVector<Type> types(loop.getResultTypes());
  llvm::append_range(types, inits.getTypes());
  SmallVector<Value> operands(loop.getInits());
  llvm::append_range(operands, inits);
  b.setInsertionPoint(loop);
  auto result = scf::WhileOp::create(b, loc, types, operands);
  result.getBefore().takeBody(loop.getBefore());
  result.getAfter().takeBody(loop.getAfter());
  Block *before = result.getBeforeBody(), *after = result.getAfterBody();
  SmallVector<Location> locs(inits.size(), loc);
  auto added = before->addArguments(inits.getTypes(), locs);
  SmallVector<Value> carried(added.begin(), added.end());
  scf::ConditionOp condition = result.getConditionOp();
  b.setInsertionPoint(condition);
  SmallVector<Value> values = next(b, carried);
  condition.getArgsMutable().append(values);
  auto passed = after->addArguments(inits.getTypes(), locs);
  after->getTerminator()->insertOperands(
      after->getTerminator()->getNumOperands(),
      SmallVector<Value>(passed.begin(), passed.end()));
  b.replaceAllUsesWith(loop.getResults(),
                       result.getResults().take_front(loop.getNumResults()));
  b.eraseOp(loop);
  return result;
}

FailureOr<Operation *> warp::addCarried(
    IRRewriter &b, Operation *loop, ValueRange inits,
    function_ref<SmallVector<Value>(OpBuilder &, ValueRange)> next) {
  if (auto whileLoop = dyn_cast<scf::WhileOp>(loop);
      whileLoop && isDoWhile(loop))
    return addToWhile(b, whileLoop, inits, next);
  auto forLoop = dyn_cast<scf::ForOp>(loop);
  if (!forLoop)
    return loop->emitError("can't carry a pipeline's state through this loop");
  b.setInsertionPoint(loop);
  auto yields = [&](OpBuilder &inner, Location,
                    ArrayRef<BlockArgument> arguments) {
    SmallVector<Value> carried(arguments.begin(), arguments.end());
    return next(inner, carried);
  };
  FailureOr<LoopLikeOpInterface> replaced = forLoop.replaceWithAdditionalYields(
      b, inits, /*replaceInitOperandUsesInLoop=*/false, yields);
  if (failed(replaced))
    return loop->emitError("can't carry a pipeline's state through this loop");
  return replaced->getOperation();
}

SmallVector<Operation *> warp::getLoopsAround(Operation *op) {
  SmallVector<Operation *> loops;
  for (Operation *parent = op->getParentOp(); !isa<gpu::GPUFuncOp>(parent);
       parent = parent->getParentOp())
    loops.push_back(parent);
  return {loops.rbegin(), loops.rend()};
}

FailureOr<warp::RingState> warp::carryThrough(ArrayRef<Operation *> loops,
                                              RingState state, int64_t steps,
                                              int64_t stages) {
  IRRewriter b(loops.front()->getContext());
  // From the outside in. A loop yields the results of its inner loop, so its
  // yield operands are set after the inner loop exists.
  Operation *outer = nullptr;
  for (auto [index, loop] : llvm::enumerate(loops)) {
    bool isLast = index + 1 == loops.size();
    RingState inside;
    Location loc = loop->getLoc();
    FailureOr<Operation *> made =
        addCarried(b, loop, {state.stage, state.phase},
                   [&](OpBuilder &inner, ValueRange carried) {
                     inside = {carried[0], carried[1]};
                     RingState next =
                         isLast && steps != 0
                             ? advance(inner, loc, inside, steps, stages)
                             : inside;
                     return SmallVector<Value>{next.stage, next.phase};
                   });
    if (failed(made))
      return failure();
    if (outer) {
      // The outer loop yields the final values of this one.
      auto results = (*made)->getResults().take_back(2);
      Operation *terminator = isa<scf::WhileOp>(outer)
                                  ? cast<scf::WhileOp>(outer).getConditionOp()
                                  : (*made)->getBlock()->getTerminator();
      unsigned count = terminator->getNumOperands();
      terminator->setOperand(count - 2, results[0]);
      terminator->setOperand(count - 1, results[1]);
    }
    outer = *made;
    state = inside;
  }
  return state;
}

namespace {
/// Advances a position from op to op, through the loops around them.
struct PositionCarrier {
  const llvm::SetVector<Operation *> &ops;
  int64_t stages;
  llvm::MapVector<Operation *, RingState> positions = {};

  bool containsOp(Operation &op) const {
    return llvm::any_of(
        ops, [&](Operation *one) { return op.isProperAncestor(one); });
  }
  FailureOr<RingState> carry(Block &block, RingState state);
  FailureOr<RingState> carryThroughLoop(Operation *loop, RingState state);
};
} // namespace

FailureOr<RingState> PositionCarrier::carryThroughLoop(Operation *loop,
                                                       RingState state) {
  IRRewriter b(loop->getContext());
  bool isCarried = true;
  FailureOr<Operation *> made = addCarried(
      b, loop, {state.stage, state.phase},
      [&](OpBuilder &inner, ValueRange carried) -> SmallVector<Value> {
        FailureOr<RingState> end =
            carry(*inner.getInsertionBlock(), {carried[0], carried[1]});
        isCarried = succeeded(end);
        if (!isCarried)
          return {carried[0], carried[1]};
        return {end->stage, end->phase};
      });
  if (failed(made) || !isCarried)
    return failure();
  auto results = (*made)->getResults().take_back(2);
  return RingState{results[0], results[1]};
}

FailureOr<RingState> PositionCarrier::carry(Block &block, RingState state) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (ops.contains(&op)) {
      positions[&op] = state;
      OpBuilder b(op.getContext());
      b.setInsertionPointAfter(&op);
      state = advance(b, op.getLoc(), state, /*steps=*/1, stages);
    } else if (containsOp(op)) {
      FailureOr<RingState> end = carryThroughLoop(&op, state);
      if (failed(end))
        return failure();
      state = *end;
    }
  }
  return state;
}

FailureOr<llvm::MapVector<Operation *, RingState>>
warp::assignPositions(Block &body, const llvm::SetVector<Operation *> &ops,
                      RingState state, int64_t stages) {
  PositionCarrier carrier{ops, stages};
  if (failed(carrier.carry(body, state)))
    return failure();
  return std::move(carrier.positions);
}
