//===- TensorMemory.cpp - Lower dots to tensor memory ---------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorMemory.h"

#include "fovea/Support/ValueNames.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fovea;

static MemRefType makeType(RankedTensorType tile) {
  return MemRefType::get(tile.getShape(), tile.getElementType(),
                         MemRefLayoutAttrInterface(),
                         warp::TmemAttr::get(tile.getContext()));
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

FailureOr<Value> TensorMemoryDots::putOver(tile::StreamOp stream,
                                           StringRef family) {
  Value &view = views[stream];
  if (view)
    return view;
  // A member of a family (`p.0`) overlays the accumulator of the same member
  // (`s.0`).
  StringRef name = stream.getNameAttr().getValue(),
            part = name.drop_front(name.split('.').first.size());
  auto dot = StringAttr::get(stream.getContext(), family + part);
  Value acc = accumulators.lookup(dot);
  if (!acc)
    return stream.emitError("needs the accumulator of the dot ")
           << dot << ": expected that dot before it";
  MemRefType type = makeType(stream.getResult().getType());
  int64_t free = warp::getTmemColumns(cast<MemRefType>(acc.getType())),
          needed = warp::isTmemBuffer(type) ? warp::getTmemColumns(type) : -1;
  if (needed < 0 || needed > free)
    return stream.emitError("does not fit the accumulator of the dot ")
           << dot << ": " << stream.getResult().getType() << " in " << free
           << " columns of " << warp::kTmemRows << " rows";
  OpBuilder b(stream);
  Location loc = stream.getLoc();
  view = warp::TmemViewOp::create(b, loc, type, acc, free - needed);
  warp::TmemStoreOp::create(b, loc, stream.getValue(), view,
                            stream.getNameAttr());
  return view;
}

FailureOr<Value> TensorMemoryDots::getFirstOperand(tile::DotOp dot) {
  auto stream = dot.getA().getDefiningOp<tile::StreamOp>();
  if (stream)
    if (StringAttr over = plan.getStream(stream.getNameAttr()).over)
      return putOver(stream, over);
  if (Value buffer = getBuffer(dot.getA()))
    return buffer;
  return dot.emitError("first operand of a dot must be loaded from memory or a "
                       "stream ('tile.stream') where dots accumulate in tensor "
                       "memory");
}

FailureOr<Value> TensorMemoryDots::allocate(tile::DotOp dot) {
  if (dot.getFirstRow() || dot.getFirstColumn())
    return dot.emitError(
        "dots into tensor memory can't use slices of operands");
  MemRefType type = makeType(dot.getResult().getType());
  if (!warp::isTmemBuffer(type))
    return dot.emitError("dots into tensor memory must have ")
           << warp::kTmemRows << " rows, found " << dot.getResult().getType();
  int64_t first = columns;
  columns += warp::getTmemColumns(type);
  if (columns > warp::kTmemColumns)
    return dot.emitError("accumulators need ")
           << columns << " columns of tensor memory, expected at most "
           << warp::kTmemColumns;
  OpBuilder b = OpBuilder::atBlockBegin(&kernel.getBody().front());
  Location loc = dot.getLoc();
  if (StringAttr name = dot.getNameAttr())
    loc = getNamedLoc(loc, name.getValue() + "_tmem");
  Value acc = warp::TmemAllocOp::create(b, loc, type, first);
  if (dot.getNameAttr())
    accumulators[dot.getNameAttr()] = acc;
  return acc;
}

//===----------------------------------------------------------------------===//
// Accumulators
//===----------------------------------------------------------------------===//

static bool isZero(Value value) {
  return matchPattern(value, m_AnyZeroFloat());
}

/// The ops of the loop's body between `carried` and the dot: arithmetic, or one
/// `tile.if_any`. Fails if `carried` has other uses.
static FailureOr<SmallVector<Operation *>> findUpdate(tile::DotOp dot,
                                                      Value carried) {
  llvm::SetVector<Value> derived;
  SmallVector<Operation *> ops;
  derived.insert(carried);
  auto isDerived = [&](Value value) { return derived.contains(value); };
  for (Operation &op : *dot->getBlock()) {
    auto fail = [&] {
      InFlightDiagnostic diag =
          op.emitError("the loop-carried accumulator of a dot may only be "
                       "updated for the dot's next iteration");
      diag.attachNote(dot.getLoc()) << "the dot";
      return diag;
    };
    WalkResult inside = op.walk([&](Operation *nested) {
      return nested != &op && llvm::any_of(nested->getOperands(), isDerived)
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    });
    if (inside.wasInterrupted())
      return fail();
    if (&op == dot || llvm::none_of(op.getOperands(), isDerived))
      continue;
    bool isOnly = isa<tile::IfAnyOp>(op) ||
                  (!ops.empty() && isa<tile::IfAnyOp>(ops.front()));
    if (op.getNumResults() != 1 || !isMemoryEffectFree(&op) ||
        !op.isBeforeInBlock(dot) ||
        (isOnly ? !ops.empty() : op.getNumRegions() != 0))
      return fail();
    derived.insert(op.getResult(0));
    ops.push_back(&op);
  }
  if (!derived.contains(dot.getAcc()))
    return dot.emitError("accumulator must be the loop-carried value");
  return ops;
}

/// Applies `update`, which computes `result` from `carried`, to `acc` in place.
/// For a `tile.if_any`, nothing is loaded or stored unless some row needs the
/// update.
static void updateInPlace(OpBuilder &b, Location loc,
                          ArrayRef<Operation *> update, Value carried,
                          Value result, Value acc, StringAttr name) {
  SmallVector<Operation *> ops(update);
  if (auto ifAny = dyn_cast<tile::IfAnyOp>(update.front())) {
    Value any = warp::AnyOp::create(b, loc, ifAny.getCondition());
    auto branch = scf::IfOp::create(b, loc, any, /*withElseRegion=*/false);
    b.setInsertionPoint(branch.thenBlock()->getTerminator());
    Block &body = ifAny.getBody().front();
    carried = body.getArgument(0);
    result = body.getTerminator()->getOperand(0);
    ops = llvm::to_vector(llvm::make_pointer_range(body.without_terminator()));
  }
  IRMapping mapping;
  Value old = warp::TmemLoadOp::create(b, loc, carried.getType(), acc);
  mapping.map(carried, old);
  for (Operation *op : ops)
    b.clone(*op, mapping);
  warp::TmemStoreOp::create(b, loc, mapping.lookupOrDefault(result), acc, name);
}

FailureOr<Value> TensorMemoryDots::keepCarried(tile::DotOp dot, Value acc,
                                               scf::ForOp loop,
                                               unsigned index) {
  Value carried = loop.getRegionIterArg(index);
  FailureOr<SmallVector<Operation *>> update = findUpdate(dot, carried);
  if (failed(update))
    return failure();
  Location loc = dot.getLoc();
  OpBuilder b(update->empty() ? dot.getOperation() : update->front());
  Value isLater =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne,
                            loop.getInductionVar(), loop.getLowerBound());
  if (!update->empty()) {
    b.setInsertionPoint(update->back());
    auto branch = scf::IfOp::create(b, loc, isLater, /*withElseRegion=*/false);
    OpBuilder inside = branch.getThenBodyBuilder();
    StringAttr name = dot.getNameAttr();
    if (name)
      name = b.getStringAttr(name.getValue() + tile::kUpdateSuffix);
    updateInPlace(inside, loc, *update, carried, dot.getAcc(), acc, name);
    dot.getAccMutable().assign(carried);
    for (Operation *op : llvm::reverse(*update))
      op->erase();
  }
  // Users after the loop load the result; the loop no longer carries it.
  Value result = loop.getResult(index);
  if (!result.use_empty()) {
    b.setInsertionPointAfter(loop);
    Value last =
        warp::TmemLoadOp::create(b, loop.getLoc(), result.getType(), acc);
    result.replaceAllUsesWith(last);
  }
  loop.getYieldedValuesMutable().value()[index].set(carried);
  return isLater;
}

FailureOr<Value> TensorMemoryDots::placeAccumulator(tile::DotOp dot,
                                                    Value acc) {
  OpBuilder b(dot);
  Location loc = dot.getLoc();
  if (isZero(dot.getAcc())) {
    b.setInsertionPointAfter(dot);
    Value product =
        warp::TmemLoadOp::create(b, loc, dot.getResult().getType(), acc);
    dot.getResult().replaceAllUsesWith(product);
    b.setInsertionPoint(dot);
    return Value(arith::ConstantIntOp::create(b, loc, 0, 1));
  }
  auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
  if (loop && dot.getResult().hasOneUse()) {
    OpOperand &use = *dot.getResult().use_begin();
    unsigned index = use.getOperandNumber();
    if (isa<scf::YieldOp>(use.getOwner()) && isZero(loop.getInits()[index]))
      return keepCarried(dot, acc, loop, index);
  }
  return dot.emitError(
      "accumulator in tensor memory must be zero, or the dot's "
      "own result of the previous iteration, starting at zero");
}

LogicalResult TensorMemoryDots::convert(tile::DotOp dot) {
  if (dot.getTransposeA())
    return dot.emitError("transposed first operands are not supported where "
                         "dots accumulate in tensor memory");
  FailureOr<Value> left = getFirstOperand(dot);
  if (failed(left))
    return failure();
  Value right = getBuffer(dot.getB());
  if (!right)
    return dot.emitError("second operand of a dot must be loaded from memory "
                         "or a stream ('tile.stream')");
  FailureOr<Value> acc = allocate(dot);
  if (failed(acc))
    return failure();
  FailureOr<Value> accumulate = placeAccumulator(dot, *acc);
  if (failed(accumulate))
    return failure();
  OpBuilder b(dot);
  warp::DotIntoOp::create(b, dot.getLoc(), *left, right, *acc, *accumulate,
                          dot.getTransposeB(), dot.getNameAttr());
  dot.erase();
  return success();
}

//===----------------------------------------------------------------------===//
// Streams that no dot reads
//===----------------------------------------------------------------------===//

void fovea::readBack(tile::StreamOp stream, Value buffer,
                     plan::KernelAttr plan) {
  OpBuilder b(stream);
  Location loc = stream.getLoc();
  for (Operation *user : llvm::make_early_inc_range(stream->getUsers())) {
    auto store = dyn_cast<tile::StoreOp>(user);
    if (!store || !plan.getStore(store.getNameAttr()).isCopied)
      continue;
    b.setInsertionPoint(store);
    warp::CopyOutOp::create(b, store.getLoc(), buffer, store.getTarget(),
                            store.getIndices(), store.getDimsAttr(),
                            store.getFoldAttr(), /*async=*/UnitAttr(),
                            store.getAddAttr(), store.getNameAttr());
    store.erase();
  }
  if (stream->use_empty())
    return;
  b.setInsertionPointAfter(stream);
  Value local = warp::LocalLoadOp::create(b, loc, stream.getType(), buffer);
  stream.getResult().replaceAllUsesWith(local);
}
