//===- Tmem.cpp - Tensor memory ops -----------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Types, verifiers and memory effects of the ops on Blackwell's tensor memory,
// and of dots that accumulate in it.
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Warp/IR/Warp.h"

using namespace mlir;
using namespace fovea::warp;

static constexpr int64_t kColumnBits = 32;

bool fovea::warp::isTmemBuffer(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref || !memref.hasStaticShape() || memref.getRank() != 2 ||
      !memref.getLayout().isIdentity() ||
      !isa_and_nonnull<TmemAttr>(memref.getMemorySpace()) ||
      !memref.getElementType().isIntOrFloat() ||
      memref.getDimSize(0) != kTmemRows)
    return false;
  unsigned bits = memref.getElementTypeBitWidth();
  return (bits == 16 || bits == 32) &&
         memref.getDimSize(1) * bits % kColumnBits == 0;
}

int64_t fovea::warp::getTmemColumns(MemRefType type) {
  return type.getDimSize(1) * type.getElementTypeBitWidth() / kColumnBits;
}

LogicalResult TmemAllocOp::verify() {
  int64_t columns = getTmemColumns(getBuffer().getType()), first = getColumn();
  if (first < 0 || first > kTmemColumns - columns)
    return emitOpError() << columns << " columns from column " << first
                         << " on are not all among the " << kTmemColumns
                         << " of tensor memory";
  return success();
}

LogicalResult TmemViewOp::verify() {
  int64_t from = getFrom(), columns = getTmemColumns(getType());
  int64_t available = getTmemColumns(getSource().getType());
  if (from < 0 || from > available - columns)
    return emitOpError() << columns << " columns from column " << from
                         << " on are not all among the source's " << available;
  return success();
}

/// Checks an op that moves data between a buffer and a register tile.
static LogicalResult verifySameContents(Operation *op, MemRefType buffer,
                                        RankedTensorType tile) {
  if (buffer.getShape() == tile.getShape() &&
      buffer.getElementType() == tile.getElementType())
    return success();
  return op->emitOpError("buffer and tile must have the same shape and element "
                         "type, found ")
         << buffer << " and " << tile;
}

LogicalResult TmemLoadOp::verify() {
  return verifySameContents(*this, getSource().getType(), getType());
}

LogicalResult TmemStoreOp::verify() {
  return verifySameContents(*this, getTarget().getType(), getValue().getType());
}

LogicalResult DotIntoOp::verify() {
  auto a = cast<MemRefType>(getA().getType());
  MemRefType b = getB().getType(), acc = getAcc().getType();
  if (a.getRank() != 2 || b.getRank() != 2)
    return emitOpError("operands must have rank 2, found ")
           << a << " and " << b;
  if (a.getElementType() != b.getElementType())
    return emitOpError("operands must have the same element type, found ")
           << a << " and " << b;
  if (!acc.getElementType().isF32())
    return emitOpError("must accumulate in f32, found ") << acc;
  int64_t k = b.getDimSize(getTransposeB() ? 1 : 0),
          n = b.getDimSize(getTransposeB() ? 0 : 1);
  if (a.getDimSize(1) != k || acc.getDimSize(0) != a.getDimSize(0) ||
      acc.getDimSize(1) != n)
    return emitOpError("shapes do not form a matrix product: ")
           << a << ", " << b << " and " << acc;
  return success();
}

//===----------------------------------------------------------------------===//
// Effects
//===----------------------------------------------------------------------===//

using Effects =
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;

void TmemLoadOp::getEffects(Effects &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), &getSourceMutable());
}

void TmemStoreOp::getEffects(Effects &effects) {
  effects.emplace_back(MemoryEffects::Write::get(), &getTargetMutable());
}

void DotIntoOp::getEffects(Effects &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), &getAMutable());
  effects.emplace_back(MemoryEffects::Read::get(), &getBMutable());
  effects.emplace_back(MemoryEffects::Read::get(), &getAccMutable());
  effects.emplace_back(MemoryEffects::Write::get(), &getAccMutable());
}

// Synchronisation orders all memory accesses.
static void synchronizes(Effects &effects) {
  effects.emplace_back(MemoryEffects::Read::get());
  effects.emplace_back(MemoryEffects::Write::get());
}
void CommitAfterDotsOp::getEffects(Effects &effects) { synchronizes(effects); }
void ReleaseAfterDotsOp::getEffects(Effects &effects) { synchronizes(effects); }
