//===- BackwardEvaluation.cpp - Executes attn.backward ----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Evaluates the backward pass by its definition: P from the LSE, dP, delta, dS,
// then the derivative of score_mod and the sums over queries and keys.
//
//===----------------------------------------------------------------------===//

#include "Attention/BackwardEvaluation.h"

#include "Attention/VariantEvaluation.h"

#include <cmath>

using namespace mlir;
using namespace fovea;
using namespace fovea::interp;

namespace {
/// Targets of attn.contribute: the gradient for each argument of the region,
/// for one block of queries and keys.
struct ContributionSums {
  llvm::SmallDenseMap<Value, Array *> byTarget;
  SmallVector<int64_t, 2> shape;
  /// The type that contributions are rounded to, as dS is, if any.
  std::optional<ElementKind> rounded;
};

/// Evaluates attn.backward in blocks of rows. Sums go over the blocks in order,
/// so they are reproducible.
template <typename T>
class BackwardEvaluation : VariantEvaluation<T> {
public:
  BackwardEvaluation(attn::BackwardOp op, Frame &frame)
      : VariantEvaluation<T>(op, frame), op(op),
        output(frame.getArray(op.getOutput())),
        lse(frame.getArray(op.getLse())),
        outputGradient(frame.getArray(op.getOutputGradient())),
        outputRows(output.getShape(), op.getLayout()),
        lseRows(lse.getShape(), op.getLayout()) {
    if (op.getLseGradient())
      lseGradient = &frame.getArray(op.getLseGradient());
  }

  LogicalResult run();

private:
  using VariantEvaluation<T>::frame;
  using VariantEvaluation<T>::masks;
  using VariantEvaluation<T>::query;
  using VariantEvaluation<T>::key;
  using VariantEvaluation<T>::value;
  using VariantEvaluation<T>::queryRows;
  using VariantEvaluation<T>::keyRows;
  using VariantEvaluation<T>::valueRows;
  using VariantEvaluation<T>::sinks;
  using VariantEvaluation<T>::scale;

  /// Per-pair values of a block's queries and keys, row by row.
  struct Pairs {
    /// True for pairs that count: not masked, and a score other than -inf.
    std::shared_ptr<Array> counts;
    /// P after dropout, and dS: with respect to the result of score_mod first,
    /// later with respect to its argument.
    std::unique_ptr<T[]> weights, gradients;
  };

  LogicalResult checkShapes();
  void allocate(Value result, ArrayRef<int64_t> shape);
  LogicalResult evaluateBlock(const RowBlock &block, Frame &inner);
  /// LSE and delta of row `i` of the block.
  T getLse(const RowBlock &block, int64_t i) const;
  T getDelta(const RowBlock &block, int64_t i) const;
  Pairs evaluatePairs(const RowBlock &block, const RuntimeValue &mask,
                      const RuntimeValue &scores);
  LogicalResult passScoreMod(const RowBlock &block, Frame &inner,
                             const RuntimeValue &scores, Pairs &pairs);
  void addSums(const RowBlock &block, const Array &products, Pairs &pairs);
  /// target[r] += factor * sum over c of weights[r, c] * rows[c], for pairs
  /// that count; with `transposed`, weights[c, r].
  void addRows(const Pairs &pairs, const T *weights, const T *rows,
               int64_t width, T factor, bool transposed, T *target) const;

  T *getSums(Value result) {
    return result ? sums.lookup(result)->template data<T>() : nullptr;
  }
  void round(Value like, T *data, int64_t count) const {
    if (frame.getPrecision() == Precision::Typed)
      roundTo(*getElementKind(getElementTypeOrSelf(like.getType())), data,
              count);
    this->roundFactors(data, count);
  }

  /// Records a row whose probabilities sum to `total`, to detect LSEs to base
  /// 2.
  void noteBase(T rowLse, T total);

  attn::BackwardOp op;
  /// Rows from which the base of the LSE can be inferred, and those with base
  /// 2.
  int64_t tellingRows = 0, rowsOfBaseTwo = 0;
  const Array &output, &lse, &outputGradient, *lseGradient = nullptr;
  RowIndex outputRows, lseRows;
  llvm::SmallDenseMap<Value, std::shared_ptr<Array>> sums;
};
} // namespace

template <typename T>
LogicalResult BackwardEvaluation<T>::checkShapes() {
  SmallVector<int64_t, 4> expected(query.getShape());
  expected[3] = valueRows.width;
  for (auto [name, array] : {std::pair<StringRef, const Array *>("o", &output),
                             {"do", &outputGradient}})
    if (array->getShape() != ArrayRef(expected))
      return frame.fail(op) << "'" << name
                            << "' must have the query's batch, heads and "
                               "sequence, found another shape";
  SmallVector<int64_t, 3> rows = {query.getShape()[0], queryRows.heads,
                                  queryRows.positions};
  for (const Array *array : {&lse, lseGradient})
    if (array && array->getShape() != ArrayRef(rows))
      return frame.fail(op) << (array == &lse ? "'lse'" : "'dlse'")
                            << " must have the query's batch, heads and "
                               "sequence, found another shape";
  return success();
}

/// Allocates zeros for a requested gradient.
template <typename T>
void BackwardEvaluation<T>::allocate(Value result, ArrayRef<int64_t> shape) {
  if (!result)
    return;
  auto array = std::make_shared<Array>(shape, getStorage<T>());
  std::fill_n(array->template data<T>(), array->getNumElements(), T(0));
  sums[result] = std::move(array);
}

template <typename T>
T BackwardEvaluation<T>::getLse(const RowBlock &block, int64_t i) const {
  return lse.data<T>()[lseRows(block.sequence->batch, block.head,
                               block.sequence->firstQuery + block.first + i)];
}

template <typename T>
T BackwardEvaluation<T>::getDelta(const RowBlock &block, int64_t i) const {
  int64_t batch = block.sequence->batch,
          row = block.sequence->firstQuery + block.first + i;
  int64_t at = outputRows(batch, block.head, row);
  T delta = 0;
  for (int64_t d = 0; d < outputRows.width; ++d)
    delta += output.data<T>()[at + d] * outputGradient.data<T>()[at + d];
  if (lseGradient)
    delta -= lseGradient->data<T>()[lseRows(batch, block.head, row)];
  return delta;
}

/// Returns true if a row's probabilities follow from its LSE; otherwise they
/// are 0.
template <typename T>
static bool hasWeights(T lse) {
  return !(std::abs(lse) >= T(attn::kLargestLse));
}

/// An LSE may exceed that of the row's own keys, if it includes sinks or other
/// keys. But a factor of log2(e) in each row means that the LSE is to base 2.
template <typename T>
void BackwardEvaluation<T>::noteBase(T rowLse, T total) {
  constexpr T kLeast = 0.1, kTolerance = 1e-2;
  T own = rowLse + std::log(total);
  if (!std::isfinite(own) || std::abs(own) < kLeast)
    return;
  ++tellingRows;
  rowsOfBaseTwo +=
      std::abs(rowLse * std::log(T(2)) - own) < kTolerance * std::abs(own);
}

template <typename T>
typename BackwardEvaluation<T>::Pairs
BackwardEvaluation<T>::evaluatePairs(const RowBlock &block,
                                     const RuntimeValue &mask,
                                     const RuntimeValue &scores) {
  int64_t keys = block.sequence->keys.size(), count = block.count * keys;
  SmallVector<int64_t, 2> shape = {block.count, keys};
  Lanes<T> scoreLanes(scores, shape);
  Lanes<int64_t> maskLanes(mask, shape);
  std::unique_ptr<T[]> factors(new T[count]);
  std::fill_n(factors.get(), count, T(1));
  this->forDropout(block, [&](int64_t n, T factor) { factors[n] = factor; });
  std::shared_ptr<Array> weightGradients = this->multiplyRows(
      block, this->gatherRows(block, outputGradient, outputRows).get(),
      this->gatherKeys(block, value, valueRows).get(), valueRows.width);

  Pairs pairs{std::make_shared<Array>(shape, Storage::Int),
              std::unique_ptr<T[]>(new T[count]),
              std::unique_ptr<T[]>(new T[count])};
  for (int64_t i = 0; i < block.count; ++i) {
    T rowLse = getLse(block, i), delta = getDelta(block, i), total = 0;
    for (int64_t j = 0; j < keys; ++j) {
      int64_t n = i * keys + j;
      T score = scoreLanes.row(i)[j * scoreLanes.columnStride];
      bool isSeen = maskLanes.row(i)[j * maskLanes.columnStride] &&
                    score != kNegativeInfinity<T> && hasWeights(rowLse);
      pairs.counts->template data<int64_t>()[n] = isSeen;
      T weight = isSeen ? std::exp(score - rowLse) : T(0);
      total += weight;
      // Dropped pairs have no influence, even if V is infinite.
      T byWeight = factors[n] == T(0)
                       ? T(0)
                       : factors[n] * weightGradients->template data<T>()[n];
      pairs.weights[n] = factors[n] == T(0) ? T(0) : weight * factors[n];
      // P is rounded for dots, and a kernel may not keep the exact values.
      round(op.getValue(), &weight, 1);
      pairs.gradients[n] = isSeen ? weight * (byWeight - delta) : T(0);
    }
    noteBase(rowLse, total);
  }
  return pairs;
}

template <typename T>
LogicalResult
BackwardEvaluation<T>::passScoreMod(const RowBlock &block, Frame &inner,
                                    const RuntimeValue &scores, Pairs &pairs) {
  if (op.getScoreMod().empty())
    return success();
  Region &region = op.getScoreGradient();
  SmallVector<int64_t, 2> shape(pairs.counts->getShape());
  int64_t count = pairs.counts->getNumElements();
  ContributionSums contributions;
  contributions.shape = shape;
  if (frame.getPrecision() == Precision::Typed)
    contributions.rounded = getElementKind(op.getQueryType().getElementType());
  for (auto [position, gradient] :
       llvm::zip(op.getDifferentiated(), op.getCaptureGradients()))
    contributions.byTarget[region.getArgument(
        attn::BackwardOp::kScoreGradientArguments + position)] =
        sums.lookup(gradient).get();
  inner.setEnvironment(&contributions);

  auto gradients = std::make_shared<Array>(shape, getStorage<T>());
  std::copy_n(pairs.gradients.get(), count, gradients->template data<T>());
  SmallVector<RuntimeValue> arguments = masks.getCoordinates(block), results;
  RuntimeValue leading[] = {scores, RuntimeValue::array(gradients)};
  arguments.insert(arguments.begin(), std::begin(leading), std::end(leading));
  inner.setActiveLanes(RuntimeValue::array(pairs.counts));
  if (failed(masks.runRegion(inner, region, arguments, results)))
    return failure();
  Lanes<T> lanes(results.front(), shape);
  for (int64_t i = 0; i < shape[0]; ++i)
    for (int64_t j = 0; j < shape[1]; ++j) {
      int64_t n = i * shape[1] + j;
      pairs.gradients[n] = pairs.counts->template data<int64_t>()[n]
                               ? lanes.row(i)[j * lanes.columnStride]
                               : T(0);
    }
  return success();
}

template <typename T>
void BackwardEvaluation<T>::addRows(const Pairs &pairs, const T *weights,
                                    const T *rows, int64_t width, T factor,
                                    bool transposed, T *target) const {
  int64_t queries = pairs.counts->getShape()[0],
          keys = pairs.counts->getShape()[1];
  const int64_t *counts = pairs.counts->template data<int64_t>();
  for (int64_t i = 0; i < queries; ++i)
    for (int64_t j = 0; j < keys; ++j) {
      int64_t n = i * keys + j;
      // 0 times a masked value may be NaN.
      if (!counts[n] || weights[n] == T(0))
        continue;
      const T *row = rows + (transposed ? i : j) * width;
      T *sum = target + (transposed ? j : i) * width,
        weight = weights[n] * factor;
      for (int64_t d = 0; d < width; ++d)
        sum[d] += weight * row[d];
    }
}

/// Adds the contributions of the block's pairs to the requested gradients.
template <typename T>
void BackwardEvaluation<T>::addSums(const RowBlock &block,
                                    const Array &products, Pairs &pairs) {
  int64_t keys = block.sequence->keys.size(), count = block.count * keys;
  // Dots have operands of the tensors' type.
  round(op.getQuery(), pairs.gradients.get(), count);
  round(op.getValue(), pairs.weights.get(), count);
  // The gradient with respect to the scale is the sum of dS times the products.
  if (op.getScaleGradient())
    for (int64_t n = 0; n < count; ++n)
      if (pairs.counts->template data<int64_t>()[n])
        getSums(op.getScaleGradient())[0] +=
            pairs.gradients[n] * products.data<T>()[n];
  if (op.getSinksGradient())
    for (int64_t i = 0; i < block.count; ++i) {
      T sink = sinks->template data<T>()[block.head], rowLse = getLse(block, i);
      if (sink != kNegativeInfinity<T> && hasWeights(rowLse))
        getSums(op.getSinksGradient())[block.head] -=
            std::exp(sink - rowLse) * getDelta(block, i);
    }
  // Accumulates per row, then adds the rows to the tensor.
  auto add = [&](Value result, const RowIndex &rows, const T *weights,
                 const T *by, T factor, bool toKeys) {
    if (!result)
      return;
    int64_t width = rows.width, number = toKeys ? keys : block.count;
    std::unique_ptr<T[]> sum(new T[number * width]());
    addRows(pairs, weights, by, width, factor, toKeys, sum.get());
    for (int64_t n = 0; n < number; ++n) {
      KeyRow at = toKeys ? block.sequence->keys[n]
                         : KeyRow{block.sequence->batch,
                                  block.sequence->firstQuery + block.first + n};
      int64_t head = toKeys ? this->getKeyHead(block.head) : block.head;
      T *target = getSums(result) + rows(at.batch, head, at.row);
      for (int64_t d = 0; d < width; ++d)
        target[d] += sum[n * width + d];
    }
  };
  add(op.getQueryGradient(), queryRows, pairs.gradients.get(),
      this->gatherKeys(block, key, keyRows).get(), scale, /*toKeys=*/false);
  add(op.getKeyGradient(), keyRows, pairs.gradients.get(),
      this->gatherRows(block, query, queryRows).get(), scale, /*toKeys=*/true);
  add(op.getValueGradient(), valueRows, pairs.weights.get(),
      this->gatherRows(block, outputGradient, outputRows).get(), T(1),
      /*toKeys=*/true);
}

template <typename T>
LogicalResult BackwardEvaluation<T>::evaluateBlock(const RowBlock &block,
                                                   Frame &inner) {
  RuntimeValue mask;
  if (failed(masks.evaluateMask(block, inner, mask)))
    return failure();
  std::shared_ptr<Array> products = this->computeProducts(block);
  RuntimeValue scores = RuntimeValue::array(this->scaleProducts(*products)),
               modified = scores;
  if (failed(this->modifyScores(block, inner, mask, modified)))
    return failure();
  Pairs pairs = evaluatePairs(block, mask, modified);
  if (failed(passScoreMod(block, inner, scores, pairs)))
    return failure();
  addSums(block, *products, pairs);
  return success();
}

template <typename T>
LogicalResult BackwardEvaluation<T>::run() {
  if (!op.getScoreMod().empty() && op.getScoreGradient().empty())
    return frame.fail(op) << "score_mod's derivative is not known: run "
                             "attn-differentiate first";
  auto sequences = this->findSequences();
  if (failed(sequences) || failed(checkShapes()))
    return failure();
  allocate(op.getQueryGradient(), query.getShape());
  allocate(op.getKeyGradient(), key.getShape());
  allocate(op.getValueGradient(), value.getShape());
  for (auto [position, gradient] :
       llvm::zip(op.getDifferentiated(), op.getCaptureGradients())) {
    const RuntimeValue &capture = frame.get(op.getCaptures()[position]);
    allocate(gradient, capture.isArray() ? capture.getArray().getShape()
                                         : ArrayRef<int64_t>());
  }
  allocate(op.getSinksGradient(), {queryRows.heads});
  allocate(op.getScaleGradient(), {});

  // Sequential, because all blocks add to the same sums.
  for (const Sequence &sequence : *sequences)
    for (int64_t head = 0; head < queryRows.heads; ++head)
      for (int64_t first = 0, rows = this->getBlockRows(sequence);
           first < sequence.queries; first += rows) {
        RowBlock block{&sequence, head, first,
                       std::min(rows, sequence.queries - first)};
        if (failed(
                this->forBlocks(block, [&](const RowBlock &each, Frame &inner) {
                  return evaluateBlock(each, inner);
                })))
          return failure();
      }
  // Few rows may agree by chance.
  constexpr int64_t kFewestRows = 4;
  if (tellingRows >= kFewestRows && rowsOfBaseTwo == tellingRows)
    return frame.fail(op)
           << "'lse' must be a natural logarithm, found one to base 2";
  for (Value result : op->getResults()) {
    std::shared_ptr<Array> &sum = sums[result];
    roundInPlace(frame, result.getType(), *sum);
    frame.set(result, RuntimeValue::array(std::move(sum)));
  }
  return success();
}

LogicalResult fovea::interp::executeBackward(Operation *op, Frame &frame) {
  auto backward = cast<attn::BackwardOp>(op);
  return withFloatStorage(frame, backward.getQueryType(), [&](auto like) {
    return BackwardEvaluation<decltype(like)>(backward, frame).run();
  });
}

//===----------------------------------------------------------------------===//
// attn.contribute
//===----------------------------------------------------------------------===//

/// Adds `value` at `indices`, one per dimension of `target`, for each active
/// pair.
template <typename T>
static LogicalResult contribute(Operation *op, Frame &frame, Array &target,
                                const ContributionSums &sums,
                                const RuntimeValue &value,
                                ArrayRef<const RuntimeValue *> indices) {
  ArrayRef<int64_t> pairs = sums.shape;
  Lanes<T> values(value, pairs);
  Lanes<int64_t> active(frame.getActiveLanes(), pairs);
  SmallVector<Lanes<int64_t>, 4> places;
  for (const RuntimeValue *index : indices)
    places.emplace_back(*index, pairs);
  for (int64_t i = 0; i < pairs[0]; ++i)
    for (int64_t j = 0; j < pairs[1]; ++j) {
      if (!active.row(i)[j * active.columnStride])
        continue;
      int64_t at = 0;
      for (auto [dim, place] : llvm::enumerate(places)) {
        int64_t index = place.row(i)[j * place.columnStride],
                extent = target.getShape()[dim];
        if (index < 0 || index >= extent)
          return frame.fail(op)
                 << "index of dimension " << int64_t(dim)
                 << " lies outside [0, " << extent << "), found " << index;
        at = at * extent + index;
      }
      T share = values.row(i)[j * values.columnStride];
      if (sums.rounded)
        roundTo(*sums.rounded, &share, 1);
      target.data<T>()[at] += share;
    }
  return success();
}

LogicalResult fovea::interp::executeContribute(Operation *operation,
                                               Frame &frame) {
  auto op = cast<attn::ContributeOp>(operation);
  // The op is only valid in 'attn.backward', which provides the environment.
  auto *contributions = frame.getEnvironment<ContributionSums>();
  Array &target = *contributions->byTarget.lookup(op.getTarget());
  SmallVector<const RuntimeValue *> indices;
  for (Value index : op.getIndices())
    indices.push_back(&frame.get(index));
  const RuntimeValue &value = frame.get(op.getValue());
  if (target.getStorage() == Storage::F32)
    return contribute<float>(op, frame, target, *contributions, value, indices);
  return contribute<double>(op, frame, target, *contributions, value, indices);
}
