//===- TensorHandlers.cpp - Executes tensor ops -----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Handlers of tensor ops: element and slice accesses with bounds checks, and
// reshapes.
//
//===----------------------------------------------------------------------===//

#include "Elementwise.h"
#include "fovea/Interpreter/Handlers.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fovea::interp;

static LogicalResult executeDim(Operation *op, Frame &frame) {
  auto dim = cast<tensor::DimOp>(op);
  ArrayRef<int64_t> shape = frame.getArray(dim.getSource()).getShape();
  int64_t index = frame.getInteger(dim.getIndex());
  if (index < 0 || index >= int64_t(shape.size()))
    return frame.fail(op) << "a tensor of rank " << int64_t(shape.size())
                          << " has no dimension " << index;
  frame.set(dim.getResult(), RuntimeValue::integer(shape[index]));
  return success();
}

static LogicalResult executeCast(Operation *op, Frame &frame) {
  auto cast = mlir::cast<tensor::CastOp>(op);
  auto type = mlir::cast<RankedTensorType>(cast.getType());
  const RuntimeValue &source = frame.get(cast.getSource());
  for (auto [expected, found] :
       llvm::zip(type.getShape(), source.getArray().getShape()))
    if (!ShapedType::isDynamic(expected) && expected != found)
      return frame.fail(op) << "cast to " << type << " of a tensor with extent "
                            << found << " where " << expected << " is expected";
  frame.set(cast.getResult(), source);
  return success();
}

/// Gathers the elements at `offsets`, each the sum of index times stride.
template <typename T>
static RuntimeValue pickElements(const Array &source,
                                 const RuntimeValue &offsets) {
  const T *data = source.data<T>();
  // Offsets of inactive lanes may be -1.
  auto pick = [=](int64_t offset) { return offset < 0 ? T(0) : data[offset]; };
  return *mapValues<T, int64_t>(pick, offsets);
}

/// Indices may be arrays, if scalars stand for many elements at once. Only the
/// indices of active lanes must be in bounds; others read 0.
static LogicalResult executeExtract(Operation *op, Frame &frame) {
  auto extract = cast<tensor::ExtractOp>(op);
  const Array &source = frame.getArray(extract.getTensor());
  RuntimeValue offsets = RuntimeValue::integer(0);
  for (auto [dim, operand] : llvm::enumerate(extract.getIndices())) {
    int64_t extent = source.getShape()[dim];
    const RuntimeValue &index = frame.get(operand);
    RuntimeValue outside = *mapValues<int64_t, int64_t>(
        [=](int64_t i) -> int64_t { return i < 0 || i >= extent; }, index);
    if (anyActive(frame, outside))
      return frame.fail(op)
             << "index of dimension " << int64_t(dim) << " lies outside [0, "
             << extent << "), found " << getActive(frame, outside, index);
    // All lanes belong to one block, so the shapes are compatible.
    offsets = *mapValues<int64_t, int64_t, int64_t>(
        [=](int64_t offset, int64_t i) {
          bool valid = offset >= 0 && i >= 0 && i < extent;
          return valid ? offset * extent + i : int64_t(-1);
        },
        offsets, index);
  }
  switch (source.getStorage()) {
  case Storage::Int:
    frame.set(extract.getResult(), pickElements<int64_t>(source, offsets));
    break;
  case Storage::F32:
    frame.set(extract.getResult(), pickElements<float>(source, offsets));
    break;
  case Storage::F64:
    frame.set(extract.getResult(), pickElements<double>(source, offsets));
    break;
  }
  return success();
}

template <typename T>
static void copySlice(const Array &source, Array &target,
                      ArrayRef<int64_t> offsets, ArrayRef<int64_t> sizes,
                      ArrayRef<int64_t> strides) {
  const T *from = source.data<T>();
  T *to = target.data<T>();
  SmallVector<int64_t> position(sizes.size(), 0);
  for (int64_t n = 0; n < target.getNumElements(); ++n) {
    int64_t offset = 0;
    for (auto [dim, extent] : llvm::enumerate(source.getShape()))
      offset = offset * extent + offsets[dim] + position[dim] * strides[dim];
    to[n] = from[offset];
    for (int64_t dim = int64_t(sizes.size()) - 1; dim >= 0; --dim) {
      if (++position[dim] < sizes[dim])
        break;
      position[dim] = 0;
    }
  }
}

static LogicalResult executeExtractSlice(Operation *op, Frame &frame) {
  auto slice = cast<tensor::ExtractSliceOp>(op);
  const Array &source = frame.getArray(slice.getSource());
  auto evaluate = [&](ArrayRef<OpFoldResult> mixed) {
    return llvm::map_to_vector(mixed, [&](OpFoldResult part) -> int64_t {
      if (auto attr = dyn_cast<Attribute>(part))
        return cast<IntegerAttr>(attr).getInt();
      return frame.getInteger(cast<Value>(part));
    });
  };
  SmallVector<int64_t> offsets = evaluate(slice.getMixedOffsets()),
                       sizes = evaluate(slice.getMixedSizes()),
                       strides = evaluate(slice.getMixedStrides());
  for (auto [dim, extent] : llvm::enumerate(source.getShape())) {
    int64_t last = offsets[dim] + (sizes[dim] - 1) * strides[dim];
    if (sizes[dim] < 0 ||
        (sizes[dim] > 0 && (offsets[dim] < 0 || last < 0 ||
                            offsets[dim] >= extent || last >= extent)))
      return frame.fail(op)
             << "slice of dimension " << int64_t(dim) << " lies outside [0, "
             << extent << "), found " << sizes[dim] << " elements from "
             << offsets[dim] << " in steps of " << strides[dim];
  }
  SmallVector<int64_t> shape;
  llvm::SmallBitVector dropped = slice.getDroppedDims();
  for (auto [dim, size] : llvm::enumerate(sizes))
    if (!dropped.test(dim))
      shape.push_back(size);
  auto result = std::make_shared<Array>(shape, source.getStorage());
  switch (source.getStorage()) {
  case Storage::Int:
    copySlice<int64_t>(source, *result, offsets, sizes, strides);
    break;
  case Storage::F32:
    copySlice<float>(source, *result, offsets, sizes, strides);
    break;
  case Storage::F64:
    copySlice<double>(source, *result, offsets, sizes, strides);
    break;
  }
  frame.set(slice.getResult(), RuntimeValue::array(std::move(result)));
  return success();
}

/// The sizes of a shape whose dynamic sizes are operands.
static SmallVector<int64_t> getShape(Frame &frame, ArrayRef<int64_t> known,
                                     ValueRange sizes) {
  SmallVector<int64_t> shape(known);
  auto size = sizes.begin();
  for (int64_t &extent : shape)
    if (ShapedType::isDynamic(extent))
      extent = frame.getInteger(*size++);
  return shape;
}

/// The contents of an empty tensor are undefined; the interpreter uses zeros.
static LogicalResult executeEmpty(Operation *op, Frame &frame) {
  auto empty = cast<tensor::EmptyOp>(op);
  SmallVector<int64_t> shape =
      getShape(frame, empty.getType().getShape(), empty.getDynamicSizes());
  if (llvm::any_of(shape, [](int64_t extent) { return extent < 0; }))
    return frame.fail(op) << "a tensor has a negative extent";
  auto result =
      std::make_shared<Array>(shape, frame.getStorage(empty.getType()));
  switch (result->getStorage()) {
  case Storage::Int:
    std::fill_n(result->data<int64_t>(), result->getNumElements(), 0);
    break;
  case Storage::F32:
    std::fill_n(result->data<float>(), result->getNumElements(), 0.0f);
    break;
  case Storage::F64:
    std::fill_n(result->data<double>(), result->getNumElements(), 0.0);
    break;
  }
  frame.set(empty.getResult(), RuntimeValue::array(std::move(result)));
  return success();
}

/// The same elements in another shape.
static LogicalResult reshape(Operation *op, Frame &frame,
                             ArrayRef<int64_t> shape) {
  const Array &source = frame.getArray(op->getOperand(0));
  int64_t count = 1;
  for (int64_t extent : shape)
    if (extent < 0 || llvm::MulOverflow(count, extent, count))
      return frame.fail(op) << "cannot reshape to an extent of " << extent;
  if (count != source.getNumElements())
    return frame.fail(op) << "cannot reshape " << source.getNumElements()
                          << " elements to " << count;
  auto result = std::make_shared<Array>(shape, source.getStorage());
  auto flat = [&](auto like) {
    using T = decltype(like);
    std::copy_n(source.data<T>(), count, result->template data<T>());
  };
  switch (source.getStorage()) {
  case Storage::Int:
    flat(int64_t());
    break;
  case Storage::F32:
    flat(float());
    break;
  case Storage::F64:
    flat(double());
    break;
  }
  frame.set(op->getResult(0), RuntimeValue::array(std::move(result)));
  return success();
}

static LogicalResult executeExpandShape(Operation *op, Frame &frame) {
  auto expand = cast<tensor::ExpandShapeOp>(op);
  return reshape(
      op, frame,
      getShape(frame, expand.getStaticOutputShape(), expand.getOutputShape()));
}

static LogicalResult executeCollapseShape(Operation *op, Frame &frame) {
  auto collapse = cast<tensor::CollapseShapeOp>(op);
  const Array &source = frame.getArray(collapse.getSrc());
  SmallVector<int64_t> shape;
  for (const ReassociationIndices &group : collapse.getReassociationIndices()) {
    shape.push_back(1);
    for (int64_t dim : group)
      shape.back() *= source.getShape()[dim];
  }
  return reshape(op, frame, shape);
}

void fovea::interp::registerTensorHandlers(InterpreterRegistry &registry) {
  registry.add<tensor::DimOp>(executeDim);
  registry.add<tensor::CastOp>(executeCast);
  registry.add<tensor::ExtractOp>(executeExtract);
  registry.add<tensor::ExtractSliceOp>(executeExtractSlice);
  registry.add<tensor::EmptyOp>(executeEmpty);
  registry.add<tensor::ExpandShapeOp>(executeExpandShape);
  registry.add<tensor::CollapseShapeOp>(executeCollapseShape);
}
