//===- LayoutClasses.cpp - Tiles that must share a layout -----------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements LayoutClasses: a union-find over the values of a kernel.
//
//===----------------------------------------------------------------------===//

#include "Layouts/LayoutClasses.h"

#include "fovea/Dialect/Warp/IR/Warp.h"
#include "fovea/Support/Carried.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

RankedTensorType warp::getUnassignedTile(Type type) {
  if (auto pending = dyn_cast<PendingType>(type))
    type = pending.getTile();
  auto tile = dyn_cast<RankedTensorType>(type);
  return tile && isa_and_nonnull<tile::RegAttr>(tile.getEncoding())
             ? tile
             : RankedTensorType();
}

LayoutClasses::LayoutClasses(Operation *kernel) {
  tile::makeTilesForEachUse(
      kernel, [](Type type) { return bool(getUnassignedTile(type)); });
  kernel->walk([&](Operation *op) {
    for (Value result : op->getResults())
      number(result);
    for (Region &region : op->getRegions())
      for (Value argument : region.getArguments())
        number(argument);
  });
  classes.grow(numbers.size());
  kernel->walk([&](Operation *op) {
    if (op != kernel)
      joinOp(op);
  });
  classes.compress();
}

void LayoutClasses::number(Value value) {
  if (getUnassignedTile(value.getType()))
    numbers.try_emplace(value, numbers.size());
}

void LayoutClasses::join(ValueRange values) {
  std::optional<unsigned> first;
  for (Value value : values) {
    auto found = numbers.find(value);
    if (found == numbers.end())
      continue;
    if (first)
      classes.join(*first, found->second);
    first = found->second;
  }
}

void LayoutClasses::joinEach(ValueRange left, ValueRange right) {
  for (auto [a, b] : llvm::zip_equal(left, right))
    join({a, b});
}

void LayoutClasses::joinOp(Operation *op) {
  bool isControl = forEachCarried(
      op, [&](ValueRange from, ValueRange to) { joinEach(from, to); });
  if (!isControl && !op->hasTrait<OpTrait::IsTerminator>()) {
    // A region op such as `tile.if_any` shares the layout of its condition with
    // the values in its regions.
    SmallVector<Value> values(op->getOperands());
    llvm::append_range(values, op->getResults());
    for (Region &region : op->getRegions())
      for (Block &block : region) {
        llvm::append_range(values, block.getArguments());
        llvm::append_range(values, block.getTerminator()->getOperands());
      }
    join(values);
  }
}
