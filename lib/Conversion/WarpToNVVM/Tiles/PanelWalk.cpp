//===- PanelWalk.cpp - Addresses in shared MMA operands ---------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the parts of matrix descriptors that wgmma and tcgen05 share.
//
//===----------------------------------------------------------------------===//

#include "Tiles/PanelWalk.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fovea;

PanelWalk fovea::getPanelWalk(MemRefType type, bool sumAlongColumns) {
  return {warp::getRowsOfCta(type), warp::getRowBytes(type),
          getBytes(type.getElementType()), sumAlongColumns};
}

Value fovea::emitLowerHalf(OpBuilder &b, Location loc, const SharedView &view,
                           const PanelWalk &walk, const Role &role,
                           int64_t ofGroup) {
  Value base;
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfterValue(role.leader);
    warp::AllocOp buffer = view.buffer;
    Value address = emitSharedAddress(b, loc, *buffer.getOffset());
    if (ofGroup != 0)
      address = arith::AddIOp::create(
          b, loc, address,
          arith::MulIOp::create(b, loc, role.emitGroup(b, loc),
                                emitI32(b, loc, ofGroup)));
    Value units = arith::ShRUIOp::create(b, loc, address, emitI32(b, loc, 4));
    // In a cluster the upper address bits select the CTA.
    units = arith::AndIOp::create(b, loc, units,
                                  emitI32(b, loc, PanelWalk::kAddressMask));
    base = arith::OrIOp::create(b, loc, units,
                                emitI32(b, loc, walk.getLowerHalf()));
  }
  if (!view.stage)
    return base;
  Value distance = arith::MulIOp::create(
      b, loc, view.stage,
      emitI32(b, loc, walk.getAdvance(view.getStageBytes())));
  return arith::AddIOp::create(b, loc, base, distance);
}
