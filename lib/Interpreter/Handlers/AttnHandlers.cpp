//===- AttnHandlers.cpp - Executes attn ops ---------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Handlers of attn ops. The evaluation of attention itself is in the folder
// Attention.
//
//===----------------------------------------------------------------------===//

#include "Attention/BackwardEvaluation.h"
#include "Attention/ForwardEvaluation.h"
#include "Attention/RowIndex.h"
#include "Elementwise.h"
#include "TileSupport.h"
#include "fovea/Interpreter/Handlers.h"

#include <cmath>

using namespace mlir;
using namespace fovea;
using namespace fovea::interp;

template <typename T>
static LogicalResult evaluateMerge(attn::MergeOp op, Frame &frame) {
  const Array &first = frame.getArray(op.getOutputs().front());
  const Array &firstLse = frame.getArray(op.getLses().front());
  RowIndex rows(first.getShape(), op.getLayout());
  auto output = std::make_shared<Array>(first.getShape(), getStorage<T>());
  auto lse = std::make_shared<Array>(firstLse.getShape(), getStorage<T>());
  for (Value part : op.getOutputs())
    if (frame.getArray(part).getShape() != first.getShape())
      return frame.fail(op) << "all parts must have the same shape";
  for (Value part : op.getLses())
    if (frame.getArray(part).getShape() != firstLse.getShape() ||
        frame.getArray(part).getNumElements() * rows.width !=
            first.getNumElements())
      return frame.fail(op) << "all parts must have the same shape";
  for (int64_t n = 0; n < firstLse.getNumElements(); ++n) {
    int64_t position = n % rows.positions, head = n / rows.positions;
    int64_t offset = rows(head / rows.heads, head % rows.heads, position);
    T *target = output->template data<T>() + offset;
    std::fill_n(target, rows.width, T(0));
    T largest = kNegativeInfinity<T>, sum = 0;
    for (Value part : op.getLses())
      largest = maximum(largest, frame.getArray(part).data<T>()[n]);
    lse->template data<T>()[n] = largest;
    if (largest == kNegativeInfinity<T>)
      continue;
    for (Value part : op.getLses())
      sum += std::exp(frame.getArray(part).data<T>()[n] - largest);
    lse->template data<T>()[n] = largest + std::log(sum);
    for (auto [part, partLse] : llvm::zip(op.getOutputs(), op.getLses())) {
      T weight = frame.getArray(partLse).data<T>()[n];
      if (weight == kNegativeInfinity<T>)
        continue;
      weight = std::exp(weight - largest) / sum;
      const T *source = frame.getArray(part).data<T>() + offset;
      for (int64_t d = 0; d < rows.width; ++d)
        target[d] += weight * source[d];
    }
  }
  roundInPlace(frame, op.getOutput().getType(), *output);
  frame.set(op.getOutput(), RuntimeValue::array(std::move(output)));
  if (op.getLse())
    frame.set(op.getLse(), RuntimeValue::array(std::move(lse)));
  return success();
}

static LogicalResult executeMerge(Operation *op, Frame &frame) {
  auto merge = cast<attn::MergeOp>(op);
  return withFloatStorage(frame, merge.getOutput().getType(), [&](auto like) {
    return evaluateMerge<decltype(like)>(merge, frame);
  });
}

template <typename OpTy>
static void addLength(InterpreterRegistry &registry,
                      int64_t SequenceLengths::*member) {
  registry.add<OpTy>([member](Operation *op, Frame &frame) -> LogicalResult {
    auto *lengths = frame.getEnvironment<SequenceLengths>();
    if (!lengths)
      return frame.fail(op) << "'" << op->getName().getStringRef()
                            << "' is executed outside an attention op";
    frame.set(op->getResult(0), RuntimeValue::integer(lengths->*member));
    return success();
  });
}

/// The minimum (`isMin`) or maximum of an i64 array's elements `first` to
/// `last`, with a stride. An empty range gives the identity: the largest or
/// smallest number of the type.
static int64_t findMinMax(const int64_t *elements, int64_t stride,
                          int64_t first, int64_t last, bool isMin,
                          ElementKind kind) {
  IntegerWrap wrap(kind);
  int64_t largest =
      kind == ElementKind::I1 ? 1 : int64_t(~uint64_t(0) >> (65 - wrap.width));
  int64_t smallest = kind == ElementKind::I1 ? 0 : -largest - 1;
  int64_t result = isMin ? largest : smallest;
  for (int64_t n = first; n <= last; ++n)
    result = isMin ? std::min(result, elements[n * stride])
                   : std::max(result, elements[n * stride]);
  return result;
}

template <typename OpTy>
static LogicalResult executeBlockMinMax(Operation *operation, Frame &frame) {
  auto op = cast<OpTy>(operation);
  const Array &source = frame.getArray(op.getTensor());
  ArrayRef<int64_t> shape = source.getShape();
  int64_t rangeDim = op.getDim(), offset = 0, stride = 1;
  auto index = op.getIndices().begin();
  for (auto [dim, extent] : llvm::enumerate(shape)) {
    offset *= extent;
    if (int64_t(dim) > rangeDim)
      stride *= extent;
    if (int64_t(dim) == rangeDim)
      continue;
    int64_t position = frame.getInteger(*index++);
    if (position < 0 || position >= extent)
      return frame.fail(op)
             << "index of dimension " << int64_t(dim) << " lies outside [0, "
             << extent << "), found " << position;
    offset += position;
  }
  const int64_t *elements = source.data<int64_t>() + offset;
  int64_t extent = shape[rangeDim];
  ElementKind kind = *getElementKind(op.getResult().getType());
  auto find = [=](int64_t first, int64_t last) {
    return findMinMax(elements, stride, std::max<int64_t>(first, 0),
                      std::min(last, extent - 1),
                      std::is_same_v<OpTy, attn::BlockMinOp>, kind);
  };
  // All lanes belong to one block, so the shapes are compatible.
  frame.set(op.getResult(),
            *mapValues<int64_t, int64_t, int64_t>(
                find, frame.get(op.getFirst()), frame.get(op.getLast())));
  return success();
}

void fovea::interp::registerAttnHandlers(InterpreterRegistry &registry) {
  registry.add<attn::ForwardOp>(executeForward);
  registry.add<attn::BackwardOp>(executeBackward);
  registry.add<attn::ContributeOp>(executeContribute);
  registry.add<attn::MergeOp>(executeMerge);
  addLength<attn::QueryLengthOp>(registry, &SequenceLengths::queries);
  registry.add<attn::BlockMinOp>(executeBlockMinMax<attn::BlockMinOp>);
  registry.add<attn::BlockMaxOp>(executeBlockMinMax<attn::BlockMaxOp>);
  addLength<attn::KeyLengthOp>(registry, &SequenceLengths::keys);
}
