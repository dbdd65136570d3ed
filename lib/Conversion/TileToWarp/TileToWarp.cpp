//===- TileToWarp.cpp - Operands of dots in shared memory -------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Conversion/Passes.h"

namespace fovea {
#define GEN_PASS_DEF_TILETOWARP
#include "fovea/Conversion/Passes.h.inc"
} // namespace fovea

using namespace mlir;
using namespace fovea;

namespace {
struct TileToWarpPass : fovea::impl::TileToWarpBase<TileToWarpPass> {
  using TileToWarpBase::TileToWarpBase;

  void runOnOperation() override;

private:
  /// The buffer that holds what `load` reads, copied where the load stands.
  Value getBuffer(tile::LoadOp load);
  LogicalResult convert(tile::DotOp dot, bool queryInRegisters);

  bool specialized = false;
  llvm::DenseMap<Operation *, Value> buffers;
  llvm::DenseMap<Operation *, Value> fragments;
};
} // namespace

Value TileToWarpPass::getBuffer(tile::LoadOp load) {
  Value &buffer = buffers[load];
  if (buffer)
    return buffer;
  RankedTensorType tile = load.getResult().getType();
  int64_t columns = tile.getDimSize(1);
  auto space = warp::SharedAttr::get(
      &getContext(), specialized ? warp::getBoxPanelColumns(columns)
                                 : warp::getPanelColumns(columns));
  auto type = MemRefType::get(tile.getShape(), tile.getElementType(),
                              MemRefLayoutAttrInterface(), space);
  OpBuilder builder(&getContext());
  builder.setInsertionPointToStart(&getOperation().getBody().front());
  buffer = warp::AllocOp::create(builder, load.getLoc(), type, IntegerAttr());
  builder.setInsertionPoint(load);
  warp::CopyOp::create(builder, load.getLoc(), load.getSource(),
                       load.getIndices(), load.getLimit(),
                       /*condition=*/Value(), buffer, load.getDims(),
                       /*async=*/false);
  ++numBuffers;
  return buffer;
}

LogicalResult TileToWarpPass::convert(tile::DotOp dot, bool queryInRegisters) {
  auto b = dot.getB().getDefiningOp<tile::LoadOp>();
  if (!b)
    return dot.emitError("second operand of a dot must be loaded from memory");
  Value right = getBuffer(b);
  Value left = dot.getA();
  if (auto a = left.getDefiningOp<tile::LoadOp>()) {
    left = getBuffer(a);
    if (queryInRegisters) {
      Value &fragment = fragments[a];
      if (!fragment) {
        OpBuilder builder(a);
        fragment =
            warp::LocalLoadOp::create(builder, a.getLoc(), a.getType(), left);
      }
      left = fragment;
    }
  }
  OpBuilder builder(dot);
  auto converted =
      warp::DotOp::create(builder, dot.getLoc(), left, right, dot.getAcc(),
                          dot.getTransposeB(), /*async=*/false);
  dot.replaceAllUsesWith(converted.getResult());
  dot.erase();
  return success();
}

void TileToWarpPass::runOnOperation() {
  buffers.clear();
  fragments.clear();
  tile::AbiOp abi = tile::lookupAbi(getOperation());
  if (!abi) {
    getOperation().emitError("kernel has no 'tile.abi' beside it");
    return signalPassFailure();
  }
  specialized = abi.getSchedule().isSpecialized();
  bool queryInRegisters = abi.getSchedule().getQueryInRegisters();
  SmallVector<tile::DotOp> dots;
  getOperation().walk([&](tile::DotOp dot) { dots.push_back(dot); });
  for (tile::DotOp dot : dots)
    if (failed(convert(dot, queryInRegisters)))
      return signalPassFailure();
  for (auto [load, buffer] : buffers)
    if (load->use_empty())
      load->erase();
}
