//===- InsertOutputCopies.cpp - Output tiles by TMA -----------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replaces stores of output tiles by a store to shared memory and an
// asynchronous TMA copy to global memory, for stores whose plan says `copied`.
// The tile uses a buffer of its own or, with `over`, a stage of a stream that
// its role has finished reading.
//
//===----------------------------------------------------------------------===//

#include "Pipelines/Ring.h"
#include "Roles/RoleAssignment.h"

#include "fovea/Dialect/Launch/IR/PassRemarks.h"
#include "fovea/Dialect/Warp/Transforms/Passes.h"
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

// Rows of a tile that a warp owns and copies at a time.
static constexpr int64_t kWarpRows = 16;
static constexpr int64_t kCopyBytes = 16, kMostDims = 5;

namespace {
/// The ring that a stream is loaded into.
struct StreamRing {
  Value buffer, pipeline;
};

/// The stage of a stream that an output tile uses, or the reason if it can't.
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

  /// The reasons why stores stay that TMA could write.
  llvm::DenseMap<Operation *, StringRef> reasons;
};
} // namespace

/// True for additions to an accumulator in fragment order, where the elements
/// of a warp are contiguous.
static bool addsFragments(tile::StoreOp store) {
  RankedTensorType tile = store.getValue().getType();
  return store.getFragments() && !store.getByRegister() && store.getAdd() &&
         tile.getElementType().isF32() && hasStoreFragments(tile) &&
         !store.getBoxDims().isVector() &&
         cast<MemRefType>(store.getTarget().getType()).getLayout().isIdentity();
}

/// True if TMA can write the stored tile.
static bool canCopy(tile::StoreOp store, launch::AbiOp abi) {
  if (addsFragments(store))
    return true;
  RankedTensorType tile = store.getValue().getType();
  tile::BoxDims dims = store.getBoxDims();
  auto target = cast<MemRefType>(store.getTarget().getType());
  auto argument = dyn_cast<BlockArgument>(store.getTarget());
  // TMA clips at the ends of tensors only.
  if (store.getLimit() || dims.inFragments || !argument || dims.row < 0 ||
      dims.column < 0 || !hasStoreFragments(tile) ||
      (tile.getElementTypeBitWidth() != 16 && !store.getAdd()) ||
      target.getRank() > kMostDims || kWarpRows % dims.foldExtent != 0 ||
      dims.hasGaps())
    return false;
  // TMA writes rows in units of 16 bytes; the launch checks sizes that the host
  // passes.
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

/// Replaces a store by a store to `buffer`, a fence and a copy. The caller
/// ensures that earlier copies have read `buffer`.
CopyOutOp InsertOutputCopiesPass::replace(tile::StoreOp store, Value buffer) {
  OpBuilder b(store);
  Location loc = store.getLoc();
  LocalStoreOp::create(b, loc, store.getValue(), buffer,
                       store.getFragmentsAttr(), /*column=*/IntegerAttr(),
                       store.getNameAttr());
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

/// Uses one buffer for all tiles of a role with the same type. A tile is
/// written after the copy of the previous one has read the buffer.
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

/// The ring of the stream `name`, if its stages have the shape and element type
/// of `type`.
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

/// True if each warp reads only those rows of the ring's stages that it stores
/// itself, because other warps may still read their rows. Of the first operand
/// of a dot, a warp reads the rows of its result.
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

/// The last release of a stage before the op in the same iteration; null if the
/// op may run several times per iteration.
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
    place.reason = "no stream of that name loads tiles of its shape";
  else if (!isReadByRows(place.ring.buffer,
                         lookupOwner(roles, store.getNameAttr()), roles))
    place.reason = "other warps may still read the stage that it would use";
  else if (!(place.release = findRelease(place.ring, store)))
    place.reason = "the stage that it would use is not released before it in "
                   "the same iteration";
  return place;
}

/// After its release, no warp reads the stream's stage. The outputs use it one
/// after the other, and the release moves after the last of them.
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
    // The copy of an earlier tile in this stage must have read it.
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

/// Removes the stores that can't use the stream's stages, and converts the
/// others.
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
  // By the stream whose stages they use.
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
  // Stores that threads still execute.
  SmallVector<tile::StoreOp> left;
  getOperation().walk([&](tile::StoreOp store) {
    if (abi.getPlan().getStore(store.getNameAttr()).isCopied)
      left.push_back(store);
  });
  for (tile::StoreOp store : left) {
    bool isUserSpecified = abi.getPlan().isUserSpecified("output") &&
                           plan::isOutputStore(store.getName().value_or(""));
    StringRef reason = reasons.lookup(store);
    if (reason.empty())
      reason = "TMA can't write this tile";
    if (failed(reportMissed(store, abi.getKernel(), isUserSpecified, "output",
                            reason)))
      return signalPassFailure();
  }
  // Keep the plan consistent with the code.
  for (tile::StoreOp store : left)
    abi.setPlanAttr(abi.getPlan().withoutStore(store.getName().value_or("")));
}
