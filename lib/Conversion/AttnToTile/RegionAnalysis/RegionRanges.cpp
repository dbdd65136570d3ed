//===- RegionRanges.cpp - Ranges of region integers -----------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RegionAnalysis/RegionRanges.h"

#include "fovea/Dialect/Attn/IR/Attn.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <limits>

using namespace mlir;
using namespace fovea;

RegionRanges::RegionRanges(Region &region, unsigned captures, int64_t past) {
  constexpr int64_t kMaxLength = attn::AttentionOpInterface::kMaxSequenceLength;
  auto coordinates = region.getArguments().drop_back(captures);
  for (BlockArgument argument : coordinates) {
    if (!argument.getType().isIndex())
      continue;
    bool isOfScore = argument.getArgNumber() + 2 >= coordinates.size();
    set(argument, 0, kMaxLength + (isOfScore ? past : 0));
  }
  for (auto dim : region.front().getOps<tensor::DimOp>())
    set(dim, 0, std::numeric_limits<int32_t>::max());
  // In order: on demand, a long region would be a deep recursion.
  for (Operation &op : region.front().without_terminator())
    for (Value result : op.getResults())
      if (result.getType().isIntOrIndex())
        (void)fitsI32(result);
}
