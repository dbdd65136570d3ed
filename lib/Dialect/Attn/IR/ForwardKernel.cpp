//===- ForwardKernel.cpp - Kernel interface of attn.forward ---------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VariantOp.h"

using namespace mlir;
using namespace fovea::attn;

std::string ForwardOp::getOperandName(unsigned index) {
  static constexpr StringRef kNames[] = {"q", "k", "v"};
  if (index < getNumTensors())
    return kNames[index].str();
  return index < getFirstVariantOperand()
             ? getScaleOperandName(index - getNumTensors())
             : getVariantOperandName(*this, index);
}

std::string ForwardOp::getResultName(unsigned index) {
  return index == 0 ? "o" : "lse";
}

/// A batch entry is a sequence. Extents of 1 are broadcast and have names of
/// their own.
static SmallVector<std::string> getScaleDims(ForwardOp op, unsigned index) {
  SequencePlaces places = op.getSequence().getPlaces();
  std::string batch = getQueryBatchName(op);
  if (places.packsQueries() || places.page)
    batch = "sequences";
  auto type = cast<RankedTensorType>(op.getOperand(index).getType());
  SmallVector<std::string> dims = {batch, "Hkv", "Dv"};
  dims.truncate(type.getRank());
  for (int64_t dim = 0; dim < 2; ++dim)
    if (type.getDimSize(dim) == 1 || (dim == 0 && batch == "sequences"))
      dims[dim] = op.getOperandName(index) + "." + std::to_string(dim);
  return dims;
}

SmallVector<std::string> ForwardOp::getOperandDimNames(unsigned index) {
  if (index < getNumTensors())
    return getSequenceTensorDims(*this, index);
  return index < getFirstVariantOperand() ? getScaleDims(*this, index)
                                          : getVariantOperandDims(*this, index);
}

SmallVector<std::string> ForwardOp::getResultDimNames(unsigned index) {
  if (index == 1)
    return {getQueryBatchName(*this), "Hq", "Sq"};
  SmallVector<std::string> dims = {getQueryBatchName(*this), "Hq", "Sq", "Dv"};
  if (getLayout() == Layout::BSHD)
    std::swap(dims[1], dims[2]);
  return dims;
}

SmallVector<int64_t> ForwardOp::getOperandMemoryOrder(unsigned index) {
  return getMemoryOrder(*this, getOperand(index).getType(),
                        index < getNumTensors());
}

SmallVector<int64_t> ForwardOp::getResultMemoryOrder(unsigned index) {
  return getMemoryOrder(*this, getResult(index).getType(), index == 0);
}

bool ForwardOp::isOperandCopied(unsigned index) {
  return index < getNumTensors();
}
bool ForwardOp::isResultCopied(unsigned index) { return index == 0; }

WorkDims ForwardOp::getWorkDims() {
  WorkDims dims = {"B", "Hq", "Sq", "Hkv", "", "Skv"};
  SequencePlaces places = getSequence().getPlaces();
  if (places.page) {
    dims.keys = places.getPagesDim();
    dims.keysOfElement = *places.page;
  }
  if (places.packsQueries())
    dims.sequences = getSequence().getOperandDims(0).front().str();
  return dims;
}

SmallVector<std::pair<std::string, std::string>> ForwardOp::getDimMultiples() {
  return {{"Hq", "Hkv"}};
}

SmallVector<std::pair<std::string, std::string>> ForwardOp::getDimSuccessors() {
  SequencePlaces places = getSequence().getPlaces();
  // Offsets of queries and of lists of pages have the same size.
  std::optional<unsigned> offsets =
      places.pageOffsets ? places.pageOffsets : places.queryOffsets;
  if (!offsets || places.packsKeys())
    return {};
  return {{getSequence().getOperandDims(*offsets).front().str(), "B"}};
}

SmallVector<std::pair<std::string, int64_t>> ForwardOp::getDimLimits() {
  return getVariantLimits(*this);
}
SmallVector<DimCover> ForwardOp::getDimCovers() {
  return getVariantCovers(*this);
}
SmallVector<std::string> ForwardOp::getNonEmptyDims() {
  return getVariantNonEmptyDims(*this);
}
SmallVector<Contents> ForwardOp::getContents() {
  return getVariantContents(*this);
}
