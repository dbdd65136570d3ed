//===- CaptureGrads.cpp - Gradients summed over pairs or rows -------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CaptureGrads/CaptureGrads.h"

#include "CaptureGrads/GradPostprocess.h"
#include "Kernel/HelperKernels.h"
#include "RegionAnalysis/RegionDependences.h"

#include "fovea/Support/ExactSum.h"

using namespace mlir;
using namespace fovea;

bool fovea::needsScaleFromPairs(attn::BackwardOp op) {
  return op.getScaleGradient() && !op.getQueryGradient();
}

bool fovea::needsPairSums(attn::BackwardOp op) {
  return !op.getCaptureGradients().empty() || needsScaleFromPairs(op);
}

//===----------------------------------------------------------------------===//
// Kinds of sums
//===----------------------------------------------------------------------===//

/// True if within a block the index varies only with `kinds`.
static bool isPlaceBy(attn::ContributeOp add,
                      const RegionDependences &dependences, unsigned kinds) {
  kinds |= RegionDependences::Narrowed;
  return llvm::all_of(add.getIndices(), [&](Value index) {
    return (dependences.of(index) & ~kinds) == 0;
  });
}

static PairPlaces getPlaces(attn::ContributeOp add,
                            const RegionDependences &dependences) {
  if (isPlaceBy(add, dependences, RegionDependences::OnKey))
    return PairPlaces::Keys;
  if (isPlaceBy(add, dependences, RegionDependences::OnQuery))
    return PairPlaces::Queries;
  bool isByDistance = llvm::all_of(add.getIndices(), [&](Value index) {
    return dependences.isUniform(index) || dependences.isByDistance(index);
  });
  return isByDistance ? PairPlaces::Distances : PairPlaces::Pairs;
}

namespace {
/// The contributions of score_gradient to the gradient of one captured tensor.
class Contributions {
public:
  Contributions(attn::BackwardOp op, unsigned capture) : op(op) {
    Region &region = op.getScoreGradient();
    if (region.empty())
      return;
    auto arguments = region.getArguments().drop_back(op.getCaptures().size());
    coordinates = arguments.take_back(attn::ForwardOp::kMaskModArguments);
    BlockArgument target =
        region.getArguments().take_back(op.getCaptures().size())[capture];
    region.walk([&](attn::ContributeOp add) {
      if (add.getTarget() == target)
        ops.push_back(add);
    });
  }

  /// True if an element gets at most two contributions: their sum does not
  /// depend on the order.
  bool areFew() {
    constexpr size_t kMost = 2;
    return ops.size() <= kMost &&
           llvm::all_of(ops, [&](attn::ContributeOp add) {
             return llvm::all_of(coordinates, [&](Value coordinate) {
               return llvm::is_contained(add.getIndices(), coordinate);
             });
           });
  }
  /// True if indices vary with batch entry and head only: there are few
  /// elements, and a warp adds to them once per block.
  bool areOfHeads() { return !ops.empty() && areBy(/*kinds=*/0); }
  /// True if each pair has its own element, up to batch entry or head.
  bool areOfPairs() {
    if (ops.empty())
      return false;
    Value query = coordinates[2], key = coordinates[3];
    return llvm::any_of(ops, [&](attn::ContributeOp add) {
      return llvm::is_contained(add.getIndices(), query) &&
             llvm::is_contained(add.getIndices(), key);
    });
  }

private:
  /// True if within a block the indices vary only with `kinds`.
  bool areBy(unsigned kinds) {
    RegionDependences dependences(op.getScoreGradient(),
                                  op.getCaptures().size());
    return llvm::all_of(ops, [&](attn::ContributeOp add) {
      return isPlaceBy(add, dependences, kinds);
    });
  }

  attn::BackwardOp op;
  ArrayRef<BlockArgument> coordinates;
  SmallVector<attn::ContributeOp> ops;
};
} // namespace

/// The captured tensors whose gradients are needed, with the results.
static auto getGradients(attn::BackwardOp op) {
  return llvm::zip(op.getDifferentiated(), op.getCaptureGradients());
}

bool fovea::canTilesFindSums(attn::BackwardOp op) {
  if (needsScaleFromPairs(op) ||
      !getContributions(op, PairPlaces::Pairs).empty())
    return false;
  // Shares are streamed in the type of dS. If dS overflows f16, its MMA does,
  // too; shares have no such MMA.
  return !op.getQueryType().getElementType().isF16() ||
         getRelativeShares(op).empty();
}

/// The contributions for which `isWanted` holds, in the region's order.
static SmallVector<attn::ContributeOp>
filterContributions(attn::BackwardOp op,
                    function_ref<bool(PairPlaces)> isWanted) {
  Region &region = op.getScoreGradient();
  // The region is empty if score_mod reads no differentiated tensor.
  if (region.empty())
    return {};
  RegionDependences dependences(region, op.getCaptures().size());
  return llvm::filter_to_vector(region.getOps<attn::ContributeOp>(),
                                [&](attn::ContributeOp add) {
                                  return isWanted(getPlaces(add, dependences));
                                });
}

SmallVector<attn::ContributeOp> fovea::getContributions(attn::BackwardOp op,
                                                        PairPlaces places) {
  return filterContributions(op,
                             [&](PairPlaces found) { return found == places; });
}

SmallVector<attn::ContributeOp>
fovea::getReducedContributions(attn::BackwardOp op) {
  return filterContributions(op, [](PairPlaces found) {
    return found == PairPlaces::Distances || found == PairPlaces::Queries;
  });
}

SmallVector<attn::ContributeOp> fovea::getRelativeShares(attn::BackwardOp op) {
  SmallVector<attn::ContributeOp> shares = getReducedContributions(op);
  llvm::DenseSet<Value> known;
  llvm::erase_if(shares, [&](attn::ContributeOp add) {
    Operation *yield = op.getScoreGradient().front().getTerminator();
    return add.getValue() == yield->getOperand(0) ||
           !known.insert(add.getValue()).second;
  });
  return shares;
}

LogicalResult fovea::checkSums(attn::BackwardOp op) {
  if (!op.getDeterministic())
    return success();
  for (auto [position, gradient] : getGradients(op)) {
    Contributions contributions(op, position);
    if (!contributions.areFew() && contributions.areOfPairs())
      return op.emitError()
             << "'"
             << op.getResultName(cast<OpResult>(gradient).getResultNumber())
             << "' is to be deterministic, but its elements, one for each pair "
                "of query and key, are sums over batch entries or heads: "
                "expected a captured tensor indexed by both";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Adds a scratch argument with dimensions `dims` of an operand.
static unsigned declareOne(KernelBuilder &kb, attn::BackwardOp op,
                           Value gradient, unsigned operand,
                           ArrayRef<int64_t> dims, bool isExact) {
  SizeExpressions sizes(kb, operand);
  Builder &b = kb.builder;
  SmallVector<AffineExpr> extents;
  if (isExact)
    extents.push_back(b.getAffineConstantExpr(exactsum::kBins));
  for (int64_t dim : dims)
    extents.push_back(sizes.getSize(dim));
  if (dims.empty())
    extents.push_back(b.getAffineConstantExpr(1));
  std::string name =
      op.getResultName(cast<OpResult>(gradient).getResultNumber()) + "_sum";
  Type element = isExact ? Type(b.getI64Type()) : Type(b.getF32Type());
  return declareScratch(kb, name, sizes.getNames(), extents, element,
                        /*isZeroed=*/true);
}

CaptureGrads CaptureGrads::declare(KernelBuilder &kb, attn::BackwardOp op) {
  CaptureGrads sums(op);
  auto declare = [&](Value gradient, unsigned operand, ArrayRef<int64_t> dims,
                     bool isExact) {
    sums.memory.emplace_back(
        gradient, declareOne(kb, op, gradient, operand, dims, isExact));
  };
  for (auto [position, gradient] : getGradients(op)) {
    Contributions contributions(op, position);
    bool isExact = op.getDeterministic() ? !contributions.areFew()
                                         : contributions.areOfHeads();
    int64_t rank = cast<RankedTensorType>(gradient.getType()).getRank();
    declare(gradient, op.getFirstCapture() + position,
            llvm::to_vector(llvm::seq<int64_t>(0, rank)), isExact);
  }
  constexpr int64_t kHeadDim = 1;
  if (Value sinks = op.getSinksGradient())
    declare(sinks, /*operand=*/0, kHeadDim, /*isExact=*/true);
  if (Value scale = op.getScaleGradient())
    declare(scale, /*operand=*/0, {}, /*isExact=*/true);
  return sums;
}

Value CaptureGrads::getMemory(KernelBuilder &kb, Value gradient) const {
  for (auto [known, argument] : memory)
    if (known == gradient)
      return kb.kernel.getArgument(argument);
  return {};
}

SmallVector<Value> CaptureGrads::getCaptureMemory(KernelBuilder &kb) const {
  attn::BackwardOp backward = op;
  SmallVector<Value> targets(backward.getCaptures().size());
  for (auto [position, gradient] : getGradients(backward))
    targets[position] = getMemory(kb, gradient);
  return targets;
}

void fovea::addToSums(OpBuilder &b, Location loc, Value elements, Value sums,
                      ValueRange indices, Value counts, StringAttr name) {
  bool isExact = cast<MemRefType>(sums.getType()).getElementType().isInteger();
  tile::ScatterOp::create(b, loc, elements, sums, indices, counts, /*add=*/true,
                          isExact, name);
}

void CaptureGrads::emitRounding(const KernelBuilder &kb,
                                launch::AbiOp main) const {
  for (auto [gradient, argument] : memory)
    emitSumRounding(kb, main, cast<OpResult>(gradient), argument);
}
