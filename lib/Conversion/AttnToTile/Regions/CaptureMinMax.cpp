//===- CaptureMinMax.cpp - Block min/max of captured tensors --------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Regions/CaptureMinMax.h"
#include "Kernel/HelperKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

#include <numeric>

using namespace mlir;
using namespace fovea;

/// The element type of buffers for elements of `type`: words that lanes can
/// shuffle.
static IntegerType getMinMaxElement(Type type) {
  return IntegerType::get(type.getContext(),
                          type.getIntOrFloatBitWidth() <= 32 ? 32 : 64);
}

//===----------------------------------------------------------------------===//
// Reads in the main kernel
//===----------------------------------------------------------------------===//

/// Declares a buffer: scratch memory as the kernel's last argument.
static Value declareMinMax(KernelBuilder &kb, unsigned operand, int64_t dim,
                           int64_t block) {
  auto tensor = cast<MemRefType>(kb.operandArgument(operand).getType());
  SizeExpressions sizes(kb, operand);
  // The minima, then the maxima.
  SmallVector<AffineExpr> extents = {kb.builder.getAffineConstantExpr(2)};
  for (int64_t other = 0; other < tensor.getRank(); ++other)
    if (other != dim)
      extents.push_back(sizes.getSize(other));
  extents.push_back(sizes.getSize(dim).ceilDiv(block));
  std::string name =
      (kb.op.getOperandName(operand) + "." + Twine(dim) + "." + Twine(block))
          .str();
  unsigned argument = declareScratch(kb, name, sizes.getNames(), extents,
                                     getMinMaxElement(tensor.getElementType()));
  kb.minMaxBuffers.push_back(
      {operand, dim, block, argument,
       cast<launch::ScratchMemRefParameterAttr>(kb.scratch.back())});
  return kb.kernel.getArgument(argument);
}

/// A buffer that was declared before, for this kernel or its main kernel; or
/// null.
static Value findMinMax(KernelBuilder &kb, unsigned operand, int64_t dim,
                        int64_t block) {
  for (const KernelBuilder::MinMaxBuffer &summary : kb.minMaxBuffers)
    if (summary.operand == operand && summary.dim == dim &&
        summary.block == block)
      return kb.kernel.getArgument(summary.argument);
  return {};
}

CaptureMinMax::CaptureMinMax(KernelBuilder &kb, Region &region,
                             unsigned firstCapture, int64_t queries,
                             int64_t keys)
    : queries(queries), keys(keys) {
  auto declare = [&](auto op) {
    unsigned argument = cast<BlockArgument>(op.getTensor()).getArgNumber();
    int64_t block = op.isOverQueries() ? queries : keys;
    Value &summary = memory[{argument, int64_t(op.getDim()), block}];
    if (summary)
      return;
    unsigned operand = firstCapture + argument -
                       attn::AttentionOpInterface::kKVClassifyArguments;
    summary = findMinMax(kb, operand, op.getDim(), block);
    if (!summary)
      summary = declareMinMax(kb, operand, op.getDim(), block);
  };
  region.walk([&](Operation *op) {
    if (auto least = dyn_cast<attn::BlockMinOp>(op))
      declare(least);
    else if (auto most = dyn_cast<attn::BlockMaxOp>(op))
      declare(most);
  });
}

/// Indices of an entry: min or max, the other indices, the block.
static SmallVector<Value> getPlace(OpBuilder &b, Location loc, bool largest,
                                   ValueRange others, Value number) {
  SmallVector<Value> place = {
      arith::ConstantIndexOp::create(b, loc, largest ? 1 : 0)};
  llvm::append_range(place, others);
  place.push_back(number);
  return place;
}

Value CaptureMinMax::emitScalar(OpBuilder &b, Location loc, Value summary,
                                bool largest, ValueRange others, Value number,
                                Type element) const {
  Value value = memref::LoadOp::create(
      b, loc, summary, getPlace(b, loc, largest, others, number));
  return value.getType() == element
             ? value
             : arith::TruncIOp::create(b, loc, element, value).getResult();
}

Value CaptureMinMax::emitColumns(OpBuilder &b, Location loc, Value summary,
                                 bool largest, ValueRange others, Value number,
                                 int64_t columns, Type element) const {
  auto type = cast<MemRefType>(summary.getType());
  auto tileOf = [&](Type of) {
    return RankedTensorType::get({1, columns}, of,
                                 tile::RegAttr::get(b.getContext()));
  };
  Value value = tile::LoadOp::create(
      b, loc, tileOf(type.getElementType()), summary,
      getPlace(b, loc, largest, others, number), /*limit=*/Value(),
      ArrayRef<int64_t>{-1, type.getRank() - 1}, b.getStringAttr("summary"));
  return type.getElementType() == element
             ? value
             : arith::TruncIOp::create(b, loc, tileOf(element), value)
                   .getResult();
}

//===----------------------------------------------------------------------===//
// The prologue kernel
//===----------------------------------------------------------------------===//

// The rows of a warp's tile are blocks, its columns positions in them; more
// positions at a time would only take more registers.
static constexpr int64_t kBlocks = 16, kMostPositions = 64;

namespace {
/// Computes one buffer.
class MinMaxEmitter {
public:
  MinMaxEmitter(OpBuilder &b, Location loc, Value tensor, Value summary,
                int64_t dim, int64_t block)
      : b(b), loc(loc), tensor(tensor), summary(summary), dim(dim),
        block(block),
        element(cast<MemRefType>(tensor.getType()).getElementType()),
        word(cast<IntegerType>(
            cast<MemRefType>(summary.getType()).getElementType())) {}

  /// Number of groups of blocks.
  Value emitCount();
  /// Computes the minima and maxima of group `number`.
  void emitGroup(Value number);

private:
  template <typename OpTy, typename... Args>
  Value make(Args &&...args) {
    return OpTy::create(b, loc, std::forward<Args>(args)...)->getResult(0);
  }
  RankedTensorType tileType(int64_t rows, int64_t columns, Type of) {
    return RankedTensorType::get({rows, columns}, of,
                                 tile::RegAttr::get(b.getContext()));
  }
  Value constant(int64_t value) { return make<arith::ConstantIndexOp>(value); }
  Value widen(RankedTensorType type, Value value) {
    return make<tile::BroadcastOp>(type, value);
  }
  Value toI32(Value index) {
    return make<arith::IndexCastOp>(b.getI32Type(), index);
  }
  Value size(int64_t at) { return make<memref::DimOp>(tensor, at); }
  int64_t getRank() { return cast<MemRefType>(tensor.getType()).getRank(); }
  /// Groups of blocks along the dimension.
  Value emitGroups();
  Value splat(RankedTensorType type, const APInt &value) {
    return make<arith::ConstantOp>(DenseElementsAttr::get(type, value));
  }
  /// Returns the first block of a group; sets the indices of the other
  /// dimensions.
  Value emitPlace(Value number, MutableArrayRef<Value> indices);
  /// Positions of the first columns of each block from `firstBlock` on.
  Value emitFirstPositions(Value firstBlock);
  /// The tensor's elements at `indices`, as words.
  Value emitElements(ArrayRef<Value> indices);
  /// The loop that computes the minimum and maximum at some columns of each
  /// block.
  scf::ForOp emitSearch(Value firstBlock, MutableArrayRef<Value> indices);

  OpBuilder &b;
  Location loc;
  Value tensor, summary;
  int64_t dim, block;
  Type element;
  IntegerType word;
  /// Positions processed together; types of their coordinates and words.
  int64_t columns = std::gcd(block, kMostPositions);
  RankedTensorType coordinates = tileType(kBlocks, columns, b.getI32Type()),
                   words = tileType(kBlocks, columns, word);
};
} // namespace

Value MinMaxEmitter::emitGroups() {
  return make<arith::CeilDivUIOp>(
      make<arith::CeilDivUIOp>(size(dim), constant(block)), constant(kBlocks));
}

Value MinMaxEmitter::emitCount() {
  Value count = emitGroups();
  for (int64_t other = 0; other < getRank(); ++other)
    if (other != dim)
      count = make<arith::MulIOp>(count, size(other));
  return count;
}

Value MinMaxEmitter::emitPlace(Value number, MutableArrayRef<Value> indices) {
  Value groups = emitGroups();
  Value firstBlock = make<arith::MulIOp>(make<arith::RemUIOp>(number, groups),
                                         constant(kBlocks));
  // The last index varies fastest.
  Value left = make<arith::DivUIOp>(number, groups);
  for (int64_t other = getRank() - 1; other >= 0; --other) {
    if (other == dim)
      continue;
    Value extent = size(other);
    indices[other] = make<arith::RemUIOp>(left, extent);
    left = make<arith::DivUIOp>(left, extent);
  }
  return firstBlock;
}

Value MinMaxEmitter::emitFirstPositions(Value firstBlock) {
  auto rowType = tileType(kBlocks, 1, b.getI32Type());
  Value blocks = make<arith::AddIOp>(make<tile::IotaOp>(rowType, 0),
                                     widen(rowType, toI32(firstBlock)));
  Value starts =
      make<arith::MulIOp>(blocks, widen(rowType, toI32(constant(block))));
  auto columnType = tileType(1, columns, b.getI32Type());
  return make<arith::AddIOp>(
      widen(coordinates, starts),
      widen(coordinates, make<tile::IotaOp>(columnType, 1)));
}

Value MinMaxEmitter::emitElements(ArrayRef<Value> indices) {
  Value read = make<tile::GatherOp>(tileType(kBlocks, columns, element), tensor,
                                    indices, /*mask=*/Value());
  // For i1, true is larger than false.
  if (element.isInteger(1))
    return make<arith::ExtUIOp>(words, read);
  return element == word ? read : make<arith::ExtSIOp>(words, read);
}

scf::ForOp MinMaxEmitter::emitSearch(Value firstBlock,
                                     MutableArrayRef<Value> indices) {
  Value first = emitFirstPositions(firstBlock);
  Value end = widen(coordinates, toI32(size(dim)));
  // Neutral elements for positions past the end.
  unsigned bits = word.getWidth();
  SmallVector<Value> inits = {splat(words, APInt::getSignedMaxValue(bits)),
                              splat(words, APInt::getSignedMinValue(bits))};
  auto loop = scf::ForOp::create(b, loc, constant(0), constant(block),
                                 constant(columns), inits);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value step = widen(coordinates, toI32(loop.getInductionVar()));
  Value positions = make<arith::AddIOp>(first, step);
  // Positions past the last block may have wrapped around.
  Value exists = make<arith::CmpIOp>(arith::CmpIPredicate::ult, positions, end);
  indices[dim] = positions;
  Value read = emitElements(indices);
  Value low = make<arith::SelectOp>(exists, read, inits[0]),
        high = make<arith::SelectOp>(exists, read, inits[1]);
  SmallVector<Value> next = {
      make<arith::MinSIOp>(loop.getRegionIterArg(0), low),
      make<arith::MaxSIOp>(loop.getRegionIterArg(1), high)};
  scf::YieldOp::create(b, loc, next);
  return loop;
}

void MinMaxEmitter::emitGroup(Value number) {
  SmallVector<Value> indices(getRank());
  Value firstBlock = emitPlace(number, indices);
  scf::ForOp loop = emitSearch(firstBlock, indices);
  SmallVector<Value> others(indices);
  others.erase(others.begin() + dim);
  for (bool isLargest : {false, true}) {
    Value extremes = make<tile::ReduceOp>(tileType(kBlocks, 1, word),
                                          isLargest ? tile::ReduceKind::Max
                                                    : tile::ReduceKind::Min,
                                          1, loop.getResult(isLargest));
    SmallVector<Value> place = getPlace(b, loc, isLargest, others, firstBlock);
    tile::StoreOp::create(b, loc, extremes, summary, place,
                          ArrayRef<int64_t>{int64_t(place.size()) - 1, -1},
                          b.getStringAttr("summary"));
  }
}

/// Number of groups, an expression in `sizes`, to which it adds names.
static AffineExpr getGroups(const KernelBuilder::MinMaxBuffer &summary,
                            llvm::SetVector<Attribute> &sizes) {
  SmallVector<AffineExpr> symbols;
  for (Attribute size : summary.memory.getSizes()) {
    sizes.insert(size);
    symbols.push_back(getAffineSymbolExpr(
        llvm::find(sizes, size) - sizes.begin(), size.getContext()));
  }
  ArrayRef<AffineExpr> extents =
      summary.memory.getExtents().getValue().getResults();
  AffineExpr groups = extents.back().ceilDiv(kBlocks);
  for (AffineExpr other : extents.drop_front().drop_back())
    groups = groups * other;
  return groups.replaceSymbols(symbols);
}

void fovea::buildMinMaxKernel(const KernelBuilder &kb, launch::AbiOp main) {
  MLIRContext *context = main.getContext();
  Location loc = main.getLoc();
  llvm::SetVector<unsigned> arguments;
  llvm::SetVector<Attribute> sizes;
  AffineExpr groups = getAffineConstantExpr(0, context);
  for (const KernelBuilder::MinMaxBuffer &summary : kb.minMaxBuffers) {
    arguments.insert(summary.operand);
    arguments.insert(summary.argument);
    groups = groups + getGroups(summary, sizes);
  }
  ScheduleFields fields;
  fields.tileM = kBlocks;
  fields.tileN = kMostPositions;
  fields.warps = fields.stages = 1;
  OpBuilder b(context);
  gpu::GPUFuncOp search = beginHelperKernel(
      b, kb, main,
      {"summaries", arguments.getArrayRef(),
       b.getArrayAttr(sizes.getArrayRef()), groups, makePlan(context, fields)});
  auto argumentOf = [&](unsigned argument) -> Value {
    return search.getArgument(llvm::find(arguments, argument) -
                              arguments.begin());
  };
  Value number =
      gpu::BlockIdOp::create(b, loc, b.getIndexType(), gpu::Dimension::x);
  for (const KernelBuilder::MinMaxBuffer &summary : kb.minMaxBuffers) {
    MinMaxEmitter emitter(b, loc, argumentOf(summary.operand),
                          argumentOf(summary.argument), summary.dim,
                          summary.block);
    // Indices of earlier buffers' groups wrap around to above all counts.
    Value count = emitter.emitCount();
    Value isMine =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, number, count);
    auto branch = scf::IfOp::create(b, loc, isMine, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    emitter.emitGroup(number);
    b.setInsertionPointAfter(branch);
    number = arith::SubIOp::create(b, loc, number, count);
  }
  gpu::ReturnOp::create(b, loc);
}
