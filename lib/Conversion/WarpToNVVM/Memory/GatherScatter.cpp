//===- GatherScatter.cpp - Elements with a place each ---------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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
/// The places of a tile's elements where each has one of its own. Operands are
/// scalars, or tiles that broadcast to it.
class GatherScatter {
public:
  GatherScatter(ConversionPatternRewriter &b, Location loc,
               const GlobalView &view, RankedTensorType tile,
               Coordinates &coordinates)
      : b(b), loc(loc), view(view), emitter(b, loc, coordinates),
        layout(cast<warp::ThreadLayoutAttrInterface>(tile.getEncoding())),
        rows(layout.getOffsets(tile.getShape(), 0)),
        columns(layout.getOffsets(tile.getShape(), 1)) {}

  /// The place of register `index`; operands as they were and as converted.
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

  /// The register of an operand that goes with the tile's register `index`.
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
/// What a scatter adds: elements whose place is the same for all of a row, of a
/// column or of the tile are added up first, by the thread that holds them and
/// then among lanes, of which one goes to memory.
class JointSums {
public:
  struct Sum {
    Place place;
    Value value;
  };

  static FailureOr<JointSums>
  get(tile::ScatterOp op, ConversionPatternRewriter &b, ValueRange elements);
  SmallVector<Sum> add(tile::ScatterOp op, ScatterLowering::OpAdaptor adaptor,
                       GatherScatter &places);
  /// Whether each pair has a place, by indices of 32 bits that are of pairs
  /// themselves: one of rows or columns differs always.
  bool areOfPairs(tile::ScatterOp op) const {
    return differs[0] && differs[1] && elements.size() >= kManyPairs &&
           llvm::all_of(op.getIndices(), [&](Value index) {
             auto tile = dyn_cast<RankedTensorType>(index.getType());
             return !tile ||
                    (tile.getElementType().isInteger(32) &&
                     tile.getShape() == op.getValue().getType().getShape());
           });
  }

private:
  /// Registers whose places are worth being compared.
  static constexpr size_t kManyPairs = 8;

  JointSums(OpBuilder &b, Location loc, ValueRange elements)
      : b(b), loc(loc), elements(elements) {}
  /// The registers that go to one place, by their offsets along what places
  /// depend on.
  llvm::MapVector<std::pair<int64_t, int64_t>, SmallVector<unsigned>>
  getGroups() const;
  /// The sum of the lanes', in all of them.
  Value addLanes(Value value);

  OpBuilder &b;
  Location loc;
  ValueRange elements;
  SmallVector<int64_t> offsets[2];
  /// Along which dimensions places differ.
  bool differs[2] = {false, false};
  /// Lanes that hold what else goes to the same place, and those that hold the
  /// same: masks.
  SmallVector<int64_t> summed, equal;
};
} // namespace

FailureOr<JointSums> JointSums::get(tile::ScatterOp op,
                                    ConversionPatternRewriter &b,
                                    ValueRange elements) {
  RankedTensorType tile = op.getValue().getType();
  auto layout = cast<warp::ThreadLayoutAttrInterface>(tile.getEncoding());
  JointSums sums(b, op.getLoc(), elements);
  for (int64_t dim : {0, 1}) {
    sums.offsets[dim] = layout.getOffsets(tile.getShape(), dim);
    for (Value index : op.getIndices())
      if (auto type = dyn_cast<RankedTensorType>(index.getType()))
        sums.differs[dim] |= type.getDimSize(dim) != 1;
    bool isReplicated = tile.getDimSize(dim) == 1;
    if (sums.differs[dim] && !isReplicated)
      continue;
    FailureOr<SmallVector<int64_t>> lanes = layout.getLanesOfPeriod(dim);
    // One lane of those that hold an element adds it: no other warp may, too.
    bool isShared =
        isReplicated && (dim == 0 || failed(layout.getReductionLanes(dim)));
    if (failed(lanes) || isShared)
      return op.emitOpError("adds tiles of several rows only, which threads "
                            "part among each other; found ")
             << tile;
    llvm::append_range(isReplicated ? sums.equal : sums.summed, *lanes);
  }
  return sums;
}

llvm::MapVector<std::pair<int64_t, int64_t>, SmallVector<unsigned>>
JointSums::getGroups() const {
  llvm::MapVector<std::pair<int64_t, int64_t>, SmallVector<unsigned>> groups;
  for (unsigned index = 0; index < elements.size(); ++index)
    groups[{differs[0] ? offsets[0][index] : 0,
            differs[1] ? offsets[1][index] : 0}]
        .push_back(index);
  return groups;
}

Value JointSums::addLanes(Value value) {
  for (int64_t lane : summed)
    value =
        arith::AddFOp::create(b, loc, value,
                              emitShuffle(b, loc, value, NVVM::ShflKind::bfly,
                                          emitI32(b, loc, lane)));
  return value;
}

SmallVector<JointSums::Sum> JointSums::add(tile::ScatterOp op,
                                           ScatterLowering::OpAdaptor adaptor,
                                           GatherScatter &places) {
  bool isJoint = !summed.empty();
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
    // The mask is of places where each element has one, else of summands.
    Value mask = isJoint ? Value() : op.getMask(), sum;
    for (unsigned index : group) {
      Value value = elements[index];
      if (isJoint && op.getMask())
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

/// What an exact sum's first integers lie in, as if it were f32.
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

/// Adds registers of pairs, few at a time.
static void addPairs(tile::ScatterOp op, ScatterLowering::OpAdaptor adaptor,
                     ValueRange elements, GatherScatter &places, WarpAggregatedAdds sums) {
  SmallVector<WarpAggregatedAdds::Pair> pairs;
  for (auto [index, element] : llvm::enumerate(elements)) {
    WarpAggregatedAdds::Pair &pair = pairs.emplace_back();
    pair.element = element;
    for (auto [original, converted] :
         llvm::zip(op.getIndices(), adaptor.getIndices()))
      pair.indices.push_back(places.select(original, converted, index));
    if (op.getMask())
      pair.mask = places.select(op.getMask(), adaptor.getMask(), index);
    if (pairs.size() < WarpAggregatedAdds::kTogether && index + 1 < elements.size())
      continue;
    sums.add(pairs);
    pairs.clear();
  }
}

/// An index of 64 bits in 32; -1, which is none either, where it does not fit.
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
/// Adds what a warp has of each diagonal.
struct DiagonalAdder {
  tile::ScatterOp op;
  ScatterLowering::OpAdaptor adaptor;
  GatherScatter &places;
  ConversionPatternRewriter &b;
  WarpAggregatedAdds sums;

  void add(ValueRange elements);

private:
  WarpAggregatedAdds::Pair getPlace(unsigned number);
  SmallVector<WarpAggregatedAdds::Pair> getSums(RelativePositionReduce &diagonals,
                                      const RelativePositionReduce::BlockSums &blocks);
};
} // namespace

/// Where the diagonal is added that the lane has in that register.
WarpAggregatedAdds::Pair DiagonalAdder::getPlace(unsigned number) {
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

SmallVector<WarpAggregatedAdds::Pair>
DiagonalAdder::getSums(RelativePositionReduce &diagonals,
                       const RelativePositionReduce::BlockSums &blocks) {
  Location loc = op.getLoc();
  Value zero = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0));
  SmallVector<WarpAggregatedAdds::Pair> pairs;
  for (const RelativePositionReduce::Sum &sum : diagonals.add(blocks)) {
    WarpAggregatedAdds::Pair &pair = pairs.emplace_back(getPlace(sum.number));
    pair.element = sum.value;
    // Diagonals without a pair that counts may have any place.
    pair.mask = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE,
                                      sum.value, zero);
    if (sum.counts)
      pair.mask = arith::AndIOp::create(b, loc, pair.mask, sum.counts);
  }
  return pairs;
}

/// Far from each other queries and keys often have one bucket of distances: no
/// lane has to know which diagonal is whose then.
void DiagonalAdder::add(ValueRange elements) {
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
  if (WarpAggregatedAdds::haveOwnPlaces(op.getIndices()))
    return sums.addEach(getSums(diagonals, blocks));
  SmallVector<WarpAggregatedAdds::Pair> all;
  for (unsigned number : diagonals.getNumbers())
    all.push_back(getPlace(number));
  SmallVector<Value> held(blocks.even);
  llvm::append_range(held, blocks.odd);
  sums.addAll(all, held, [&] {
    // What it finds of lanes is found where the builder stands.
    RelativePositionReduce inBranch(b, op);
    sums.addInOrder(getSums(inBranch, blocks));
  });
}

/// Lanes that hold the same element write it all.
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
    FailureOr<JointSums> sums =
        JointSums::get(op, rewriter, elements.getResults());
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
    if (sumsDiagonals(op))
      DiagonalAdder{op, adaptor, places, rewriter, ofPairs}.add(
          elements.getResults());
    else if (sums->areOfPairs(op))
      addPairs(op, adaptor, elements.getResults(), places, ofPairs);
    else
      for (const JointSums::Sum &sum : sums->add(op, adaptor, places))
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

void fovea::populateSinglePlacePatterns(RewritePatternSet &patterns,
                                        const TypeConverter &converter,
                                        Coordinates &coordinates) {
  patterns.add<GatherLowering, ScatterLowering>(
      converter, patterns.getContext(), coordinates);
}
