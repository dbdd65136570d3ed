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
        strips(strips), gradients(gradients) {}

  int64_t countParts() const {
    return part.getColumns() / part.partRows * countAcross();
  }
  /// The name of a chunk's dots.
  std::string getName(int64_t index) const {
    return "dq." + std::to_string(index);
  }
  std::string getStoreName(int64_t index) const {
    return "dq_sum." + std::to_string(index);
  }
  /// Chunk indices in emission order; delayed stores come last.
  SmallVector<int64_t> getOrder() const {
    SmallVector<int64_t> order, late;
    for (int64_t index = 0; index < countParts(); ++index)
      (isLate(index) ? late : order).push_back(index);
    llvm::append_range(order, late);
    return order;
  }
  /// A chunk, accumulated over all M-chunks of keys.
  Value emitPart(int64_t index);
  /// Adds the chunk to dq_accum.
  void store(int64_t index, Value found);

private:
  bool isLate(int64_t index) const {
    return part.plan.getStore(getStoreName(index)).isLate;
  }
  int64_t countAcross() const {
    return llvm::divideCeil(part.headDim, part.partColumns);
  }
  int64_t getRow(int64_t index) const {
    return index / countAcross() * part.partRows;
  }
  int64_t getColumn(int64_t index) const {
    return index % countAcross() * part.partColumns;
  }

  const BackwardKernel &kernel;
  KernelBuilder &kb;
  const BackwardKernelPlan &part;
  const QueryPlace &place;
  ArrayRef<KeyRows> strips;
  ValueRange gradients;
};
} // namespace

/// With several M-chunks, each role starts one dQ chunk with its own dS.
Value DqEmitter::emitPart(int64_t index) {
  OpBuilder &b = kb.builder;
  // With a single row or column of chunks the dots are whole.
  IntegerAttr firstRow, firstColumn;
  if (part.getColumns() != part.partRows)
    firstRow = b.getI64IntegerAttr(getRow(index));
  if (countAcross() > 1)
    firstColumn = b.getI64IntegerAttr(getColumn(index));
  int64_t columns = std::min(part.headDim - getColumn(index), part.partColumns);
  Value sum = kb.splat(part.partRows, columns, 0.0);
  int64_t count = part.getStrips();
  for (int64_t step = 0; step < count; ++step) {
    int64_t strip = (index + step) % count;
    sum = kb.make<tile::DotOp>(
        gradients[strip], strips[strip].keys, sum, /*transposeA=*/true,
        /*transposeB=*/false, b.getStringAttr(getName(index)), firstRow,
        firstColumn);
  }
  return sum;
}

void DqEmitter::store(int64_t index, Value found) {
  OpBuilder &b = kb.builder;
  Value row = place.scratchRow;
  if (int64_t first = getRow(index))
    row = kb.make<arith::AddIOp>(row, kb.constant(first));
  tile::StoreOp::create(
      b, kb.getLoc(), found, kernel.getScratch(kernel.memory.scratch.dqAccum),
      ValueRange{kernel.tile.memoryBatch, place.head, row,
                 kb.constant(getColumn(index))},
      /*limit=*/Value(), b.getDenseI64ArrayAttr({2, 3}),
      /*fold=*/DenseI64ArrayAttr(), /*fragments=*/b.getUnitAttr(),
      /*by_register=*/part.storesByRegister ? b.getUnitAttr() : UnitAttr(),
      /*add=*/b.getUnitAttr(), b.getStringAttr(getStoreName(index)));
}

LogicalResult fovea::accumulateDq(const BackwardKernel &kernel,
                                  const QueryPlace &place,
                                  ArrayRef<KeyRows> strips,
                                  ValueRange gradients, Value hasSlot,
                                  function_ref<LogicalResult()> emitMeanwhile) {
  const BackwardKernelPlan &part = kernel.part;
  DqEmitter emitter(kernel, place, strips, gradients);
  SmallVector<int64_t> order = emitter.getOrder();
  std::optional<SemaphoreSlot> slot;
  if (part.ordersSums)
    slot = makeSemaphoreSlot(kernel, place, hasSlot);
  SmallVector<Value> found;
  auto store = [&](size_t position) {
    if (slot && position == 0)
      emitSemaphoreWait(kernel, *slot, found.front());
    emitter.store(order[position], found[position]);
    if (slot && position + 1 == order.size())
      emitSemaphoreRelease(kernel, *slot, found.back());
  };
  // A chunk that is waited for at issue would hide nothing and only occupy
  // registers.
  bool hides = part.plan.getDot(emitter.getName(order.front())).waitsLate;
  if (!hides && failed(emitMeanwhile()))
    return failure();
  for (size_t position = 0; position < order.size(); ++position) {
    found.push_back(emitter.emitPart(order[position]));
    if (position == 0 && hides && failed(emitMeanwhile()))
      return failure();
    // If registers hold two chunks, one is added while the next one is
    // computed.
    if (!part.addsAhead)
      store(position);
    else if (position > 0)
      store(position - 1);
  }
  if (part.addsAhead)
    store(order.size() - 1);
  return success();
}
