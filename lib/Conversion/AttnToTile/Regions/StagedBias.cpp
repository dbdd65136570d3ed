//===- StagedBias.cpp - Bias tiles in shared memory -----------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Regions/StagedBias.h"

#include "RegionAnalysis/RegionDependences.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fovea;

static bool isBox(tensor::ExtractOp extract, RegionDependences &dependences) {
  Type element = extract.getType();
  if (!element.isF16() && !element.isBF16())
    return false;
  auto indices = extract.getIndices();
  if (indices.size() < 2 ||
      !dependences.isShifted(indices.back(), RegionDependences::OnKey))
    return false;
  unsigned queries = 0;
  for (Value index : indices.drop_back()) {
    if (dependences.isUniform(index))
      continue;
    if (!dependences.isShifted(index, RegionDependences::OnQuery))
      return false;
    ++queries;
  }
  return queries == 1;
}

StagedBias fovea::findScoreBoxes(attn::ForwardOp op) {
  StagedBias boxes;
  Region &scoreMod = op.getScoreMod();
  if (scoreMod.empty())
    return boxes;
  RegionDependences dependences(scoreMod, op.getCaptures().size());
  llvm::SmallSetVector<unsigned, 4> captures;
  for (auto extract : scoreMod.front().getOps<tensor::ExtractOp>()) {
    auto tensor = dyn_cast<BlockArgument>(extract.getTensor());
    if (!tensor || !isBox(extract, dependences))
      continue;
    captures.insert(tensor.getArgNumber() -
                    attn::ForwardOp::kScoreModArguments);
    boxes.bits += extract.getType().getIntOrFloatBitWidth();
  }
  boxes.captures = captures.takeVector();
  llvm::sort(boxes.captures);
  return boxes;
}
