//===- ForwardEvaluation.cpp - Executes attn.forward ------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Evaluates attention by its definition: all scores of a row, their softmax,
// then the weighted sum of values. There is no online softmax, so the result is
// independent of the compiler's recurrences.
//
//===----------------------------------------------------------------------===//

#include "Attention/ForwardEvaluation.h"

#include "Attention/VariantEvaluation.h"

#include <cmath>
#include <limits>
#include <numeric>

using namespace mlir;
using namespace fovea;
using namespace fovea::interp;

namespace {
/// Evaluates attn.forward in blocks of rows: all scores of a row, then their
/// softmax, then the weighted sum.
template <typename T>
class ForwardEvaluation : VariantEvaluation<T> {
public:
  ForwardEvaluation(attn::ForwardOp op, Frame &frame)
      : VariantEvaluation<T>(op, frame), op(op) {}

  LogicalResult run();

private:
  using VariantEvaluation<T>::frame;
  using VariantEvaluation<T>::masks;
  using VariantEvaluation<T>::query;
  using VariantEvaluation<T>::value;
  using VariantEvaluation<T>::queryRows;
  using VariantEvaluation<T>::valueRows;
  using VariantEvaluation<T>::sinks;

  LogicalResult evaluateBlock(const RowBlock &block, Frame &inner);
  LogicalResult evaluateElements(ArrayRef<Sequence> sequences,
                                 const ElementRequest &request);
  LogicalResult evaluateElements(const RowBlock &block, Frame &inner,
                                 const ElementRequest &request);
  void writeRow(const RowBlock &block, int64_t row, const T *values, T lse);
  static std::unique_ptr<T[]> sumRows(const T *weights, int64_t rows,
                                      int64_t keys);
  void roundWeights(const RowBlock &block, T *weights);
  T getScale(StringRef name, const RowBlock &block, int64_t column = 0);
  void dequantize(const RowBlock &block, const T *totals, T *sums);
  LogicalResult checkScales(ArrayRef<Sequence> sequences);
  void sumValues(const RowBlock &block, const Lanes<int64_t> &mask,
                 const T *weights, T *sums) const;

  attn::ForwardOp op;
  std::shared_ptr<Array> output, lse;
};
} // namespace

/// sums[i] = sum over the visible keys of weights[i, j] * v[j]. Values of
/// masked keys must not affect a row, even if they are NaN.
template <typename T>
void ForwardEvaluation<T>::sumValues(const RowBlock &block,
                                     const Lanes<int64_t> &mask,
                                     const T *weights, T *sums) const {
  int64_t keys = block.sequence->keys.size(), width = valueRows.width;
  std::unique_ptr<T[]> values = this->gatherKeys(block, value, valueRows);
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
std::unique_ptr<T[]> ForwardEvaluation<T>::sumRows(const T *weights,
                                                   int64_t rows, int64_t keys) {
  std::unique_ptr<T[]> totals(new T[rows]);
  for (int64_t i = 0; i < rows; ++i)
    totals[i] =
        std::accumulate(weights + i * keys, weights + (i + 1) * keys, T(0));
  return totals;
}

/// Rounds P to the type of the values. 8-bit types have few exponents: as in a
/// kernel, the largest weight of a row is the largest power of two.
template <typename T>
void ForwardEvaluation<T>::roundWeights(const RowBlock &block, T *weights) {
  int64_t keys = block.sequence->keys.size();
  auto type = cast<FloatType>(op.getValueType().getElementType());
  ElementKind kind = *getElementKind(type);
  if (type.getWidth() != 8)
    return roundTo(kind, weights, block.count * keys);
  T most = std::exp2(APFloat::semanticsMaxExponent(type.getFloatSemantics()));
  for (int64_t i = 0; i < block.count; ++i) {
    T *row = weights + i * keys,
      largest = keys == 0 ? T(0) : *std::max_element(row, row + keys);
    if (!(largest > T(0)))
      continue;
    std::for_each_n(row, keys, [&](T &w) { w *= most / largest; });
    roundTo(kind, row, keys);
    std::for_each_n(row, keys, [&](T &w) { w *= largest / most; });
  }
}

/// The element of a scale, or of the mean of column `column`, for a block.
template <typename T>
T ForwardEvaluation<T>::getScale(StringRef name, const RowBlock &block,
                                 int64_t column) {
  OpOperand *operand = op.getScaleOperand(name);
  if (!operand)
    return name == "v_mean" ? T(0) : T(1);
  const Array &scales = frame.getArray(operand->get());
  ArrayRef<int64_t> shape = scales.getShape();
  int64_t batch = shape[0] == 1 ? 0 : block.sequence->entry,
          head = shape[1] == 1 ? 0 : this->getKeyHead(block.head);
  int64_t row = batch * shape[1] + head;
  return scales
      .template data<T>()[row * (shape.size() == 3 ? shape[2] : 1) + column];
}

/// Applies the scale of V, and adds its mean, times the sum of the weights.
template <typename T>
void ForwardEvaluation<T>::dequantize(const RowBlock &block, const T *totals,
                                      T *sums) {
  if (op.getScales().empty())
    return;
  int64_t width = valueRows.width;
  T scale = getScale("v", block);
  for (int64_t i = 0; i < block.count; ++i)
    for (int64_t d = 0; d < width; ++d) {
      T &sum = sums[i * width + d];
      sum = sum * scale + totals[i] * getScale("v_mean", block, d);
    }
}

template <typename T>
LogicalResult ForwardEvaluation<T>::checkScales(ArrayRef<Sequence> sequences) {
  for (auto [index, scale] : llvm::enumerate(op.getScales())) {
    ArrayRef<int64_t> shape = frame.getArray(scale).getShape();
    auto fits = [&](int64_t dim, int64_t size) {
      return shape[dim] == 1 || shape[dim] == size;
    };
    bool hasColumns = shape.size() != 3 || shape[2] == valueRows.width;
    if (!fits(0, sequences.size()) || !fits(1, this->keyRows.heads) ||
        !hasColumns)
      return frame.fail(op)
             << "'" << op.getScaleOperandName(index) << "' must have 1 or "
             << sequences.size() << " entries for sequences and 1 or "
             << this->keyRows.heads << " for key heads, found " << shape[0]
             << " and " << shape[1];
  }
  return success();
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
LogicalResult ForwardEvaluation<T>::evaluateBlock(const RowBlock &block,
                                                  Frame &inner) {
  int64_t keys = block.sequence->keys.size(), width = valueRows.width;
  SmallVector<int64_t, 2> shape = {block.count, keys};
  RuntimeValue mask;
  if (failed(masks.evaluateMask(block, inner, mask)))
    return failure();
  RuntimeValue scores = RuntimeValue::array(
      this->scaleProducts(*this->computeProducts(block),
                          getScale("q", block) * getScale("k", block)));
  if (failed(this->modifyScores(block, inner, mask, scores)))
    return failure();

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
    T sink =
        sinks ? sinks->template data<T>()[block.head] : kNegativeInfinity<T>;
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
  this->forDropout(block, [&](int64_t n, T factor) {
    T &weight = weights[n];
    weight = factor == T(0) ? T(0) : weight * factor;
  });
  std::unique_ptr<T[]> totals = sumRows(weights.get(), block.count, keys);
  if (frame.getPrecision() == Precision::Typed)
    roundWeights(block, weights.get());
  this->roundFactors(weights.get(), block.count * keys);
  sumValues(block, maskLanes, weights.get(), sums.get());
  dequantize(block, totals.get(), sums.get());
  for (int64_t i = 0; i < block.count; ++i)
    writeRow(block, i, sums.get() + i * width, lseValues[i]);
  return success();
}

template <typename T>
LogicalResult
ForwardEvaluation<T>::evaluateElements(const RowBlock &block, Frame &inner,
                                       const ElementRequest &request) {
  int64_t keys = block.sequence->keys.size();
  SmallVector<int64_t, 2> shape = {block.count, keys};
  RuntimeValue mask;
  if (failed(masks.evaluateMask(block, inner, mask)))
    return failure();
  Lanes<int64_t> visible(mask, shape);
  *request.visible = HostTensor(ElementKind::I1, shape);
  auto forPairs = [&](auto fn) {
    for (int64_t i = 0; i < block.count; ++i)
      for (int64_t j = 0; j < keys; ++j)
        fn(i * keys + j, visible.row(i)[j * visible.columnStride] != 0, i, j);
  };
  forPairs([&](int64_t n, bool isVisible, int64_t, int64_t) {
    request.visible->data()[n] = isVisible;
  });
  if (op.getScoreMod().empty())
    return success();
  int64_t count = request.scores.size();
  *request.changed = HostTensor(ElementKind::F64, {count, block.count, keys});
  auto *out = reinterpret_cast<double *>(request.changed->data());
  for (double score : request.scores) {
    auto like = std::make_shared<Array>(shape, getStorage<T>());
    std::fill_n(like->template data<T>(), block.count * keys, T(score));
    RuntimeValue scores = RuntimeValue::array(std::move(like));
    if (failed(this->modifyScores(block, inner, mask, scores)))
      return failure();
    Lanes<T> lanes(scores, shape);
    forPairs([&](int64_t n, bool isVisible, int64_t i, int64_t j) {
      out[n] = isVisible ? double(lanes.row(i)[j * lanes.columnStride])
                         : std::numeric_limits<double>::quiet_NaN();
    });
    out += block.count * keys;
  }
  return success();
}

template <typename T>
LogicalResult
ForwardEvaluation<T>::evaluateElements(ArrayRef<Sequence> sequences,
                                       const ElementRequest &request) {
  auto sequence = llvm::find_if(sequences, [&](const Sequence &candidate) {
    return candidate.entry == request.entry;
  });
  if (sequence == sequences.end() || request.head >= queryRows.heads ||
      request.first + request.rows > sequence->queries)
    return frame.fail(op) << "there are no queries " << request.first << " to "
                          << request.first + request.rows - 1 << " of head "
                          << request.head << " of sequence " << request.entry;
  RowBlock block{&*sequence, request.head, request.first, request.rows};
  return this->forBlocks(block, [&](const RowBlock &block, Frame &inner) {
    return evaluateElements(block, inner, request);
  });
}

/// Maximum size of the output; larger sizes are mistakes.
static constexpr int64_t kMaxOutputBytes = int64_t(1) << 36;

template <typename T>
LogicalResult ForwardEvaluation<T>::run() {
  auto sequences = this->findSequences();
  if (failed(sequences) || failed(checkScales(*sequences)))
    return failure();
  auto *elements = frame.template getEnvironment<ElementRequest>();
  if (elements && failed(evaluateElements(*sequences, *elements)))
    return failure();

  SmallVector<int64_t, 4> outputShape(query.getShape());
  outputShape[3] = valueRows.width;
  // Small inputs can have a large output, because each of them may have one
  // large dimension.
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

  std::vector<RowBlock> blocks, boundsBlocks, classifyBlocks, mappedBlocks;
  auto *checks = frame.template getEnvironment<AttentionChecks>();
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
  auto *request = frame.template getEnvironment<BlockMapRequest>();
  for (const Sequence &sequence : *sequences)
    for (int64_t head = 0; head < queryRows.heads; ++head) {
      if (elements)
        continue;
      if (request) {
        request->maps->push_back({sequence.entry,
                                  head,
                                  sequence.queries,
                                  int64_t(sequence.keys.size()),
                                  {}});
        split(mappedBlocks, sequence, head, request->rows);
        continue;
      }
      split(blocks, sequence, head, this->getBlockRows(sequence));
      if (boundsRows)
        split(boundsBlocks, sequence, head, boundsRows);
      if (classifyRows)
        split(classifyBlocks, sequence, head, classifyRows);
    }

  auto runAll = [&](ArrayRef<RowBlock> list, auto &evaluation, auto evaluate) {
    return this->forBlocks(list, [&](const RowBlock &block, Frame &inner) {
      return (evaluation.*evaluate)(block, inner);
    });
  };
  if (request) {
    // All maps are allocated, so their addresses are stable.
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
