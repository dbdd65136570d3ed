//===- InsertOutputCopies.cpp - Outputs by the copy engine ------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Pipelines/Ring.h"
#include "Roles/RoleAssignment.h"

#include "fovea/Dialect/Warp/Transforms/Passes.h"
#include "fovea/Schedule/Schedule.h"
#include "fovea/Support/ValueNames.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace fovea::warp {
#define GEN_PASS_DEF_WARPINSERTOUTPUTCOPIES
#include "fovea/Dialect/Warp/Transforms/Passes.h.inc"
} // namespace fovea::warp

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

// What a warp holds of a tile, and copies at a time.
static constexpr int64_t kWarpRows = 16;
static constexpr int64_t kCopyBytes = 16, kMostDims = 5;

namespace {
/// The ring of buffers that a stream comes in.
struct StreamRing {
  Value buffer, pipeline;
};

/// Where a tile goes that takes a stream's stage, or why it can't.
struct StreamPlace {
  StreamRing ring;
  ConsumerReleaseOp release;
  StringRef reason;
};

struct InsertOutputCopiesPass
    : warp::impl::WarpInsertOutputCopiesBase<InsertOutputCopiesPass> {
  void runOnKernel() override;

private:
  void useOwnBuffer(ArrayRef<tile::StoreOp> stores, int64_t ctas,
                    ArrayRef<plan::RoleAttr> roles);
  StreamPlace findPlace(tile::StoreOp store, StringRef stream,
                        ArrayRef<plan::RoleAttr> roles);
  void useStreamBuffer(SmallVector<tile::StoreOp> &stores, StringRef stream,
                       ArrayRef<plan::RoleAttr> roles);
  void useStages(ArrayRef<tile::StoreOp> stores, ArrayRef<StreamPlace> places);
  CopyOutOp replace(tile::StoreOp store, Value buffer);

  /// Why stores stay that the copy engine could write.
  llvm::DenseMap<Operation *, StringRef> reasons;
};
} // namespace

/// Sums in fragments: what a warp adds lies in one piece.
static bool addsFragments(tile::StoreOp store) {
  RankedTensorType tile = store.getValue().getType();
  return store.getFragments() && !store.getByRegister() && store.getAdd() &&
         tile.getElementType().isF32() && hasStoreFragments(tile) &&
         !store.getBoxDims().isVector() &&
         cast<MemRefType>(store.getTarget().getType()).getLayout().isIdentity();
}

/// Whether the copy engine can write what the op stores.
static bool canCopy(tile::StoreOp store, launch::AbiOp abi) {
  if (addsFragments(store))
    return true;
  RankedTensorType tile = store.getValue().getType();
  tile::BoxDims dims = store.getBoxDims();
  auto target = cast<MemRefType>(store.getTarget().getType());
  auto argument = dyn_cast<BlockArgument>(store.getTarget());
  // The engine knows the ends of tensors and no others.
  if (store.getLimit() || dims.inFragments || !argument || dims.row < 0 ||
      dims.column < 0 || !hasStoreFragments(tile) ||
      (tile.getElementTypeBitWidth() != 16 && !store.getAdd()) ||
      target.getRank() > kMostDims || kWarpRows % dims.foldExtent != 0)
    return false;
  // Of a row's last 16 bytes the engine writes all; sizes that the host passes
  // are held to that at the launch.
  int64_t columns = target.getDimSize(dims.column);
  if (!ShapedType::isDynamic(columns) &&
      columns * tile.getElementTypeBitWidth() / 8 % kCopyBytes != 0)
    return false;
  auto [strides, offset] = target.getStridesAndOffset();
  auto parameter = dyn_cast<launch::MemRefParameterAttr>(
      abi.getParameters()[argument.getArgNumber()]);
  launch::TensorAttr tensor =
      parameter ? launch::lookupTensor(abi.getTensors(), parameter.getTensor())
                : launch::TensorAttr();
  return tensor && tensor.getAlignment() % kCopyBytes == 0 &&
         strides[dims.column] == 1;
}

/// Tile, buffer, engine, memory. What was copied before has to be read when the
/// buffer is written: the caller sees to that.
CopyOutOp InsertOutputCopiesPass::replace(tile::StoreOp store, Value buffer) {
  OpBuilder b(store);
  Location loc = store.getLoc();
  LocalStoreOp::create(b, loc, store.getValue(), buffer,
                       store.getFragmentsAttr(), store.getNameAttr());
  FenceStoresOp::create(b, loc, buffer);
  auto copy = CopyOutOp::create(
      b, loc, buffer, store.getTarget(), store.getIndices(),
      store.getDimsAttr(), store.getFoldAttr(), store.getFragmentsAttr(),
      /*async=*/b.getUnitAttr(), store.getAddAttr(), store.getNameAttr());
  store.erase();
  ++numCopies;
  return copy;
}

static MemRefType getBufferType(RankedTensorType tile, int64_t ctas) {
  auto space = SharedAttr::get(
      tile.getContext(),
      getBoxRowBytes(tile.getDimSize(1), tile.getElementTypeBitWidth()), ctas);
  return MemRefType::get(tile.getShape(), tile.getElementType(),
                         MemRefLayoutAttrInterface(), space);
}

/// One buffer for all of a role's tiles of a shape: a tile is written when the
/// one before has been read, a round ago.
void InsertOutputCopiesPass::useOwnBuffer(ArrayRef<tile::StoreOp> stores,
                                          int64_t ctas,
                                          ArrayRef<plan::RoleAttr> roles) {
  Block &body = getOperation().getBody().front();
  llvm::MapVector<std::pair<Attribute, Type>, Value> buffers;
  for (tile::StoreOp store : stores) {
    MemRefType type = getBufferType(store.getValue().getType(), ctas);
    plan::RoleAttr owner = lookupOwner(roles, store.getNameAttr());
    Value &buffer = buffers[{owner, type}];
    if (!buffer) {
      OpBuilder b = OpBuilder::atBlockBegin(&body);
      Location loc = store.getLoc();
      if (StringAttr name = store.getNameAttr())
        loc = getNamedLoc(loc, name.getValue() + "_buffer");
      buffer = AllocOp::create(b, loc, type, IntegerAttr());
    }
    OpBuilder b(store);
    CopyOutWaitOp::create(b, store.getLoc(), buffer, /*written=*/false);
    replace(store, buffer);
  }
  OpBuilder b(body.getTerminator());
  for (auto &[key, buffer] : buffers)
    CopyOutWaitOp::create(b, buffer.getLoc(), buffer, /*written=*/true);
}

/// The ring of the stream with that name, if tiles of `type` fit its stages.
static StreamRing findRing(gpu::GPUFuncOp kernel, StringRef name,
                           RankedTensorType type) {
  StreamRing ring;
  kernel.walk([&](CopyOp copy) {
    auto stage = copy.getTarget().getDefiningOp<StageOp>();
    if (copy.getName() != name || !stage ||
        stage.getType().getShape() != type.getShape() ||
        stage.getType().getElementType() != type.getElementType())
      return;
    for (Operation *op = copy->getPrevNode(); op; op = op->getPrevNode())
      if (auto acquire = dyn_cast<ProducerAcquireOp>(op)) {
        ring = {stage.getBuffer(), acquire.getPipeline()};
        return;
      }
  });
  return ring;
}

/// Whether all that is read of the ring's stages are the rows that the warp
/// itself stores: warps get done at different times, and others may still read.
/// Of a dot's first operand a warp reads the rows of its result.
static bool isReadByRows(Value buffer, plan::RoleAttr owner,
                         ArrayRef<plan::RoleAttr> roles) {
  return llvm::all_of(buffer.getUsers(), [&](Operation *user) {
    auto stage = dyn_cast<StageOp>(user);
    return stage && llvm::all_of(stage->getUsers(), [&](Operation *op) {
             auto dot = dyn_cast<DotOp>(op);
             return isa<CopyOp>(op) ||
                    (dot && dot.getA() == stage.getResult() &&
                     dot.getB() != stage.getResult() && !dot.getTransposeA() &&
                     lookupOwner(roles, dot.getNameAttr()) == owner);
           });
  });
}

/// The last release of a stage that comes before the op in its round; null if
/// the round may have several of the op.
static ConsumerReleaseOp findRelease(StreamRing ring, Operation *op) {
  for (Operation *place = op; !isa<gpu::GPUFuncOp>(place);
       place = place->getParentOp()) {
    if (isa<LoopLikeOpInterface>(place))
      return {};
    for (Operation *before = place->getPrevNode(); before;
         before = before->getPrevNode())
      if (auto release = dyn_cast<ConsumerReleaseOp>(before);
          release && release.getPipeline() == ring.pipeline)
        return release;
  }
  return {};
}

StreamPlace InsertOutputCopiesPass::findPlace(tile::StoreOp store,
                                              StringRef stream,
                                              ArrayRef<plan::RoleAttr> roles) {
  StreamPlace place;
  place.ring = findRing(getOperation(), stream, store.getValue().getType());
  if (!place.ring.pipeline)
    place.reason = "no stream of that name brings tiles of its shape";
  else if (!isReadByRows(place.ring.buffer,
                         lookupOwner(roles, store.getNameAttr()), roles))
    place.reason = "others may still read the stage that it would go through";
  else if (!(place.release = findRelease(place.ring, store)))
    place.reason = "the stage that it would go through is not given back "
                   "before it in its round";
  return place;
}

/// The warps read no more of the stream's stage where it is released: outputs
/// go there, one behind the other, and the release behind them.
void InsertOutputCopiesPass::useStages(ArrayRef<tile::StoreOp> stores,
                                       ArrayRef<StreamPlace> places) {
  llvm::MapVector<Operation *, Operation *> ends;
  llvm::DenseMap<Operation *, SmallVector<CopyOutOp>> copies;
  llvm::SetVector<Value> written;
  for (auto [index, place] : llvm::enumerate(places)) {
    tile::StoreOp store = stores[index];
    StreamRing ring = place.ring;
    ConsumerReleaseOp release = place.release;
    Operation *end = release->getBlock()->findAncestorOpInBlock(*store);
    OpBuilder b(store);
    Value buffer =
        makeStageView(b, store.getLoc(), ring.buffer, release.getStage());
    written.insert(ring.buffer);
    // A tile that goes there before it has to be read.
    SmallVector<CopyOutOp> &before = copies[release];
    if (llvm::any_of(before, [&](CopyOutOp other) {
          return !insideMutuallyExclusiveRegions(other, store);
        }))
      CopyOutWaitOp::create(b, store.getLoc(), ring.buffer, /*written=*/false);
    bool isEnd = end == store;
    before.push_back(replace(store, buffer));
    if (isEnd)
      end = before.back();
    Operation *&last = ends[release];
    if (!last || last->isBeforeInBlock(end))
      last = end;
  }
  for (auto [release, end] : ends) {
    OpBuilder b(end->getContext());
    b.setInsertionPointAfter(end);
    for (Value buffer : written)
      CopyOutWaitOp::create(b, release->getLoc(), buffer, /*written=*/false);
    release->moveBefore(b.getInsertionBlock(), b.getInsertionPoint());
  }
  OpBuilder b(getOperation().getBody().front().getTerminator());
  for (Value buffer : written)
    CopyOutWaitOp::create(b, buffer.getLoc(), buffer, /*written=*/true);
}

/// Keeps those of the stores that go through the stream's stages.
void InsertOutputCopiesPass::useStreamBuffer(SmallVector<tile::StoreOp> &stores,
                                             StringRef stream,
                                             ArrayRef<plan::RoleAttr> roles) {
  SmallVector<StreamPlace> places;
  llvm::erase_if(stores, [&](tile::StoreOp store) {
    StreamPlace place = findPlace(store, stream, roles);
    if (!place.reason.empty())
      reasons[store] = place.reason;
    else
      places.push_back(place);
    return !place.reason.empty();
  });
  useStages(stores, places);
}

void InsertOutputCopiesPass::runOnKernel() {
  launch::AbiOp abi = launch::requireAbi(getOperation());
  if (!abi)
    return signalPassFailure();
  // By the stream whose buffer they go through.
  llvm::MapVector<StringAttr, SmallVector<tile::StoreOp>> stores;
  getOperation().walk([&](tile::StoreOp store) {
    plan::StorePlan plan = abi.getPlan().getStore(store.getNameAttr());
    if (plan.isCopied && canCopy(store, abi))
      stores[plan.over].push_back(store);
  });
  reasons.clear();
  SmallVector<plan::RoleAttr> roles = getRoles(getOperation(), abi);
  for (auto &[over, group] : stores) {
    if (over)
      useStreamBuffer(group, over.getValue(), roles);
    else
      useOwnBuffer(group, abi.getPlan()->cluster, roles);
    if (!group.empty())
      reportDone(getOperation(), abi, "output", "Stores", group.size());
  }
  // What is stored by threads all the same.
  SmallVector<tile::StoreOp> left;
  getOperation().walk([&](tile::StoreOp store) {
    if (abi.getPlan().getStore(store.getNameAttr()).isCopied)
      left.push_back(store);
  });
  for (tile::StoreOp store : left) {
    bool isAsked = abi.getPlan().isAsked("output") &&
                   isOutputStore(store.getName().value_or(""));
    StringRef reason = reasons.lookup(store);
    if (reason.empty())
      reason = "the copy engine can't write this tile";
    if (failed(reportMissed(store, abi.getKernel(), isAsked, "output", reason)))
      return signalPassFailure();
  }
  // The plan says what the code has, of each store.
  for (tile::StoreOp store : left)
    abi.setPlanAttr(abi.getPlan().withoutStore(store.getName().value_or("")));
}
