//===- GatherScatter.cpp - Gathers and scatters ---------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers gathers and scatters, whose elements have an address each. Additions
// to equal addresses are combined first: statically by the layout, along
// relative positions, or among the lanes of a warp (WarpAggregatedAdds.h).
//
//===----------------------------------------------------------------------===//

#include "Tiles/RelativePositionReduce.h"
#include "Tiles/ScalarizeTiles.h"
#include "Tiles/WarpAggregatedAdds.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/MapVector.h"

#include <limits>

using namespace mlir;
using namespace fovea;

namespace {
struct GatherLowering : OpConversionPattern<tile::GatherOp> {
  GatherLowering(const TypeConverter &converter, MLIRContext *context,
                 Coordinates &coordinates)
      : OpConversionPattern(converter, context), coordinates(coordinates) {}

  LogicalResult
  matchAndRewrite(tile::GatherOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override;

private:
  Coordinates &coordinates;
};

struct ScatterLowering : OpConversionPattern<tile::ScatterOp> {
  ScatterLowering(const TypeConverter &converter, MLIRContext *context,
                  Coordinates &coordinates)
      : OpConversionPattern(converter, context), coordinates(coordinates) {}

  LogicalResult
  matchAndRewrite(tile::ScatterOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override;

private:
  Coordinates &coordinates;
};
} // namespace

namespace {
/// Addresses of a tile's elements. Index and mask operands are scalars, or
/// tiles that broadcast to the tile.
class GatherScatter {
public:
  GatherScatter(ConversionPatternRewriter &b, Location loc,
                const GlobalView &view, RankedTensorType tile,
                Coordinates &coordinates)
      : b(b), loc(loc), view(view), emitter(b, loc, coordinates),
        layout(cast<warp::ThreadLayoutAttrInterface>(tile.getEncoding())),
        rows(layout.getOffsets(tile.getShape(), 0)),
        columns(layout.getOffsets(tile.getShape(), 1)) {}

  /// The address of register `index`, from the original and the converted
  /// operands.
  Place get(unsigned index, ValueRange indices, ValueRange converted,
            Value mask, Value convertedMask) {
    SmallVector<Value> selected;
    for (auto [original, operand] : llvm::zip_equal(indices, converted))
      selected.push_back(select(original, operand, index));
    Place place = locateElement(b, loc, view, selected);
    if (!mask)
      return place;
    return restrict(b, loc, place, select(mask, convertedMask, index));
  }

  /// The register of an operand that corresponds to the tile's register
  /// `index`.
  Value select(Value original, Value converted, unsigned index) {
    auto operand = dyn_cast<RankedTensorType>(original.getType());
    if (!operand)
      return converted;
    SmallVector<int64_t> operandRows = layout.getOffsets(operand.getShape(), 0),
                         operandColumns =
                             layout.getOffsets(operand.getShape(), 1);
    int64_t row = operand.getDimSize(0) == 1 ? 0 : rows[index],
            column = operand.getDimSize(1) == 1 ? 0 : columns[index];
    for (auto [position, pair] :
         llvm::enumerate(llvm::zip(operandRows, operandColumns)))
      if (std::get<0>(pair) == row && std::get<1>(pair) == column)
        return getRegister(original, converted, position);
    llvm_unreachable("operand broadcasts to the tile");
  }
  /// Register `index` of an operand.
  Value getRegister(Value original, Value converted, unsigned index) {
    return ElementEmitter::isEmitted(original)
               ? emitter.get(original, index)
               : emitter.extract(converted, index);
  }

private:
  OpBuilder &b;
  Location loc;
  const GlobalView &view;
  ElementEmitter emitter;
  warp::ThreadLayoutAttrInterface layout;
  SmallVector<int64_t> rows, columns;
};
} // namespace

namespace {
/// The additions of a scatter. Elements whose address is the same for a whole
/// row, column or tile are summed first, in the thread that holds them and then
/// among lanes. One lane adds the sum to memory.
class CombinedAdds {
public:
  struct Sum {
    Place place;
    Value value;
  };

  static FailureOr<CombinedAdds>
  get(tile::ScatterOp op, ConversionPatternRewriter &b, ValueRange elements);
  SmallVector<Sum> add(tile::ScatterOp op, ScatterLowering::OpAdaptor adaptor,
                       GatherScatter &places);
  /// Returns true if each element has its own address by 32-bit indices that
  /// are tiles of the full shape: neither rows nor columns share addresses by
  /// construction.
  bool hasPerElementAddresses(tile::ScatterOp op) const {
    return differs[0] && differs[1] && elements.size() >= kManyPairs &&
           llvm::all_of(op.getIndices(), [&](Value index) {
             auto tile = dyn_cast<RankedTensorType>(index.getType());
             return !tile ||
                    (tile.getElementType().isInteger(32) &&
                     tile.getShape() == op.getValue().getType().getShape());
           });
  }

private:
  /// Minimum number of registers for which comparing addresses pays off.
  static constexpr size_t kManyPairs = 8;

  CombinedAdds(OpBuilder &b, Location loc, ValueRange elements)
      : b(b), loc(loc), elements(elements) {}
  /// Registers with the same address, by their offsets along the dimensions
  /// that the address depends on.
  llvm::MapVector<std::pair<int64_t, int64_t>, SmallVector<unsigned>>
  getGroups() const;
  /// Sums a value over the `summed` lanes; all of them get the result.
  Value addLanes(Value value);

  OpBuilder &b;
  Location loc;
  ValueRange elements;
  SmallVector<int64_t> offsets[2];
  /// The dimensions that addresses depend on.
  bool differs[2] = {false, false};
  /// Lane masks: lanes with other elements of the same address, and lanes with
  /// replicas of the same element.
  SmallVector<int64_t> summed, equal;
};
} // namespace

FailureOr<CombinedAdds> CombinedAdds::get(tile::ScatterOp op,
                                          ConversionPatternRewriter &b,
                                          ValueRange elements) {
  RankedTensorType tile = op.getValue().getType();
  auto layout = cast<warp::ThreadLayoutAttrInterface>(tile.getEncoding());
  CombinedAdds sums(b, op.getLoc(), elements);
  for (int64_t dim : {0, 1}) {
    sums.offsets[dim] = layout.getOffsets(tile.getShape(), dim);
    for (Value index : op.getIndices())
      if (auto type = dyn_cast<RankedTensorType>(index.getType()))
        sums.differs[dim] |= type.getDimSize(dim) != 1;
    bool isReplicated = tile.getDimSize(dim) == 1;
    if (sums.differs[dim] && !isReplicated)
      continue;
    FailureOr<SmallVector<int64_t>> lanes = layout.getLanesOfPeriod(dim);
    // One of the lanes that hold a replicated element adds it. No other warp
    // may hold it.
    bool isShared =
        isReplicated && (dim == 0 || failed(layout.getReductionLanes(dim)));
    if (failed(lanes) || isShared)
      return op.emitOpError("expected a tile of several rows whose elements "
                            "are partitioned among threads, found ")
             << tile;
    llvm::append_range(isReplicated ? sums.equal : sums.summed, *lanes);
  }
  return sums;
}

llvm::MapVector<std::pair<int64_t, int64_t>, SmallVector<unsigned>>
CombinedAdds::getGroups() const {
  llvm::MapVector<std::pair<int64_t, int64_t>, SmallVector<unsigned>> groups;
  for (unsigned index = 0; index < elements.size(); ++index)
    groups[{differs[0] ? offsets[0][index] : 0,
            differs[1] ? offsets[1][index] : 0}]
        .push_back(index);
  return groups;
}

Value CombinedAdds::addLanes(Value value) {
  for (int64_t lane : summed)
    value =
        arith::AddFOp::create(b, loc, value,
                              emitShuffle(b, loc, value, NVVM::ShflKind::bfly,
                                          emitI32(b, loc, lane)));
  return value;
}

SmallVector<CombinedAdds::Sum>
CombinedAdds::add(tile::ScatterOp op, ScatterLowering::OpAdaptor adaptor,
                  GatherScatter &places) {
  bool isCombined = !summed.empty();
  Value isFirst;
  int64_t others = 0;
  for (int64_t lane : llvm::concat<int64_t>(summed, equal))
    others |= lane;
  if (others) {
    Value lane = arith::AndIOp::create(b, loc, emitThread(b, loc),
                                       emitI32(b, loc, others));
    isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, lane,
                                    emitI32(b, loc, 0));
  }
  Value zero = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0));
  SmallVector<Sum> sums;
  for (auto &[offset, group] : getGroups()) {
    // The mask applies to addresses if each element has its own, otherwise to
    // summands.
    Value mask = isCombined ? Value() : op.getMask(), sum;
    for (unsigned index : group) {
      Value value = elements[index];
      if (isCombined && op.getMask())
        value = arith::SelectOp::create(
            b, loc, places.select(op.getMask(), adaptor.getMask(), index),
            value, zero);
      sum = sum ? arith::AddFOp::create(b, loc, sum, value).getResult() : value;
    }
    Place place = places.get(group.front(), op.getIndices(),
                             adaptor.getIndices(), mask, adaptor.getMask());
    if (isFirst)
      place = restrict(b, loc, place, isFirst);
    sums.push_back({place, addLanes(sum)});
  }
  return sums;
}

/// The view of an exact sum's first integers, without the dimension of bins.
static GlobalView dropBins(GlobalView view) {
  view.sizes.erase(view.sizes.begin());
  view.strides.erase(view.strides.begin());
  return view;
}

LogicalResult
GatherLowering::matchAndRewrite(tile::GatherOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const {
  Location loc = op.getLoc();
  FailureOr<GlobalView> view = getGlobalView(rewriter, loc, op.getSource());
  if (failed(view))
    return failure();
  RankedTensorType tile = op.getResult().getType();
  auto type = cast<VectorType>(getTypeConverter()->convertType(tile));
  GatherScatter places(rewriter, loc, *view, tile, coordinates);
  SmallVector<Value> elements;
  for (int64_t index = 0; index < type.getNumElements(); ++index) {
    Place place = places.get(index, op.getIndices(), adaptor.getIndices(),
                             op.getMask(), adaptor.getMask());
    Value value = emitLoad(rewriter, loc, place, getMemoryType(*view));
    elements.push_back(fromMemory(rewriter, loc, value, tile.getElementType()));
  }
  rewriter.replaceOpWithNewOp<vector::FromElementsOp>(op, type, elements);
  return success();
}

/// Adds elements with an address each, a few registers at a time.
static void addPairs(tile::ScatterOp op, ScatterLowering::OpAdaptor adaptor,
                     ValueRange elements, GatherScatter &places,
                     WarpAggregatedAdds sums) {
  SmallVector<WarpAggregatedAdds::Pair> pairs;
  for (auto [index, element] : llvm::enumerate(elements)) {
    WarpAggregatedAdds::Pair &pair = pairs.emplace_back();
    pair.element = element;
    for (auto [original, converted] :
         llvm::zip(op.getIndices(), adaptor.getIndices()))
      pair.indices.push_back(places.select(original, converted, index));
    if (op.getMask())
      pair.mask = places.select(op.getMask(), adaptor.getMask(), index);
    if (pairs.size() < WarpAggregatedAdds::kTogether &&
        index + 1 < elements.size())
      continue;
    sums.add(pairs);
    pairs.clear();
  }
}

/// Narrows a 64-bit index to 32 bits; -1, which is out of bounds as well, if it
/// does not fit.
static Value narrow(OpBuilder &b, Location loc, Value index) {
  if (index.getType().isInteger(32))
    return index;
  Value fits = arith::CmpIOp::create(
      b, loc, arith::CmpIPredicate::ult, index,
      emitI64(b, loc, int64_t(std::numeric_limits<int32_t>::max()) + 1));
  return arith::SelectOp::create(b, loc, fits, emitToI32(b, loc, index),
                                 emitI32(b, loc, -1));
}

namespace {
/// Adds the warp's sum of each relative position.
struct RelativePositionAdder {
  tile::ScatterOp op;
  ScatterLowering::OpAdaptor adaptor;
  GatherScatter &places;
  ConversionPatternRewriter &b;
  WarpAggregatedAdds sums;

  void add(ValueRange elements);

private:
  WarpAggregatedAdds::Pair getPlace(unsigned number);
  SmallVector<WarpAggregatedAdds::Pair>
  getSums(RelativePositionReduce &diagonals,
          const RelativePositionReduce::BlockSums &blocks);
};
} // namespace

/// Indices of the relative position that the lane holds in that register.
WarpAggregatedAdds::Pair RelativePositionAdder::getPlace(unsigned number) {
  WarpAggregatedAdds::Pair pair;
  for (auto [original, converted] :
       llvm::zip(op.getIndices(), adaptor.getIndices())) {
    auto made = original.getDefiningOp<tile::DiagonalsOp>();
    pair.indices.push_back(
        made ? narrow(b, op.getLoc(),
                      places.getRegister(made.getSource(),
                                         b.getRemappedValue(made.getSource()),
                                         number))
             : converted);
  }
  return pair;
}

SmallVector<WarpAggregatedAdds::Pair> RelativePositionAdder::getSums(
    RelativePositionReduce &diagonals,
    const RelativePositionReduce::BlockSums &blocks) {
  Location loc = op.getLoc();
  Value zero = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0));
  SmallVector<WarpAggregatedAdds::Pair> pairs;
  for (const RelativePositionReduce::Sum &sum : diagonals.add(blocks)) {
    WarpAggregatedAdds::Pair &pair = pairs.emplace_back(getPlace(sum.number));
    pair.element = sum.value;
    // Relative positions without a counted element may have any index.
    pair.mask = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE,
                                      sum.value, zero);
    if (sum.counts)
      pair.mask = arith::AndIOp::create(b, loc, pair.mask, sum.counts);
  }
  return pairs;
}

/// Distant queries and keys often have one bucket of relative positions. In
/// this case all elements are added to one address, without a reduction by
/// relative position.
void RelativePositionAdder::add(ValueRange elements) {
  Location loc = op.getLoc();
  Value zero = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0));
  SmallVector<Value> counted(elements);
  if (op.getMask())
    for (auto [index, element] : llvm::enumerate(counted))
      element = arith::SelectOp::create(
          b, loc, places.select(op.getMask(), adaptor.getMask(), index),
          element, zero);
  RelativePositionReduce diagonals(b, op);
  RelativePositionReduce::BlockSums blocks = diagonals.addBlocks(counted);
  if (WarpAggregatedAdds::haveDistinctAddresses(op.getIndices()))
    return sums.addEach(getSums(diagonals, blocks));
  SmallVector<WarpAggregatedAdds::Pair> all;
  for (unsigned number : diagonals.getNumbers())
    all.push_back(getPlace(number));
  SmallVector<Value> held(blocks.even);
  llvm::append_range(held, blocks.odd);
  sums.addAll(all, held, [&] {
    // Lane values are emitted at the insertion point, so the branch needs its
    // own instance.
    RelativePositionReduce inBranch(b, op);
    sums.addInOrder(getSums(inBranch, blocks));
  });
}

/// All lanes that hold a replicated element store it.
LogicalResult
ScatterLowering::matchAndRewrite(tile::ScatterOp op, OpAdaptor adaptor,
                                 ConversionPatternRewriter &rewriter) const {
  Location loc = op.getLoc();
  FailureOr<GlobalView> view = getGlobalView(rewriter, loc, op.getTarget());
  if (failed(view))
    return failure();
  GlobalView ofElements = op.getExact() ? dropBins(*view) : *view;
  GatherScatter places(rewriter, loc, ofElements, op.getValue().getType(),
                       coordinates);
  auto elements =
      vector::ToElementsOp::create(rewriter, loc, adaptor.getValue());
  if (op.getAdd()) {
    FailureOr<CombinedAdds> sums =
        CombinedAdds::get(op, rewriter, elements.getResults());
    if (failed(sums))
      return failure();
    auto add = [&](Place place, Value value) {
      if (op.getExact())
        emitExactAdd(rewriter, loc, place, value,
                     /*bins=*/view->strides.front());
      else
        emitAdd(rewriter, loc, place, value);
    };
    WarpAggregatedAdds ofPairs(rewriter, loc, ofElements, add);
    if (reducesByRelativePosition(op))
      RelativePositionAdder{op, adaptor, places, rewriter, ofPairs}.add(
          elements.getResults());
    else if (sums->hasPerElementAddresses(op))
      addPairs(op, adaptor, elements.getResults(), places, ofPairs);
    else
      for (const CombinedAdds::Sum &sum : sums->add(op, adaptor, places))
        add(sum.place, sum.value);
    rewriter.eraseOp(op);
    return success();
  }
  for (auto [index, value] : llvm::enumerate(elements.getResults())) {
    Place place = places.get(index, op.getIndices(), adaptor.getIndices(),
                             op.getMask(), adaptor.getMask());
    emitStore(rewriter, loc, place, toMemory(rewriter, loc, value));
  }
  rewriter.eraseOp(op);
  return success();
}

void fovea::populateGatherScatterPatterns(RewritePatternSet &patterns,
                                          const TypeConverter &converter,
                                          Coordinates &coordinates) {
  patterns.add<GatherLowering, ScatterLowering>(
      converter, patterns.getContext(), coordinates);
}
