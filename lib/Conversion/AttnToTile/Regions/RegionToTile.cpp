//===- RegionToTile.cpp - Evaluates regions on tiles ----------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Regions/RegionToTile.h"

#include "CaptureGrads/CaptureGrads.h"
#include "RegionAnalysis/AffineScoreBuilder.h"
#include "RegionAnalysis/BoundedDerivatives.h"
#include "RegionAnalysis/ExactFloats.h"
#include "Regions/CaptureMinMax.h"
#include "Regions/CaptureReader.h"
#include "Regions/RelativePositionValues.h"

#include "fovea/Dialect/Tile/IR/Tile.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fovea;

static BlockRows getBlockRows(const RegionContext &context) {
  if (!context.packedHeads)
    return BlockRows::Queries;
  return context.packedHeads.hasOneQuery() ? BlockRows::Heads
                                           : BlockRows::QueriesOfHeads;
}

namespace {
/// State for score_mod alone: its values are sums as long as possible, and
/// values that depend on the relative position alone are computed per relative
/// position.
struct ScoreParts {
  ScoreParts(Region &region, RegionEmitter &emitter,
             const ExtractPlaces *places = nullptr,
             const SharedLoads *loads = nullptr)
      : dependences(region, emitter.context.captures.size(),
                    getBlockRows(emitter.context)),
        integers(region, dependences, emitter.ranges), forms(emitter, integers),
        places(places), loads(loads) {
    // With PackGQA adjacent rows do not have adjacent relative positions. A
    // version with uniform loads reads those values once per block.
    if (!emitter.context.packedHeads && emitter.context.keepsRows && !places)
      diagonals.emplace(region, dependences, emitter);
  }

  RegionDependences dependences;
  CoordinateSums integers;
  AffineScoreBuilder forms;
  std::optional<RelativePositionEmitter> diagonals;
  const ExtractPlaces *places;
  const SharedLoads *loads;
};

/// Clones one region, op by op.
class RegionCloner {
public:
  /// Scalars are emitted at `scalars`.
  RegionCloner(OpBuilder &builder, OpBuilder &scalars,
               const RegionContext &context, Region &region)
      : region(region), exact(findExactValues(region)),
        ranges(region, context.captures.size()),
        emitter(builder, scalars, context, ranges, exact), reader(emitter) {}

  /// Maps the arguments from `first` on to b, h, i and j.
  void mapPlaces(unsigned first = 0);
  /// Maps the first arguments to `values`.
  void mapArguments(ArrayRef<Value> values);
  /// For a region on scores: the first argument is `score`, followed by
  /// `others` and by b, h, i and j.
  void followSums(AffineScore score, ArrayRef<Value> others,
                  const ExtractPlaces *places = nullptr,
                  const SharedLoads *loads = nullptr);
  /// For kv_classify: sets the candidate blocks.
  void setCandidates(const BlockCandidates &of) { candidates = of; }

  LogicalResult cloneBody();
  /// For score_mod: clones the loads of tiles only.
  FailureOr<SharedLoads> cloneTileLoads();
  /// The indices of a contribution; as tiles per relative position if all can
  /// be.
  FailureOr<SmallVector<Value>> getPlace(attn::ContributeOp op);
  /// For score_gradient: clones only the index computations of `contributions`.
  LogicalResult clonePlaces(ArrayRef<attn::ContributeOp> contributions);
  /// Also clones the computation that contributions apply to the sums of their
  /// shares.
  LogicalResult cloneSharedSums(ArrayRef<attn::ContributeOp> contributions,
                                ArrayRef<Share> shares, ValueRange sums);
  Value getAdded(attn::ContributeOp op) { return lookup(op.getValue()); }

  /// The yielded values of the cloned region.
  Value getResult(unsigned index) { return lookup(getYielded(index)); }
  SmallVector<Value> getFullTiles();
  SmallVector<Value> getScalars();
  AffineScore getForm() { return score->forms.get(getYielded(0)); }

private:
  Block::BlockArgListType getCoordinates() {
    return region.getArguments().drop_back(emitter.context.captures.size());
  }
  /// Argument of score_gradient: the derivative with respect to the score after
  /// score_mod.
  Value getGradient() { return region.getArgument(1); }
  Value getYielded(unsigned index) {
    return region.front().getTerminator()->getOperand(index);
  }
  void mapCaptures();
  void addCoordinates();
  LogicalResult cloneOp(Operation *op);
  LogicalResult cloneArithmetic(Operation *op);
  void cloneExtract(tensor::ExtractOp op);
  LogicalResult cloneContribute(attn::ContributeOp op);
  void takeShare(unsigned number);
  LogicalResult cloneSlice(const llvm::SetVector<Operation *> &needed);
  Value makeOfDiagonals(Value value, Value diagonals);
  template <typename OpTy>
  void cloneBlockMinMax(OpTy op);
  /// The kernel's value; emitted now if it is a pending sum, or was only
  /// computed per relative position.
  Value lookup(Value value);

  Region &region;
  llvm::DenseSet<Value> exact;
  RegionRanges ranges;
  RegionEmitter emitter;
  CaptureReader reader;
  std::optional<ScoreParts> score;
  std::optional<BlockCandidates> candidates;
};
} // namespace

//===----------------------------------------------------------------------===//
// Arguments and results
//===----------------------------------------------------------------------===//

void RegionCloner::mapArguments(ArrayRef<Value> values) {
  emitter.values.map(region.getArguments().take_front(values.size()), values);
}

void RegionCloner::mapPlaces(unsigned first) {
  SmallVector<Value> places =
      emitter.tiles.getPlaces(region.getLoc(), emitter.scalars);
  emitter.values.map(region.getArguments().slice(first, places.size()), places);
}

void RegionCloner::followSums(AffineScore form, ArrayRef<Value> others,
                              const ExtractPlaces *places,
                              const SharedLoads *loads) {
  score.emplace(region, emitter, places, loads);
  score->forms.set(region.getArgument(0), std::move(form));
  emitter.values.map(region.getArguments().slice(1, others.size()), others);
  mapPlaces(1 + others.size());
}

void RegionCloner::addCoordinates() {
  const RegionContext &context = emitter.context;
  for (BlockArgument argument : getCoordinates()) {
    if (!argument.getType().isIndex() || emitter.values.isUniform(argument))
      continue;
    auto tile =
        cast<RankedTensorType>(emitter.values.lookup(argument).getType());
    int64_t dim = tile.getDimSize(0) == 1 ? 1 : 0;
    if (dim == context.getKeyDim())
      reader.addCoordinate(argument, dim, context.key);
    else if (!context.packedHeads || context.packedHeads.hasOneQuery())
      reader.addCoordinate(argument, dim, context.row);
  }
}

SmallVector<Value> RegionCloner::getFullTiles() {
  return llvm::map_to_vector(
      region.front().getTerminator()->getOperands(), [&](Value result) {
        return emitter.tiles.toFullTile(region.getLoc(), lookup(result));
      });
}

SmallVector<Value> RegionCloner::getScalars() {
  return llvm::map_to_vector(
      region.front().getTerminator()->getOperands(),
      [&](Value result) { return emitter.asIndex(result); });
}

Value RegionCloner::lookup(Value value) {
  RegionValues &values = emitter.values;
  if (values.contains(value))
    return values.lookup(value);
  if (Value made = values.lookupRelative(value))
    values.map(value, makeOfDiagonals(value, made));
  else
    score->forms.emit(value);
  return values.lookup(value);
}

Value RegionCloner::makeOfDiagonals(Value value, Value diagonals) {
  return tile::DiagonalsOp::create(
      emitter.builder, value.getLoc(),
      emitter.tiles.getFullType(getElementTypeOrSelf(diagonals.getType())),
      diagonals);
}

//===----------------------------------------------------------------------===//
// Body
//===----------------------------------------------------------------------===//

void RegionCloner::mapCaptures() {
  auto captured =
      region.getArguments().take_back(emitter.context.captures.size());
  emitter.values.map(captured, emitter.context.captures);
  // A captured scalar of type index may have any value, and tiles read it as
  // is.
  for (BlockArgument capture : captured)
    emitter.noteWidth(capture);
}

LogicalResult RegionCloner::cloneBody() {
  mapCaptures();
  // Candidates are not adjacent elements.
  if (!candidates)
    addCoordinates();
  for (Operation &op : region.front().without_terminator())
    if (failed(cloneOp(&op)))
      return failure();
  return success();
}

LogicalResult RegionCloner::cloneOp(Operation *op) {
  if (score && score->diagonals && score->diagonals->take(op, score->forms))
    return score->diagonals->emit(op);
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case<attn::QueryLengthOp, attn::KeyLengthOp>([&](auto length) {
        emitter.emitLength(length);
        return success();
      })
      .Case([&](tensor::DimOp dim) { return emitter.emitDim(dim); })
      .Case([&](tensor::ExtractOp extract) {
        cloneExtract(extract);
        return success();
      })
      .Case([&](attn::ContributeOp contribute) {
        return cloneContribute(contribute);
      })
      .Case<attn::BlockMinOp, attn::BlockMaxOp>([&](auto extreme) {
        cloneBlockMinMax(extreme);
        return success();
      })
      .Default([&](Operation *op) { return cloneArithmetic(op); });
}

LogicalResult RegionCloner::cloneArithmetic(Operation *op) {
  if (failed(RegionEmitter::checkArithmetic(op)))
    return failure();
  if (emitter.values.areUniform(op->getOperands())) {
    emitter.emitUniform(op);
    return success();
  }
  reader.note(op);
  if (score && score->forms.note(op))
    return success();
  for (Value operand : op->getOperands())
    lookup(operand);
  return emitter.emitElementwise(op);
}

void RegionCloner::cloneExtract(tensor::ExtractOp op) {
  if (Value shared =
          score && score->loads ? score->loads->lookup(op) : Value()) {
    emitter.values.map(op.getResult(), shared);
    return;
  }
  if (!score || !score->places || !score->places->contains(op)) {
    reader.read(op, [&](Value index) { return lookup(index); });
    return;
  }
  // Its indices were computed separately, as index.
  emitter.context.hasWideIndex |= emitter.hasWideScalars();
  Location loc = op.getLoc();
  Value element = memref::LoadOp::create(
      emitter.builder, loc, lookup(op.getTensor()), score->places->at(op));
  // Broadcast to a tile: scalars are assumed to be uniform over all blocks.
  emitter.values.map(op.getResult(), emitter.tiles.toFullTile(loc, element));
}

/// If indices depend on relative positions alone, they are tiles per relative
/// position, even if they are cheap: pairs are then reduced per relative
/// position first.
FailureOr<SmallVector<Value>> RegionCloner::getPlace(attn::ContributeOp op) {
  RegionValues &values = emitter.values;
  bool isByDistance = score && score->diagonals &&
                      llvm::all_of(op.getIndices(), [&](Value index) {
                        return values.isUniform(index) ||
                               score->dependences.isByDistance(index);
                      });
  SmallVector<Value> indices;
  for (Value index : op.getIndices()) {
    if (values.isUniform(index)) {
      indices.push_back(emitter.asIndex(index));
      continue;
    }
    if (!isByDistance) {
      indices.push_back(lookup(index));
      continue;
    }
    FailureOr<Value> diagonals = score->diagonals->get(index);
    if (failed(diagonals))
      return failure();
    indices.push_back(makeOfDiagonals(index, *diagonals));
  }
  // A tensor without dimensions is one element.
  if (indices.empty())
    indices.push_back(
        arith::ConstantIndexOp::create(emitter.builder, op.getLoc(), 0));
  return indices;
}

/// Adds to memory at each pair's indices. The lowering combines pairs with
/// equal indices.
LogicalResult RegionCloner::cloneContribute(attn::ContributeOp op) {
  if (!emitter.context.contributions)
    return success();
  const Contributions &contributions = *emitter.context.contributions;
  for (auto [number, share] : llvm::enumerate(contributions.taken))
    if (share.op == op)
      takeShare(number);
  if (contributions.targets.empty())
    return success();
  Location loc = op.getLoc();
  unsigned number = cast<BlockArgument>(op.getTarget()).getArgNumber();
  Value target = contributions.targets[number - getCoordinates().size()];
  FailureOr<SmallVector<Value>> place = getPlace(op);
  if (failed(place))
    return failure();
  addToSums(emitter.builder, loc,
            emitter.tiles.toFullTile(loc, lookup(op.getValue())), target,
            *place, contributions.counts);
  return success();
}

/// Pairs that do not count contribute 0.
void RegionCloner::takeShare(unsigned number) {
  const Contributions &contributions = *emitter.context.contributions;
  auto [op, value] = contributions.taken[number];
  Location loc = op.getLoc();
  Value share = emitter.tiles.toFullTile(loc, lookup(value));
  if (!isFiniteMultiple(value, getGradient())) {
    OpBuilder &b = emitter.builder;
    auto zero = DenseElementsAttr::get(cast<ShapedType>(share.getType()), 0.0f);
    share = arith::SelectOp::create(b, loc, contributions.counts, share,
                                    arith::ConstantOp::create(b, loc, zero));
  }
  contributions.take(number, share);
}

LogicalResult
RegionCloner::clonePlaces(ArrayRef<attn::ContributeOp> contributions) {
  score.emplace(region, emitter);
  // The first two arguments are the score and the derivative.
  mapPlaces(2);
  mapCaptures();
  addCoordinates();
  BackwardSliceOptions slice;
  slice.inclusive = slice.omitBlockArguments = true;
  llvm::SetVector<Operation *> needed;
  for (attn::ContributeOp op : contributions)
    for (Value index : op.getIndices())
      (void)getBackwardSlice(index, &needed, slice);
  return cloneSlice(needed);
}

LogicalResult
RegionCloner::cloneSlice(const llvm::SetVector<Operation *> &needed) {
  for (Operation &op : region.front())
    if (needed.contains(&op) && failed(cloneOp(&op)))
      return failure();
  return success();
}

LogicalResult
RegionCloner::cloneSharedSums(ArrayRef<attn::ContributeOp> contributions,
                              ArrayRef<Share> shares, ValueRange sums) {
  mapPlaces(2);
  mapCaptures();
  addCoordinates();
  llvm::SmallDenseSet<Value> summed;
  for (auto [share, sum] : llvm::zip_equal(shares, sums)) {
    emitter.values.map(share.value, sum);
    summed.insert(share.value);
  }
  BackwardSliceOptions slice;
  slice.inclusive = slice.omitBlockArguments = true;
  slice.filter = [&](Operation *op) {
    return op->getNumResults() != 1 || !summed.contains(op->getResult(0));
  };
  llvm::SetVector<Operation *> needed;
  for (attn::ContributeOp op : contributions) {
    for (Value index : op.getIndices())
      (void)getBackwardSlice(index, &needed, slice);
    if (!summed.contains(op.getValue()))
      (void)getBackwardSlice(op.getValue(), &needed, slice);
  }
  return cloneSlice(needed);
}

/// True if the value is a tile whose indices are coordinates, each at most
/// once, or shared by adjacent keys.
static bool isTileLoad(tensor::ExtractOp op,
                       const RegionDependences &dependences,
                       BlockArgument key) {
  unsigned queries = 0, keys = 0, groups = 0;
  for (Value index : op.getIndices()) {
    if (dependences.isUniform(index))
      continue;
    if (dependences.isShifted(index, RegionDependences::OnQuery))
      ++queries;
    else if (dependences.isShifted(index, RegionDependences::OnKey))
      ++keys;
    else if (getKeyChunk(index, key))
      ++groups;
    else
      return false;
  }
  return queries <= 1 && keys + groups <= 1 && queries + keys >= 1;
}

FailureOr<SharedLoads> RegionCloner::cloneTileLoads() {
  mapPlaces(1);
  mapCaptures();
  addCoordinates();
  RegionDependences dependences(region, emitter.context.captures.size(),
                                getBlockRows(emitter.context));
  BackwardSliceOptions slice;
  slice.inclusive = slice.omitBlockArguments = true;
  llvm::SetVector<Operation *> needed;
  SmallVector<tensor::ExtractOp> extracts;
  for (auto extract : region.front().getOps<tensor::ExtractOp>())
    if (isTileLoad(extract, dependences, getCoordinates().back())) {
      extracts.push_back(extract);
      (void)getBackwardSlice(extract.getOperation(), &needed, slice);
    }
  if (failed(cloneSlice(needed)))
    return failure();
  SharedLoads loads;
  for (tensor::ExtractOp extract : extracts)
    loads.try_emplace(extract, lookup(extract.getResult()));
  return loads;
}

/// Loads a block min/max from its buffer.
template <typename OpTy>
void RegionCloner::cloneBlockMinMax(OpTy op) {
  const RegionContext &context = emitter.context;
  OpBuilder &b = emitter.builder;
  SmallVector<Value> others = llvm::map_to_vector(
      op.getIndices(), [&](Value index) { return emitter.asIndex(index); });
  if (op.isOverQueries() == context.rowsAreKeys) {
    emitter.values.map(op.getResult(), context.minMaxBuffers->emitOfCandidates(
                                           b, op, others, candidates->number,
                                           tile::BallotOp::kColumns));
    return;
  }
  Value tile = arith::DivUIOp::create(
      b, op.getLoc(), context.rowsAreKeys ? context.key : context.row,
      arith::ConstantIndexOp::create(b, op.getLoc(), context.rows));
  emitter.values.map(op.getResult(),
                     context.minMaxBuffers->emitOfBlock(b, op, others, tile));
}

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

FailureOr<AffineScore> RegionToTile::cloneScoreMod(Region &region,
                                                   AffineScore score,
                                                   OpBuilder &invariant) {
  RegionCloner cloner(builder, invariant, context, region);
  cloner.followSums(std::move(score), /*others=*/{}, places, loads);
  if (failed(cloner.cloneBody()))
    return failure();
  return cloner.getForm();
}

FailureOr<SharedLoads> RegionToTile::emitSharedLoads(Region &region,
                                                     OpBuilder &invariant) {
  return RegionCloner(builder, invariant, context, region).cloneTileLoads();
}

FailureOr<SmallVector<Value>>
RegionToTile::cloneScoreGradient(Region &region, AffineScore score,
                                 Value gradient, OpBuilder &invariant) {
  RegionCloner cloner(builder, invariant, context, region);
  cloner.followSums(std::move(score), gradient);
  if (failed(cloner.cloneBody()))
    return failure();
  return cloner.getFullTiles();
}

FailureOr<SmallVector<SmallVector<Value>>>
RegionToTile::cloneContributionPlaces(
    Region &region, ArrayRef<attn::ContributeOp> contributions) {
  RegionCloner cloner(builder, builder, context, region);
  if (failed(cloner.clonePlaces(contributions)))
    return failure();
  SmallVector<SmallVector<Value>> places;
  for (attn::ContributeOp op : contributions) {
    FailureOr<SmallVector<Value>> place = cloner.getPlace(op);
    if (failed(place))
      return failure();
    places.push_back(std::move(*place));
  }
  return places;
}

FailureOr<SmallVector<SharedSum>>
RegionToTile::cloneSharedSums(Region &region,
                              ArrayRef<attn::ContributeOp> contributions,
                              ArrayRef<Share> shares, ValueRange sums) {
  RegionCloner cloner(builder, builder, context, region);
  if (failed(cloner.cloneSharedSums(contributions, shares, sums)))
    return failure();
  SmallVector<SharedSum> found;
  for (attn::ContributeOp op : contributions) {
    FailureOr<SmallVector<Value>> place = cloner.getPlace(op);
    if (failed(place))
      return failure();
    found.push_back({cloner.getAdded(op), std::move(*place)});
  }
  return found;
}

FailureOr<Value> RegionToTile::cloneMaskMod(Region &region) {
  RegionCloner cloner(builder, builder, context, region);
  cloner.mapPlaces();
  if (failed(cloner.cloneBody()))
    return failure();
  return cloner.getFullTiles().front();
}

FailureOr<SmallVector<Value>>
RegionToTile::cloneScalars(Region &region, ArrayRef<Value> arguments) {
  RegionCloner cloner(builder, builder, context, region);
  cloner.mapArguments(arguments);
  if (failed(cloner.cloneBody()))
    return failure();
  return cloner.getScalars();
}

FailureOr<std::pair<Value, Value>>
RegionToTile::cloneClassify(Region &region, Value last,
                            const BlockCandidates &candidates) {
  SmallVector<Value> values = {context.batch, context.head};
  if (context.rowsAreKeys)
    llvm::append_values(values, candidates.first, candidates.last, context.key,
                        last);
  else
    llvm::append_values(values, context.row, last, candidates.first,
                        candidates.last);
  RegionCloner cloner(builder, builder, context, region);
  cloner.setCandidates(candidates);
  cloner.mapArguments(values);
  if (failed(cloner.cloneBody()))
    return failure();
  return std::pair(cloner.getResult(0), cloner.getResult(1));
}
