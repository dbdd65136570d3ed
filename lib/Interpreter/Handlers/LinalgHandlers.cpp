//===- LinalgHandlers.cpp - Executes linalg on tensors ----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Handlers of linalg on tensors, so that programs from which attention is
// raised can be executed and compared before and after. Iterations run one at a
// time, for small tensors.
//
//===----------------------------------------------------------------------===//

#include "Elementwise.h"
#include "fovea/Interpreter/Handlers.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <cmath>

using namespace mlir;
using namespace fovea::interp;

/// An element as a scalar value.
static RuntimeValue getElement(const Array &array, int64_t offset) {
  switch (array.getStorage()) {
  case Storage::Int:
    return RuntimeValue::integer(array.data<int64_t>()[offset]);
  case Storage::F32:
    return RuntimeValue::real(array.data<float>()[offset]);
  case Storage::F64:
    return RuntimeValue::real(array.data<double>()[offset]);
  }
  llvm_unreachable("all storages are there");
}

static void setElement(Array &array, int64_t offset,
                       const RuntimeValue &value) {
  switch (array.getStorage()) {
  case Storage::Int:
    array.data<int64_t>()[offset] = value.getInteger();
    return;
  case Storage::F32:
    array.data<float>()[offset] = float(value.getReal());
    return;
  case Storage::F64:
    array.data<double>()[offset] = value.getReal();
    return;
  }
}

static std::shared_ptr<Array> copy(const Array &array) {
  auto result = std::make_shared<Array>(array.getShape(), array.getStorage());
  for (int64_t n = 0; n < array.getNumElements(); ++n)
    setElement(*result, n, getElement(array, n));
  return result;
}

namespace {
/// The current iteration of the innermost linalg op.
struct Iteration {
  SmallVector<int64_t, 6> point;
};

/// Executes a linalg op: its body once for each point of its iteration space.
class LinalgActivation : public Activation {
public:
  explicit LinalgActivation(Operation *op) : op(cast<linalg::LinalgOp>(op)) {}

  LogicalResult resume(Frame &frame, Operation *terminator,
                       MutableArrayRef<RuntimeValue> yielded,
                       Next &next) override {
    if (!terminator) {
      if (failed(start(frame)))
        return failure();
    } else {
      for (auto [number, value] : llvm::enumerate(yielded))
        setElement(*results[number], getOffset(*op.getDpsInitOperand(number)),
                   value);
      advance();
    }
    if (!isDone)
      return enter(frame, next);
    for (auto &result : results)
      next.values.push_back(RuntimeValue::array(result));
    return success();
  }

private:
  LogicalResult start(Frame &frame);
  LogicalResult enter(Frame &frame, Next &next);
  void advance();
  /// Offset of an operand's element in the current iteration; -1 if out of
  /// bounds.
  int64_t getOffset(OpOperand &operand) const;

  linalg::LinalgOp op;
  SmallVector<AffineMap> maps;
  SmallVector<const Array *> arrays;
  SmallVector<std::shared_ptr<Array>> results;
  SmallVector<int64_t, 6> bounds;
  Iteration iteration;
  bool isDone = false;
};
} // namespace

LogicalResult LinalgActivation::start(Frame &frame) {
  if (!op.hasPureTensorSemantics())
    return frame.fail(op)
           << "cannot execute linalg on memory, expected tensors";
  bounds.assign(op.getNumLoops(), -1);
  for (OpOperand &operand : op->getOpOperands()) {
    maps.push_back(op.getMatchingIndexingMap(&operand));
    const RuntimeValue &value = frame.get(operand.get());
    arrays.push_back(value.isArray() ? &value.getArray() : nullptr);
    if (op.isDpsInit(&operand))
      results.push_back(copy(value.getArray()));
    for (auto [dim, expr] : llvm::enumerate(maps.back().getResults())) {
      auto loop = dyn_cast<AffineDimExpr>(expr);
      if (!loop)
        continue;
      int64_t extent = arrays.back()->getShape()[dim];
      int64_t &bound = bounds[loop.getPosition()];
      if (bound >= 0 && bound != extent)
        return frame.fail(op)
               << "operands have extents " << bound << " and " << extent
               << " in dimension " << int64_t(loop.getPosition())
               << " of the iterations";
      bound = extent;
    }
  }
  assert(!llvm::is_contained(bounds, -1) && "linalg's maps are invertible");
  iteration.point.assign(bounds.size(), 0);
  isDone = llvm::is_contained(bounds, 0);
  return success();
}

int64_t LinalgActivation::getOffset(OpOperand &operand) const {
  unsigned number = operand.getOperandNumber();
  int64_t offset = 0;
  SmallVector<int64_t, 4> position = maps[number].compose(iteration.point);
  for (auto [index, extent] : llvm::zip(position, arrays[number]->getShape())) {
    if (index < 0 || index >= extent)
      return -1;
    offset = offset * extent + index;
  }
  return offset;
}

LogicalResult LinalgActivation::enter(Frame &frame, Next &next) {
  next.region = &op->getRegion(0);
  frame.setEnvironment(&iteration);
  for (OpOperand &operand : op->getOpOperands()) {
    if (!op.isDpsInit(&operand) && !arrays[operand.getOperandNumber()]) {
      next.values.push_back(frame.get(operand.get()));
      continue;
    }
    const Array &array =
        op.isDpsInit(&operand)
            ? *results[operand.getOperandNumber() - op.getNumDpsInputs()]
            : *arrays[operand.getOperandNumber()];
    int64_t offset = getOffset(operand);
    if (offset < 0)
      return frame.fail(op) << "operand #" << operand.getOperandNumber()
                            << " has no element for each iteration";
    next.values.push_back(getElement(array, offset));
  }
  return success();
}

void LinalgActivation::advance() {
  for (int64_t loop = int64_t(bounds.size()) - 1; loop >= 0; --loop) {
    if (++iteration.point[loop] < bounds[loop])
      return;
    iteration.point[loop] = 0;
  }
  isDone = true;
}

static LogicalResult executeIndex(Operation *op, Frame &frame) {
  auto index = cast<linalg::IndexOp>(op);
  auto *iteration = frame.getEnvironment<Iteration>();
  if (!iteration)
    return frame.fail(op) << "'linalg.index' is executed outside a linalg op";
  frame.set(index.getResult(),
            RuntimeValue::integer(iteration->point[index.getDim()]));
  return success();
}

/// Computes a row as linalg's decomposition does, after subtracting its
/// maximum.
template <typename T>
static void computeSoftmax(const T *source, T *target, int64_t count,
                           int64_t stride) {
  T largest = -std::numeric_limits<T>::infinity(), sum = 0;
  for (int64_t n = 0; n < count; ++n)
    largest = std::max(largest, source[n * stride]);
  for (int64_t n = 0; n < count; ++n)
    sum += target[n * stride] = std::exp(source[n * stride] - largest);
  for (int64_t n = 0; n < count; ++n)
    target[n * stride] /= sum;
}

static LogicalResult executeSoftmax(Operation *op, Frame &frame) {
  auto softmax = cast<linalg::SoftmaxOp>(op);
  if (!isa<RankedTensorType>(softmax.getOutput().getType()))
    return frame.fail(op)
           << "cannot execute linalg on memory, expected tensors";
  const Array &source = frame.getArray(softmax.getInput());
  int64_t dim = softmax.getDimension(), inner = 1;
  for (int64_t extent : source.getShape().drop_front(dim + 1))
    inner *= extent;
  int64_t count = source.getShape()[dim];
  Type type = softmax.getOutput().getType();
  return withFloatStorage(frame, type, [&](auto like) -> LogicalResult {
    using T = decltype(like);
    auto result =
        std::make_shared<Array>(source.getShape(), source.getStorage());
    int64_t rows = count == 0 ? 0 : source.getNumElements() / count;
    for (int64_t row = 0; row < rows; ++row) {
      int64_t offset = row / inner * count * inner + row % inner;
      computeSoftmax(source.data<T>() + offset,
                     result->template data<T>() + offset, count, inner);
    }
    roundInPlace(frame, type, *result);
    frame.set(op->getResult(0), RuntimeValue::array(std::move(result)));
    return success();
  });
}

template <typename... Ops>
static void addLinalgOps(InterpreterRegistry &registry) {
  (registry.addRegionOp<Ops, LinalgActivation>(), ...);
}

void fovea::interp::registerLinalgHandlers(InterpreterRegistry &registry) {
  addLinalgOps<
#define GET_OP_LIST
#include "mlir/Dialect/Linalg/IR/LinalgStructuredOps.cpp.inc"
      >(registry);
  registry.add<linalg::IndexOp>(executeIndex);
  registry.add<linalg::SoftmaxOp>(executeSoftmax);
}
