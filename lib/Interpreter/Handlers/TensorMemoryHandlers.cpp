//===- TensorMemoryHandlers.cpp - Executes dots in tensor memory ----------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Handlers of tensor memory and of dots that accumulate there. Such dots
// complete in the order of their issue, and signal pipelines when they are
// done.
//
//===----------------------------------------------------------------------===//

#include "TileSupport.h"
#include "Warp/SharedAccess.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::interp;

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

/// The columns that a tensor memory value refers to.
static MutableArrayRef<Slot> getColumns(Frame &frame, Value memref) {
  auto &view = frame.get(memref).getObject<TmemView>();
  return MutableArrayRef(view.memory->columns)
      .slice(view.first,
             warp::getTmemColumns(cast<MemRefType>(memref.getType())));
}

static RankedTensorType getTileType(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  return RankedTensorType::get(type.getShape(), type.getElementType());
}

/// Reads columns into one array, after checking that they may be read.
static FailureOr<std::shared_ptr<Array>>
readColumns(Operation *op, Agent &agent, Value memref) {
  RankedTensorType type = getTileType(memref);
  auto result = makeTile(agent.frame, type);
  MutableArrayRef<Slot> columns = getColumns(agent.frame, memref);
  int64_t width = type.getDimSize(1) / columns.size();
  for (auto [index, column] : llvm::enumerate(columns)) {
    if (failed(checkRead(op, agent, column)))
      return failure();
    const Array &part = column.contents.getArray();
    if (part.getShape()[1] != width ||
        part.getStorage() != result->getStorage()) {
      agent.frame.fail(op) << "reads tensor memory as " << type.getElementType()
                           << " that was written as another type";
      agent.frame.note(column.writer) << "written here";
      return failure();
    }
    withStorage(result->getStorage(), [&, index = index](auto like) {
      using T = decltype(like);
      for (int64_t r = 0; r < type.getDimSize(0); ++r)
        std::copy_n(part.data<T>() + r * width, width,
                    result->data<T>() + r * type.getDimSize(1) + index * width);
    });
  }
  return result;
}

/// Writes an array to columns whose slots are claimed.
static void fillColumns(MutableArrayRef<Slot> columns, const Array &value) {
  int64_t rows = value.getShape()[0], extent = value.getShape()[1];
  int64_t width = extent / columns.size();
  for (auto [index, column] : llvm::enumerate(columns)) {
    auto part = std::make_shared<Array>(ArrayRef<int64_t>{rows, width},
                                        value.getStorage());
    withStorage(value.getStorage(), [&, index = index](auto like) {
      using T = decltype(like);
      for (int64_t r = 0; r < rows; ++r)
        std::copy_n(value.data<T>() + r * extent + index * width, width,
                    part->template data<T>() + r * width);
    });
    column.contents = RuntimeValue::array(std::move(part));
  }
}

//===----------------------------------------------------------------------===//
// Tensor memory
//===----------------------------------------------------------------------===//

static LogicalResult executeTmemAlloc(Operation *op, Frame &frame) {
  auto alloc = cast<warp::TmemAllocOp>(op);
  FailureOr<Agent *> agent = getAgent(op, frame);
  if (failed(agent))
    return failure();
  // All matrices of the kernel share one memory: they may overlap.
  auto memory = (*agent)->cta.getObject<TensorMemory>(
      op->getParentOfType<FunctionOpInterface>(), warp::kTmemColumns);
  frame.set(alloc.getBuffer(), RuntimeValue::object(std::make_shared<TmemView>(
                                   std::move(memory), alloc.getColumn())));
  return success();
}

static LogicalResult executeTmemView(Operation *op, Frame &frame) {
  auto view = cast<warp::TmemViewOp>(op);
  auto &source = frame.get(view.getSource()).getObject<TmemView>();
  frame.set(view.getResult(),
            RuntimeValue::object(std::make_shared<TmemView>(
                source.memory, source.first + int64_t(view.getFrom()))));
  return success();
}

static LogicalResult executeTmemLoad(Operation *op, Frame &frame) {
  auto load = cast<warp::TmemLoadOp>(op);
  FailureOr<Agent *> agent = getAgent(op, frame);
  if (failed(agent))
    return failure();
  auto tile = readColumns(op, **agent, load.getSource());
  if (failed(tile))
    return failure();
  (*agent)->accessByLanes(load, StageUse());
  frame.set(load.getResult(), RuntimeValue::array(std::move(*tile)));
  return success();
}

static LogicalResult executeTmemStore(Operation *op, Frame &frame) {
  auto store = cast<warp::TmemStoreOp>(op);
  FailureOr<Agent *> agent = getAgent(op, frame);
  if (failed(agent))
    return failure();
  MutableArrayRef<Slot> columns = getColumns(frame, store.getTarget());
  for (Slot &column : columns)
    if (failed(claim(op, **agent, column, (*agent)->getAcquired(),
                     WriteKind::Store)))
      return failure();
  (*agent)->accessByLanes(store, StageUse());
  fillColumns(columns, frame.getArray(store.getValue()));
  return success();
}

//===----------------------------------------------------------------------===//
// Dots
//===----------------------------------------------------------------------===//

/// Reads an operand; adds its slots to `slots`.
static FailureOr<std::shared_ptr<const Array>>
readOperand(Operation *op, Agent &agent, Value operand,
            SmallVectorImpl<Slot *> &slots) {
  if (!warp::isTmemBuffer(operand.getType())) {
    Slot &slot = getView(agent.frame, operand).getSlot();
    if (failed(checkRead(op, agent, slot)) ||
        failed(checkFenced(op, agent, slot, /*readsOwnRows=*/false)))
      return failure();
    slots.push_back(&slot);
    return slot.contents.shareArray();
  }
  auto tile = readColumns(op, agent, operand);
  if (failed(tile))
    return failure();
  for (Slot &column : getColumns(agent.frame, operand))
    slots.push_back(&column);
  return std::shared_ptr<const Array>(std::move(*tile));
}

/// The initial value of a dot: zeros, or the accumulator's contents.
static FailureOr<std::shared_ptr<Array>> readAccumulator(warp::DotIntoOp dot,
                                                         Agent &agent) {
  RankedTensorType type = getTileType(dot.getAcc());
  Frame &frame = agent.frame;
  auto result = makeTile(frame, type);
  ArrayRef<Slot> columns = getColumns(frame, dot.getAcc());
  bool accumulate = frame.getInteger(dot.getAccumulate());
  for (size_t index = 0; index < columns.size(); ++index) {
    const RuntimeValue &contents = columns[index].contents;
    if (accumulate && (!contents || contents.getArray().getShape()[1] != 1)) {
      frame.fail(dot) << "accumulates into tensor memory that holds no f32";
      return failure();
    }
    withStorage(result->getStorage(), [&](auto like) {
      using T = decltype(like);
      for (int64_t r = 0; r < type.getDimSize(0); ++r)
        result->data<T>()[r * type.getDimSize(1) + index] =
            accumulate ? contents.getArray().data<T>()[r] : T(0);
    });
  }
  return result;
}

static LogicalResult executeDotInto(Operation *op, Frame &frame) {
  auto dot = cast<warp::DotIntoOp>(op);
  FailureOr<Agent *> agent = getAgent(op, frame);
  if (failed(agent))
    return failure();
  auto pending = std::make_shared<PendingDot>();
  pending->op = op;
  pending->issuer = (*agent)->party;
  auto a = readOperand(op, **agent, dot.getA(), pending->operands);
  if (failed(a))
    return failure();
  auto b = readOperand(op, **agent, dot.getB(), pending->operands);
  if (failed(b))
    return failure();
  auto acc = readAccumulator(dot, **agent);
  if (failed(acc))
    return failure();
  auto result = multiply(frame, op, **a, **b, **acc, dot.getTransposeB(),
                         getTileType(dot.getAcc()));
  if (failed(result))
    return failure();
  MutableArrayRef<Slot> columns = getColumns(frame, dot.getAcc());
  for (Slot &column : columns) {
    if (failed(claim(op, **agent, column, (*agent)->getAcquired(),
                     WriteKind::Dot)))
      return failure();
    column.product = pending;
  }
  // Only later dots can read the result before this one is done.
  fillColumns(columns, **result);
  (*agent)->cta.addDot(**agent, std::move(pending));
  (*agent)->synchronised = true;
  return success();
}

static LogicalResult executeCommitAfterDots(Operation *op, Frame &frame) {
  FailureOr<Agent *> agent = getAgent(op, frame);
  if (failed(agent))
    return failure();
  FailureOr<Signal> signal = commitStage(op, **agent);
  if (failed(signal))
    return failure();
  (*agent)->cta.signalAfterDots(**agent, *signal);
  return success();
}

static LogicalResult executeReleaseAfterDots(Operation *op, Frame &frame) {
  FailureOr<Agent *> agent = getAgent(op, frame);
  if (failed(agent))
    return failure();
  FailureOr<Signal> signal = releaseStage(op, **agent, /*afterDots=*/true);
  if (failed(signal))
    return failure();
  (*agent)->cta.signalAfterDots(**agent, *signal);
  return success();
}

void fovea::interp::registerTensorMemoryHandlers(
    InterpreterRegistry &registry) {
  registry.add<warp::TmemAllocOp>(executeTmemAlloc);
  registry.add<warp::TmemViewOp>(executeTmemView);
  registry.add<warp::TmemLoadOp>(executeTmemLoad);
  registry.add<warp::TmemStoreOp>(executeTmemStore);
  registry.add<warp::DotIntoOp>(executeDotInto);
  registry.add<warp::CommitAfterDotsOp>(executeCommitAfterDots);
  registry.add<warp::ReleaseAfterDotsOp>(executeReleaseAfterDots);
}
