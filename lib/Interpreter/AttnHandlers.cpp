//===- AttnHandlers.cpp - Executes attn ops ---------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockLists.h"
#include "Elementwise.h"
#include "MatMul.h"
#include "Philox.h"
#include "Sequences.h"
#include "TileSupport.h"
#include "fovea/Interpreter/BlockMap.h"
#include "fovea/Interpreter/Handlers.h"
#include "fovea/Interpreter/HostTensor.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace fovea;
using namespace fovea::interp;

template <typename T>
static constexpr T kNegativeInfinity = -std::numeric_limits<T>::infinity();

/// The larger one; NaN if either is.
template <typename T>
static T maximum(T a, T b) {
  return a > b || a != a ? a : b;
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

namespace {
/// A tensor of rank 4 or 3 seen as rows of (batch, head, position), whatever
/// its layout.
struct RowIndex {
  RowIndex(ArrayRef<int64_t> shape, attn::Layout layout)
      : width(shape.size() == 4 ? shape[3] : 1) {
    bool sequenceFirst = shape.size() == 4 && layout == attn::Layout::BSHD;
    unsigned head = sequenceFirst ? 2 : 1, position = sequenceFirst ? 1 : 2;
    heads = shape[head];
    positions = shape[position];
    batchStride = heads * positions * width;
    headStride = (sequenceFirst ? 1 : positions) * width;
    positionStride = (sequenceFirst ? heads : 1) * width;
  }
  int64_t operator()(int64_t batch, int64_t head, int64_t position) const {
    return batch * batchStride + head * headStride + position * positionStride;
  }
  int64_t width, heads, positions, batchStride, headStride, positionStride;
};

/// Query rows [first, first + count) of one head of one sequence.
struct RowBlock {
  const Sequence *sequence;
  int64_t head, first, count;
  /// Where the block's map goes, if one is asked for.
  BlockMap::Row *map = nullptr;
};

/// attn.forward, evaluated block of rows by block of rows as it is written
/// down: all scores of a row, then their softmax, then the weighted sum. T is
/// double for the meaning, else float.
template <typename T>
class ForwardEvaluation {
public:
  ForwardEvaluation(attn::ForwardOp op, Frame &frame)
      : op(op), frame(frame), query(frame.getArray(op.getQuery())),
        key(frame.getArray(op.getKey())), value(frame.getArray(op.getValue())),
        queryRows(query.getShape(), op.getLayout()),
        keyRows(key.getShape(), op.getLayout()),
        valueRows(value.getShape(), op.getLayout()) {
    if (op.getSinks())
      sinks = &frame.getArray(op.getSinks());
    scale = op.getScaleValue()
                ? T(frame.get(op.getScaleValue()).template getScalar<T>())
                : T(*op.getConstantScale());
  }

  LogicalResult run();

private:
  /// Runs a region whose arguments are `leading` and the captured values.
  LogicalResult runRegion(Frame &inner, Region &region,
                          ArrayRef<RuntimeValue> leading,
                          SmallVectorImpl<RuntimeValue> &results) {
    SmallVector<RuntimeValue> arguments(leading);
    for (Value capture : op.getCaptures())
      arguments.push_back(frame.get(capture));
    return inner.run(region, arguments, results);
  }

  SmallVector<RuntimeValue> getCoordinates(const RowBlock &block) const;
  LogicalResult evaluateMask(const RowBlock &block, Frame &inner,
                             RuntimeValue &mask);
  void hideUnlisted(const RowBlock &block, RuntimeValue &mask);
  LogicalResult evaluateBlock(const RowBlock &block, Frame &inner);
  LogicalResult checkBounds(const RowBlock &block, Frame &inner);
  LogicalResult checkClassification(const RowBlock &block, Frame &inner);
  LogicalResult findVisits(const RowBlock &block, Frame &inner,
                           MutableArrayRef<BlockVisit> visits);
  LogicalResult mapBlocks(const RowBlock &block, Frame &inner);
  std::shared_ptr<Array> computeScores(const RowBlock &block) const;
  void dropWeights(const RowBlock &block, T *weights);
  void writeRow(const RowBlock &block, int64_t row, const T *values, T lse);
  void sumValues(const RowBlock &block, const Lanes<int64_t> &mask,
                 const T *weights, T *sums) const;

  attn::ForwardOp op;
  Frame &frame;
  const Array &query, &key, &value;
  RowIndex queryRows, keyRows, valueRows;
  const Array *sinks = nullptr;
  std::shared_ptr<Array> output, lse;
  T scale;
};
} // namespace

template <typename T>
SmallVector<RuntimeValue>
ForwardEvaluation<T>::getCoordinates(const RowBlock &block) const {
  int64_t keys = block.sequence->keys.size();
  auto rows =
      std::make_shared<Array>(ArrayRef<int64_t>{block.count, 1}, Storage::Int);
  auto columns =
      std::make_shared<Array>(ArrayRef<int64_t>{1, keys}, Storage::Int);
  for (int64_t i = 0; i < block.count; ++i)
    rows->template data<int64_t>()[i] = block.first + i;
  for (int64_t j = 0; j < keys; ++j)
    columns->template data<int64_t>()[j] = j;
  return {RuntimeValue::integer(block.sequence->entry),
          RuntimeValue::integer(block.head),
          RuntimeValue::array(std::move(rows)),
          RuntimeValue::array(std::move(columns))};
}

template <typename T>
LogicalResult ForwardEvaluation<T>::evaluateMask(const RowBlock &block,
                                                 Frame &inner,
                                                 RuntimeValue &mask) {
  mask = RuntimeValue::integer(1);
  if (!op.getMaskMod().empty()) {
    SmallVector<RuntimeValue> results;
    inner.setActiveLanes({});
    if (failed(
            runRegion(inner, op.getMaskMod(), getCoordinates(block), results)))
      return failure();
    mask = results.front();
  }
  if (op.hasBlocks())
    hideUnlisted(block, mask);
  return success();
}

/// What mask_mod says holds in partial blocks only.
template <typename T>
void ForwardEvaluation<T>::hideUnlisted(const RowBlock &block,
                                        RuntimeValue &mask) {
  int64_t keys = block.sequence->keys.size();
  SmallVector<int64_t, 2> shape = {block.count, keys};
  Lanes<int64_t> lanes(mask, shape);
  auto listed = std::make_shared<Array>(shape, Storage::Int);
  BlockLists lists(op, frame);
  for (int64_t i = 0; i < block.count; ++i) {
    SmallVector<BlockLists::Listing> row =
        lists.getRow(block.sequence->batch, block.head, block.first + i, keys);
    for (int64_t j = 0; j < keys; ++j) {
      BlockLists::Listing listing = row[j / op.getKeyBlock()];
      listed->template data<int64_t>()[i * keys + j] =
          listing == BlockLists::Full || (listing == BlockLists::Partial &&
                                          lanes.row(i)[j * lanes.columnStride]);
    }
  }
  mask = RuntimeValue::array(std::move(listed));
}

template <typename T>
std::shared_ptr<Array>
ForwardEvaluation<T>::computeScores(const RowBlock &block) const {
  int64_t keys = block.sequence->keys.size(), depth = queryRows.width;
  int64_t keyHead = block.head / (queryRows.heads / keyRows.heads);
  std::unique_ptr<T[]> a(new T[block.count * depth]), b(new T[keys * depth]),
      transposed(new T[keys * depth]);
  for (int64_t i = 0; i < block.count; ++i)
    std::copy_n(query.data<T>() +
                    queryRows(block.sequence->batch, block.head,
                              block.sequence->firstQuery + block.first + i),
                depth, a.get() + i * depth);
  for (auto [j, row] : llvm::enumerate(block.sequence->keys))
    std::copy_n(key.data<T>() + keyRows(row.batch, keyHead, row.row), depth,
                b.get() + j * depth);
  transpose(b.get(), transposed.get(), keys, depth);
  auto scores = std::make_shared<Array>(ArrayRef<int64_t>{block.count, keys},
                                        getStorage<T>());
  T *data = scores->template data<T>();
  std::fill_n(data, block.count * keys, T(0));
  multiplyAdd(a.get(), transposed.get(), data, block.count, keys, depth);
  for (int64_t n = 0; n < block.count * keys; ++n)
    data[n] *= scale;
  return scores;
}

/// sums[i] = sum over the visible keys of weights[i, j] * v[j]. Values of keys
/// that a row does not see must not reach it, even if they are NaN.
template <typename T>
void ForwardEvaluation<T>::sumValues(const RowBlock &block,
                                     const Lanes<int64_t> &mask,
                                     const T *weights, T *sums) const {
  int64_t keys = block.sequence->keys.size(), width = valueRows.width;
  int64_t keyHead = block.head / (queryRows.heads / keyRows.heads);
  std::unique_ptr<T[]> values(new T[keys * width]);
  for (auto [j, row] : llvm::enumerate(block.sequence->keys))
    std::copy_n(value.data<T>() + valueRows(row.batch, keyHead, row.row), width,
                values.get() + j * width);
  bool isFinite =
      llvm::all_of(ArrayRef<T>(values.get(), keys * width),
                   [](T element) { return std::isfinite(element); });
  std::fill_n(sums, block.count * width, T(0));
  if (isFinite)
    return multiplyAdd(weights, values.get(), sums, block.count, width, keys);
  for (int64_t i = 0; i < block.count; ++i)
    for (int64_t j = 0; j < keys; ++j)
      if (mask.row(i)[j * mask.columnStride])
        for (int64_t d = 0; d < width; ++d)
          sums[i * width + d] += weights[i * keys + j] * values[j * width + d];
}

template <typename T>
void ForwardEvaluation<T>::writeRow(const RowBlock &block, int64_t row,
                                    const T *values, T lseValue) {
  int64_t batch = block.sequence->batch;
  int64_t position = block.sequence->firstQuery + block.first + row;
  RowIndex outputRows(output->getShape(), op.getLayout());
  std::copy_n(values, outputRows.width,
              output->template data<T>() +
                  outputRows(batch, block.head, position));
  if (lse)
    lse->template data<T>()[RowIndex(lse->getShape(), op.getLayout())(
        batch, block.head, position)] = lseValue;
}

template <typename T>
void ForwardEvaluation<T>::dropWeights(const RowBlock &block, T *weights) {
  if (!op.getDropoutAttr())
    return;
  uint64_t dropped = op.getDroppedShare(),
           steps = attn::ForwardOp::kDropoutSteps;
  uint64_t offset = frame.getInteger(op.getDropoutOffset());
  uint64_t key = uint64_t(frame.getInteger(op.getDropoutSeed())) ^
                 (offset & ~uint64_t(0xFFFFFFFF));
  uint32_t head = block.sequence->entry * queryRows.heads + block.head;
  uint64_t stream = head | offset << 32;
  T factor = T(steps) / T(steps - dropped);
  int64_t keys = block.sequence->keys.size();
  for (int64_t i = 0; i < block.count; ++i)
    for (int64_t j = 0; j < keys; ++j) {
      T &weight = weights[i * keys + j];
      bool isKept = randomAt(key, stream, block.first + i, j) >= dropped;
      weight = isKept ? weight * factor : T(0);
    }
}

template <typename T>
LogicalResult ForwardEvaluation<T>::evaluateBlock(const RowBlock &block,
                                                  Frame &inner) {
  int64_t keys = block.sequence->keys.size(), width = valueRows.width;
  SmallVector<int64_t, 2> shape = {block.count, keys};
  RuntimeValue mask;
  if (failed(evaluateMask(block, inner, mask)))
    return failure();
  RuntimeValue scores = RuntimeValue::array(computeScores(block));
  if (!op.getScoreMod().empty()) {
    SmallVector<RuntimeValue> arguments = getCoordinates(block), results;
    arguments.insert(arguments.begin(), scores);
    inner.setActiveLanes(mask);
    if (failed(runRegion(inner, op.getScoreMod(), arguments, results)))
      return failure();
    scores = results.front();
  }

  Lanes<T> scoreLanes(scores, shape);
  Lanes<int64_t> maskLanes(mask, shape);
  std::unique_ptr<T[]> weights(new T[block.count * keys]),
      sums(new T[block.count * width]), lseValues(new T[block.count]);
  for (int64_t i = 0; i < block.count; ++i) {
    const T *s = scoreLanes.row(i);
    const int64_t *visible = maskLanes.row(i);
    T *p = weights.get() + i * keys, largest = kNegativeInfinity<T>, sum = 0;
    for (int64_t j = 0; j < keys; ++j) {
      p[j] = visible[j * maskLanes.columnStride]
                 ? s[j * scoreLanes.columnStride]
                 : kNegativeInfinity<T>;
      largest = maximum(largest, p[j]);
    }
    T sink = sinks ? sinks->data<T>()[block.head] : kNegativeInfinity<T>;
    largest = maximum(largest, sink);
    if (largest == kNegativeInfinity<T>) {
      std::fill_n(p, keys, T(0));
      lseValues[i] = kNegativeInfinity<T>;
      continue;
    }
    for (int64_t j = 0; j < keys; ++j) {
      p[j] = p[j] == kNegativeInfinity<T> ? T(0) : std::exp(p[j] - largest);
      sum += p[j];
    }
    sum += std::exp(sink - largest);
    for (int64_t j = 0; j < keys; ++j)
      p[j] /= sum;
    lseValues[i] = largest + std::log(sum);
  }
  dropWeights(block, weights.get());
  if (frame.getPrecision() == Precision::Typed)
    roundTo(*getElementKind(op.getValueType().getElementType()), weights.get(),
            block.count * keys);
  sumValues(block, maskLanes, weights.get(), sums.get());
  for (int64_t i = 0; i < block.count; ++i)
    writeRow(block, i, sums.get() + i * width, lseValues[i]);
  return success();
}

/// Compares what kv_bounds claims for the block with the mask.
template <typename T>
LogicalResult ForwardEvaluation<T>::checkBounds(const RowBlock &block,
                                                Frame &inner) {
  int64_t keys = block.sequence->keys.size();
  int64_t last = block.first + block.count - 1;
  RuntimeValue mask;
  SmallVector<RuntimeValue> bounds;
  inner.setActiveLanes({});
  if (failed(evaluateMask(block, inner, mask)) ||
      failed(runRegion(inner, op.getKvBounds(),
                       {RuntimeValue::integer(block.sequence->entry),
                        RuntimeValue::integer(block.head),
                        RuntimeValue::integer(block.first),
                        RuntimeValue::integer(last)},
                       bounds)))
    return failure();
  int64_t lower = bounds[0].getInteger(), fullLower = bounds[1].getInteger(),
          fullUpper = bounds[2].getInteger(), upper = bounds[3].getInteger();
  auto describe = [&]() -> Failure {
    return inner.fail(op) << "kv_bounds of queries " << block.first << " to "
                          << last << " of batch entry " << block.sequence->entry
                          << ", head " << block.head << " claims ";
  };
  Lanes<int64_t> lanes(mask, {block.count, keys});
  for (int64_t i = 0; i < block.count; ++i)
    for (int64_t j = 0; j < keys; ++j) {
      bool visible = lanes.row(i)[j * lanes.columnStride];
      if (visible && (j < lower || j >= upper))
        return describe() << "that visible keys lie in [" << lower << ", "
                          << upper << "), but query " << block.first + i
                          << " sees key " << j;
      if (!visible && j >= fullLower && j < fullUpper)
        return describe() << "that all keys in [" << fullLower << ", "
                          << fullUpper << ") are visible, but query "
                          << block.first + i << " does not see key " << j;
    }
  return success();
}

/// First and last keys of the blocks of `columns` of them, as lanes.
static std::pair<RuntimeValue, RuntimeValue> makeKeyBlocks(int64_t keys,
                                                           int64_t columns) {
  int64_t count = llvm::divideCeil(keys, columns);
  std::shared_ptr<Array> ends[2];
  for (auto &end : ends)
    end = std::make_shared<Array>(ArrayRef<int64_t>{1, count}, Storage::Int);
  for (int64_t n = 0; n < count; ++n) {
    ends[0]->data<int64_t>()[n] = n * columns;
    ends[1]->data<int64_t>()[n] = std::min((n + 1) * columns, keys) - 1;
  }
  return {RuntimeValue::array(ends[0]), RuntimeValue::array(ends[1])};
}

/// Compares what kv_classify claims for blocks of keys with the mask.
template <typename T>
LogicalResult ForwardEvaluation<T>::checkClassification(const RowBlock &block,
                                                        Frame &inner) {
  int64_t keys = block.sequence->keys.size();
  int64_t last = block.first + block.count - 1;
  if (keys == 0)
    return success();
  auto *checks = frame.getEnvironment<AttentionChecks>();
  int64_t columns = std::min(checks->kvClassifyColumns, keys);
  auto [firstKeys, lastKeys] = makeKeyBlocks(keys, columns);
  RuntimeValue mask;
  SmallVector<RuntimeValue> found;
  inner.setActiveLanes({});
  if (failed(evaluateMask(block, inner, mask)) ||
      failed(runRegion(inner, op.getKvClassify(),
                       {RuntimeValue::integer(block.sequence->entry),
                        RuntimeValue::integer(block.head),
                        RuntimeValue::integer(block.first),
                        RuntimeValue::integer(last), firstKeys, lastKeys},
                       found)))
    return failure();
  ArrayRef<int64_t> perBlock = firstKeys.getArray().getShape();
  Lanes<int64_t> any(found[0], perBlock), all(found[1], perBlock),
      lanes(mask, {block.count, keys});
  for (int64_t n = 0; n < perBlock[1]; ++n) {
    int64_t first = n * columns, end = std::min(first + columns, keys);
    bool mayBeAny = any.row(0)[n * any.columnStride];
    bool mustBeAll = all.row(0)[n * all.columnStride];
    auto describe = [&]() -> Failure {
      return inner.fail(op)
             << "kv_classify of queries " << block.first << " to " << last
             << ", keys " << first << " to " << end - 1 << " of batch entry "
             << block.sequence->entry << ", head " << block.head << " claims ";
    };
    bool isAny = false, isAll = true;
    for (int64_t i = 0; i < block.count; ++i)
      for (int64_t j = first; j < end; ++j) {
        bool visible = lanes.row(i)[j * lanes.columnStride];
        isAny |= visible;
        isAll &= visible;
        if (visible && !mayBeAny)
          return describe() << "that no key is visible, but query "
                            << block.first + i << " sees key " << j;
        if (!visible && mustBeAll)
          return describe() << "that all keys are visible, but query "
                            << block.first + i << " does not see key " << j;
      }
    if (checks->kvClassifyExactly && (isAny != mayBeAny || isAll != mustBeAll))
      return describe() << "that some keys are visible, but "
                        << (isAny ? "all" : "none") << " are";
  }
  return success();
}

/// What a kernel does with the blocks of keys, as its loops do: whole blocks
/// from the one of the first key on, without masks where all keys are seen.
template <typename T>
LogicalResult
ForwardEvaluation<T>::findVisits(const RowBlock &block, Frame &inner,
                                 MutableArrayRef<BlockVisit> visits) {
  auto *request = frame.getEnvironment<BlockMapRequest>();
  int64_t keys = block.sequence->keys.size(), columns = request->columns;
  BlockVisit plain =
      op.getMaskMod().empty() ? BlockVisit::Plain : BlockVisit::Masked;
  llvm::fill(visits, plain);
  if (op.hasBlocks()) {
    BlockLists lists(op, frame);
    auto row =
        lists.getRow(block.sequence->batch, block.head, block.first, keys);
    for (auto [n, visit] : llvm::enumerate(visits)) {
      BlockLists::Listing listing = row[n * columns / op.getKeyBlock()];
      if (listing != BlockLists::Partial)
        visit = listing == BlockLists::Full ? BlockVisit::Plain
                                            : BlockVisit::Skipped;
    }
    return success();
  }
  SmallVector<RuntimeValue> coordinates = {
      RuntimeValue::integer(block.sequence->entry),
      RuntimeValue::integer(block.head), RuntimeValue::integer(block.first),
      RuntimeValue::integer(block.first + block.count - 1)};
  SmallVector<RuntimeValue> found;
  inner.setActiveLanes({});
  if (!op.getKvBounds().empty()) {
    if (failed(runRegion(inner, op.getKvBounds(), coordinates, found)))
      return failure();
    int64_t lower = found[0].getInteger(), fullLower = found[1].getInteger(),
            fullUpper = found[2].getInteger(), upper = found[3].getInteger();
    for (auto [n, visit] : llvm::enumerate(visits)) {
      int64_t first = n * columns, end = first + columns;
      bool isInside = first >= fullLower && end <= fullUpper;
      visit = end <= lower || first >= upper ? BlockVisit::Skipped
              : isInside                     ? BlockVisit::Plain
                                             : plain;
    }
  }
  if (!request->classify || op.getKvClassify().empty())
    return success();
  auto [firstKeys, lastKeys] = makeKeyBlocks(keys, columns);
  coordinates.append({firstKeys, lastKeys});
  SmallVector<RuntimeValue> verdicts;
  if (failed(runRegion(inner, op.getKvClassify(), coordinates, verdicts)))
    return failure();
  ArrayRef<int64_t> perBlock = firstKeys.getArray().getShape();
  Lanes<int64_t> any(verdicts[0], perBlock), all(verdicts[1], perBlock);
  for (auto [n, visit] : llvm::enumerate(visits))
    if (visit != BlockVisit::Skipped)
      visit = !any.row(0)[n * any.columnStride]  ? BlockVisit::Skipped
              : all.row(0)[n * all.columnStride] ? BlockVisit::Plain
                                                 : BlockVisit::Masked;
  return success();
}

template <typename T>
LogicalResult ForwardEvaluation<T>::mapBlocks(const RowBlock &block,
                                              Frame &inner) {
  auto *request = frame.getEnvironment<BlockMapRequest>();
  int64_t keys = block.sequence->keys.size(), columns = request->columns;
  SmallVector<BlockVisit> visits(llvm::divideCeil(keys, columns));
  if (visits.empty())
    return success();
  RuntimeValue mask;
  inner.setActiveLanes({});
  if (failed(evaluateMask(block, inner, mask)) ||
      failed(findVisits(block, inner, visits)))
    return failure();
  // The last block is masked where the sequence ends.
  if (keys % columns && visits.back() == BlockVisit::Plain)
    visits.back() = BlockVisit::Masked;
  Lanes<int64_t> lanes(mask, {block.count, keys});
  for (auto [n, visit] : llvm::enumerate(visits)) {
    int64_t first = n * columns, end = std::min(first + columns, keys);
    int64_t visible = 0;
    for (int64_t i = 0; i < block.count; ++i)
      for (int64_t j = first; j < end; ++j)
        visible += lanes.row(i)[j * lanes.columnStride] != 0;
    BlockTruth truth = visible == 0 ? BlockTruth::None
                       : visible == block.count * (end - first)
                           ? BlockTruth::All
                           : BlockTruth::Some;
    block.map->visiblePairs += visible;
    block.map->codes += char('0' + int(truth) + 3 * int(visit));
  }
  return success();
}

/// What the output may take; more is a slip of the pen.
static constexpr int64_t kMaxOutputBytes = int64_t(1) << 36;

template <typename T>
LogicalResult ForwardEvaluation<T>::run() {
  if (queryRows.heads % keyRows.heads != 0)
    return frame.fail(op) << "the number of query heads must be a multiple of "
                             "the number of key heads, found "
                          << queryRows.heads << " and " << keyRows.heads;
  if (sinks && sinks->getNumElements() != queryRows.heads)
    return frame.fail(op) << "'sinks' must have " << queryRows.heads
                          << " entries, found " << sinks->getNumElements();
  auto sequences = locateSequences(op, frame);
  if (failed(sequences))
    return failure();
  if (op.hasBlocks() && failed(BlockLists(op, frame).check(keyRows.positions)))
    return failure();

  SmallVector<int64_t, 4> outputShape(query.getShape());
  outputShape[3] = valueRows.width;
  // Small inputs can have a large output: each has one of its large dimensions.
  if (failed(HostTensor::getByteSize(ElementKind::F64, outputShape,
                                     kMaxOutputBytes)))
    return frame.fail(op) << "the output would take more than 64 GiB";
  output = std::make_shared<Array>(outputShape, getStorage<T>());
  std::fill_n(output->template data<T>(), output->getNumElements(), T(0));
  if (op.getLse()) {
    lse = std::make_shared<Array>(ArrayRef<int64_t>{query.getShape()[0],
                                                    queryRows.heads,
                                                    queryRows.positions},
                                  getStorage<T>());
    std::fill_n(lse->template data<T>(), lse->getNumElements(),
                kNegativeInfinity<T>);
  }

  // Rows of a block: as many as keep their scores in a few megabytes.
  constexpr int64_t kMaxRows = 64, kMaxScores = 1 << 19;
  std::vector<RowBlock> blocks, boundsBlocks, classifyBlocks, mappedBlocks;
  auto *checks = frame.getEnvironment<AttentionChecks>();
  int64_t boundsRows =
      checks && !op.getKvBounds().empty() ? checks->kvBoundsRows : 0;
  int64_t classifyRows =
      checks && !op.getKvClassify().empty() ? checks->kvClassifyRows : 0;
  auto split = [&](std::vector<RowBlock> &list, const Sequence &sequence,
                   int64_t head, int64_t rows) {
    for (int64_t first = 0; first < sequence.queries; first += rows)
      list.push_back(
          {&sequence, head, first, std::min(rows, sequence.queries - first)});
  };
  auto *request = frame.getEnvironment<BlockMapRequest>();
  for (const Sequence &sequence : *sequences)
    for (int64_t head = 0; head < queryRows.heads; ++head) {
      if (request) {
        request->maps->push_back({sequence.entry,
                                  head,
                                  sequence.queries,
                                  int64_t(sequence.keys.size()),
                                  {}});
        split(mappedBlocks, sequence, head, request->rows);
        continue;
      }
      int64_t keys = std::max<int64_t>(sequence.keys.size(), 1);
      split(blocks, sequence, head,
            std::clamp<int64_t>(kMaxScores / keys, 1, kMaxRows));
      if (boundsRows)
        split(boundsBlocks, sequence, head, boundsRows);
      if (classifyRows)
        split(classifyBlocks, sequence, head, classifyRows);
    }

  auto runAll = [&](ArrayRef<RowBlock> list, auto evaluate) {
    return frame.runInParallel(
        op.getContext(), list.size(), [&](int64_t index, Frame &inner) {
          SequenceLengths lengths{list[index].sequence->queries,
                                  int64_t(list[index].sequence->keys.size())};
          inner.setEnvironment(&lengths);
          return (this->*evaluate)(list[index], inner);
        });
  };
  if (request) {
    // All maps are there: their addresses stay.
    auto block = mappedBlocks.begin();
    for (BlockMap &map : *request->maps) {
      map.rows.resize(llvm::divideCeil(map.queries, request->rows));
      for (BlockMap::Row &row : map.rows)
        (block++)->map = &row;
    }
  }
  if (failed(runAll(mappedBlocks, &ForwardEvaluation::mapBlocks)) ||
      failed(runAll(boundsBlocks, &ForwardEvaluation::checkBounds)) ||
      failed(runAll(classifyBlocks, &ForwardEvaluation::checkClassification)) ||
      failed(runAll(blocks, &ForwardEvaluation::evaluateBlock)))
    return failure();
  roundInPlace(frame, op.getOutput().getType(), *output);
  frame.set(op.getOutput(), RuntimeValue::array(std::move(output)));
  if (lse)
    frame.set(op.getLse(), RuntimeValue::array(std::move(lse)));
  return success();
}

static LogicalResult executeForward(Operation *op, Frame &frame) {
  auto forward = cast<attn::ForwardOp>(op);
  return withFloatStorage(frame, forward.getQueryType(), [&](auto like) {
    return ForwardEvaluation<decltype(like)>(forward, frame).run();
  });
}

//===----------------------------------------------------------------------===//
// Other ops
//===----------------------------------------------------------------------===//

template <typename T>
static LogicalResult evaluateMerge(attn::MergeOp op, Frame &frame) {
  const Array &first = frame.getArray(op.getOutputs().front());
  const Array &firstLse = frame.getArray(op.getLses().front());
  RowIndex rows(first.getShape(), op.getLayout());
  auto output = std::make_shared<Array>(first.getShape(), getStorage<T>());
  auto lse = std::make_shared<Array>(firstLse.getShape(), getStorage<T>());
  for (Value part : op.getOutputs())
    if (frame.getArray(part).getShape() != first.getShape())
      return frame.fail(op) << "all parts must have one shape";
  for (Value part : op.getLses())
    if (frame.getArray(part).getShape() != firstLse.getShape() ||
        frame.getArray(part).getNumElements() * rows.width !=
            first.getNumElements())
      return frame.fail(op) << "all parts must have one shape";
  for (int64_t n = 0; n < firstLse.getNumElements(); ++n) {
    int64_t position = n % rows.positions, head = n / rows.positions;
    int64_t offset = rows(head / rows.heads, head % rows.heads, position);
    T *target = output->template data<T>() + offset;
    std::fill_n(target, rows.width, T(0));
    T largest = kNegativeInfinity<T>, sum = 0;
    for (Value part : op.getLses())
      largest = maximum(largest, frame.getArray(part).data<T>()[n]);
    lse->template data<T>()[n] = largest;
    if (largest == kNegativeInfinity<T>)
      continue;
    for (Value part : op.getLses())
      sum += std::exp(frame.getArray(part).data<T>()[n] - largest);
    lse->template data<T>()[n] = largest + std::log(sum);
    for (auto [part, partLse] : llvm::zip(op.getOutputs(), op.getLses())) {
      T weight = frame.getArray(partLse).data<T>()[n];
      if (weight == kNegativeInfinity<T>)
        continue;
      weight = std::exp(weight - largest) / sum;
      const T *source = frame.getArray(part).data<T>() + offset;
      for (int64_t d = 0; d < rows.width; ++d)
        target[d] += weight * source[d];
    }
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

template <typename OpTy>
static void addLength(InterpreterRegistry &registry,
                      int64_t SequenceLengths::*member) {
  registry.add<OpTy>([member](Operation *op, Frame &frame) -> LogicalResult {
    auto *lengths = frame.getEnvironment<SequenceLengths>();
    if (!lengths)
      return frame.fail(op) << "'" << op->getName().getStringRef()
                            << "' is executed outside 'attn.forward'";
    frame.set(op->getResult(0), RuntimeValue::integer(lengths->*member));
    return success();
  });
}

/// The extreme of an i64 array's elements from `first` to `last`, `stride`
/// apart; `isMin` the smallest. None at all gives the other end of the type.
static int64_t findExtreme(const int64_t *elements, int64_t stride,
                           int64_t first, int64_t last, bool isMin,
                           ElementKind kind) {
  IntegerWrap wrap(kind);
  int64_t largest =
      kind == ElementKind::I1 ? 1 : int64_t(~uint64_t(0) >> (65 - wrap.width));
  int64_t smallest = kind == ElementKind::I1 ? 0 : -largest - 1;
  int64_t extreme = isMin ? largest : smallest;
  for (int64_t n = first; n <= last; ++n)
    extreme = isMin ? std::min(extreme, elements[n * stride])
                    : std::max(extreme, elements[n * stride]);
  return extreme;
}

template <typename OpTy>
static LogicalResult executeBlockExtreme(Operation *operation, Frame &frame) {
  auto op = cast<OpTy>(operation);
  const Array &source = frame.getArray(op.getTensor());
  ArrayRef<int64_t> shape = source.getShape();
  int64_t rangeDim = op.getDim(), offset = 0, stride = 1;
  auto index = op.getIndices().begin();
  for (auto [dim, extent] : llvm::enumerate(shape)) {
    offset *= extent;
    if (int64_t(dim) > rangeDim)
      stride *= extent;
    if (int64_t(dim) == rangeDim)
      continue;
    int64_t position = frame.getInteger(*index++);
    if (position < 0 || position >= extent)
      return frame.fail(op)
             << "index of dimension " << int64_t(dim) << " lies outside [0, "
             << extent << "), found " << position;
    offset += position;
  }
  const int64_t *elements = source.data<int64_t>() + offset;
  int64_t extent = shape[rangeDim];
  ElementKind kind = *getElementKind(op.getResult().getType());
  auto find = [=](int64_t first, int64_t last) {
    return findExtreme(elements, stride, std::max<int64_t>(first, 0),
                       std::min(last, extent - 1),
                       std::is_same_v<OpTy, attn::BlockMinOp>, kind);
  };
  FailureOr<RuntimeValue> result = mapValues<int64_t, int64_t, int64_t>(
      find, frame.get(op.getFirst()), frame.get(op.getLast()));
  if (failed(result))
    return frame.fail(op) << "positions do not fit each other";
  frame.set(op.getResult(), std::move(*result));
  return success();
}

void fovea::interp::registerAttnHandlers(InterpreterRegistry &registry) {
  registry.add<attn::ForwardOp>(executeForward);
  registry.add<attn::MergeOp>(executeMerge);
  addLength<attn::QueryLengthOp>(registry, &SequenceLengths::queries);
  registry.add<attn::BlockMinOp>(executeBlockExtreme<attn::BlockMinOp>);
  registry.add<attn::BlockMaxOp>(executeBlockExtreme<attn::BlockMaxOp>);
  addLength<attn::KeyLengthOp>(registry, &SequenceLengths::keys);
}
