//===- CacheHandlers.cpp - attn.merge and attn.append ---------------------===//
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
#include "llvm/ADT/DenseMap.h"

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

//===----------------------------------------------------------------------===//
// AppendOp
//===----------------------------------------------------------------------===//

namespace {
/// The positions of new rows in a flat cache.
class Positions {
public:
  Positions(attn::AppendOp op, Frame &frame) : op(op), frame(frame) {
    ArrayRef<int64_t> shape = frame.getArray(op.getKey()).getShape();
    if (shape.size() == 4)
      rowsOfSequence = shape[1];
    ArrayRef<int64_t> cache = frame.getArray(op.getKeyCache()).getShape();
    pages = cache[0];
    page = cache.size() == 4 ? cache[1] : 1;
  }

  /// The position of new row `n` of all; nullopt if it has none.
  std::optional<int64_t> find(int64_t n);

private:
  int64_t read(Value integers, int64_t n) {
    return frame.getArray(integers).data<int64_t>()[n];
  }
  std::optional<int64_t> findAtEnd(int64_t sequence, int64_t row);

  attn::AppendOp op;
  Frame &frame;
  int64_t rowsOfSequence = 0, pages, page;
};
} // namespace

std::optional<int64_t> Positions::find(int64_t n) {
  if (op.getSlots()) {
    int64_t slot = read(op.getSlots(), n);
    if (slot >= 0 && slot < pages * page)
      return slot;
    return std::nullopt;
  }
  if (!op.getOffsets())
    return findAtEnd(n / rowsOfSequence, n % rowsOfSequence);
  int64_t sequences =
      std::min(frame.getArray(op.getLengths()).getNumElements(),
               frame.getArray(op.getOffsets()).getNumElements() - 1);
  for (int64_t sequence = 0; sequence < sequences; ++sequence) {
    int64_t first = read(op.getOffsets(), sequence);
    if (n >= first && n < read(op.getOffsets(), sequence + 1))
      return findAtEnd(sequence, n - first);
  }
  return std::nullopt;
}

std::optional<int64_t> Positions::findAtEnd(int64_t sequence, int64_t row) {
  int64_t place = read(op.getLengths(), sequence) + row, entry = sequence,
          room = page;
  int64_t entries = 1;
  if (op.getPageTable()) {
    entries = frame.getArray(op.getPageTable()).getShape()[1];
    room = entries * page;
  }
  if (place < 0 || place >= room)
    return std::nullopt;
  if (op.getPageTable())
    entry = read(op.getPageTable(), sequence * entries + place / page);
  if (entry < 0 || entry >= pages)
    return std::nullopt;
  return entry * page + place % page;
}

/// Copies the new rows to their positions (-1 for none) in a copy of the cache.
static std::shared_ptr<Array> update(const Array &rows, const Array &cache,
                                     ArrayRef<int64_t> positions) {
  auto result = std::make_shared<Array>(cache.getShape(), cache.getStorage());
  int64_t width = computeProduct(rows.getShape().take_back(2));
  withStorage(cache.getStorage(), [&](auto like) {
    using T = decltype(like);
    T *target = result->template data<T>();
    std::copy_n(cache.data<T>(), cache.getNumElements(), target);
    for (auto [n, position] : llvm::enumerate(positions))
      if (position >= 0)
        std::copy_n(rows.data<T>() + n * width, width,
                    target + position * width);
  });
  return result;
}

/// Reports operands whose sizes differ where they must agree.
static LogicalResult checkSizes(attn::AppendOp op, Frame &frame) {
  auto shapeOf = [&](Value value) { return frame.getArray(value).getShape(); };
  auto check = [&](StringRef names, ArrayRef<int64_t> first,
                   ArrayRef<int64_t> second) -> LogicalResult {
    if (first == second)
      return success();
    std::string found;
    llvm::raw_string_ostream text(found);
    llvm::interleave(first, text, "x");
    text << " and ";
    llvm::interleave(second, text, "x");
    return frame.fail(op) << names << " must have equal sizes, found " << found;
  };
  Value key = op.getKey(), lengths = op.getLengths();
  ArrayRef<int64_t> rows = shapeOf(key).drop_back(2);
  if (op.getValue() &&
      (failed(check("rows of new keys and values", shapeOf(key).drop_back(),
                    shapeOf(op.getValue()).drop_back())) ||
       failed(check("rows of both caches",
                    shapeOf(op.getKeyCache()).drop_back(),
                    shapeOf(op.getValueCache()).drop_back()))))
    return failure();
  if (failed(check("new keys and rows of their cache",
                   shapeOf(key).take_back(2),
                   shapeOf(op.getKeyCache()).take_back(2))))
    return failure();
  if (op.getSlots())
    return check("new rows and slots", rows, shapeOf(op.getSlots()));
  if (!op.getOffsets() && failed(check("sequences of new keys and lengths",
                                       rows.take_front(), shapeOf(lengths))))
    return failure();
  return op.getPageTable()
             ? check("rows of page_table and lengths",
                     shapeOf(op.getPageTable()).take_front(), shapeOf(lengths))
             : success();
}

static LogicalResult executeAppend(Operation *operation, Frame &frame) {
  auto op = cast<attn::AppendOp>(operation);
  if (failed(checkSizes(op, frame)))
    return failure();
  const Array &key = frame.getArray(op.getKey());
  Positions all(op, frame);
  SmallVector<int64_t> positions;
  llvm::DenseMap<int64_t, int64_t> taken;
  for (int64_t n : llvm::seq(computeProduct(key.getShape().drop_back(2)))) {
    std::optional<int64_t> position = all.find(n);
    positions.push_back(position.value_or(-1));
    if (!position)
      continue;
    auto [entry, isNew] = taken.try_emplace(*position, n);
    if (!isNew)
      return frame.fail(op)
             << "new rows must have different positions, found " << *position
             << " for rows " << entry->second << " and " << n;
  }
  frame.set(op.getKeys(),
            RuntimeValue::array(
                update(key, frame.getArray(op.getKeyCache()), positions)));
  if (op.getValue())
    frame.set(op.getValues(),
              RuntimeValue::array(update(frame.getArray(op.getValue()),
                                         frame.getArray(op.getValueCache()),
                                         positions)));
  return success();
}

void fovea::interp::registerCacheHandlers(InterpreterRegistry &registry) {
  registry.add<attn::MergeOp>(executeMerge);
  registry.add<attn::AppendOp>(executeAppend);
}
