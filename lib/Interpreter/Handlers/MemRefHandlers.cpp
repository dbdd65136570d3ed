//===- MemRefHandlers.cpp - Executes memref ops -----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Handlers of scalar accesses to memory, with bounds checks, and of copies of
// slices.
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Tile/IR/Tile.h"
#include "fovea/Interpreter/Handlers.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <optional>

using namespace mlir;
using namespace fovea;
using namespace fovea::interp;

FailureOr<char *> fovea::interp::locateElement(Operation *op, Frame &frame,
                                               const MemRefView &memref,
                                               OperandRange indices) {
  int64_t offset = 0;
  for (auto [dim, operand] : llvm::enumerate(indices)) {
    int64_t index = frame.getInteger(operand);
    if (index < 0 || index >= memref.sizes[dim]) {
      frame.fail(op) << "index " << index << " of dimension " << int64_t(dim)
                     << " lies outside [0, " << memref.sizes[dim] << ")";
      return failure();
    }
    offset += index * memref.strides[dim];
  }
  return memref.at(offset);
}

static LogicalResult executeLoad(Operation *op, Frame &frame) {
  auto load = cast<memref::LoadOp>(op);
  const MemRefView &memref = frame.get(load.getMemRef()).getMemRef();
  auto address = locateElement(op, frame, memref, load.getIndices());
  if (failed(address))
    return failure();
  if (isFloat(memref.kind)) {
    double value;
    readElements(memref.kind, *address, 1, 1, &value);
    frame.set(load.getResult(), RuntimeValue::real(value));
  } else {
    int64_t value;
    readElements(memref.kind, *address, 1, 1, &value);
    frame.set(load.getResult(), RuntimeValue::integer(value));
  }
  return success();
}

static LogicalResult executeStore(Operation *op, Frame &frame) {
  auto store = cast<memref::StoreOp>(op);
  const MemRefView &memref = frame.get(store.getMemRef()).getMemRef();
  auto address = locateElement(op, frame, memref, store.getIndices());
  if (failed(address))
    return failure();
  const RuntimeValue &value = frame.get(store.getValueToStore());
  if (isFloat(memref.kind)) {
    double number = value.getReal();
    writeElements(memref.kind, &number, 1, *address, 1);
  } else {
    int64_t number = value.getInteger();
    writeElements(memref.kind, &number, 1, *address, 1);
  }
  return success();
}

static LogicalResult executeDim(Operation *op, Frame &frame) {
  auto dim = cast<memref::DimOp>(op);
  const MemRefView &memref = frame.get(dim.getSource()).getMemRef();
  int64_t index = frame.getInteger(dim.getIndex());
  if (index < 0 || index >= int64_t(memref.sizes.size()))
    return frame.fail(op) << "a memref of rank " << int64_t(memref.sizes.size())
                          << " has no dimension " << index;
  frame.set(dim.getResult(), RuntimeValue::integer(memref.sizes[index]));
  return success();
}

static LogicalResult executeCast(Operation *op, Frame &frame) {
  auto cast = mlir::cast<memref::CastOp>(op);
  auto type = mlir::cast<MemRefType>(cast.getType());
  const RuntimeValue &source = frame.get(cast.getSource());
  for (auto [expected, found] :
       llvm::zip(type.getShape(), source.getMemRef().sizes))
    if (!ShapedType::isDynamic(expected) && expected != found)
      return frame.fail(op) << "cast to " << type << " of a memref with extent "
                            << found << " where " << expected << " is expected";
  frame.set(cast.getResult(), source);
  return success();
}

/// The slice of a memref at leading indices; nullopt if one is out of bounds.
static std::optional<MemRefView> findSlice(Frame &frame, Value memref,
                                           OperandRange indices) {
  MemRefView view = frame.get(memref).getMemRef();
  for (auto [dim, operand] : llvm::enumerate(indices)) {
    int64_t index = frame.getInteger(operand);
    if (index < 0 || index >= view.sizes[dim])
      return std::nullopt;
    view.base = view.at(index * view.strides[dim]);
  }
  view.sizes.erase(view.sizes.begin(), view.sizes.begin() + indices.size());
  view.strides.erase(view.strides.begin(),
                     view.strides.begin() + indices.size());
  return view;
}

/// Copies the bytes of the elements: their values do not change.
static void copySlice(const MemRefView &source, const MemRefView &target) {
  int64_t elements = 1;
  for (int64_t size : source.sizes)
    elements *= size;
  for (int64_t n = 0; n < elements; ++n) {
    int64_t from = 0, to = 0, left = n;
    for (size_t dim = source.sizes.size(); dim-- > 0;) {
      int64_t index = left % source.sizes[dim];
      left /= source.sizes[dim];
      from += index * source.strides[dim];
      to += index * target.strides[dim];
    }
    std::copy_n(source.at(from), getByteWidth(source.kind), target.at(to));
  }
}

static LogicalResult executeCopyRows(Operation *operation, Frame &frame) {
  auto op = cast<tile::CopyRowsOp>(operation);
  for (auto [from, to] : llvm::zip(op.getSources(), op.getTargets())) {
    auto source = findSlice(frame, from, op.getSourceIndices()),
         target = findSlice(frame, to, op.getTargetIndices());
    if (!source || !target)
      continue;
    if (source->sizes != target->sizes)
      return frame.fail(op)
             << "copied dimensions of source and target must have equal sizes";
    copySlice(*source, *target);
  }
  return success();
}

void fovea::interp::registerMemRefHandlers(InterpreterRegistry &registry) {
  registry.add<tile::CopyRowsOp>(executeCopyRows);
  registry.add<memref::LoadOp>(executeLoad);
  registry.add<memref::StoreOp>(executeStore);
  registry.add<memref::DimOp>(executeDim);
  registry.add<memref::CastOp>(executeCast);
}
