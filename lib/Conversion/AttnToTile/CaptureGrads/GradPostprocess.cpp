//===- GradPostprocess.cpp - Converts sums to gradients -------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CaptureGrads/GradPostprocess.h"

#include "Kernel/HelperKernels.h"

#include "fovea/Support/ExactSum.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <cmath>

using namespace mlir;
using namespace fovea;

// Elements per CTA: of the last two dimensions, or of the only one.
static constexpr int64_t kRows = 64, kColumns = 64, kWarps = 4;

namespace {
/// Emits one conversion kernel. A CTA has a tile of the last two dimensions, or
/// of the only one.
class GradPostprocess {
public:
  GradPostprocess(OpBuilder &b, Location loc, Value sums, Value result)
      : b(b), loc(loc), sums(sums), result(result),
        isExact(cast<MemRefType>(sums.getType()).getElementType().isInteger()),
        extents(cast<MemRefType>(sums.getType()).getShape()) {
    if (isExact)
      extents = extents.drop_front();
  }

  void emit();

private:
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value);
  }
  Value getSize(int64_t dim) {
    return ShapedType::isDynamic(extents[dim])
               ? memref::DimOp::create(b, loc, sums, dim + isExact).getResult()
               : constant(extents[dim]);
  }
  /// A splat of `value`.
  Value splat(RankedTensorType type, double value) {
    return arith::ConstantOp::create(
        b, loc, DenseElementsAttr::get(type, static_cast<float>(value)));
  }
  Value loadBin(RankedTensorType type, Value bin, ValueRange start,
                ArrayRef<int64_t> dims);
  Value addFiniteBins(RankedTensorType type, ValueRange start,
                      ArrayRef<int64_t> dims);
  Value loadExact(RankedTensorType type, ValueRange start,
                  ArrayRef<int64_t> dims);
  /// The indices of the CTA's tile.
  SmallVector<Value> emitStart();

  OpBuilder &b;
  Location loc;
  Value sums, result;
  bool isExact;
  /// Extents of the gradient.
  ArrayRef<int64_t> extents;
};
} // namespace

//===----------------------------------------------------------------------===//
// Exact sums
//===----------------------------------------------------------------------===//

Value GradPostprocess::loadBin(RankedTensorType type, Value bin,
                               ValueRange start, ArrayRef<int64_t> dims) {
  SmallVector<Value> indices = {bin};
  llvm::append_range(indices, start);
  SmallVector<int64_t> shifted;
  for (int64_t dim : dims)
    shifted.push_back(dim < 0 ? dim : dim + 1);
  return tile::LoadOp::create(b, loc, type.clone(b.getI64Type()), sums, indices,
                              /*limit=*/Value(), shifted);
}

/// Adds the bins from the smallest exponents to the largest, so that small
/// summands are not lost to a large one.
Value GradPostprocess::addFiniteBins(RankedTensorType type, ValueRange start,
                                     ArrayRef<int64_t> dims) {
  auto load = [&](Value bin) -> Value {
    return arith::SIToFPOp::create(b, loc, type,
                                   loadBin(type, bin, start, dims));
  };
  // The units of the first bins are not normal f32 values: they are summed in
  // units of the last such bin, and the sum is scaled in two steps.
  constexpr int kBias = 127, kFirst = 3;
  static_assert(exactsum::getUnitExponent(kFirst) > -kBias &&
                exactsum::getUnitExponent(kFirst - 1) <= -kBias);
  Value total = load(constant(0));
  for (int bin = 1; bin < kFirst; ++bin)
    total = math::FmaOp::create(
        b, loc, total, splat(type, std::ldexp(1.0, -(1 << exactsum::kBinBits))),
        load(constant(bin)));
  constexpr int kStep = exactsum::getUnitExponent(kFirst - 1) / 2;
  for (int step : {kStep, exactsum::getUnitExponent(kFirst - 1) - kStep})
    total = arith::MulFOp::create(b, loc, total,
                                  splat(type, std::ldexp(1.0, step)));

  auto loop =
      scf::ForOp::create(b, loc, constant(kFirst),
                         constant(exactsum::kFiniteBins), constant(1), total);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  auto i32 = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(b, loc, value, 32);
  };
  // The bin's unit, from the bits of its exponent.
  Value bin = arith::IndexCastOp::create(b, loc, b.getI32Type(),
                                         loop.getInductionVar());
  Value scaled = arith::ShLIOp::create(b, loc, bin, i32(exactsum::kBinBits));
  Value exponent = arith::AddIOp::create(
      b, loc, scaled, i32(exactsum::getUnitExponent(0) + kBias));
  Value bits =
      arith::ShLIOp::create(b, loc, exponent, i32(exactsum::kFractionBits));
  Value unit = arith::BitcastOp::create(b, loc, b.getF32Type(), bits);
  Value units = tile::BroadcastOp::create(b, loc, type, unit);
  Value sum = math::FmaOp::create(b, loc, load(loop.getInductionVar()), units,
                                  loop.getRegionIterArg(0));
  scf::YieldOp::create(b, loc, sum);
  return loop.getResult(0);
}

Value GradPostprocess::loadExact(RankedTensorType type, ValueRange start,
                                 ArrayRef<int64_t> dims) {
  Value total = addFiniteBins(type, start, dims);
  Value special = loadBin(type, constant(exactsum::kSpecialBin), start, dims);
  RankedTensorType counts = type.clone(b.getI64Type());
  auto whole = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(b, loc,
                                     DenseElementsAttr::get(counts, value));
  };
  Value zero = splat(type, 0.0);
  double infinity = std::numeric_limits<double>::infinity();
  for (auto [mask, number] :
       {std::pair(exactsum::kNegative - 1, infinity),
        std::pair(~(exactsum::kNegative - 1), -infinity)}) {
    Value count = arith::AndIOp::create(b, loc, special, whole(mask));
    Value has = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, count,
                                      whole(0));
    Value added =
        arith::SelectOp::create(b, loc, has, splat(type, number), zero);
    total = arith::AddFOp::create(b, loc, total, added);
  }
  return total;
}

//===----------------------------------------------------------------------===//
// A kernel
//===----------------------------------------------------------------------===//

SmallVector<Value> GradPostprocess::emitStart() {
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

void GradPostprocess::emit() {
  SmallVector<Value> start = emitStart(), resultStart = start;
  auto target = cast<MemRefType>(result.getType());
  int64_t rank = extents.size(), shape[] = {kRows, rank > 1 ? kColumns : 1};
  SmallVector<int64_t> dims = {std::max<int64_t>(rank - 2, 0),
                               rank > 1 ? rank - 1 : -1};
  // The gradient of a scalar has no dimension.
  if (target.getRank() == 0) {
    shape[0] = 1;
    dims = {-1, -1};
    resultStart.clear();
  }
  auto type = RankedTensorType::get(shape, b.getF32Type(),
                                    tile::RegAttr::get(b.getContext()));
  Value value = isExact ? loadExact(type, start, dims)
                        : tile::LoadOp::create(b, loc, type, sums, start,
                                               /*limit=*/Value(), dims)
                              .getResult();
  if (!target.getElementType().isF32())
    value = arith::TruncFOp::create(b, loc, type.clone(target.getElementType()),
                                    value);
  tile::StoreOp::create(b, loc, value, result, resultStart, dims);
}

void fovea::emitSumRounding(const KernelBuilder &kb, launch::AbiOp main,
                            OpResult gradient, unsigned argument) {
  auto op = cast<attn::BackwardOp>(gradient.getOwner());
  auto scratch =
      cast<launch::ScratchMemRefParameterAttr>(main.getParameters()[argument]);
  ArrayRef<AffineExpr> extents = scratch.getExtents().getValue().getResults();
  gpu::GPUFuncOp mainKernel = kb.kernel;
  Type element = cast<MemRefType>(mainKernel.getArgument(argument).getType())
                     .getElementType();
  if (element.isInteger()) // bins
    extents = extents.drop_front();
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
  unsigned number = gradient.getResultNumber();
  unsigned arguments[] = {argument, op->getNumOperands() + number};
  OpBuilder b(main.getContext());
  std::string suffix = op.getResultName(number);
  gpu::GPUFuncOp kernel = beginHelperKernel(
      b, kb, main,
      {suffix, arguments, scratch.getSizes(), ctas,
       makePlan(main.getContext(), fields), /*isAfter=*/true});
  GradPostprocess(b, main.getLoc(), kernel.getArgument(0),
                  kernel.getArgument(1))
      .emit();
  gpu::ReturnOp::create(b, main.getLoc());
}
