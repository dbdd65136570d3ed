//===- TmaLoads.cpp - Global to shared memory by TMA ------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers the asynchronous copies that a role issues into pipeline stages. Each
// becomes a TMA instruction that signals the stage's full barrier; its tensor
// map is added to the kernel's arguments. Called by the lowering of role
// pipelines (Barriers.cpp).
//
//===----------------------------------------------------------------------===//

#include "WarpToNVVM.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace fovea;

// Limits of a tensor map (CUDA driver API, cuTensorMapEncodeTiled).
static constexpr int64_t kMaxRank = 5, kMaxBox = 256;
// Rows of one repetition of a swizzle pattern.
static constexpr int64_t kPatternRows = 8;

// Cache policies of createpolicy.fractional, for all lines of a copy.
static constexpr int64_t kEvictFirst = 0x12F0000000000000,
                         kEvictLast = 0x14F0000000000000;

Value fovea::appendArgument(gpu::GPUFuncOp kernel, launch::AbiOp abi, Type type,
                            Attribute parameter) {
  unsigned position = kernel.getNumArguments();
  MLIRContext *context = kernel.getContext();
  (void)kernel.insertArgument(position, type, {}, kernel.getLoc());
  SmallVector<Attribute> parameters(abi.getParameters().getValue());
  parameters.push_back(parameter);
  abi.setParametersAttr(ArrayAttr::get(context, parameters));
  return kernel.getArgument(position);
}

//===----------------------------------------------------------------------===//
// Tensor maps
//===----------------------------------------------------------------------===//

SmallVector<int64_t> fovea::getMapDims(tile::BoxDims box, Value memref) {
  SmallVector<int64_t> dims = {box.column};
  if (box.isFolded())
    dims.push_back(box.fold);
  dims.push_back(box.row);
  int64_t rank = cast<MemRefType>(memref.getType()).getRank();
  for (int64_t dim = rank - 1; dim >= 0; --dim)
    if (!box.contains(dim))
      dims.push_back(dim);
  return dims;
}

int64_t fovea::getMapRow(tile::BoxDims box) { return box.isFolded() ? 2 : 1; }

/// Rows of a copy that one CTA issues.
static int64_t getIssuedRows(warp::CopyOp copy, int64_t clusterSize) {
  return copy.getTarget().getType().getDimSize(0) / clusterSize;
}

/// Rows that one instruction copies: a group, or all of them, or an equal part
/// that holds whole folds.
static int64_t getBoxRows(int64_t rows, const tile::BoxDims &dims) {
  if (dims.hasGroups())
    return dims.groupRows;
  int64_t foldExtent = dims.foldExtent;
  int64_t parts = llvm::divideCeil(rows, kMaxBox);
  while (rows % (parts * foldExtent) != 0)
    ++parts;
  return rows / parts;
}

static LogicalResult checkTensorCopy(warp::CopyOp copy, int64_t clusterSize) {
  auto source = cast<MemRefType>(copy.getSource().getType());
  if (copy.getLimit())
    return copy.emitOpError("'limit' is not supported in a role: TMA only "
                            "checks the tensor's bounds");
  if (copy.getTable())
    return copy.emitOpError("a table of groups is not supported in a role: TMA "
                            "copies groups whose indices are operands");
  if (copy.getCondition())
    return copy.emitOpError("'if' is not supported in a role: expected a fixed "
                            "number of bytes per stage");
  if (copy.getFragments())
    return clusterSize == 1
               ? success()
               : copy.emitOpError("does not support fragments in a cluster");
  if (source.getRank() > kMaxRank)
    return copy.emitOpError("TMA supports up to ")
           << kMaxRank << " dimensions, found " << source.getRank();
  int64_t rows = copy.getTarget().getType().getDimSize(0);
  if (clusterSize > 1 && rows % (kPatternRows * clusterSize) != 0)
    return copy.emitOpError("each of ")
           << clusterSize << " CTAs copies a multiple of " << kPatternRows
           << " rows, found " << rows << " in all";
  int64_t extent = copy.getBoxDims().foldExtent;
  if (extent > kMaxBox || rows % (extent * clusterSize) != 0)
    return copy.emitOpError("each CTA copies whole folds of up to ")
           << kMaxBox << " rows, found " << extent << " in a fold and "
           << rows / clusterSize << " in all";
  int64_t groupRows = copy.getBoxDims().groupRows;
  if (groupRows % kPatternRows != 0 || groupRows > kMaxBox)
    return copy.emitOpError("copies groups of a multiple of ")
           << kPatternRows << " rows, up to " << kMaxBox << ", found "
           << groupRows;
  if (groupRows != 0 && clusterSize > 1)
    return copy.emitOpError("does not support groups in a cluster");
  auto space =
      cast<warp::SharedAttr>(copy.getTarget().getType().getMemorySpace());
  if (space.getCtas() != 1 && space.getCtas() != clusterSize)
    return copy.emitOpError("needs a buffer partitioned among the cluster's ")
           << clusterSize << " CTAs, found one for " << space.getCtas();
  auto [strides, offset] = source.getStridesAndOffset();
  if (strides[copy.getDims()[1]] != 1)
    return copy.emitOpError("columns must be contiguous, found ") << source;
  return success();
}

FailureOr<Value> fovea::getTensorMap(Operation *op, Value memref,
                                     tile::BoxDims box, MemRefType shared,
                                     int64_t boxRows, gpu::GPUFuncOp kernel,
                                     launch::AbiOp abi) {
  auto argument = dyn_cast<BlockArgument>(memref);
  launch::MemRefParameterAttr tensor;
  if (argument && argument.getOwner() == &kernel.getBody().front())
    tensor = dyn_cast<launch::MemRefParameterAttr>(
        abi.getParameters()[argument.getArgNumber()]);
  if (!tensor) {
    op->emitOpError("global memory must be an argument of the kernel");
    return failure();
  }
  MLIRContext *context = op->getContext();
  SmallVector<int64_t> dims = getMapDims(box, memref), order,
                       extents(dims.size(), 1);
  for (int64_t dim : dims)
    order.push_back(tensor.getOrder()[dim]);
  extents[0] = warp::getPanelColumns(shared);
  extents[1] = box.foldExtent;
  extents[getMapRow(box)] = boxRows / box.foldExtent;
  int64_t swizzle = warp::getRowBytes(shared);
  auto parameter = launch::TensorMapParameterAttr::get(
      context, tensor.getTensor(), DenseI64ArrayAttr::get(context, order),
      DenseI64ArrayAttr::get(context, extents), swizzle);
  for (auto [index, known] : llvm::enumerate(abi.getParameters()))
    if (known == parameter)
      return Value(kernel.getArgument(index));
  return appendArgument(kernel, abi, LLVM::LLVMPointerType::get(context),
                        parameter);
}

void fovea::emitTensorMapPrefetch(OpBuilder &b, Location loc, Value map) {
  NVVM::PrefetchOp::create(b, loc, /*cacheLevel=*/nullptr,
                           /*evictPriority=*/nullptr, map,
                           /*predicate=*/Value(), /*tensormap=*/true);
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Number of loops around a copy.
static int64_t getLoopDepth(warp::CopyOp copy) {
  int64_t depth = 0;
  for (Operation *op = copy->getParentOp(); op; op = op->getParentOp())
    depth += isa<LoopLikeOpInterface>(op);
  return depth;
}

/// Copies one TMA box, whose first element has the coordinates `place`
/// (innermost dimension first), to the shared address `to`. One lane issues it.
static void emitBoxCopy(OpBuilder &b, Location loc, Value to, Value map,
                        ValueRange place, Value barrier, Value ctas,
                        Value policy, Value leader) {
  SmallVector<Value> operands = {to, map};
  llvm::append_range(operands, place);
  operands.push_back(barrier);
  if (ctas)
    operands.push_back(ctas);
  operands.append({policy, leader});
  std::string coordinates, constraints = "r,l";
  for (size_t index = 0; index < place.size(); ++index) {
    coordinates += (index ? ", $" : "$") + std::to_string(index + 2);
    constraints += ",r";
  }
  size_t next = 2 + place.size();
  auto operand = [&] { return "$" + std::to_string(next++); };
  std::string bracketed =
      "[$0], [$1, {" + coordinates + "}], [" + operand() + "], ";
  if (ctas)
    bracketed += operand() + ", ";
  bracketed += operand() + ";";
  std::string text = "@" + operand() + " cp.async.bulk.tensor." +
                     std::to_string(place.size()) +
                     "d.shared::cluster.global.mbarrier::complete_tx::bytes" +
                     (ctas ? ".multicast::cluster" : "") + ".L2::cache_hint " +
                     bracketed;
  emitAsm(b, loc, text,
          constraints + ",r" + (ctas ? ",h" : "") + ",l,b,~{memory}", operands);
}

/// Emits the instructions of one copy: one per box, panel by panel.
static LogicalResult emitTensorCopy(warp::CopyOp copy, Value map, Value barrier,
                                    Value leader, int64_t policy,
                                    const Specialization &roles) {
  OpBuilder b(copy);
  Location loc = copy.getLoc();
  FailureOr<SharedView> view = getSharedView(copy, copy.getTarget());
  if (failed(view))
    return failure();
  // Rows that the CTA holds, and the rows that it copies.
  int64_t rows = warp::getRowsOfCta(view->type);
  int64_t issued = getIssuedRows(copy, roles.clusterSize);
  int64_t columns = view->type.getDimSize(1);
  tile::BoxDims dims = copy.getBoxDims();
  int64_t panel = view->getPanel(), extent = dims.foldExtent,
          boxRows = getBoxRows(issued, dims), rowAt = getMapRow(dims);
  int64_t rowBytes = view->getRowBytes();
  Value base = emitSharedAddress(b, loc, *view->buffer.getOffset());
  if (view->stage)
    base = arith::AddIOp::create(
        b, loc, base,
        arith::MulIOp::create(b, loc, view->stage,
                              emitI32(b, loc, view->getStageBytes())));
  SmallVector<int64_t> mapDims = getMapDims(dims, copy.getSource());
  SmallVector<Value> start;
  for (int64_t dim : mapDims)
    start.push_back(emitToI32(b, loc, copy.getIndices()[dim]));
  int64_t rank = cast<MemRefType>(copy.getSource().getType()).getRank();
  Value hint = emitI64(b, loc, policy);
  Value ctas;
  if (roles.rank) {
    auto scale = [&](int64_t count) -> Value {
      return arith::MulIOp::create(b, loc, roles.rank, emitI32(b, loc, count));
    };
    start[rowAt] =
        arith::AddIOp::create(b, loc, start[rowAt], scale(issued / extent));
    if (issued != rows) {
      base = arith::AddIOp::create(b, loc, base, scale(issued * rowBytes));
      ctas = arith::ConstantIntOp::create(
          b, loc, (int64_t(1) << roles.clusterSize) - 1, 16);
    }
  }
  for (int64_t column = 0; column < columns; column += panel)
    for (int64_t row = 0; row < issued; row += boxRows) {
      SmallVector<Value> place = start;
      place[0] =
          arith::AddIOp::create(b, loc, place[0], emitI32(b, loc, column));
      if (dims.hasGroups()) {
        size_t at = dims.getGroupIndex(row / dims.groupRows, rank);
        place[llvm::find(mapDims, dims.group) - mapDims.begin()] =
            emitToI32(b, loc, copy.getIndices()[at]);
      } else {
        place[rowAt] = arith::AddIOp::create(b, loc, place[rowAt],
                                             emitI32(b, loc, row / extent));
      }
      int64_t distance = (column / panel * rows + row) * rowBytes;
      Value to = arith::AddIOp::create(b, loc, base, emitI32(b, loc, distance));
      emitBoxCopy(b, loc, to, map, place, barrier, ctas, hint, leader);
    }
  return success();
}

/// A contiguous copy needs no tensor map.
static LogicalResult emitBulkCopy(warp::CopyOp copy, Value barrier,
                                  Value leader) {
  OpBuilder b(copy);
  Location loc = copy.getLoc();
  FailureOr<SharedView> view = getSharedView(copy, copy.getTarget());
  if (failed(view))
    return failure();
  Value to = emitSharedAddress(b, loc, *view->buffer.getOffset());
  if (view->stage)
    to = arith::AddIOp::create(
        b, loc, to,
        arith::MulIOp::create(b, loc, view->stage,
                              emitI32(b, loc, view->getStageBytes())));
  // Vectors start at a fragment, where the offset of the first element is its
  // index.
  Value place = emitI64(b, loc, 0);
  for (auto [dim, index] : llvm::enumerate(copy.getIndices())) {
    Value size = memref::DimOp::create(b, loc, copy.getSource(), dim);
    place = arith::MulIOp::create(b, loc, place, emitToI64(b, loc, size));
    place = arith::AddIOp::create(b, loc, place, emitToI64(b, loc, index));
  }
  Value from = LLVM::GEPOp::create(
      b, loc, LLVM::LLVMPointerType::get(b.getContext(), 1),
      view->type.getElementType(), emitPointer(b, loc, copy.getSource()),
      ArrayRef<LLVM::GEPArg>{place});
  emitAsm(b, loc,
          "@$4 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::"
          "bytes [$0], [$1], $2, [$3];",
          "r,l,n,r,b,~{memory}",
          {to, from, emitI32(b, loc, view->getStageBytes()), barrier, leader});
  return success();
}

LogicalResult TmaLoads::add(warp::CopyOp copy) {
  if (failed(checkTensorCopy(copy, abi.getCluster())))
    return failure();
  if (copy.getFragments())
    return success();
  int64_t rows =
      getBoxRows(getIssuedRows(copy, abi.getCluster()), copy.getBoxDims());
  FailureOr<Value> map =
      getTensorMap(copy, copy.getSource(), copy.getBoxDims(),
                   copy.getTarget().getType(), rows, kernel, abi);
  if (failed(map))
    return failure();
  maps[copy] = *map;
  int64_t &depth = depths.try_emplace(copy.getSource(), 0).first->second;
  depth = std::max(depth, getLoopDepth(copy));
  deepest = std::max(deepest, depth);
  return success();
}

LogicalResult TmaLoads::lower(warp::CopyOp copy, Value barrier, Value leader,
                              const Specialization &roles) {
  if (copy.getFragments()) {
    if (failed(emitBulkCopy(copy, barrier, leader)))
      return failure();
    copy.erase();
    return success();
  }
  // Tensors that the innermost loops read are soon read by other CTAs, too:
  // they stay in L2.
  bool isShared = depths.lookup(copy.getSource()) == deepest;
  if (failed(emitTensorCopy(copy, maps.lookup(copy), barrier, leader,
                            isShared ? kEvictLast : kEvictFirst, roles)))
    return failure();
  maps.erase(copy);
  copy.erase();
  return success();
}

void TmaLoads::emitPrefetches(OpBuilder &b) {
  for (Value argument : kernel.getArguments()) {
    if (llvm::none_of(maps,
                      [&](auto &entry) { return entry.second == argument; }))
      continue;
    emitTensorMapPrefetch(b, argument.getLoc(), argument);
  }
}

LogicalResult TmaLoads::collect(const Specialization &roles) {
  SmallVector<warp::CopyOp> copies;
  kernel.walk([&](warp::CopyOp copy) {
    if (copy.getAsync() && roles.getRole(copy))
      copies.push_back(copy);
  });
  for (warp::CopyOp copy : copies)
    if (failed(add(copy)))
      return failure();
  return success();
}
