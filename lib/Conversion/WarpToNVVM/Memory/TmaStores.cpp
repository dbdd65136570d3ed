//===- TmaStores.cpp - Shared memory to global by TMA ---------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers the output path of roles: stores from registers to shared memory,
// proxy fences, and bulk copies from shared to global memory. Each warp copies
// the rows that it stored; a role that only copies does so with one thread.
//
//===----------------------------------------------------------------------===//

#include "WarpToNVVM.h"

#include "fovea/Support/Warps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fovea;

// Rows of a tile and of a buffer that one warp owns.
static constexpr int64_t kWarpRows = 16;
// Rows of the box of a tensor map, at most.
static constexpr int64_t kMostBoxRows = 256;
// Consecutive f32 elements of a fragment per lane.
static constexpr int64_t kLaneElements = 4;

//===----------------------------------------------------------------------===//
// Copies out
//===----------------------------------------------------------------------===//

namespace {
/// Lowers the output ops of one kernel. Each warp copies the rows that it
/// stored, or the only warp of a role all rows: its leader issues the copies
/// and waits for them.
class OutputLowering {
public:
  OutputLowering(gpu::GPUFuncOp kernel, launch::AbiOp abi,
                 const Specialization &roles, GroupBarriers &barriers)
      : kernel(kernel), abi(abi), roles(roles), barriers(barriers) {}

  LogicalResult lower(warp::LocalStoreOp op);
  LogicalResult lower(warp::FenceStoresOp op);
  LogicalResult lower(warp::CopyOutOp op);
  LogicalResult lower(warp::CopyOutWaitOp op);

private:
  FailureOr<const Role *> getRole(Operation *op, bool mayBeSingle = false);
  /// The role of `op`. Only with `needsBarrier` must it have whole warp groups.
  FailureOr<const Role *> getRoleOfWarps(Operation *op, bool needsBarrier);
  bool isReadBack(warp::FenceStoresOp fence);
  LogicalResult check(warp::CopyOutOp op, const Role &role);
  void emitCopies(warp::CopyOutOp op, const Role &role, SharedView view,
                  Value map);
  void emitFragmentAdd(warp::CopyOutOp op, const Role &role, SharedView view);

  gpu::GPUFuncOp kernel;
  launch::AbiOp abi;
  const Specialization &roles;
  GroupBarriers &barriers;
  /// Tensor maps that are prefetched already.
  llvm::DenseSet<Value> prefetched;
};
} // namespace

FailureOr<const Role *> OutputLowering::getRole(Operation *op,
                                                bool mayBeSingle) {
  const Role *role = roles.getRole(op);
  if (role &&
      (role->isSingleWarp ? mayBeSingle : role->warps % kGroupWarps == 0))
    return role;
  op->emitOpError("must be in a role of whole warp groups");
  return failure();
}

FailureOr<const Role *> OutputLowering::getRoleOfWarps(Operation *op,
                                                       bool needsBarrier) {
  const Role *role = roles.getRole(op);
  if (role && !role->isSingleWarp && !needsBarrier)
    return role;
  return getRole(op);
}

/// A buffer that dots read may be overwritten when the dots are done in all
/// warps of the group, which needs a barrier. Output buffers need none, because
/// each warp only accesses its own rows. Neither do acquired stages: the
/// acquire waits for all consumers.
LogicalResult OutputLowering::lower(warp::LocalStoreOp op) {
  if (warp::isReplicatedPerWarp(op.getValue().getType())) {
    const Role *role = roles.getRole(op);
    if (role && role->warps == 1)
      return success();
    return op.emitOpError("stores a tile that each warp holds whole: expected "
                          "a role of one warp");
  }
  // All threads acquired the stage with a CTA barrier.
  if (!roles.hasRoles() && op.getTarget().getDefiningOp<warp::StageOp>())
    return success();
  const Role *owner = roles.getRole(op);
  FailureOr<SharedView> view = getSharedView(op, op.getTarget());
  if (failed(view))
    return failure();
  auto isOfBuffer = [&](Value memref) {
    if (auto stage = memref.getDefiningOp<warp::StageOp>())
      memref = stage.getBuffer();
    return memref == view->buffer.getBuffer();
  };
  bool isRead = false, isReadHere = false, isCopiedOut = false;
  kernel.walk([&](Operation *user) {
    if (auto dot = dyn_cast<warp::DotOp>(user);
        dot && (isOfBuffer(dot.getA()) || isOfBuffer(dot.getB()))) {
      isRead = true;
      isReadHere |= roles.getRole(dot) == owner;
    }
    if (auto copy = dyn_cast<warp::CopyOutOp>(user))
      isCopiedOut |= isOfBuffer(copy.getSource());
  });
  OpBuilder b(op);
  // With a single stage the acquire orders the dots of other roles only; the
  // role's own dots may still run in other warps of the group. With two stages
  // a barrier separates a dot that reads a stage from the next store to it.
  MemRefType stages = view->buffer.getBuffer().getType();
  bool isOnlyStage = stages.getRank() == 3 && stages.getDimSize(0) == 1;
  bool isAcquired = view->stage && !isCopiedOut && !(isReadHere && isOnlyStage);
  bool needsBarrier = isRead && !isAcquired;
  FailureOr<const Role *> role = getRoleOfWarps(op, needsBarrier);
  if (failed(role))
    return failure();
  return needsBarrier ? barriers.emit(b, op, **role) : success();
}

static void emitWarpSync(OpBuilder &b, Location loc) {
  NVVM::SyncWarpOp::create(b, loc, emitI32(b, loc, -1));
}

/// Returns true if subsequent dots of the role read the stored stage: each warp
/// of a group reads the stores of the others.
bool OutputLowering::isReadBack(warp::FenceStoresOp fence) {
  auto getStage = [](Value memref) -> std::pair<Value, Value> {
    if (auto stage = memref.getDefiningOp<warp::StageOp>())
      return {stage.getBuffer(), stage.getStage()};
    return {memref, Value()};
  };
  WalkResult walk = kernel.walk([&](warp::DotOp dot) {
    Operation *place = fence->getBlock()->findAncestorOpInBlock(*dot);
    auto stage = getStage(fence.getBuffer());
    return place && fence->isBeforeInBlock(place) &&
                   (getStage(dot.getA()) == stage ||
                    getStage(dot.getB()) == stage)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return walk.wasInterrupted();
}

LogicalResult OutputLowering::lower(warp::FenceStoresOp op) {
  // Without roles neither TMA nor wgmma reads shared memory, and consumers wait
  // for the stage with a CTA barrier.
  if (!roles.hasRoles() && op.getBuffer().getDefiningOp<warp::StageOp>()) {
    op.erase();
    return success();
  }
  bool needsBarrier = isReadBack(op);
  FailureOr<const Role *> role = getRoleOfWarps(op, needsBarrier);
  if (failed(role))
    return failure();
  OpBuilder b(op);
  NVVM::FenceProxyOp::create(
      b, op.getLoc(), NVVM::ProxyKind::async_shared,
      NVVM::SharedSpaceAttr::get(b.getContext(),
                                 NVVM::SharedSpace::shared_cta));
  // A dot reads the stores of all warps of its group.
  if (!needsBarrier)
    emitWarpSync(b, op.getLoc());
  else if (failed(barriers.emit(b, op, **role)))
    return failure();
  op.erase();
  return success();
}

/// Rows that one instruction copies out.
static int64_t getWarpRows(warp::CopyOutOp op, const Role &role) {
  return role.isSingleWarp ? warp::getRowsOfCta(op.getSource().getType())
                           : kWarpRows;
}

LogicalResult OutputLowering::check(warp::CopyOutOp op, const Role &role) {
  MemRefType source = op.getSource().getType();
  auto target = cast<MemRefType>(op.getTarget().getType());
  int64_t rows = warp::getRowsOfCta(source), held = kWarpRows * role.warps;
  if (role.isSingleWarp && rows > kMostBoxRows)
    return op.emitOpError("one warp copies out at most ")
           << kMostBoxRows << " rows, found " << rows;
  if (!role.isSingleWarp && rows != held)
    return op.emitOpError("needs ")
           << kWarpRows << " rows for each of the role's " << role.warps
           << " warps, found " << rows;
  if (op.getFragments() && abi.getCluster() > 1)
    return op.emitOpError("does not support fragments in a cluster");
  int64_t extent = op.getBoxDims().foldExtent;
  int64_t warpRows = getWarpRows(op, role);
  if (warpRows % extent != 0)
    return op.emitOpError("a warp copies ")
           << warpRows << " rows: expected a fold extent that divides them, "
           << "found " << extent;
  auto [strides, offset] = target.getStridesAndOffset();
  if (strides[op.getBoxDims().column] != 1)
    return op.emitOpError("columns must be contiguous, found ") << target;
  return success();
}

/// Emits one instruction per panel, for the warp's rows.
void OutputLowering::emitCopies(warp::CopyOutOp op, const Role &role,
                                SharedView view, Value map) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  tile::BoxDims box = op.getBoxDims();
  int64_t rows = warp::getRowsOfCta(view.type), panel = view.getPanel();
  int64_t rowBytes = view.getRowBytes(), warpRows = getWarpRows(op, role);
  auto scale = [&](Value value, int64_t count) -> Value {
    return arith::MulIOp::create(b, loc, value, emitI32(b, loc, count));
  };
  auto add = [&](Value left, Value right) -> Value {
    return arith::AddIOp::create(b, loc, left, right);
  };
  Value base = add(emitSharedAddress(b, loc, *view.buffer.getOffset()),
                   scale(role.warp, warpRows * rowBytes));
  if (view.stage)
    base = add(base, scale(view.stage, view.getStageBytes()));
  SmallVector<Value> start;
  for (int64_t dim : getMapDims(box, op.getTarget()))
    start.push_back(emitToI32(b, loc, op.getIndices()[dim]));
  Value &row = start[getMapRow(box)];
  row = add(row, scale(role.warp, warpRows / box.foldExtent));
  if (roles.rank)
    row = add(row, scale(roles.rank, rows / box.foldExtent));

  std::string coordinates;
  for (size_t index = 0; index < start.size(); ++index)
    coordinates += (index ? ", $" : "$") + std::to_string(index + 2);
  std::string text = "@$" + std::to_string(start.size() + 2) +
                     (op.getAdd() ? " cp.reduce" : " cp") +
                     ".async.bulk.tensor." + std::to_string(start.size()) +
                     "d.global.shared::cta" + (op.getAdd() ? ".add" : "") +
                     ".tile.bulk_group [$1, {" + coordinates + "}], [$0];";
  std::string constraints = "r,l";
  for (size_t index = 0; index < start.size(); ++index)
    constraints += ",r";
  Value firstColumn = start.front();
  for (int64_t column = 0; column < view.type.getDimSize(1); column += panel) {
    start.front() = add(firstColumn, emitI32(b, loc, column));
    Value from = add(base, emitI32(b, loc, column / panel * rows * rowBytes));
    SmallVector<Value> operands = {from, map};
    llvm::append_range(operands, start);
    operands.push_back(role.leader);
    emitAsm(b, loc, text, constraints + ",b,~{memory}", operands);
  }
  NVVM::CpAsyncBulkCommitGroupOp::create(b, loc);
}

/// Emits one bulk reduction: in fragments the warp's rows are contiguous, both
/// in the buffer and in memory.
void OutputLowering::emitFragmentAdd(warp::CopyOutOp op, const Role &role,
                                     SharedView view) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  auto multiply = [&](Value value, int64_t by) -> Value {
    return arith::MulIOp::create(b, loc, value, emitI64(b, loc, by));
  };
  auto add = [&](Value left, Value right) -> Value {
    return arith::AddIOp::create(b, loc, left, right);
  };
  Type element = view.type.getElementType();
  int64_t columns = view.type.getDimSize(1),
          bytes = kWarpRows * columns * getBytes(element);
  Value from =
      add(emitSharedAddress(b, loc, *view.buffer.getOffset()),
          arith::MulIOp::create(b, loc, role.warp, emitI32(b, loc, bytes)));
  if (view.stage)
    from =
        add(from, arith::MulIOp::create(b, loc, view.stage,
                                        emitI32(b, loc, view.getStageBytes())));
  // Offset of the row, then of the column: columns of a fragment are 16
  // elements apart.
  Value row = emitI64(b, loc, 0);
  auto target = cast<MemRefType>(op.getTarget().getType());
  int64_t last = target.getRank() - 1;
  for (auto [dim, index] : llvm::enumerate(op.getIndices().drop_back())) {
    Value size = memref::DimOp::create(b, loc, op.getTarget(), dim);
    row = arith::MulIOp::create(b, loc, row, emitToI64(b, loc, size));
    row = add(row, emitToI64(b, loc, index));
  }
  row = add(row, multiply(emitToI64(b, loc, role.warp), kWarpRows));
  Value place =
      add(multiply(row, target.getDimSize(last)),
          multiply(emitToI64(b, loc, op.getIndices()[last]), kWarpRows));
  Value to = LLVM::GEPOp::create(
      b, loc, LLVM::LLVMPointerType::get(b.getContext(), 1), element,
      emitPointer(b, loc, op.getTarget()), ArrayRef<LLVM::GEPArg>{place});
  emitAsm(b, loc,
          "@$3 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 "
          "[$1], [$0], $2;",
          "r,l,n,b,~{memory}", {from, to, emitI32(b, loc, bytes), role.leader});
  NVVM::CpAsyncBulkCommitGroupOp::create(b, loc);
}

/// The leader issued all copies of the warp, so it waits for them.
static void emitWait(OpBuilder &b, Location loc, bool written) {
  NVVM::CpAsyncBulkWaitGroupOp::create(b, loc, b.getI32IntegerAttr(0),
                                       written ? UnitAttr() : b.getUnitAttr());
  emitWarpSync(b, loc);
}

LogicalResult OutputLowering::lower(warp::CopyOutOp op) {
  FailureOr<const Role *> role = getRole(op, /*mayBeSingle=*/true);
  if (failed(role) || failed(check(op, **role)))
    return failure();
  FailureOr<SharedView> view = getSharedView(op, op.getSource());
  if (failed(view))
    return failure();
  if (op.getFragments()) {
    emitFragmentAdd(op, **role, *view);
  } else {
    FailureOr<Value> map = getTensorMap(op, op.getTarget(), op.getBoxDims(),
                                        op.getSource().getType(),
                                        getWarpRows(op, **role), kernel, abi);
    if (failed(map))
      return failure();
    if (prefetched.insert(*map).second) {
      OpBuilder setup(roles.endOfSetup);
      emitTensorMapPrefetch(setup, op.getLoc(), *map);
    }
    emitCopies(op, **role, *view, *map);
  }
  OpBuilder b(op);
  if (!op.getAsync())
    emitWait(b, op.getLoc(), /*written=*/false);
  op.erase();
  return success();
}

LogicalResult OutputLowering::lower(warp::CopyOutWaitOp op) {
  if (failed(getRole(op, /*mayBeSingle=*/true)))
    return failure();
  OpBuilder b(op);
  emitWait(b, op.getLoc(), op.getWritten());
  op.erase();
  return success();
}

LogicalResult fovea::lowerOutputs(gpu::GPUFuncOp kernel, launch::AbiOp abi,
                                  const Specialization &roles,
                                  GroupBarriers &barriers) {
  OutputLowering lowering(kernel, abi, roles, barriers);
  SmallVector<Operation *> ops;
  kernel.walk([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : ops) {
    LogicalResult result = llvm::TypeSwitch<Operation *, LogicalResult>(op)
                               .Case<warp::LocalStoreOp, warp::FenceStoresOp,
                                     warp::CopyOutOp, warp::CopyOutWaitOp>(
                                   [&](auto op) { return lowering.lower(op); })
                               .Default(success());
    if (failed(result))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

namespace {
/// Stores a register tile to the panels of a shared buffer.
struct LocalStoreLowering : OpConversionPattern<warp::LocalStoreOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(warp::LocalStoreOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override;

private:
  static void storeMatrices(OpBuilder &b, Location loc, Value tile,
                            Value target, MemRefType type);
  static void storePairs(OpBuilder &b, Location loc, Value tile,
                         RankedTensorType tileType, Value target,
                         MemRefType type);
  static void storeFragments(OpBuilder &b, Location loc, Value tile,
                             RankedTensorType tileType, Value target);
  static void storeVector(OpBuilder &b, Location loc, Value tile,
                          RankedTensorType tileType, Value target);
  static void storeWholeRows(OpBuilder &b, Location loc, Value tile,
                             RankedTensorType tileType, Value target,
                             MemRefType type, int64_t firstColumn);
};
} // namespace

/// The registers of a tile as 32-bit words.
static SmallVector<Value> getWords(OpBuilder &b, Location loc, Value tile) {
  auto type = cast<VectorType>(tile.getType());
  int64_t bits = type.getNumElements() * type.getElementTypeBitWidth();
  auto words = vector::ToElementsOp::create(
      b, loc,
      LLVM::BitcastOp::create(
          b, loc, VectorType::get({bits / 32}, b.getI32Type()), tile));
  return SmallVector<Value>(words->getResults());
}

/// The row index within the CTA's part of a buffer.
static Value emitRowOfCta(OpBuilder &b, Location loc, Value row,
                          MemRefType type) {
  int64_t rows = warp::getRowsOfCta(type);
  if (rows == type.getDimSize(0))
    return row;
  return arith::RemUIOp::create(b, loc, row, emitI32(b, loc, rows));
}

/// 16-bit elements, 16 rows by 16 columns per instruction: four matrices of 8
/// by 8. Lanes 0 to 7 give the row addresses of the first one, lanes 8 to 15
/// those of the second, and so on.
void LocalStoreLowering::storeMatrices(OpBuilder &b, Location loc, Value tile,
                                       Value target, MemRefType type) {
  int64_t bytes = getBytes(type.getElementType());
  int64_t panel = warp::getPanelColumns(type),
          rowBytes = warp::getRowBytes(type);
  int64_t rows = warp::getRowsOfCta(type);
  Value thread = emitThread(b, loc);
  auto divide = [&](Value value, int64_t by) -> Value {
    return arith::DivUIOp::create(b, loc, value, emitI32(b, loc, by));
  };
  auto rest = [&](Value value, int64_t by) -> Value {
    return arith::RemUIOp::create(b, loc, value, emitI32(b, loc, by));
  };
  Value first = arith::MulIOp::create(b, loc, divide(thread, kLanes),
                                      emitI32(b, loc, kWarpRows));
  Value row = emitRowOfCta(
      b, loc, arith::AddIOp::create(b, loc, first, rest(thread, kWarpRows)),
      type);
  Value half = rest(divide(thread, kWarpRows), 2);
  Value base =
      LLVM::PtrToIntOp::create(b, loc, b.getI32Type(), target).getResult();
  // The swizzle moves chunk `c` of a row to `c xor r`, where `r` depends on the
  // row. With `c` even and `half` in the lowest bit, that is `c xor (half xor
  // r)`.
  Value place = arith::AddIOp::create(b, loc, base,
                                      emitSwizzle(b, loc, row, half, rowBytes));
  SmallVector<Value> words = getWords(b, loc, tile);
  for (int64_t column = 0; column < type.getDimSize(1); column += 16) {
    Value inPanel = arith::XOrIOp::create(
        b, loc, place, emitI32(b, loc, column % panel * bytes));
    Value address = arith::AddIOp::create(
        b, loc, inPanel, emitI32(b, loc, column / panel * rows * rowBytes));
    SmallVector<Value> operands = {address};
    llvm::append_range(operands, ArrayRef(words).slice(column / 4, 4));
    emitAsm(b, loc,
            "stmatrix.sync.aligned.m8n8.x4.shared.b16 [$0], {$1, $2, $3, $4};",
            "r,r,r,r,r,~{memory}", operands);
  }
}

/// Stores pairs of adjacent columns.
void LocalStoreLowering::storePairs(OpBuilder &b, Location loc, Value tile,
                                    RankedTensorType tileType, Value target,
                                    MemRefType type) {
  auto layout = cast<warp::ThreadLayoutAttrInterface>(tileType.getEncoding());
  int64_t panel = warp::getPanelColumns(type),
          rowBytes = warp::getRowBytes(type);
  int64_t rows = warp::getRowsOfCta(type);
  int64_t bytes = getBytes(type.getElementType());
  int64_t chunk = 16 / bytes; // columns in 16 bytes
  Value thread = emitThread(b, loc);
  Value bases[2];
  SmallVector<int64_t> offsets[2];
  for (int64_t dim : {0, 1}) {
    offsets[dim] = layout.getOffsets(tileType.getShape(), dim);
    bases[dim] = layout.emitBase(b, loc, thread, tileType.getShape(), dim);
  }
  Value base =
      LLVM::PtrToIntOp::create(b, loc, b.getI32Type(), target).getResult();
  SmallVector<Value> words = getWords(b, loc, tile);
  int64_t wordsOfPair = bytes / 2;
  // Warps that share columns may begin in different panels.
  auto shared = dyn_cast<warp::MmaSyncAttr>(tileType.getEncoding());
  if (shared && shared.kInterleaveColumns * shared.getColumnWarps() > panel) {
    Value columns = emitI32(b, loc, panel);
    Value before = arith::MulIOp::create(
        b, loc, arith::DivUIOp::create(b, loc, bases[1], columns),
        emitI32(b, loc, rows * rowBytes));
    base = arith::AddIOp::create(b, loc, base, before);
    bases[1] = arith::RemUIOp::create(b, loc, bases[1], columns);
  }
  for (size_t index = 0; index < offsets[0].size(); index += 2) {
    Value row =
        emitRowOfCta(b, loc,
                     arith::AddIOp::create(b, loc, bases[0],
                                           emitI32(b, loc, offsets[0][index])),
                     type);
    Value column = arith::AddIOp::create(
        b, loc, bases[1], emitI32(b, loc, offsets[1][index] % panel));
    Value columns = emitI32(b, loc, chunk);
    Value inChunk = arith::MulIOp::create(
        b, loc, arith::RemUIOp::create(b, loc, column, columns),
        emitI32(b, loc, bytes));
    Value inPanel = emitSwizzle(
        b, loc, row, arith::DivUIOp::create(b, loc, column, columns), rowBytes);
    Value distance = arith::AddIOp::create(b, loc, inPanel, inChunk);
    Value address = arith::AddIOp::create(
        b, loc, arith::AddIOp::create(b, loc, base, distance),
        emitI32(b, loc, offsets[1][index] / panel * rows * rowBytes));
    SmallVector<Value> operands = {address};
    llvm::append_range(
        operands, ArrayRef(words).slice(index / 2 * wordsOfPair, wordsOfPair));
    bool isWide = wordsOfPair == 2;
    emitAsm(b, loc,
            isWide ? "st.shared.v2.b32 [$0], {$1, $2};"
                   : "st.shared.b32 [$0], $1;",
            isWide ? "r,r,r,~{memory}" : "r,r,~{memory}", operands);
  }
}

/// Accumulators in the fragment order of memory: a warp's 16 rows are
/// contiguous, and a lane has 16 of every 512 bytes.
void LocalStoreLowering::storeFragments(OpBuilder &b, Location loc, Value tile,
                                        RankedTensorType tileType,
                                        Value target) {
  auto layout = cast<warp::ThreadLayoutAttrInterface>(tileType.getEncoding());
  const tile::BoxDims box({0, 1}, std::nullopt, /*inFragments=*/true);
  auto rows = layout.getOffsets(tileType.getShape(), 0),
       columns = layout.getOffsets(tileType.getShape(), 1);
  int64_t warpElements = kWarpRows * tileType.getDimSize(1);
  Value thread = emitThread(b, loc);
  auto part = [&](Value value, int64_t by) -> Value {
    return arith::MulIOp::create(b, loc, value, emitI32(b, loc, by));
  };
  Value lanes = emitI32(b, loc, kLanes);
  Value first = arith::AddIOp::create(
      b, loc, part(arith::DivUIOp::create(b, loc, thread, lanes), warpElements),
      part(arith::RemUIOp::create(b, loc, thread, lanes), kLaneElements));
  Type element = tileType.getElementType();
  Value start = LLVM::GEPOp::create(b, loc, target.getType(), element, target,
                                    ArrayRef<LLVM::GEPArg>{first});
  auto elements = vector::ToElementsOp::create(b, loc, tile);
  for (ArrayRef<unsigned> group :
       box.groupFragments(rows, columns, kLaneElements)) {
    unsigned index = group.front();
    int32_t place = rows[index] / kWarpRows * warpElements +
                    box.getFragmentOffset(columns[index]) +
                    box.getFragmentRowOffset(rows[index]);
    auto values = llvm::map_to_vector(
        group, [&](unsigned of) -> Value { return elements.getResult(of); });
    auto type = VectorType::get({int64_t(group.size())}, element);
    Value at = LLVM::GEPOp::create(b, loc, start.getType(), element, start,
                                   ArrayRef<LLVM::GEPArg>{place});
    LLVM::StoreOp::create(b, loc,
                          vector::FromElementsOp::create(b, loc, type, values),
                          at, group.size() * getBytes(element));
  }
}

/// If several lanes hold an element, they store equal values.
void LocalStoreLowering::storeVector(OpBuilder &b, Location loc, Value tile,
                                     RankedTensorType tileType, Value target) {
  auto elements = vector::ToElementsOp::create(b, loc, tile);
  for (auto [value, place] :
       llvm::zip_equal(elements.getResults(),
                       emitVectorAddresses(b, loc, tileType, target)))
    LLVM::StoreOp::create(b, loc, value, place,
                          getBytes(tileType.getElementType()));
}

/// Each thread stores its row in chunks of 16 bytes. The swizzle moves chunk
/// `c` of a row to `c xor r`, where `r` depends on the row, so eight adjacent
/// threads access different banks.
void LocalStoreLowering::storeWholeRows(OpBuilder &b, Location loc, Value tile,
                                        RankedTensorType tileType, Value target,
                                        MemRefType type, int64_t firstColumn) {
  auto layout = cast<warp::ThreadLayoutAttrInterface>(tileType.getEncoding());
  constexpr int64_t kChunkBytes = 16, kChunkWords = kChunkBytes / 4;
  int64_t rowBytes = warp::getRowBytes(type), rows = warp::getRowsOfCta(type);
  Value row =
      layout.emitBase(b, loc, emitThread(b, loc), tileType.getShape(), 0);
  Value base =
      LLVM::PtrToIntOp::create(b, loc, b.getI32Type(), target).getResult();
  Value place = arith::AddIOp::create(
      b, loc, base, emitSwizzle(b, loc, row, emitI32(b, loc, 0), rowBytes));
  SmallVector<Value> words = getWords(b, loc, tile);
  auto chunkType = VectorType::get({kChunkWords}, b.getI32Type());
  for (int64_t word = 0; word < int64_t(words.size()); word += kChunkWords) {
    int64_t byte = firstColumn * getBytes(type.getElementType()) + word * 4;
    Value inPanel =
        arith::XOrIOp::create(b, loc, place, emitI32(b, loc, byte % rowBytes));
    Value address = arith::AddIOp::create(
        b, loc, inPanel, emitI32(b, loc, byte / rowBytes * rows * rowBytes));
    Value chunk = vector::FromElementsOp::create(
        b, loc, chunkType, ArrayRef(words).slice(word, kChunkWords));
    LLVM::StoreOp::create(b, loc, chunk, emitSharedPointer(b, loc, address),
                          kChunkBytes);
  }
}

LogicalResult
LocalStoreLowering::matchAndRewrite(warp::LocalStoreOp op, OpAdaptor adaptor,
                                    ConversionPatternRewriter &rewriter) const {
  Location loc = op.getLoc();
  MemRefType type = op.getTarget().getType();
  RankedTensorType tile = op.getValue().getType();
  unsigned bits = type.getElementTypeBitWidth();
  auto layout = cast<warp::ThreadLayoutAttrInterface>(tile.getEncoding());
  if ((layout.isOneWarps() && tile.getDimSize(0) == 1) ||
      warp::isRowVector(type)) {
    storeVector(rewriter, loc, adaptor.getValue(), tile, adaptor.getTarget());
    rewriter.eraseOp(op);
    return success();
  }
  if (layout.holdsWholeRows() && tile.getDimSize(1) * bits % 128 == 0 &&
      op.getColumn().value_or(0) * bits % 128 == 0) {
    storeWholeRows(rewriter, loc, adaptor.getValue(), tile, adaptor.getTarget(),
                   type, op.getColumn().value_or(0));
    rewriter.eraseOp(op);
    return success();
  }
  if (op.getColumn())
    return op.emitOpError("'column' needs threads that hold whole rows, and "
                          "parts of 16 bytes, found ")
           << tile << " at column " << *op.getColumn();
  // EightBitTiles.cpp lowers matrices of 8-bit elements.
  if (bits == 8)
    return failure();
  SmallVector<int64_t> columns = layout.getOffsets(tile.getShape(), 1);
  bool isPaired = columns.size() % 2 == 0;
  for (size_t index = 0; isPaired && index < columns.size(); index += 2)
    isPaired = columns[index] + 1 == columns[index + 1];
  if ((bits != 16 && bits != 32) || !isPaired)
    return op.emitError("stores pairs of elements of 16 or 32 bits, found ")
           << tile;
  // All rows of a lane belong to its warp.
  bool holdsFragments =
      layout.hasStoreFragments() &&
      llvm::all_of(layout.getOffsets(tile.getShape(), 0),
                   [](int64_t row) { return row < kWarpRows; });
  if (op.getFragments() && !holdsFragments)
    return op.emitError("fragments are stored by warps that hold 16 rows each, "
                        "found ")
           << tile;
  if (op.getFragments())
    storeFragments(rewriter, loc, adaptor.getValue(), tile,
                   adaptor.getTarget());
  else if (layout.hasStoreFragments() && bits == 16 &&
           tile.getDimSize(1) % 16 == 0)
    storeMatrices(rewriter, loc, adaptor.getValue(), adaptor.getTarget(), type);
  else
    storePairs(rewriter, loc, adaptor.getValue(), tile, adaptor.getTarget(),
               type);
  rewriter.eraseOp(op);
  return success();
}

void fovea::populateLocalStorePatterns(RewritePatternSet &patterns,
                                       const TypeConverter &converter) {
  patterns.add<LocalStoreLowering>(converter, patterns.getContext());
}
