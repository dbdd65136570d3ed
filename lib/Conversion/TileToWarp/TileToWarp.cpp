//===- TileToWarp.cpp - Move operands to shared memory --------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorMemory.h"

#include "fovea/Conversion/Passes.h"
#include "fovea/Support/ValueNames.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

namespace fovea {
#define GEN_PASS_DEF_TILETOWARP
#include "fovea/Conversion/Passes.h.inc"
} // namespace fovea

using namespace mlir;
using namespace fovea;

namespace {
struct TileToWarpPass : fovea::impl::TileToWarpBase<TileToWarpPass> {
  using TileToWarpBase::TileToWarpBase;

  void runOnKernel() override;

private:
  /// Creates a buffer for `tile`. Each of `ctas` CTAs keeps a part of its rows.
  Value makeBuffer(Location loc, RankedTensorType tile, int64_t ctas);
  /// The buffer of a load, filled by a copy at the position of the load.
  Value getBuffer(tile::LoadOp load, int64_t ctas = 1);
  /// The buffer of a stream, filled by a store at the position of the op.
  Value getBuffer(tile::StreamOp stream, int64_t ctas = 1);
  /// The buffer of an operand that is a load or stream; null for other
  /// operands.
  Value getBuffer(Value operand, int64_t ctas = 1);
  /// Lowers dots of an MMA unit that accumulates in tensor memory.
  LogicalResult convertIntoTensorMemory(ArrayRef<tile::DotOp> dots);
  LogicalResult convert(tile::DotOp dot);
  LogicalResult convert(tile::StreamOp stream);
  /// Loads the transposed tile from the buffer of its source.
  LogicalResult convert(tile::TransposeOp transposition);
  /// Stages a load that no dot reads through a buffer.
  void convertStaged(tile::LoadOp load);
  /// Merges a dot with ones into `product` as additional columns.
  LogicalResult convertSum(tile::DotOp sum, tile::DotOp product);
  /// The block of ones for products with `right`, one per kernel.
  Value getOnes(Location loc, MemRefType right, int64_t columns);

  plan::KernelAttr plan;
  int64_t cluster = 1;
  llvm::DenseMap<Operation *, Value> buffers;
  llvm::DenseMap<Operation *, Value> fragments;
  llvm::DenseMap<Type, Value> ones;
};
} // namespace

/// True if a dot computes row sums.
static bool isDotWithOnes(tile::DotOp dot) {
  return !dot.getTransposeA() && matchPattern(dot.getB(), m_OneFloat());
}

/// Finds the dot of loaded values whose first operand `sum` sums by rows.
static tile::DotOp findProduct(tile::DotOp sum) {
  if (!isDotWithOnes(sum))
    return {};
  for (Operation *user : sum.getA().getUsers()) {
    auto dot = dyn_cast<tile::DotOp>(user);
    if (dot && dot != sum && dot->getBlock() == sum->getBlock() &&
        dot.getA() == sum.getA() && !dot.getTransposeA() &&
        dot.getB().getDefiningOp<tile::LoadOp>())
      return dot;
  }
  return {};
}

/// Dots read the source of a transposition in the other order.
static void absorbTranspositions(gpu::GPUFuncOp kernel) {
  SmallVector<tile::TransposeOp> transpositions;
  kernel.walk([&](tile::TransposeOp op) { transpositions.push_back(op); });
  for (tile::TransposeOp op : llvm::reverse(transpositions)) {
    for (OpOperand &use : llvm::make_early_inc_range(op->getUses())) {
      auto dot = dyn_cast<tile::DotOp>(use.getOwner());
      if (!dot || dot.getFirstRow() || dot.getFirstColumn())
        continue;
      if (use == dot.getBMutable())
        dot.setTransposeB(!dot.getTransposeB());
      else if (use == dot.getAMutable())
        dot.setTransposeA(!dot.getTransposeA());
      use.set(op.getSource());
    }
    if (op->use_empty())
      op->erase();
  }
}

/// Zeroes rows at or after the load's limit, in blocks that have such rows.
static void emitZeroRows(OpBuilder &b, tile::LoadOp load, Value buffer) {
  Location loc = load.getLoc();
  int64_t rows = load.getResult().getType().getDimSize(0);
  tile::BoxDims dims = load.getBoxDims();
  Value from = arith::SubIOp::create(b, loc, load.getLimit(),
                                     load.getIndices()[dims.row]);
  if (dims.isFolded())
    from = arith::MulIOp::create(
        b, loc, from, arith::ConstantIndexOp::create(b, loc, dims.foldExtent));
  Value isRagged =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, from,
                            arith::ConstantIndexOp::create(b, loc, rows));
  auto branch = scf::IfOp::create(b, loc, isRagged, /*withElseRegion=*/false);
  OpBuilder inside = branch.getThenBodyBuilder();
  warp::ZeroRowsOp::create(inside, loc, buffer, from);
}

Value TileToWarpPass::makeBuffer(Location loc, RankedTensorType tile,
                                 int64_t ctas) {
  int64_t columns = tile.getDimSize(1), bits = tile.getElementTypeBitWidth();
  int64_t rowBytes = plan.copiesByTma()
                         ? warp::getBoxRowBytes(columns, bits)
                         : warp::getDividingRowBytes(columns, bits);
  auto space = warp::SharedAttr::get(&getContext(), rowBytes, ctas);
  auto type = MemRefType::get(tile.getShape(), tile.getElementType(),
                              MemRefLayoutAttrInterface(), space);
  OpBuilder b = OpBuilder::atBlockBegin(&getOperation().getBody().front());
  ++numBuffers;
  return warp::AllocOp::create(b, addToName(loc, "_buffer"), type,
                               IntegerAttr());
}

Value TileToWarpPass::getBuffer(tile::StreamOp stream, int64_t ctas) {
  Value &buffer = buffers[stream];
  if (buffer)
    return buffer;
  Location loc = stream.getLoc();
  buffer = makeBuffer(loc, stream.getResult().getType(), ctas);
  OpBuilder b(stream);
  warp::LocalStoreOp::create(b, loc, stream.getValue(), buffer,
                             stream.getNameAttr());
  // Generic loads of threads need no fence; dots and TMA stores do.
  if (llvm::any_of(stream->getUsers(),
                   llvm::IsaPred<tile::DotOp, tile::StoreOp>))
    warp::FenceStoresOp::create(b, loc, buffer);
  return buffer;
}

Value TileToWarpPass::getBuffer(Value operand, int64_t ctas) {
  if (auto load = operand.getDefiningOp<tile::LoadOp>())
    return getBuffer(load, ctas);
  if (auto stream = operand.getDefiningOp<tile::StreamOp>())
    return getBuffer(stream, ctas);
  return {};
}

Value TileToWarpPass::getBuffer(tile::LoadOp load, int64_t ctas) {
  Value &buffer = buffers[load];
  if (buffer)
    return buffer;
  buffer = makeBuffer(load.getLoc(), load.getResult().getType(), ctas);
  OpBuilder builder(load);
  // TMA clips to the tensor's bounds but supports no other limit.
  Value limit = plan.copiesByTma() ? Value() : load.getLimit();
  warp::CopyOp::create(
      builder, load.getLoc(), load.getSource(), load.getIndices(), limit,
      load.getTable(), load.getTableIndices(), /*condition=*/Value(), buffer,
      load.getDimsAttr(), load.getFoldAttr(), load.getFragmentsAttr(),
      /*async=*/UnitAttr(), load.getNameAttr(), load.getGroupsAttr());
  if (limit != load.getLimit())
    emitZeroRows(builder, load, buffer);
  return buffer;
}

/// True if TMA can load the tile and threads can read it from the buffer: a
/// matrix of 16-bit elements, or a vector in fragments.
static bool canStage(tile::LoadOp load) {
  RankedTensorType tile = load.getResult().getType();
  if (load.getFragments())
    return load.getDims()[0] == -1;
  auto source = cast<MemRefType>(load.getSource().getType());
  int64_t rank = source.getRank();
  auto [strides, offset] = source.getStridesAndOffset();
  return tile.getElementTypeBitWidth() == 16 && tile.getDimSize(0) > 1 &&
         tile.getDimSize(1) > 1 && !load.getLimit() && rank >= 2 &&
         load.getDims()[0] >= 0 && load.getDims()[1] == rank - 1 &&
         strides.back() == 1;
}

void TileToWarpPass::convertStaged(tile::LoadOp load) {
  // It has the rows of the product that it is added to.
  Value buffer = getBuffer(load, cluster);
  OpBuilder builder(load);
  Value local =
      warp::LocalLoadOp::create(builder, load.getLoc(), load.getType(), buffer);
  load.replaceAllUsesWith(local);
}

/// True if the first operand may be computed: the unit has a register layout
/// for elements of `bits` bits, also if warps share columns.
static bool readsComputed(plan::KernelAttr plan, int64_t bits) {
  plan::MatrixUnitAttrInterface unit = plan.getUnit();
  auto ignore = [&] { return InFlightDiagnostic(); };
  int64_t columnWarps = plan->columnWarps;
  Attribute accumulator =
      unit.getLayout(ignore, unit.getGroupWarps() * columnWarps, columnWarps);
  return accumulator && unit.getOperandLayout(accumulator, bits);
}

LogicalResult TileToWarpPass::convert(tile::DotOp dot) {
  Value right = getBuffer(dot.getB());
  if (!right)
    return dot.emitError("second operand of a dot must be loaded from memory "
                         "or a stream ('tile.stream')");
  if (cluster > 1 && dot.getB().getDefiningOp<tile::StreamOp>())
    return dot.emitError("second operand of a dot in a cluster must be loaded "
                         "from memory: each CTA stores only its own rows of a "
                         "stream");
  // The CTAs of a cluster split the rows of a product.
  Value left = getBuffer(dot.getA(), cluster);
  if (!left && dot.getTransposeA())
    return dot.emitError(
        "transposed first operand of a dot must be loaded from "
        "memory or a stream ('tile.stream')");
  plan::MatrixUnitAttrInterface unit = plan.getUnit();
  int64_t bits = dot.getA().getType().getElementTypeBitWidth();
  auto a = dot.getA().getDefiningOp<tile::LoadOp>();
  if (!left) {
    if (!unit.accumulatesInMemory() && !readsComputed(plan, bits)) {
      InFlightDiagnostic diag =
          dot.emitError("first operand of a dot is computed, but ")
          << unit << " can't read computed operands of " << bits
          << " bits from registers";
      if (!plan.warpsHaveRows())
        diag << " if warps share columns ('column_warps')";
      return diag << ": it must be loaded from memory or a stream "
                     "('tile.stream')";
    }
    left = dot.getA();
  } else if (plan.getDot(dot.getNameAttr()).aInRegisters) {
    if (!a || dot.getTransposeA() || !unit.readsRegisters() ||
        !plan.warpsHaveRows())
      return dot.emitError(
          "plan has 'a_in_registers', but the first operand is not a load that "
          "the unit can read from registers: it is a stream, or transposed, or "
          "warps share columns");
    Value &fragment = fragments[a];
    if (!fragment) {
      OpBuilder builder(a);
      fragment =
          warp::LocalLoadOp::create(builder, a.getLoc(), a.getType(), left);
    }
    left = fragment;
  }
  OpBuilder builder(dot);
  auto converted = warp::DotOp::create(
      builder, dot.getLoc(), left, right, dot.getAcc(), /*ones=*/Value(),
      dot.getTransposeA(), dot.getTransposeB(),
      /*async=*/false, dot.getNameAttr(), dot.getFirstRowAttr(),
      dot.getFirstColumnAttr());
  dot.replaceAllUsesWith(converted.getResult());
  dot.erase();
  return success();
}

LogicalResult
TileToWarpPass::convertIntoTensorMemory(ArrayRef<tile::DotOp> dots) {
  TensorMemoryDots converter(getOperation(), plan,
                             [&](Value operand) { return getBuffer(operand); });
  for (tile::DotOp dot : dots)
    if (failed(converter.convert(dot)))
      return failure();
  return success();
}

LogicalResult TileToWarpPass::convert(tile::StreamOp stream) {
  // A stream between roles that no dot reads is loaded by threads, or stored by
  // TMA.
  if (!stream->use_empty() && plan.getStream(stream.getNameAttr()).isStaged)
    readBack(stream, getBuffer(stream), plan);
  // Uses by dots have been replaced.
  if (!stream->use_empty())
    return stream.emitError(
        "result of a stream must be used by dots only: other ops must use the "
        "operand of 'tile.stream'");
  stream.erase();
  return success();
}

LogicalResult TileToWarpPass::convert(tile::TransposeOp transposition) {
  Value buffer = getBuffer(transposition.getSource());
  if (!buffer)
    return transposition.emitError("source of a transposition must be loaded "
                                   "from memory or a stream ('tile.stream')");
  RankedTensorType tile = transposition.getType();
  if (tile.getElementTypeBitWidth() != 8)
    return transposition.emitError("transposed tiles that ops other than dots "
                                   "read must have elements of 8 bits, found ")
           << tile;
  OpBuilder builder(transposition);
  transposition.replaceAllUsesWith(
      warp::LocalLoadOp::create(builder, transposition.getLoc(), tile, buffer,
                                /*transpose=*/true)
          .getResult());
  transposition.erase();
  return success();
}

Value TileToWarpPass::getOnes(Location loc, MemRefType right, int64_t columns) {
  int64_t rows = plan.getUnit().getSumStep(right.getElementTypeBitWidth());
  auto type = MemRefType::get({rows, columns}, right.getElementType(),
                              right.getLayout(), right.getMemorySpace());
  Value &buffer = ones[type];
  if (!buffer) {
    OpBuilder builder = OpBuilder::atBlockBegin(&getOperation().front());
    buffer = warp::OnesOp::create(builder, loc, type, IntegerAttr());
  }
  return buffer;
}

LogicalResult TileToWarpPass::convertSum(tile::DotOp sum, tile::DotOp product) {
  if (!plan.getUnit().takesOnes())
    return sum.emitError("row sums by a dot need a schedule with roles "
                         "('producer_registers')");
  Value right = getBuffer(product.getB().getDefiningOp<tile::LoadOp>());
  auto rightType = cast<MemRefType>(right.getType());
  if (rightType.getDimSize(1) != warp::getPanelColumns(rightType) ||
      product.getTransposeB() || product.getFirstColumn())
    return sum.emitError("row sums by a dot need a product of one panel of 32, "
                         "64 or 128 bytes next to them, found ")
           << product.getResult().getType();
  Operation *first = sum->isBeforeInBlock(product) ? sum : product;
  for (Value acc : {sum.getAcc(), product.getAcc()})
    if (Operation *def = acc.getDefiningOp())
      if (def->getBlock() == first->getBlock() && !def->isBeforeInBlock(first))
        return sum.emitError("row sums by a dot depend on the product next to "
                             "them");

  OpBuilder b(first);
  Location loc = product.getLoc();
  RankedTensorType sumType = sum.getResult().getType(),
                   type = product.getResult().getType();
  int64_t columns = type.getDimSize(1), more = sumType.getDimSize(1);
  RankedTensorType joined = tile::tileLike(
      type, {type.getDimSize(0), columns + more}, type.getElementType());
  Value acc = warp::ConcatColumnsOp::create(
      b, loc, joined, ValueRange{product.getAcc(), sum.getAcc()});
  auto converted = warp::DotOp::create(
      b, loc, product.getA(), right, acc, getOnes(loc, rightType, more),
      /*transposeA=*/false,
      /*transposeB=*/false, /*async=*/false, product.getNameAttr(),
      /*firstRow=*/IntegerAttr(), product.getFirstColumnAttr());
  auto replace = [&](tile::DotOp dot, int64_t from) {
    b.setInsertionPoint(dot);
    Value part = warp::ExtractColumnsOp::create(
        b, loc, dot.getResult().getType(), converted.getResult(), from);
    dot.replaceAllUsesWith(part);
    dot.erase();
  };
  replace(product, 0);
  replace(sum, columns);
  ++numSums;
  return success();
}

void TileToWarpPass::runOnKernel() {
  buffers.clear();
  fragments.clear();
  ones.clear();
  launch::AbiOp abi = launch::requireAbi(getOperation());
  if (!abi)
    return signalPassFailure();
  plan = abi.getPlan();
  cluster = plan->cluster;
  absorbTranspositions(getOperation());
  SmallVector<tile::DotOp> dots, sums;
  getOperation().walk([&](tile::DotOp dot) {
    if (findProduct(dot))
      sums.push_back(dot);
  });
  for (tile::DotOp sum : sums)
    if (failed(convertSum(sum, findProduct(sum))))
      return signalPassFailure();
  getOperation().walk([&](tile::DotOp dot) { dots.push_back(dot); });
  if (plan.getUnit().accumulatesInMemory()) {
    if (failed(convertIntoTensorMemory(dots)))
      return signalPassFailure();
    dots.clear();
  }
  for (tile::DotOp dot : dots)
    if (failed(convert(dot)))
      return signalPassFailure();
  getOperation().walk([&](tile::LoadOp load) {
    if (!buffers.contains(load) && canStage(load) &&
        plan.getStream(load.getNameAttr()).isStaged)
      convertStaged(load);
  });
  SmallVector<tile::TransposeOp> transpositions;
  getOperation().walk(
      [&](tile::TransposeOp op) { transpositions.push_back(op); });
  for (tile::TransposeOp op : transpositions)
    if (failed(convert(op)))
      return signalPassFailure();
  SmallVector<tile::StreamOp> streams;
  getOperation().walk(
      [&](tile::StreamOp stream) { streams.push_back(stream); });
  for (auto [op, buffer] : buffers)
    if (isa<tile::LoadOp>(op) && op->use_empty())
      op->erase();
  for (tile::StreamOp stream : streams)
    if (failed(convert(stream)))
      return signalPassFailure();
}
