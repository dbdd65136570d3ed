//===- BackwardSums.cpp - Gradients that all pairs add to -------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BackwardSums.h"

#include "HelperKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fovea;

// Elements that a CTA rounds: of one dimension, or of the last two.
static constexpr int64_t kRows = 64, kColumns = 64, kWarps = 4;

bool BackwardSums::areAsked(attn::BackwardOp op) {
  return !op.getCaptureGradients().empty() || op.getSinksGradient() ||
         op.getScaleGradient();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Memory with dimensions `dims` of an operand.
void BackwardSums::declareOne(KernelBuilder &kb, Value gradient,
                              unsigned operand, ArrayRef<int64_t> dims) {
  SizeExpressions sizes(kb, operand);
  SmallVector<AffineExpr> extents;
  for (int64_t dim : dims)
    extents.push_back(sizes.getSize(dim));
  if (extents.empty())
    extents.push_back(kb.builder.getAffineConstantExpr(1));
  std::string name =
      op.getResultName(cast<OpResult>(gradient).getResultNumber()) + "_sum";
  memory.emplace_back(gradient, declareScratch(kb, name, sizes.getNames(),
                                               extents, kb.builder.getF32Type(),
                                               /*isZeroed=*/true));
}

void BackwardSums::declare(KernelBuilder &kb) {
  for (auto [position, gradient] :
       llvm::zip(op.getDifferentiated(), op.getCaptureGradients())) {
    int64_t rank = cast<RankedTensorType>(gradient.getType()).getRank();
    declareOne(kb, gradient, op.getFirstCapture() + position,
               llvm::to_vector(llvm::seq<int64_t>(0, rank)));
  }
  constexpr int64_t kHeadDim = 1;
  if (Value sinks = op.getSinksGradient())
    declareOne(kb, sinks, /*operand=*/0, kHeadDim);
  if (Value scale = op.getScaleGradient())
    declareOne(kb, scale, /*operand=*/0, {});
}

Value BackwardSums::getMemory(KernelBuilder &kb, Value gradient) {
  for (auto [known, argument] : memory)
    if (known == gradient)
      return kb.kernel.getArgument(argument);
  return {};
}

SmallVector<Value> BackwardSums::getCaptureMemory(KernelBuilder &kb) {
  SmallVector<Value> targets(op.getCaptures().size());
  for (auto [position, gradient] :
       llvm::zip(op.getDifferentiated(), op.getCaptureGradients()))
    targets[position] = getMemory(kb, gradient);
  return targets;
}

//===----------------------------------------------------------------------===//
// Rounding
//===----------------------------------------------------------------------===//

namespace {
/// One kernel that rounds: a CTA has a tile of the last two dimensions, or of
/// the only one.
class SumRounding {
public:
  SumRounding(OpBuilder &b, Location loc, Value sums, Value result)
      : b(b), loc(loc), sums(sums), result(result),
        extents(cast<MemRefType>(sums.getType()).getShape()) {}

  void emit();

private:
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value);
  }
  Value getSize(int64_t dim) {
    return ShapedType::isDynamic(extents[dim])
               ? memref::DimOp::create(b, loc, sums, dim).getResult()
               : constant(extents[dim]);
  }
  /// Where the CTA's tile begins.
  SmallVector<Value> emitStart();

  OpBuilder &b;
  Location loc;
  Value sums, result;
  ArrayRef<int64_t> extents;
};
} // namespace

SmallVector<Value> SumRounding::emitStart() {
  Value rest =
      gpu::BlockIdOp::create(b, loc, b.getIndexType(), gpu::Dimension::x);
  int64_t rank = extents.size();
  SmallVector<Value> start(rank);
  auto take = [&](int64_t dim, int64_t tile) {
    Value tiles = tile == 1 ? getSize(dim)
                            : arith::CeilDivUIOp::create(b, loc, getSize(dim),
                                                         constant(tile))
                                  .getResult();
    Value number = arith::RemUIOp::create(b, loc, rest, tiles);
    start[dim] = arith::MulIOp::create(b, loc, number, constant(tile));
    rest = arith::DivUIOp::create(b, loc, rest, tiles);
  };
  if (rank > 1)
    take(rank - 1, kColumns);
  take(std::max<int64_t>(rank - 2, 0), kRows);
  for (int64_t dim = rank - 3; dim >= 0; --dim)
    take(dim, 1);
  return start;
}

void SumRounding::emit() {
  SmallVector<Value> start = emitStart(), resultStart = start;
  auto target = cast<MemRefType>(result.getType());
  int64_t rank = extents.size(), shape[] = {kRows, rank > 1 ? kColumns : 1};
  SmallVector<int64_t> dims = {std::max<int64_t>(rank - 2, 0),
                               rank > 1 ? rank - 1 : -1};
  // A scalar's gradient has no dimension.
  if (target.getRank() == 0) {
    shape[0] = 1;
    dims = {-1, -1};
    resultStart.clear();
  }
  auto type = RankedTensorType::get(shape, b.getF32Type(),
                                    tile::RegAttr::get(b.getContext()));
  Value value = tile::LoadOp::create(b, loc, type, sums, start,
                                     /*limit=*/Value(), dims);
  if (!target.getElementType().isF32())
    value = arith::TruncFOp::create(b, loc, type.clone(target.getElementType()),
                                    value);
  tile::StoreOp::create(b, loc, value, result, resultStart, dims);
}

void BackwardSums::emitOne(const KernelBuilder &kb, launch::AbiOp main,
                           Value gradient, unsigned argument) {
  auto scratch =
      cast<launch::ScratchMemRefParameterAttr>(main.getParameters()[argument]);
  ArrayRef<AffineExpr> extents = scratch.getExtents().getValue().getResults();
  size_t rank = extents.size();
  AffineExpr ctas = extents[rank > 1 ? rank - 2 : 0].ceilDiv(kRows);
  if (rank > 1)
    ctas = ctas * extents.back().ceilDiv(kColumns);
  for (AffineExpr extent : extents.take_front(rank > 2 ? rank - 2 : 0))
    ctas = ctas * extent;
  ScheduleFields fields;
  fields.tileM = kRows;
  fields.tileN = kColumns;
  fields.warps = kWarps;
  fields.stages = 1;
  unsigned number = cast<OpResult>(gradient).getResultNumber();
  unsigned arguments[] = {argument, op->getNumOperands() + number};
  OpBuilder b(main.getContext());
  std::string suffix = op.getResultName(number);
  gpu::GPUFuncOp kernel = beginHelperKernel(
      b, kb, main,
      {suffix, arguments, scratch.getSizes(), ctas,
       makePlan(main.getContext(), fields), /*isAfter=*/true});
  SumRounding(b, main.getLoc(), kernel.getArgument(0), kernel.getArgument(1))
      .emit();
  gpu::ReturnOp::create(b, main.getLoc());
}

void BackwardSums::emitRounding(const KernelBuilder &kb, launch::AbiOp main) {
  for (auto [gradient, argument] : memory)
    emitOne(kb, main, gradient, argument);
}
