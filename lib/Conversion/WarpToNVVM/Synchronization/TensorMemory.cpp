//===- TensorMemory.cpp - Allocation of tensor memory -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the allocation of a kernel's tensor memory and its end (PTX ISA, tensor
// memory allocation). A CTA allocates once, all columns that its matrices
// occupy, and gives up the right to allocate. It frees them when all its
// accesses have completed, which barriers of the roles and a barrier of the CTA
// ensure.
//
//===----------------------------------------------------------------------===//

#include "WarpToNVVM.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fovea;

// An allocation has a power of two of columns, at least this many.
static constexpr int64_t kLeastColumns = 32;
// Thread 0 initialises barriers meanwhile.
static constexpr int64_t kAllocatingWarp = 1;

TensorMemory::TensorMemory(gpu::GPUFuncOp kernel, launch::AbiOp abi)
    : offset(int64_t(abi.getSharedMemory()) - warp::kSpareSharedBytes) {
  kernel.walk([&](warp::TmemAllocOp alloc) {
    int64_t end = int64_t(alloc.getColumn()) +
                  warp::getTmemColumns(alloc.getBuffer().getType());
    columns = std::max(columns, end);
  });
  if (columns != 0)
    columns = std::max<int64_t>(llvm::PowerOf2Ceil(columns), kLeastColumns);
}

static scf::IfOp emitIfAllocating(OpBuilder &b, Location loc, Value warp) {
  Value isMine = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, warp,
                                       emitI32(b, loc, kAllocatingWarp));
  return scf::IfOp::create(b, loc, isMine, /*withElseRegion=*/false);
}

void TensorMemory::emitAllocate(OpBuilder &b, Location loc, Value warp) const {
  if (columns == 0)
    return;
  OpBuilder inside = emitIfAllocating(b, loc, warp).getThenBodyBuilder();
  NVVM::Tcgen05AllocOp::create(
      inside, loc,
      emitSharedPointer(inside, loc, emitSharedAddress(inside, loc, offset)),
      emitI32(inside, loc, columns));
  NVVM::Tcgen05RelinquishAllocPermitOp::create(inside, loc);
  NVVM::Tcgen05FenceOp::create(inside, loc,
                               NVVM::Tcgen05FenceKind::BEFORE_THREAD_SYNC);
}

Value TensorMemory::emitAddress(OpBuilder &b, Location loc) const {
  if (columns == 0)
    return {};
  NVVM::Tcgen05FenceOp::create(b, loc,
                               NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC);
  Value address = LLVM::LoadOp::create(
      b, loc, b.getI32Type(),
      emitSharedPointer(b, loc, emitSharedAddress(b, loc, offset)));
  // ptxas keeps a value that was broadcast to the warp in a uniform register,
  // as tcgen05 instructions need it.
  return emitUniform(b, loc, address);
}

void TensorMemory::emitFree(OpBuilder &b, Location loc, Value warp,
                            Value address) const {
  if (columns == 0)
    return;
  NVVM::Tcgen05FenceOp::create(b, loc,
                               NVVM::Tcgen05FenceKind::BEFORE_THREAD_SYNC);
  NVVM::Barrier0Op::create(b, loc);
  OpBuilder inside = emitIfAllocating(b, loc, warp).getThenBodyBuilder();
  NVVM::Tcgen05FenceOp::create(inside, loc,
                               NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC);
  NVVM::Tcgen05DeallocOp::create(inside, loc,
                                 emitTensorPointer(inside, loc, address),
                                 emitI32(inside, loc, columns));
}
