//===- CapturedSizes.cpp - Sizes of captured tensors ----------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Derives lower bounds of captured tensors' sizes from their accesses. If a
// mask hides an access, the tensor may be shorter than the coordinate's range.
// Therefore only unmasked accesses count: those of mask_mod, and those of
// score_mod without a mask. Accesses by batch entry and head always count,
// since masks do not hide whole entries or heads.
//
//===----------------------------------------------------------------------===//

#include "CapturedSizes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fovea::attn;

namespace {
/// A coordinate of the regions, in argument order.
struct Coordinate {
  StringRef name, size;
  /// The number of its values according to the types.
  int64_t extent;
};

/// A dimension that is accessed at all values of a coordinate.
struct Read {
  tensor::ExtractOp extract;
  unsigned capture;
  int64_t dim;
  Coordinate at;
};
} // namespace

/// The coordinates with the size that bounds each; no size if it depends on
/// data.
static SmallVector<Coordinate> getCoordinates(AttentionOpInterface op) {
  RankedTensorType query = op.getQueryType(), key = op.getKeyType();
  SequencePlaces keys = op.getSequence().getPlaces();
  int64_t s = op.getSequenceDim();
  // Sequences are batch entries of the queries, or else of the keys.
  int64_t batch = query.getDimSize(0);
  if (keys.packsQueries())
    batch = keys.sharesBatch() || keys.page ? ShapedType::kDynamic
                                            : key.getDimSize(0);
  return {{"batch entry", keys.packsKeys() ? "" : "B", batch},
          {"query head", "Hq", query.getDimSize(op.getHeadDim())},
          {"query", keys.packsQueries() ? "" : "Sq", query.getDimSize(s)},
          {"key", keys.hasAllKeys() ? "Skv" : "", key.getDimSize(s)}};
}

static void findReads(AttentionOpInterface op, Region &region, bool isHidden,
                      SmallVectorImpl<Read> &reads) {
  if (region.empty())
    return;
  unsigned captures = op.getCaptures().size();
  auto arguments = region.getArguments().drop_back(captures);
  auto coordinates =
      arguments.take_back(AttentionOpInterface::kMaskModArguments);
  SmallVector<Coordinate> all = getCoordinates(op);
  constexpr unsigned kQuery = 2;
  for (auto extract : region.front().getOps<tensor::ExtractOp>()) {
    auto tensor = dyn_cast<BlockArgument>(extract.getTensor());
    if (!tensor || tensor.getArgNumber() < arguments.size())
      continue;
    for (auto [dim, index] : llvm::enumerate(extract.getIndices())) {
      unsigned place = llvm::find(coordinates, index) - coordinates.begin();
      if (place == all.size() || all[place].size.empty() ||
          (isHidden && place >= kQuery))
        continue;
      unsigned capture = tensor.getArgNumber() - arguments.size();
      reads.push_back({extract, capture, int64_t(dim), all[place]});
    }
  }
}

static SmallVector<Read> findReads(AttentionOpInterface op) {
  SmallVector<Read> reads;
  bool hides = !op.getMaskMod().empty() || op.hasBlocks();
  findReads(op, op.getScoreMod(), hides, reads);
  findReads(op, op.getMaskMod(), /*isHidden=*/false, reads);
  return reads;
}

static int64_t getExtent(AttentionOpInterface op, const Read &read) {
  auto type = cast<RankedTensorType>(op.getCaptures()[read.capture].getType());
  return type.getDimSize(read.dim);
}

SmallVector<DimCover> fovea::attn::getCapturedCovers(AttentionOpInterface op) {
  SmallVector<DimCover> covers;
  for (const Read &read : findReads(op)) {
    if (!ShapedType::isDynamic(getExtent(op, read)) &&
        !ShapedType::isDynamic(read.at.extent))
      continue;
    std::string dim =
        op.getCaptureName(read.capture) + "." + std::to_string(read.dim);
    if (llvm::none_of(covers, [&](const DimCover &known) {
          return known.dim == dim && known.of == read.at.size;
        }))
      covers.push_back({dim, /*block=*/1, read.at.size.str()});
  }
  return covers;
}

LogicalResult fovea::attn::verifyCapturedSizes(AttentionOpInterface op) {
  for (const Read &read : findReads(op)) {
    int64_t extent = getExtent(op, read);
    if (ShapedType::isDynamic(extent) ||
        ShapedType::isDynamic(read.at.extent) || extent >= read.at.extent)
      continue;
    return read.extract->emitOpError()
           << "reads dimension " << read.dim << " of "
           << op.describeCapture(read.capture) << " at the " << read.at.name
           << ": expected a size of at least " << read.at.extent << ", found "
           << op.getCaptures()[read.capture].getType();
  }
  return success();
}
