//===- HoistVectors.cpp - Vectors read ahead of a loop ----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scheduling/LoopMemoryEffects.h"

#include "fovea/Dialect/Warp/Transforms/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace fovea::warp {
#define GEN_PASS_DEF_WARPHOISTVECTORS
#include "fovea/Dialect/Warp/Transforms/Passes.h.inc"
} // namespace fovea::warp

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

// Elements of a vector that a thread holds all through a loop, at most.
static constexpr int64_t kMostElements = 4;

namespace {
struct HoistVectorsPass : warp::impl::WarpHoistVectorsBase<HoistVectorsPass> {
  void runOnKernel() override;
};
} // namespace

/// Whether the op reads a vector of which threads hold few elements.
static bool readsFew(tile::LoadOp load) {
  auto layout = dyn_cast_or_null<ThreadLayoutAttrInterface>(
      load.getResult().getType().getEncoding());
  return layout && load.getBoxDims().isVector() &&
         layout.getNumElements(load.getResult().getType().getShape()) <=
             kMostElements;
}

/// The outermost loop around the op that it might stand ahead of, or null: all
/// that it needs is known there, and no loop on the way writes what it reads.
static scf::ForOp findLoop(tile::LoadOp load) {
  scf::ForOp found;
  for (auto loop = dyn_cast<scf::ForOp>(load->getParentOp()); loop;
       loop = dyn_cast<scf::ForOp>(loop->getParentOp())) {
    bool isKnown = llvm::all_of(load->getOperands(), [&](Value operand) {
      return loop.isDefinedOutsideOfLoop(operand);
    });
    if (!isKnown || writesGlobalMemory(loop))
      break;
    found = loop;
  }
  return found;
}

void HoistVectorsPass::runOnKernel() {
  SmallVector<tile::LoadOp> loads;
  getOperation().walk([&](tile::LoadOp load) { loads.push_back(load); });
  for (tile::LoadOp load : loads)
    if (scf::ForOp loop = readsFew(load) ? findLoop(load) : scf::ForOp()) {
      load->moveBefore(loop);
      ++numHoisted;
    }
}
