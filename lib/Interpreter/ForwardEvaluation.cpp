//===- ForwardEvaluation.cpp - Executes attn.forward ------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ForwardEvaluation.h"

#include "BlockLists.h"
#include "Elementwise.h"
#include "MaskEvaluation.h"
#include "MatMul.h"
#include "RowIndex.h"
#include "TileSupport.h"
#include "fovea/Interpreter/HostTensor.h"

#include <cmath>

using namespace mlir;
using namespace fovea;
using namespace fovea::interp;

namespace {
/// attn.forward, evaluated block of rows by block of rows as it is written
/// down: all scores of a row, then their softmax, then the weighted sum. T is
/// double for the meaning, else float.
template <typename T>
class ForwardEvaluation {
public:
  ForwardEvaluation(attn::ForwardOp op, Frame &frame)
      : op(op), frame(frame), masks(op, frame),
        query(frame.getArray(op.getQuery())), key(frame.getArray(op.getKey())),
        value(frame.getArray(op.getValue())),
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
  LogicalResult evaluateBlock(const RowBlock &block, Frame &inner);
  std::shared_ptr<Array> computeScores(const RowBlock &block) const;
  void dropWeights(const RowBlock &block, T *weights);
  void writeRow(const RowBlock &block, int64_t row, const T *values, T lse);
  void sumValues(const RowBlock &block, const Lanes<int64_t> &mask,
                 const T *weights, T *sums) const;

  attn::ForwardOp op;
  Frame &frame;
  MaskEvaluation masks;
  const Array &query, &key, &value;
  RowIndex queryRows, keyRows, valueRows;
  const Array *sinks = nullptr;
  std::shared_ptr<Array> output, lse;
  T scale;
};
} // namespace

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
      bool isKept =
          generator::numberAt(key, stream, block.first + i, j) >= dropped;
      weight = isKept ? weight * factor : T(0);
    }
}

template <typename T>
LogicalResult ForwardEvaluation<T>::evaluateBlock(const RowBlock &block,
                                                  Frame &inner) {
  int64_t keys = block.sequence->keys.size(), width = valueRows.width;
  SmallVector<int64_t, 2> shape = {block.count, keys};
  RuntimeValue mask;
  if (failed(masks.evaluateMask(block, inner, mask)))
    return failure();
  RuntimeValue scores = RuntimeValue::array(computeScores(block));
  if (!op.getScoreMod().empty()) {
    SmallVector<RuntimeValue> arguments = masks.getCoordinates(block), results;
    arguments.insert(arguments.begin(), scores);
    inner.setActiveLanes(mask);
    if (failed(masks.runRegion(inner, op.getScoreMod(), arguments, results)))
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

  auto runAll = [&](ArrayRef<RowBlock> list, auto &evaluation, auto evaluate) {
    return frame.runInParallel(
        op.getContext(), list.size(), [&](int64_t index, Frame &inner) {
          SequenceLengths lengths{list[index].sequence->queries,
                                  int64_t(list[index].sequence->keys.size())};
          inner.setEnvironment(&lengths);
          return (evaluation.*evaluate)(list[index], inner);
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
  if (failed(runAll(mappedBlocks, masks, &MaskEvaluation::mapBlocks)) ||
      failed(runAll(boundsBlocks, masks, &MaskEvaluation::checkBounds)) ||
      failed(runAll(classifyBlocks, masks,
                    &MaskEvaluation::checkClassification)) ||
      failed(runAll(blocks, *this, &ForwardEvaluation::evaluateBlock)))
    return failure();
  roundInPlace(frame, op.getOutput().getType(), *output);
  frame.set(op.getOutput(), RuntimeValue::array(std::move(output)));
  if (lse)
    frame.set(op.getLse(), RuntimeValue::array(std::move(lse)));
  return success();
}

LogicalResult fovea::interp::executeForward(Operation *op, Frame &frame) {
  auto forward = cast<attn::ForwardOp>(op);
  return withFloatStorage(frame, forward.getQueryType(), [&](auto like) {
    return ForwardEvaluation<decltype(like)>(forward, frame).run();
  });
}
