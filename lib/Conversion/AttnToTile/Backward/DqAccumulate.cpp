//===- DqAccumulate.cpp - Adds contributions to dq_accum ------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Backward/DqAccumulate.h"

#include "Backward/DeterministicDq.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fovea;

namespace {
/// Emits the contribution to one query block's dQ in chunks of few rows and
/// columns, row by row.
class DqEmitter {
public:
  DqEmitter(const BackwardKernel &kernel, const QueryPlace &place,
            ArrayRef<KeyRows> strips, ValueRange gradients)
      : kernel(kernel), kb(kernel.kb), part(kernel.part), place(place),
        strips(strips), gradients(gradients), dot(part.plan.getDot("dq")),
        found(countChunks()) {}

  /// The dots and stores of all chunks, in the plan's order. An error if a
  /// store precedes its dot.
  FailureOr<SmallVector<std::string>> getOrder() const;
  static bool isStore(StringRef name) { return name.starts_with(kStore); }
  /// Emits the dot or the store of that name.
  void emit(StringRef name);
  /// The chunk of a dot or a store, accumulated over all M-chunks of keys.
  Value getChunk(StringRef name) const { return found[getIndex(name)]; }

private:
  static constexpr StringLiteral kDot = "dq.", kStore = "dq_sum.";
  static int64_t getIndex(StringRef name) {
    int64_t index = 0;
    bool isWrong = name.split('.').second.getAsInteger(10, index);
    assert(!isWrong && "the emitter makes the names");
    (void)isWrong;
    return index;
  }
  Value emitChunk(int64_t index, StringRef name);
  void emitStore(int64_t index, StringRef name);

  int64_t countChunks() const {
    return part.getColumns() / getChunkRows() * countAcross();
  }
  int64_t getChunkRows() const {
    return dot.chunkRows != 0 ? dot.chunkRows : part.getColumns();
  }
  int64_t getChunkColumns() const {
    return dot.chunkColumns != 0 ? dot.chunkColumns : part.headDim;
  }
  int64_t countAcross() const {
    return llvm::divideCeil(part.headDim, getChunkColumns());
  }
  int64_t getRow(int64_t index) const {
    return index / countAcross() * getChunkRows();
  }
  int64_t getColumn(int64_t index) const {
    return index % countAcross() * getChunkColumns();
  }

  const BackwardKernel &kernel;
  KernelBuilder &kb;
  const BackwardKernelPlan &part;
  const QueryPlace &place;
  ArrayRef<KeyRows> strips;
  ValueRange gradients;
  plan::DotPlan dot;
  SmallVector<Value> found;
};
} // namespace

FailureOr<SmallVector<std::string>> DqEmitter::getOrder() const {
  SmallVector<std::string> names;
  for (int64_t index = 0; index < countChunks(); ++index)
    for (StringRef name : {kDot, kStore})
      names.push_back((name + Twine(index)).str());
  part.plan.sortByOrder(names);
  attn::BackwardOp op = kernel.op;
  llvm::SmallDenseSet<int64_t> known;
  for (StringRef name : names) {
    if (!isStore(name))
      known.insert(getIndex(name));
    else if (!known.contains(getIndex(name)))
      return op.emitError("plan's 'order' has \"")
             << name << "\" before \"" << kDot << getIndex(name)
             << "\", whose result it stores";
  }
  return names;
}

void DqEmitter::emit(StringRef name) {
  int64_t index = getIndex(name);
  if (isStore(name))
    emitStore(index, name);
  else
    found[index] = emitChunk(index, name);
}

/// With several M-chunks, each role starts one dQ chunk with its own dS.
Value DqEmitter::emitChunk(int64_t index, StringRef name) {
  OpBuilder &b = kb.builder;
  // With a single row or column of chunks the dots are whole.
  IntegerAttr firstRow, firstColumn;
  if (part.getColumns() != getChunkRows())
    firstRow = b.getI64IntegerAttr(getRow(index));
  if (countAcross() > 1)
    firstColumn = b.getI64IntegerAttr(getColumn(index));
  int64_t columns =
      std::min(part.headDim - getColumn(index), getChunkColumns());
  Value sum = kb.splat(getChunkRows(), columns, 0.0);
  int64_t count = part.getStrips();
  for (int64_t step = 0; step < count; ++step) {
    int64_t strip = (index + step) % count;
    sum = kb.make<tile::DotOp>(
        gradients[strip], strips[strip].keys, sum, /*transposeA=*/true,
        /*transposeB=*/false, b.getStringAttr(name), firstRow, firstColumn);
  }
  return sum;
}

void DqEmitter::emitStore(int64_t index, StringRef name) {
  OpBuilder &b = kb.builder;
  Value row = place.scratchRow;
  if (int64_t first = getRow(index))
    row = kb.make<arith::AddIOp>(row, kb.constant(first));
  tile::StoreOp::create(
      b, kb.getLoc(), found[index],
      kernel.getScratch(kernel.memory.scratch.dqAccum),
      ValueRange{kernel.tile.memoryBatch, place.head, row,
                 kb.constant(getColumn(index))},
      /*limit=*/Value(), b.getDenseI64ArrayAttr({2, 3}),
      /*fold=*/DenseI64ArrayAttr(), /*fragments=*/b.getUnitAttr(),
      /*by_register=*/part.dqAccum.isByRegister ? b.getUnitAttr() : UnitAttr(),
      /*add=*/b.getUnitAttr(), b.getStringAttr(name));
}

LogicalResult fovea::accumulateDq(const BackwardKernel &kernel,
                                  const QueryPlace &place,
                                  ArrayRef<KeyRows> strips,
                                  ValueRange gradients, Value hasSlot,
                                  function_ref<LogicalResult()> emitMeanwhile) {
  const BackwardKernelPlan &part = kernel.part;
  DqEmitter emitter(kernel, place, strips, gradients);
  FailureOr<SmallVector<std::string>> order = emitter.getOrder();
  if (failed(order))
    return failure();
  std::optional<SemaphoreSlot> slot;
  if (part.ordersSums())
    slot = makeSemaphoreSlot(kernel, place, hasSlot);
  // Sums by relative position overlap the first dot if the order lists them
  // after it.
  bool hides = part.plan.isBefore(order->front(), "distance_sum");
  if (!hides && failed(emitMeanwhile()))
    return failure();
  auto *firstStore = llvm::find_if(*order, DqEmitter::isStore);
  for (const std::string &name : *order) {
    if (slot && name == *firstStore)
      emitSemaphoreWait(kernel, *slot, emitter.getChunk(name));
    emitter.emit(name);
    if (hides && name == order->front() && failed(emitMeanwhile()))
      return failure();
    if (slot && name == order->back())
      emitSemaphoreRelease(kernel, *slot, emitter.getChunk(name));
  }
  return success();
}
