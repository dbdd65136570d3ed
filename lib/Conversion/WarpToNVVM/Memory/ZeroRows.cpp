//===- ZeroRows.cpp - Zeroing rows of a stage -------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers `warp.zero_rows` to shared-memory stores by each warp group of the
// role, by the warps of a smaller role, or by the only warp of a role that
// issues dots, and allocates the named barriers of warp groups. Runs with the
// other lowerings of roles, before tiles become vectors.
//
//===----------------------------------------------------------------------===//

#include "WarpToNVVM.h"

#include "fovea/Support/Warps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace fovea;

static constexpr int64_t kChunkBytes = 16;

/// The common parts of one thread's stores.
namespace {
struct ThreadRows {
  Value address; // of the thread's chunk in its first row, i32
  Value row;     // its first row
  int64_t step;  // distance of consecutive rows
};
} // namespace

/// All chunks of a row become zero, so the swizzle does not matter.
static ThreadRows emitThreadRows(OpBuilder &b, Location loc, SharedView view,
                                 Value thread, int64_t threads) {
  int64_t rowBytes = view.getRowBytes();
  Value base = emitSharedAddress(b, loc, *view.buffer.getOffset());
  if (view.stage)
    base = arith::AddIOp::create(
        b, loc, base,
        arith::MulIOp::create(b, loc, view.stage,
                              emitI32(b, loc, view.getStageBytes())));
  Value distance =
      arith::MulIOp::create(b, loc, thread, emitI32(b, loc, kChunkBytes));
  int64_t chunks = rowBytes / kChunkBytes;
  return {arith::AddIOp::create(b, loc, base, distance),
          arith::DivUIOp::create(b, loc, thread, emitI32(b, loc, chunks)),
          threads / chunks};
}

/// The threads of a warp group, or of the only warp, store adjacent chunks. A
/// proxy fence and a barrier make the stores visible to the tensor cores before
/// the dots read.
static LogicalResult lower(warp::ZeroRowsOp op, const Role &role,
                           GroupBarriers &barriers) {
  FailureOr<SharedView> view = getSharedView(op, op.getBuffer());
  if (failed(view))
    return failure();
  if (warp::getRowsOfCta(view->type) != view->type.getDimSize(0))
    return op.emitOpError(
               "is not supported for rows partitioned among CTAs, found ")
           << view->type;
  OpBuilder b(op);
  Location loc = op.getLoc();
  int64_t rows = view->type.getDimSize(0), columns = view->type.getDimSize(1);
  int64_t panel = view->getPanel();
  int64_t panelBytes = rows * view->getRowBytes();
  int64_t threads =
      role.isSingleWarp ? kLanes : GroupBarriers::getThreads(role);
  Value thread =
      arith::RemUIOp::create(b, loc, role.thread, emitI32(b, loc, threads));
  ThreadRows mine = emitThreadRows(b, loc, *view, thread, threads);
  Value from = emitToI32(b, loc, op.getFrom()), zero = emitI32(b, loc, 0);
  for (int64_t start = 0; start < rows; start += mine.step) {
    Value row = arith::AddIOp::create(b, loc, mine.row, emitI32(b, loc, start));
    Value wanted =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, row, from);
    if (start + mine.step > rows)
      wanted = arith::AndIOp::create(
          b, loc, wanted,
          arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, row,
                                emitI32(b, loc, rows)));
    for (int64_t column = 0; column < columns; column += panel) {
      int64_t distance =
          column / panel * panelBytes + start * panelBytes / rows;
      std::string text = "@$2 st.shared.v4.b32 [$0+" +
                         std::to_string(distance) + "], {$1, $1, $1, $1};";
      emitAsm(b, loc, text, "r,r,b,~{memory}", {mine.address, zero, wanted});
    }
  }
  NVVM::FenceProxyOp::create(
      b, loc, NVVM::ProxyKind::async_shared,
      NVVM::SharedSpaceAttr::get(b.getContext(),
                                 NVVM::SharedSpace::shared_cta));
  if (role.isSingleWarp)
    NVVM::SyncWarpOp::create(b, loc, emitI32(b, loc, -1));
  else if (failed(barriers.emit(b, op, role)))
    return failure();
  op.erase();
  return success();
}

int64_t GroupBarriers::getThreads(const Role &role) {
  return kLanes * std::min<int64_t>(role.warps, kGroupWarps);
}

LogicalResult GroupBarriers::emit(OpBuilder &b, Operation *op,
                                  const Role &role) {
  auto [entry, isNew] = barriers.try_emplace(&role, next);
  int64_t groups = std::max<int64_t>(role.warps / kGroupWarps, 1);
  if (isNew)
    next += groups;
  if (entry->second + groups - 1 > kLastBarrier)
    return op->emitOpError("needs a named barrier for each of ")
           << groups << " warp groups, but a CTA has " << kLastBarrier
           << " in all";
  Location loc = op->getLoc();
  Value barrier = arith::AddIOp::create(b, loc, role.emitGroup(b, loc),
                                        emitI32(b, loc, entry->second));
  emitNamedBarrier(b, loc, barrier, getThreads(role));
  return success();
}

LogicalResult fovea::lowerZeroRows(gpu::GPUFuncOp kernel,
                                   const Specialization &roles,
                                   GroupBarriers &barriers) {
  SmallVector<warp::ZeroRowsOp> ops;
  kernel.walk([&](warp::ZeroRowsOp op) { ops.push_back(op); });
  for (warp::ZeroRowsOp op : ops) {
    const Role *role = roles.getRole(op);
    if (!role || (!role->isSingleWarp && role->warps > kGroupWarps &&
                  role->warps % kGroupWarps != 0))
      return op.emitOpError("must be in a role of whole warp groups or of a "
                            "part of one, or in one that issues dots into "
                            "tensor memory");
    if (failed(lower(op, *role, barriers)))
      return failure();
  }
  return success();
}
