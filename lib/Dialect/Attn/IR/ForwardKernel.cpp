//===- ForwardKernel.cpp - attn.forward as a kernel -------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CapturedSizes.h"

using namespace mlir;
using namespace fovea::attn;

std::string ForwardOp::getOperandName(unsigned index) {
  static constexpr StringRef kNames[] = {"q", "k", "v"};
  if (index < 3)
    return kNames[index].str();
  if (getScaleValue() && index == 3)
    return "scale";
  unsigned firstCapture = 3 + (getScaleValue() ? 1 : 0);
  unsigned firstSequence = firstCapture + getCaptures().size();
  if (index < firstSequence)
    return ("capture" + Twine(getCaptureNumber(index - firstCapture))).str();
  unsigned firstWeights = firstSequence + getSequenceOperands().size();
  if (index < firstWeights)
    return getSequence().getOperandNames()[index - firstSequence].str();
  unsigned firstList = getNumOperands() - getBlockLists().size();
  if (index >= firstList)
    return getBlockListName(index - firstList).str();
  if (getSinks() && index == firstWeights)
    return "sinks";
  return index + 1 == firstList ? "dropout_offset" : "dropout_seed";
}

std::string ForwardOp::getResultName(unsigned index) {
  return index == 0 ? "o" : "lse";
}

SmallVector<std::string> ForwardOp::getOperandDimNames(unsigned index) {
  std::string name = getOperandName(index);
  if (index < 3) {
    bool isQuery = index == 0,
         paged = getSequence().getKeyPlaces().page.has_value();
    SmallVector<std::string> dims = {
        !isQuery && paged ? "pages" : "B", isQuery ? "Hq" : "Hkv",
        isQuery ? "Sq" : (paged ? "page" : "Skv"), index == 2 ? "Dv" : "D"};
    if (getLayout() == Layout::BSHD)
      std::swap(dims[1], dims[2]);
    return dims;
  }
  if (name == "sinks")
    return {"Hq"};
  unsigned firstList = getNumOperands() - getBlockLists().size();
  if (index >= firstList)
    return getBlockListDims(index - firstList);
  unsigned firstSequence = 3 + (getScaleValue() ? 1 : 0) + getCaptures().size();
  SmallVector<std::string> dims;
  if (index >= firstSequence &&
      index < firstSequence + getSequenceOperands().size()) {
    for (StringRef dim : getSequence().getOperandDims(index - firstSequence))
      dims.push_back(dim.str());
    return dims;
  }
  auto tensor = dyn_cast<RankedTensorType>(getOperand(index).getType());
  for (int64_t dim = 0; tensor && dim < tensor.getRank(); ++dim)
    dims.push_back(name + "." + std::to_string(dim));
  return dims;
}

SmallVector<std::string> ForwardOp::getResultDimNames(unsigned index) {
  if (index == 1)
    return {"B", "Hq", "Sq"};
  SmallVector<std::string> dims = {"B", "Hq", "Sq", "Dv"};
  if (getLayout() == Layout::BSHD)
    std::swap(dims[1], dims[2]);
  return dims;
}

SmallVector<int64_t> ForwardOp::getOperandMemoryOrder(unsigned index) {
  if (index < 3 && getLayout() == Layout::BSHD)
    return {0, 2, 1, 3};
  auto tensor = dyn_cast<RankedTensorType>(getOperand(index).getType());
  return llvm::to_vector(llvm::seq<int64_t>(0, tensor ? tensor.getRank() : 0));
}

SmallVector<int64_t> ForwardOp::getResultMemoryOrder(unsigned index) {
  if (index == 0 && getLayout() == Layout::BSHD)
    return {0, 2, 1, 3};
  return llvm::to_vector(llvm::seq<int64_t>(0, index == 0 ? 4 : 3));
}

bool ForwardOp::isOperandCopied(unsigned index) { return index < 3; }
bool ForwardOp::isResultCopied(unsigned index) { return index == 0; }

WorkDims ForwardOp::getWorkDims() {
  WorkDims dims = {"B", "Hq", "Sq", "Hkv", ""};
  if (getSequence().getKeyPlaces().arePacked)
    dims.sequences = getSequence().getOperandDims(0).front().str();
  return dims;
}

SmallVector<std::pair<std::string, std::string>> ForwardOp::getDimMultiples() {
  return {{"Hq", "Hkv"}};
}

SmallVector<std::pair<std::string, int64_t>> ForwardOp::getDimLimits() {
  KeyPlaces keys = getSequence().getKeyPlaces();
  if (keys.page)
    return {{"Sq", kMaxSequenceLength}};
  SmallVector<std::pair<std::string, int64_t>> limits;
  if (keys.arePacked)
    limits.emplace_back("B", 1);
  limits.emplace_back("Sq", kMaxSequenceLength);
  limits.emplace_back("Skv", kMaxSequenceLength);
  llvm::append_range(limits, getBlockListLimits());
  return limits;
}

SmallVector<DimCover> ForwardOp::getDimCovers() {
  SmallVector<DimCover> covers = getCapturedCovers(*this);
  if (hasBlocks())
    covers.push_back({"Qblocks", getQueryBlock(), "Sq"});
  return covers;
}
