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
#include "Elementwise.h"
#include "fovea/Dialect/Attn/IR/Attn.h"
#include "fovea/Interpreter/Handlers.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::interp;

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
  addLength<attn::QueryLengthOp>(registry, &SequenceLengths::queries);
  registry.add<attn::BlockMinOp>(executeBlockMinMax<attn::BlockMinOp>);
  registry.add<attn::BlockMaxOp>(executeBlockMinMax<attn::BlockMaxOp>);
  addLength<attn::KeyLengthOp>(registry, &SequenceLengths::keys);
}
