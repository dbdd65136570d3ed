//===- KernelBuilder.cpp - Helpers to emit a kernel -------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace fovea;

Value KernelBuilder::operandArgument(unsigned index) {
  return kernel.getArgument(index);
}

Value KernelBuilder::resultArgument(unsigned index) {
  return kernel.getArgument(op->getNumOperands() + index);
}

Value KernelBuilder::constant(int64_t value) {
  return arith::ConstantIndexOp::create(builder, getLoc(), value);
}

Value KernelBuilder::size(Value memref, int64_t dim) {
  auto type = cast<MemRefType>(memref.getType());
  if (!type.isDynamicDim(dim))
    return constant(type.getDimSize(dim));
  return memref::DimOp::create(builder, getLoc(), memref, dim);
}

RankedTensorType KernelBuilder::tileType(int64_t rows, int64_t columns,
                                         Type element) {
  return RankedTensorType::get({rows, columns}, element,
                               tile::RegAttr::get(builder.getContext()));
}

Value KernelBuilder::splat(int64_t rows, int64_t columns, double value) {
  RankedTensorType type = tileType(rows, columns, builder.getF32Type());
  return arith::ConstantOp::create(
      builder, getLoc(),
      DenseElementsAttr::get(type, static_cast<float>(value)));
}

Value KernelBuilder::loadHead(Value memref, Value batch, Value head, Value row,
                              int64_t column, int64_t rows, int64_t columns,
                              Value limit) {
  auto type = cast<MemRefType>(memref.getType());
  SmallVector<Value> indices = {batch, head, row};
  SmallVector<int64_t> dims = {2, -1};
  if (type.getRank() == 4) {
    indices.push_back(constant(column));
    dims[1] = 3;
  }
  return tile::LoadOp::create(builder, getLoc(),
                              tileType(rows, columns, type.getElementType()),
                              memref, indices, limit, dims);
}

KernelBuilder::Work KernelBuilder::makeWork(Value query, int64_t tileM) {
  Location loc = getLoc();
  Value block = gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x);
  Value heads = size(query, 1), rows = size(query, 2);
  Value tiles = arith::CeilDivUIOp::create(builder, loc, rows, constant(tileM));
  Value tile = arith::RemUIOp::create(builder, loc, block, tiles);
  Value rest = arith::DivUIOp::create(builder, loc, block, tiles);
  Value last = arith::SubIOp::create(builder, loc, tiles, constant(1));
  Value fromEnd = arith::SubIOp::create(builder, loc, last, tile);
  Work work;
  work.row = arith::MulIOp::create(builder, loc, fromEnd, constant(tileM));
  work.head = arith::RemUIOp::create(builder, loc, rest, heads);
  work.batch = arith::DivUIOp::create(builder, loc, rest, heads);
  return work;
}
