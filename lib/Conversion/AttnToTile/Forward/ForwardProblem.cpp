//===- ForwardProblem.cpp - Schedule problem of a forward op --------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Forward/ForwardProblem.h"

#include "RegionAnalysis/RegionDependences.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fovea;

// Most queries per head for PackGQA. The rows of any tile are a multiple.
static constexpr int64_t kMaxPackedQueries = 16;
// Most heads of a query that are adjacent rows: rows of an MMA fragment.
static constexpr int64_t kMaxAdjacentHeads = 16;

bool fovea::boundsAskForHead(attn::ForwardOp op) {
  Region &bounds = op.getKvBounds();
  return !bounds.empty() && !bounds.getArgument(1).use_empty();
}

PackedHeads fovea::findPackedHeads(attn::ForwardOp op) {
  int64_t heads = op.getQueryType().getDimSize(op.getHeadDim()),
          keyHeads = op.getKeyType().getDimSize(op.getHeadDim());
  if (ShapedType::isDynamic(heads) || ShapedType::isDynamic(keyHeads) ||
      op.getDropoutAttr() || op.hasBlocks() || boundsAskForHead(op))
    return {};
  attn::SequencePlaces places = op.getSequence().getPlaces();
  int64_t group = heads / keyHeads;
  if (places.packsQueries()) {
    // Each tile, and each part of it that is stored alone, has whole queries.
    if (places.packsKeys() || group == 1 || group > kMaxAdjacentHeads)
      return {};
    return {group, places.mostQueries, /*areAdjacent=*/true};
  }
  int64_t queries = op.getQueryType().getDimSize(op.getSequenceDim());
  if (ShapedType::isDynamic(queries) || queries < 1 ||
      queries > kMaxPackedQueries)
    return {};
  return {group, int64_t(llvm::PowerOf2Ceil(queries))};
}

bool fovea::picksBlocks(attn::ForwardOp op) {
  return !op.getKvBounds().empty() || !op.getKvClassify().empty() ||
         op.hasBlocks();
}

bool fovea::canClassify(attn::ForwardOp op, PackedHeads heads) {
  return !heads && !op.getKvClassify().empty();
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

/// True if a region reads captured tensors at indices that depend on both query
/// and key.
static bool loadsPerScore(Region &region, unsigned captures) {
  if (region.empty())
    return false;
  RegionDependences dependences(region, captures);
  BlockArgument key = region.getArguments().drop_back(captures).back();
  // Values shared by many keys are loaded once for all of them.
  auto isOfSingleKey = [&](Value index) {
    return (dependences.of(index) & RegionDependences::OnKey) &&
           !getKeyChunk(index, key);
  };
  return llvm::any_of(region.front().getOps<tensor::ExtractOp>(),
                      [&](tensor::ExtractOp extract) {
                        return dependences.isByScore(extract) &&
                               llvm::any_of(extract.getIndices(),
                                            isOfSingleKey);
                      });
}

/// The largest number of adjacent keys that share one value read by the region;
/// 1 if there are none.
static int64_t findKeyChunk(Region &region, unsigned captures) {
  int64_t most = 1;
  if (region.empty())
    return most;
  BlockArgument key = region.getArguments().drop_back(captures).back();
  for (auto extract : region.front().getOps<tensor::ExtractOp>())
    for (Value index : extract.getIndices())
      most = std::max(most, getKeyChunk(index, key).value_or(1));
  return most;
}

/// Bits of captured values that a region reads per key.
static int64_t countKeyBits(Region &region, unsigned captures) {
  int64_t bits = 0;
  if (region.empty())
    return bits;
  RegionDependences dependences(region, captures);
  BlockArgument key = region.getArguments().drop_back(captures).back();
  for (auto extract : region.front().getOps<tensor::ExtractOp>())
    if ((dependences.of(extract) & RegionDependences::OnKey) &&
        !dependences.isByScore(extract) &&
        llvm::none_of(extract.getIndices(),
                      [&](Value index) { return getKeyChunk(index, key); }))
      bits += extract.getType().getIntOrFloatBitWidth();
  return bits;
}

bool fovea::computesBoundsFromCaptures(attn::ForwardOp op) {
  // Sparse masks use fewer warp groups, which have registers for it.
  if (op.getKvBounds().empty() || op.isSparse())
    return false;
  Block &block = op.getKvBounds().front();
  llvm::DenseSet<Value> derived;
  derived.insert_range(block.getArguments().take_back(op.getCaptures().size()));
  for (Operation &bound : block.without_terminator()) {
    if (llvm::none_of(bound.getOperands(),
                      [&](Value operand) { return derived.contains(operand); }))
      continue;
    derived.insert_range(bound.getResults());
    // Values that are only compared or selected remain narrow.
    if (!isa<tensor::ExtractOp, arith::IndexCastOp, arith::IndexCastUIOp,
             arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, arith::CmpIOp,
             arith::SelectOp, arith::MinSIOp, arith::MaxSIOp, arith::MinUIOp,
             arith::MaxUIOp>(bound))
      return true;
  }
  return false;
}

/// Describes the reads of score_mod and mask_mod.
static void describeRegions(attn::ForwardOp op, ScheduleProblem &problem) {
  unsigned captures = op.getCaptures().size();
  for (Region *region : {&op.getScoreMod(), &op.getMaskMod()}) {
    problem.keyBits += countKeyBits(*region, captures);
    problem.keyChunk =
        std::max(problem.keyChunk, findKeyChunk(*region, captures));
    problem.loadsPerScore |= loadsPerScore(*region, captures);
  }
}

ScheduleProblem fovea::makeForwardProblem(attn::ForwardOp op,
                                          const KernelOptions &options,
                                          const StagedBias &boxes,
                                          PackedHeads heads) {
  Type element = op.getQueryType().getElementType();
  auto getBits = [](RankedTensorType type) -> int64_t {
    return type.getElementTypeBitWidth();
  };
  StreamBits bits{getBits(op.getQueryType()), getBits(op.getKeyType()),
                  getBits(op.getValueType()), getBits(op.getQueryType())};
  // The output of 8-bit Q has another width than Q. Outputs of f32 from 16-bit
  // Q are not staged in shared memory.
  if (bits.query < 16)
    bits.output = getBits(op.getOutputType());
  ScheduleProblem problem{options.target, bits,
                          options.padHeadDim(op.getQueryType()),
                          options.padHeadDim(op.getValueType())};
  attn::SequencePlaces keys = op.getSequence().getPlaces();
  problem.endsEarly = !keys.hasAllKeys();
  problem.packed = keys.packsQueries();
  problem.uneven = picksBlocks(op) || problem.endsEarly;
  problem.wideExponent = !element.isF16();
  problem.invariant = op.getInvariant();
  problem.lse = static_cast<bool>(op.getLse());
  problem.scoreBits = boxes.bits;
  problem.rows = heads.getRows();
  int64_t keyHeads = op.getKeyType().getDimSize(op.getHeadDim());
  problem.keyHeads = ShapedType::isDynamic(keyHeads) ? 0 : keyHeads;
  if (keys.packsQueries() && !heads)
    problem.rows = keys.mostQueries;
  problem.fewRows =
      keys.packsQueries() && !keys.packsKeys() && problem.rows == 0;
  problem.classifies = canClassify(op, heads);
  problem.sparse = op.isSparse();
  problem.blocksByCaptures =
      computesBoundsFromCaptures(op) ||
      (problem.classifies &&
       llvm::any_of(op.getKvClassify().getOps(),
                    llvm::IsaPred<attn::BlockMinOp, attn::BlockMaxOp>));
  problem.scoreMod = !op.getScoreMod().empty();
  problem.dropout = static_cast<bool>(op.getDropoutAttr());
  describeRegions(op, problem);
  if (op.hasBlocks()) {
    problem.queryBlock = op.getQueryBlock();
    problem.keyBlock = op.getKeyBlock();
  }
  problem.page = keys.page.value_or(0);
  return problem;
}
