//===- LaneSyncs.cpp - Warp barriers ----------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers the synchronisation of a warp's lanes to fences and `bar.warp.sync`.
// `warp-sync-lanes` inserted it before the arrivals that need it
// (Barriers.cpp).
//
//===----------------------------------------------------------------------===//

#include "WarpToNVVM.h"

using namespace mlir;
using namespace fovea;

static void lower(warp::SyncLanesOp op) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  if (op.getAsyncProxy())
    NVVM::FenceProxyOp::create(
        b, loc, NVVM::ProxyKind::async_shared,
        NVVM::SharedSpaceAttr::get(b.getContext(),
                                   NVVM::SharedSpace::shared_cta));
  if (op.getTmemStores())
    NVVM::Tcgen05WaitOp::create(b, loc, NVVM::Tcgen05WaitKind::STORE);
  // Loads have completed at the end of their lowering.
  if (op.getTmemLoads() || op.getTmemStores())
    NVVM::Tcgen05FenceOp::create(b, loc,
                                 NVVM::Tcgen05FenceKind::BEFORE_THREAD_SYNC);
  NVVM::SyncWarpOp::create(b, loc, emitI32(b, loc, -1));
  op.erase();
}

void fovea::lowerLaneSyncs(gpu::GPUFuncOp kernel) {
  kernel.walk([](warp::SyncLanesOp op) { lower(op); });
}
