//===- WarpHandlers.cpp - Executes data movement and dots -------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Handlers of warp ops that move data between global memory, shared memory and
// registers, and of dots with accumulators in registers.
//
//===----------------------------------------------------------------------===//

#include "TileSupport.h"
#include "Warp/SharedAccess.h"

#include "fovea/Dialect/Warp/IR/WarpPlaces.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::interp;

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

/// Number of slots of a buffer or a view: all dimensions except rows and
/// columns.
static int64_t countSlots(MemRefType type) {
  int64_t slots = 1;
  for (int64_t size : type.getShape().drop_back(2))
    slots *= size;
  return slots;
}

static LogicalResult executeAlloc(Operation *op, Frame &frame) {
  auto alloc = cast<warp::AllocOp>(op);
  FailureOr<Agent *> agent = getAgent(op, frame);
  if (failed(agent))
    return failure();
  auto buffer = (*agent)->cta.getObject<SharedBuffer>(
      op, countSlots(alloc.getBuffer().getType()));
  frame.set(
      alloc.getBuffer(),
      RuntimeValue::object(std::make_shared<SharedView>(std::move(buffer), 0)));
  return success();
}

/// Ones are present from the start; no op writes them.
static LogicalResult executeOnes(Operation *op, Frame &frame) {
  auto ones = cast<warp::OnesOp>(op);
  FailureOr<Agent *> agent = getAgent(op, frame);
  if (failed(agent))
    return failure();
  MemRefType type = ones.getBuffer().getType();
  auto buffer = (*agent)->cta.getObject<SharedBuffer>(op, countSlots(type));
  auto contents = makeTile(
      frame, RankedTensorType::get(type.getShape(), type.getElementType()));
  withStorage(contents->getStorage(), [&](auto like) {
    using T = decltype(like);
    std::fill_n(contents->data<T>(), contents->getNumElements(), T(1));
  });
  Slot &slot = buffer->slots.front();
  slot.contents = RuntimeValue::array(std::move(contents));
  slot.writer = op;
  slot.writingParty = (*agent)->party;
  frame.set(ones.getBuffer(), RuntimeValue::object(std::make_shared<SharedView>(
                                  std::move(buffer), 0)));
  return success();
}

static LogicalResult executeStage(Operation *op, Frame &frame) {
  auto stage = cast<warp::StageOp>(op);
  SharedView &view = getView(frame, stage.getBuffer());
  FailureOr<int64_t> index =
      getStage(op, frame, stage.getStage(),
               stage.getBuffer().getType().getShape().front());
  if (failed(index))
    return failure();
  int64_t first = view.first + *index * countSlots(stage.getType());
  frame.set(
      stage.getResult(),
      RuntimeValue::object(std::make_shared<SharedView>(view.buffer, first)));
  return success();
}

/// Reads the rank-2 buffer that the op's memref operand refers to.
static FailureOr<const Array *> readBuffer(Operation *op, Agent &agent,
                                           Value memref) {
  Slot &slot = getView(agent.frame, memref).getSlot();
  if (failed(checkRead(op, agent, slot)))
    return failure();
  return &slot.contents.getArray();
}

static LogicalResult executeLocalLoad(Operation *op, Frame &frame) {
  auto load = cast<warp::LocalLoadOp>(op);
  FailureOr<Agent *> agent = getAgent(op, frame);
  if (failed(agent) || failed(readBuffer(op, **agent, load.getSource())))
    return failure();
  Slot &slot = getView(frame, load.getSource()).getSlot();
  if (slot.use)
    (*agent)->accessByLanes(load, slot.use);
  const StoredRows *mine = slot.findStored((*agent)->party);
  const RuntimeValue &tile = mine ? mine->tile : slot.contents;
  frame.set(load.getResult(),
            load.getTranspose()
                ? RuntimeValue::array(transpose(tile.getArray()))
                : tile);
  return success();
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

static LogicalResult executeCopy(Operation *op, Frame &frame) {
  auto copy = cast<warp::CopyOp>(op);
  FailureOr<Agent *> found = getAgent(op, frame);
  if (failed(found))
    return failure();
  Agent &agent = **found;
  if (copy.getAsync() && failed(settle(op, agent, agent.checkCopy())))
    return failure();
  if (!copy.getAsync() && agent.party.role)
    return frame.fail(op) << "a copy in a role must be asynchronous: roles "
                             "have no CTA barrier";
  if (copy.getCondition() && !frame.getInteger(copy.getCondition()))
    return success();
  Slot &slot = getView(frame, copy.getTarget()).getSlot();
  StageUse use = copy.getAsync() ? agent.getAcquired() : StageUse();
  if (failed(claim(op, agent, slot, use, WriteKind::Copy)))
    return failure();
  MemRefType target = copy.getTarget().getType();
  if (failed(checkFragments(op, frame, copy.getSource(), copy.getIndices(),
                            copy.getBoxDims(), target.getShape())))
    return failure();
  auto data = RuntimeValue::array(loadBox(
      frame, copy.getSource(), copy.getIndices(), copy.getBoxDims(),
      copy.getLimit(),
      GroupTable(frame, copy.getTable(), copy.getTableIndices()),
      RankedTensorType::get(target.getShape(), target.getElementType())));
  if (!copy.getAsync()) {
    slot.contents = std::move(data);
    return success();
  }
  warp::StageState &stage = use.pipeline->stages[use.stage];
  ++stage.outstandingCopies;
  stage.copy = op;
  stage.copiedUse = use.round;
  agent.cta.addCopy({&slot, std::move(data), use});
  agent.synchronised = true;
  return success();
}

/// A copy of `contents` with zeros from row `from` on; null if these rows are
/// zero already.
static std::shared_ptr<Array> zeroRows(const Array &contents, int64_t from) {
  int64_t rows = contents.getShape()[0], columns = contents.getShape()[1];
  int64_t first = std::clamp<int64_t>(from, 0, rows) * columns,
          count = rows * columns - first;
  std::shared_ptr<Array> zeroed;
  withStorage(contents.getStorage(), [&](auto like) {
    using T = decltype(like);
    if (llvm::all_of(ArrayRef(contents.data<T>() + first, count),
                     [](T element) { return element == T(0); }))
      return;
    zeroed =
        std::make_shared<Array>(contents.getShape(), contents.getStorage());
    std::copy_n(contents.data<T>(), first, zeroed->data<T>());
    std::fill_n(zeroed->data<T>() + first, count, T(0));
  });
  return zeroed;
}

/// Several warp groups may zero the same rows, each for its own dots. The first
/// one requires that no dot reads the old contents.
static LogicalResult executeZeroRows(Operation *op, Frame &frame) {
  auto zero = cast<warp::ZeroRowsOp>(op);
  FailureOr<Agent *> agent = getAgent(op, frame);
  if (failed(agent))
    return failure();
  Slot &slot = getView(frame, zero.getBuffer()).getSlot();
  if (failed(checkRead(op, **agent, slot)))
    return failure();
  auto zeroed =
      zeroRows(slot.contents.getArray(), frame.getInteger(zero.getFrom()));
  if (!zeroed)
    return success();
  if (failed(checkChangeInPlace(op, **agent, slot)))
    return failure();
  slot.contents = RuntimeValue::array(std::move(zeroed));
  return success();
}

//===----------------------------------------------------------------------===//
// Dots
//===----------------------------------------------------------------------===//

/// Appends columns of `ones` to `left`, repeated from the first row on.
static std::shared_ptr<Array> appendOnes(Frame &frame, const Array &left,
                                         const Array &ones, Type element) {
  int64_t rows = left.getShape()[0], columns = left.getShape()[1],
          more = ones.getShape()[1], repeat = ones.getShape()[0];
  auto result =
      makeTile(frame, RankedTensorType::get({rows, columns + more}, element));
  withStorage(result->getStorage(), [&](auto like) {
    using T = decltype(like);
    for (int64_t r = 0; r < rows; ++r) {
      T *row = result->data<T>() + r * (columns + more);
      std::copy_n(left.data<T>() + r * columns, columns, row);
      std::copy_n(ones.data<T>() + r % repeat * more, more, row + columns);
    }
  });
  return result;
}

/// The accumulator of a dot: a tile, or a pending result, which the dot takes
/// over.
static FailureOr<const Array *> takeAccumulator(warp::DotOp dot, Frame &frame) {
  if (!isa<warp::PendingType>(dot.getAcc().getType()))
    return &frame.getArray(dot.getAcc());
  auto &pending = frame.get(dot.getAcc()).getObject<PendingDot>();
  if (pending.delivered || pending.taker) {
    frame.fail(dot) << "accumulates into an outstanding result that another op "
                       "has consumed";
    frame.note(pending.taker ? pending.taker : pending.op)
        << (pending.taker ? "a dot that accumulates into it" : "the dot");
    return failure();
  }
  // An accumulation that has not begun may begin several times.
  if (!isa<warp::BeginSumOp>(pending.op))
    pending.taker = dot;
  return pending.result.get();
}

static LogicalResult executeDot(Operation *op, Frame &frame) {
  auto dot = cast<warp::DotOp>(op);
  FailureOr<Agent *> agent = getAgent(op, frame);
  if (failed(agent))
    return failure();
  SmallVector<const Array *, 2> operands;
  SmallVector<Slot *, 2> slots;
  Slot *rowOperand = nullptr;
  for (OpOperand *use : {&dot.getAMutable(), &dot.getBMutable()}) {
    Value operand = use->get();
    if (isa<RankedTensorType>(operand.getType())) {
      operands.push_back(&frame.getArray(operand));
      continue;
    }
    Slot &slot = getView(frame, operand).getSlot();
    const FilledRows *filled = warp::readsOwnRows(*use, (*agent)->party)
                                   ? slot.findFilled((*agent)->party)
                                   : nullptr;
    FailureOr<const Array *> array =
        filled ? &filled->tile.getArray() : readBuffer(op, **agent, operand);
    if (failed(array) ||
        failed(checkFenced(op, **agent, slot,
                           warp::readsOwnRows(*use, (*agent)->party))))
      return failure();
    operands.push_back(*array);
    slots.push_back(&slot);
    // Of the first operand only the warp group's own rows matter.
    if (operand == dot.getB() || dot.getTransposeA()) {
      if (!slot.stored.empty())
        return frame.fail(op) << "reads rows that other warp groups stored";
      continue;
    }
    rowOperand = &slot;
    if (const StoredRows *mine = slot.findStored((*agent)->party))
      operands.back() = &mine->tile.getArray();
  }
  std::shared_ptr<Array> columns, wide;
  if (std::optional<uint64_t> first = dot.getFirstColumn()) {
    columns =
        takeColumns(*operands[1], *first, dot.getTileType().getDimSize(1));
    operands[1] = columns.get();
  }
  if (dot.getOnes()) {
    FailureOr<const Array *> ones = readBuffer(op, **agent, dot.getOnes());
    if (failed(ones))
      return failure();
    wide = appendOnes(frame, *operands[1], **ones,
                      dot.getOnes().getType().getElementType());
    operands[1] = wide.get();
  }
  std::shared_ptr<Array> rows, transposed;
  // Rows of a transposed operand are stored as columns.
  if (std::optional<uint64_t> first = dot.getFirstRow()) {
    rows = takeColumns(*operands[0], *first, dot.getTileType().getDimSize(0));
    operands[0] = rows.get();
  }
  if (dot.getTransposeA()) {
    transposed = transpose(*operands[0]);
    operands[0] = transposed.get();
  }
  // Operands cannot change before the wait without an error, so the time at
  // which they are read does not matter.
  FailureOr<const Array *> acc = takeAccumulator(dot, frame);
  if (failed(acc))
    return failure();
  auto result = multiply(frame, op, *operands[0], *operands[1], **acc,
                         dot.getTransposeB(), dot.getTileType());
  if (failed(result))
    return failure();
  if (!dot.getAsync()) {
    frame.set(dot.getResult(), RuntimeValue::array(std::move(*result)));
    return success();
  }
  auto pending = std::make_shared<PendingDot>();
  pending->op = op;
  pending->result = std::move(*result);
  pending->operands = std::move(slots);
  pending->rowOperand = rowOperand;
  (*agent)->dots.push_back(pending);
  (*agent)->synchronised = true;
  frame.set(dot.getResult(), RuntimeValue::object(std::move(pending)));
  return success();
}

/// Completes dots in the order of their issue, up to `last`. Dots that another
/// op has taken over are removed.
static void completeUpTo(Agent &agent, const PendingDot &last) {
  auto &dots = agent.dots;
  auto *found =
      llvm::find_if(dots, [&](auto &dot) { return dot.get() == &last; });
  if (found == dots.end())
    return;
  for (auto &dot : llvm::make_range(dots.begin(), std::next(found)))
    dot->complete = true;
  llvm::erase_if(dots, [](auto &dot) {
    return dot->delivered || (dot->complete && dot->taker);
  });
}

static LogicalResult executeDotWait(Operation *op, Frame &frame) {
  auto wait = cast<warp::DotWaitOp>(op);
  FailureOr<Agent *> agent = getAgent(op, frame);
  if (failed(agent))
    return failure();
  auto &pending = frame.get(wait.getPending()).getObject<PendingDot>();
  if (pending.delivered) {
    frame.fail(op) << "waits for an asynchronous dot for the second time";
    frame.note(pending.op) << "the dot";
    return failure();
  }
  if (pending.taker) {
    frame.fail(op) << "waits for an outstanding result that another dot "
                      "accumulates into";
    frame.note(pending.taker) << "the other dot";
    return failure();
  }
  pending.delivered = true;
  completeUpTo(**agent, pending);
  frame.set(wait.getResult(), RuntimeValue::array(pending.result));
  for (auto [held, result] : llvm::zip(wait.getHeld(), wait.getHeldResults()))
    frame.set(result, frame.get(held));
  (*agent)->synchronised = true;
  return success();
}

static LogicalResult executeAwaitReads(Operation *op, Frame &frame) {
  auto wait = cast<warp::AwaitReadsOp>(op);
  FailureOr<Agent *> agent = getAgent(op, frame);
  if (failed(agent))
    return failure();
  completeUpTo(**agent, frame.get(wait.getPending()).getObject<PendingDot>());
  (*agent)->synchronised = true;
  return success();
}

/// Acts as a complete dot whose result was not taken yet.
static LogicalResult executeBeginSum(Operation *op, Frame &frame) {
  auto begin = cast<warp::BeginSumOp>(op);
  auto pending = std::make_shared<PendingDot>();
  pending->op = op;
  pending->result = frame.get(begin.getTile()).shareArray();
  pending->complete = true;
  frame.set(begin.getPending(), RuntimeValue::object(std::move(pending)));
  return success();
}

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

/// The ballot is over all rows, so results must not depend on the grouping of
/// rows. The guarded code leaves rows unchanged whose condition is false, so a
/// true result without any condition must have no effect: the seed forces some.
static LogicalResult executeAny(Operation *op, Frame &frame) {
  auto any = cast<warp::AnyOp>(op);
  FailureOr<Agent *> agent = getAgent(op, frame);
  if (failed(agent))
    return failure();
  const Array &source = frame.getArray(any.getSource());
  const int64_t *elements = source.data<int64_t>();
  bool found = llvm::any_of(ArrayRef(elements, source.getNumElements()),
                            [](int64_t element) { return element != 0; });
  found |= (*agent)->cta.drawSpuriousBallot();
  frame.set(any.getResult(), RuntimeValue::integer(found));
  return success();
}

static LogicalResult executeExtractColumns(Operation *op, Frame &frame) {
  auto extract = cast<warp::ExtractColumnsOp>(op);
  const Array &source = frame.getArray(extract.getSource());
  auto result = makeTile(frame, extract.getType());
  int64_t from = extract.getFrom(), columns = result->getShape()[1];
  withStorage(result->getStorage(), [&](auto like) {
    using T = decltype(like);
    for (int64_t r = 0; r < result->getShape()[0]; ++r)
      std::copy_n(source.data<T>() + r * source.getShape()[1] + from, columns,
                  result->data<T>() + r * columns);
  });
  frame.set(extract.getResult(), RuntimeValue::array(std::move(result)));
  return success();
}

/// The interpreter does not model threads: only a new order of columns is
/// visible.
static LogicalResult executeConvertLayout(Operation *op, Frame &frame) {
  auto convert = cast<warp::ConvertLayoutOp>(op);
  if (!convert.getPermuted()) {
    frame.set(convert.getResult(), frame.get(convert.getSource()));
    return success();
  }
  SmallVector<int64_t> order = warp::getFreePermutation(
      convert.getSource().getType(), convert.getType());
  const Array &source = frame.getArray(convert.getSource());
  auto result = makeTile(frame, convert.getType());
  int64_t rows = result->getShape()[0], columns = result->getShape()[1];
  withStorage(result->getStorage(), [&](auto like) {
    using T = decltype(like);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c)
        result->data<T>()[r * columns + c] =
            source.data<T>()[r * columns + order[c]];
  });
  frame.set(convert.getResult(), RuntimeValue::array(std::move(result)));
  return success();
}

static LogicalResult executeConcatColumns(Operation *op, Frame &frame) {
  auto concat = cast<warp::ConcatColumnsOp>(op);
  auto result = makeTile(frame, concat.getType());
  int64_t columns = result->getShape()[1], from = 0;
  for (Value part : concat.getParts()) {
    const Array &source = frame.getArray(part);
    int64_t width = source.getShape()[1];
    withStorage(result->getStorage(), [&](auto like) {
      using T = decltype(like);
      for (int64_t r = 0; r < result->getShape()[0]; ++r)
        std::copy_n(source.data<T>() + r * width, width,
                    result->data<T>() + r * columns + from);
    });
    from += width;
  }
  frame.set(concat.getResult(), RuntimeValue::array(std::move(result)));
  return success();
}

void fovea::interp::registerWarpHandlers(InterpreterRegistry &registry) {
  registerPipelineHandlers(registry);
  registerTensorMemoryHandlers(registry);
  registerOutputHandlers(registry);
  registry.add<warp::AllocOp>(executeAlloc);
  registry.add<warp::OnesOp>(executeOnes);
  registry.add<warp::StageOp>(executeStage);
  registry.add<warp::LocalLoadOp>(executeLocalLoad);
  registry.add<warp::CopyOp>(executeCopy);
  registry.add<warp::ZeroRowsOp>(executeZeroRows);
  registry.add<warp::DotOp>(executeDot);
  registry.add<warp::AnyOp>(executeAny);
  registry.add<warp::DotWaitOp>(executeDotWait);
  registry.add<warp::AwaitReadsOp>(executeAwaitReads);
  registry.add<warp::BeginSumOp>(executeBeginSum);
  registry.add<warp::ExtractColumnsOp>(executeExtractColumns);
  registry.add<warp::ConcatColumnsOp>(executeConcatColumns);
  registry.add<warp::ConvertLayoutOp>(executeConvertLayout);
}
