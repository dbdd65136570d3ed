//===- HoistVectors.cpp - Hoist vector loads out of loops -----------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Hoists loads of loop-invariant vectors, such as a tile's document ids, out of
// loops that do not write global memory. The vector stays in registers through
// the loop, so only vectors with few elements per thread move.
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

// The most elements of a vector that a thread may hold through a loop.
static constexpr int64_t kMostElements = 4;

namespace {
struct HoistVectorsPass : warp::impl::WarpHoistVectorsBase<HoistVectorsPass> {
  void runOnKernel() override;
};
} // namespace

/// True if the op loads a vector of which each thread holds few elements.
static bool readsFew(tile::LoadOp load) {
  auto layout = dyn_cast_or_null<ThreadLayoutAttrInterface>(
      load.getResult().getType().getEncoding());
  return layout && load.getBoxDims().isVector() &&
         layout.getNumElements(load.getResult().getType().getShape()) <=
             kMostElements;
}

/// The outermost loop that the load can be hoisted out of, or null. Its
/// operands must be defined outside, and no loop in between may write global
/// memory.
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
