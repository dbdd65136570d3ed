//===- VariantKernel.cpp - Kernel interface of attention ops --------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CapturedSizes.h"
#include "VariantOp.h"

using namespace mlir;
using namespace fovea::attn;

namespace {
/// Indices of the first operand of each operand group.
struct Groups {
  explicit Groups(AttentionOpInterface op)
      : captures(op.getFirstCapture()),
        sequence(captures + op.getCaptures().size()),
        weights(sequence + op.getSequenceOperands().size()),
        queryLists(op->getNumOperands() - op.getQueryBlockLists().size()),
        lists(queryLists - op.getBlockLists().size()) {}

  unsigned captures, sequence, weights, queryLists, lists;
};
} // namespace

std::string fovea::attn::getVariantOperandName(AttentionOpInterface op,
                                               unsigned index) {
  Groups first(op);
  if (index < first.captures)
    return "scale";
  if (index < first.sequence)
    return op.getCaptureName(index - first.captures);
  if (index < first.weights)
    return op.getSequence().getOperandNames()[index - first.sequence].str();
  if (index >= first.queryLists)
    return op.getQueryBlockListName(index - first.queryLists).str();
  if (index >= first.lists)
    return op.getBlockListName(index - first.lists).str();
  if (op.getSinks() && index == first.weights)
    return "sinks";
  return index + 1 == first.lists ? "dropout_offset" : "dropout_seed";
}

SmallVector<std::string>
fovea::attn::getVariantOperandDims(AttentionOpInterface op, unsigned index) {
  Groups first(op);
  if (index >= first.queryLists)
    return op.getQueryBlockListDims(index - first.queryLists);
  if (index >= first.lists)
    return op.getBlockListDims(index - first.lists);
  SmallVector<std::string> dims;
  if (index >= first.sequence && index < first.weights) {
    for (StringRef dim :
         op.getSequence().getOperandDims(index - first.sequence))
      dims.push_back(dim.str());
    return dims;
  }
  if (op.getSinks() && index == first.weights)
    return {"Hq"};
  std::string name = getVariantOperandName(op, index);
  auto tensor = dyn_cast<RankedTensorType>(op->getOperand(index).getType());
  for (int64_t dim = 0; tensor && dim < tensor.getRank(); ++dim)
    dims.push_back(name + "." + std::to_string(dim));
  return dims;
}

std::string fovea::attn::getQueryBatchName(AttentionOpInterface op) {
  // Sequences of packed queries are counted by their keys' batch entries.
  SequencePlaces places = op.getSequence().getPlaces();
  return places.packsQueries() && !places.packsKeys() ? "Bq" : "B";
}

SmallVector<std::string>
fovea::attn::getSequenceTensorDims(AttentionOpInterface op, unsigned which) {
  bool isQuery = which == 0,
       paged = op.getSequence().getPlaces().page.has_value();
  SmallVector<std::string> dims = {
      isQuery ? getQueryBatchName(op) : (paged ? "pages" : "B"),
      isQuery ? "Hq" : "Hkv", isQuery ? "Sq" : (paged ? "page" : "Skv"),
      which == 2 ? "Dv" : "D"};
  if (op.getLayout() == Layout::BSHD)
    std::swap(dims[1], dims[2]);
  return dims;
}

SmallVector<int64_t> fovea::attn::getMemoryOrder(AttentionOpInterface op,
                                                 Type type, bool isHeads) {
  if (isHeads && op.getLayout() == Layout::BSHD)
    return {0, 2, 1, 3};
  auto tensor = dyn_cast<RankedTensorType>(type);
  return llvm::to_vector(llvm::seq<int64_t>(0, tensor ? tensor.getRank() : 0));
}

SmallVector<std::pair<std::string, int64_t>>
fovea::attn::getVariantLimits(AttentionOpInterface op) {
  constexpr int64_t kLongest = AttentionOpInterface::kMaxSequenceLength;
  SequencePlaces keys = op.getSequence().getPlaces();
  SmallVector<std::pair<std::string, int64_t>> limits;
  if (keys.packsQueries())
    limits.emplace_back(getQueryBatchName(op), 1);
  limits.emplace_back("Sq", kLongest);
  if (keys.page)
    limits.emplace_back(keys.getPagesDim(), kLongest / *keys.page);
  else
    limits.emplace_back("Skv", kLongest);
  llvm::append_range(limits, getBlockListLimits(op));
  return limits;
}

SmallVector<std::string>
fovea::attn::getVariantNonEmptyDims(AttentionOpInterface op) {
  SmallVector<std::string> dims = getBlockListRows(op);
  // Kernels read an entry of the table and clamp it to an existing page, also
  // for a batch entry without keys.
  SequencePlaces places = op.getSequence().getPlaces();
  if (places.page)
    dims.append({"pages", places.getPagesDim().str()});
  return dims;
}

SmallVector<DimCover> fovea::attn::getVariantCovers(AttentionOpInterface op) {
  SmallVector<DimCover> covers = getCapturedCovers(op);
  if (op.hasBlocks())
    covers.push_back({"Qblocks", op.getQueryBlock(), "Sq"});
  if (op.hasQueryBlocks())
    covers.push_back({"Kblocks", op.getKeyBlock(), "Skv"});
  return covers;
}
