//===- CacheHandlers.cpp - attn.merge ---------------------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Handlers of attn ops without regions, which serve attention over caches.
//
//===----------------------------------------------------------------------===//

#include "Attention/RowIndex.h"
#include "Elementwise.h"
#include "TileSupport.h"
#include "fovea/Interpreter/Handlers.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

#include <cmath>

using namespace mlir;
using namespace fovea;
using namespace fovea::interp;

//===----------------------------------------------------------------------===//
// MergeOp
//===----------------------------------------------------------------------===//

namespace {
/// The parts of a merge, operands or slices of a stacked pair.
template <typename T>
struct Parts {
  Parts(attn::MergeOp op, Frame &frame) {
    for (auto [output, lse] : llvm::zip(op.getOutputs(), op.getLses()))
      add(frame.getArray(output), frame.getArray(lse), op.isStacked());
  }

  /// The shapes of one part.
  SmallVector<int64_t, 4> shape, lseShape;
  SmallVector<const T *> outputs, lses;
  /// False if the parts have different shapes.
  bool areAlike = true;

private:
  void add(const Array &output, const Array &lse, bool isStacked) {
    ArrayRef<int64_t> sizes = output.getShape(), lseSizes = lse.getShape();
    int64_t count = isStacked ? sizes.front() : 1;
    areAlike &= !isStacked || lseSizes.front() == count;
    sizes = sizes.drop_front(isStacked),
    lseSizes = lseSizes.drop_front(isStacked);
    if (shape.empty()) {
      shape.assign(sizes.begin(), sizes.end());
      lseShape.assign(lseSizes.begin(), lseSizes.end());
    }
    areAlike &=
        ArrayRef<int64_t>(shape) == sizes &&
        ArrayRef<int64_t>(lseShape) == lseSizes &&
        computeProduct(lseSizes) * sizes.back() == computeProduct(sizes);
    for (int64_t part = 0; areAlike && part < count; ++part) {
      outputs.push_back(output.data<T>() + part * computeProduct(sizes));
      lses.push_back(lse.data<T>() + part * computeProduct(lseSizes));
    }
  }
};
} // namespace

/// Merges row `n` of the parts; `offset` is its position in an output.
template <typename T>
static T mergeRow(const Parts<T> &parts, int64_t n, int64_t offset,
                  MutableArrayRef<T> target) {
  llvm::fill(target, T(0));
  T largest = kNegativeInfinity<T>, sum = 0;
  for (const T *lse : parts.lses)
    largest = maximum(largest, lse[n]);
  if (largest == kNegativeInfinity<T>)
    return largest;
  for (const T *lse : parts.lses)
    sum += std::exp(lse[n] - largest);
  for (auto [output, lse] : llvm::zip(parts.outputs, parts.lses)) {
    if (lse[n] == kNegativeInfinity<T>)
      continue;
    T weight = std::exp(lse[n] - largest) / sum;
    for (auto [d, element] : llvm::enumerate(target))
      element += weight * output[offset + d];
  }
  return largest + std::log(sum);
}

template <typename T>
static LogicalResult evaluateMerge(attn::MergeOp op, Frame &frame) {
  Parts<T> parts(op, frame);
  if (!parts.areAlike)
    return frame.fail(op) << "all parts must have the same shape";
  RowIndex rows(parts.shape, op.getLayout());
  auto output = std::make_shared<Array>(parts.shape, getStorage<T>());
  auto lse = std::make_shared<Array>(parts.lseShape, getStorage<T>());
  for (int64_t n = 0; n < lse->getNumElements(); ++n) {
    int64_t position = n % rows.positions, head = n / rows.positions;
    int64_t offset = rows(head / rows.heads, head % rows.heads, position);
    lse->template data<T>()[n] =
        mergeRow<T>(parts, n, offset,
                    {output->template data<T>() + offset, size_t(rows.width)});
  }
  roundInPlace(frame, op.getOutput().getType(), *output);
  frame.set(op.getOutput(), RuntimeValue::array(std::move(output)));
  if (op.getLse())
    frame.set(op.getLse(), RuntimeValue::array(std::move(lse)));
  return success();
}

static LogicalResult executeMerge(Operation *op, Frame &frame) {
  auto merge = cast<attn::MergeOp>(op);
  return withFloatStorage(frame, merge.getOutput().getType(), [&](auto like) {
    return evaluateMerge<decltype(like)>(merge, frame);
  });
}

void fovea::interp::registerCacheHandlers(InterpreterRegistry &registry) {
  registry.add<attn::MergeOp>(executeMerge);
}
