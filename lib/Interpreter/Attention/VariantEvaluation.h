//===- VariantEvaluation.h - Scores, masks and dropout ----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of the evaluation that forward and backward share: products, scores,
// masks and dropout, in blocks of query rows.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_INTERPRETER_ATTENTION_VARIANTEVALUATION_H
#define FOVEA_LIB_INTERPRETER_ATTENTION_VARIANTEVALUATION_H

#include "Attention/BlockLists.h"
#include "Attention/MaskEvaluation.h"
#include "Attention/RowIndex.h"
#include "Elementwise.h"
#include "MatMul.h"
#include "TileSupport.h"

#include "fovea/Interpreter/HostTensor.h"

namespace fovea::interp {

/// Common base of forward and backward, which evaluate blocks of query rows. T
/// is double for exact precision, otherwise float.
template <typename T>
class VariantEvaluation {
protected:
  VariantEvaluation(attn::AttentionOpInterface op, Frame &frame)
      : variant(op), frame(frame), masks(op, frame),
        query(frame.getArray(op.getQuery())), key(frame.getArray(op.getKey())),
        value(frame.getArray(op.getValue() ? op.getValue() : op.getKey())),
        queryRows(query.getShape(), op.getLayout()),
        keyRows(key.getShape(), op.getLayout()),
        valueRows(value.getShape(), op.getLayout()) {
    if (std::optional<llvm::ArrayRef<int64_t>> columns = op.getValueColumns())
      valueRows = valueRows.takeColumns(columns->front(), columns->back());
    if (op.getSinks())
      sinks = &frame.getArray(op.getSinks());
    scale = op.getScaleValue()
                ? T(frame.get(op.getScaleValue()).template getScalar<T>())
                : T(*op.getConstantScale());
  }

  /// Checks dynamic sizes.
  llvm::LogicalResult checkSizes();
  /// Checks sizes, and locates the sequences.
  llvm::FailureOr<std::vector<Sequence>> findSequences();

  int64_t getKeyHead(int64_t head) const {
    return head / (queryRows.heads / keyRows.heads);
  }
  /// Rounds operands of products to tf32 if the op allows it and the evaluation
  /// is typed.
  void roundFactors(T *data, int64_t count) const;
  /// Gathers the block's rows of a tensor that has the queries' batch, heads
  /// and rows, as operands of products.
  std::unique_ptr<T[]> gatherRows(const RowBlock &block, const Array &array,
                                  const RowIndex &rows) const;
  /// Gathers the rows of K or V that belong to the block's sequence and head,
  /// as operands of products.
  std::unique_ptr<T[]> gatherKeys(const RowBlock &block, const Array &array,
                                  const RowIndex &rows) const;
  /// Products of query rows and key rows of width `depth`.
  std::shared_ptr<Array> multiplyRows(const RowBlock &block, const T *rows,
                                      const T *keys, int64_t depth) const;
  /// Products of the block's queries with its keys.
  std::shared_ptr<Array> computeProducts(const RowBlock &block) const;
  /// Products times the scale, and times `by`.
  std::shared_ptr<Array> scaleProducts(const Array &products, T by = 1) const;
  /// Applies score_mod to scores that `mask` shows.
  llvm::LogicalResult modifyScores(const RowBlock &block, Frame &inner,
                                   const RuntimeValue &mask,
                                   RuntimeValue &scores);
  /// Calls `fn` with the index of each pair of the block and its dropout
  /// factor.
  template <typename Fn>
  void forDropout(const RowBlock &block, Fn fn) const;

  /// Query rows of a block: limited so that scores take a few megabytes.
  static int64_t getBlockRows(const Sequence &sequence) {
    constexpr int64_t kMaxRows = 64, kMaxScores = 1 << 19;
    int64_t keys = std::max<int64_t>(sequence.keys.size(), 1);
    return std::clamp<int64_t>(kMaxScores / keys, 1, kMaxRows);
  }
  /// Runs `body` for each block, each in a frame of its own.
  llvm::LogicalResult
  forBlocks(llvm::ArrayRef<RowBlock> blocks,
            llvm::function_ref<llvm::LogicalResult(const RowBlock &, Frame &)>
                body) const;

  attn::AttentionOpInterface variant;
  Frame &frame;
  MaskEvaluation masks;
  const Array &query, &key, &value;
  RowIndex queryRows, keyRows, valueRows;
  const Array *sinks = nullptr;
  T scale;
};

template <typename T>
llvm::LogicalResult VariantEvaluation<T>::checkSizes() {
  bool areGroups = keyRows.heads ? queryRows.heads % keyRows.heads == 0
                                 : queryRows.heads == 0;
  if (!areGroups)
    return frame.fail(variant)
           << "the number of query heads must be a multiple of "
              "the number of key heads, found "
           << queryRows.heads << " and " << keyRows.heads;
  if (sinks && sinks->getNumElements() != queryRows.heads)
    return frame.fail(variant) << "'sinks' must have " << queryRows.heads
                               << " entries, found " << sinks->getNumElements();
  if (variant.hasBlocks())
    return BlockLists(variant, frame).check(getKeyCapacity(variant, frame));
  return llvm::success();
}

template <typename T>
llvm::FailureOr<std::vector<Sequence>> VariantEvaluation<T>::findSequences() {
  if (failed(checkSizes()))
    return llvm::failure();
  return locateSequences(variant, frame);
}

template <typename T>
void VariantEvaluation<T>::roundFactors(T *data, int64_t count) const {
  constexpr uint32_t kDroppedBits = 0x1fff, kHalf = 0x1000;
  if (!attn::AttentionOpInterface(variant).getTf32() ||
      frame.getPrecision() != Precision::Typed)
    return;
  for (int64_t n = 0; n < count; ++n)
    if (std::isfinite(data[n]))
      data[n] = llvm::bit_cast<float>(
          (llvm::bit_cast<uint32_t>(float(data[n])) + kHalf) & ~kDroppedBits);
}

template <typename T>
std::unique_ptr<T[]>
VariantEvaluation<T>::gatherRows(const RowBlock &block, const Array &array,
                                 const RowIndex &rows) const {
  std::unique_ptr<T[]> gathered(new T[block.count * rows.width]);
  for (int64_t i = 0; i < block.count; ++i)
    std::copy_n(array.data<T>() +
                    rows(block.sequence->batch, block.head,
                         block.sequence->firstQuery + block.first + i),
                rows.width, gathered.get() + i * rows.width);
  roundFactors(gathered.get(), block.count * rows.width);
  return gathered;
}

template <typename T>
std::unique_ptr<T[]>
VariantEvaluation<T>::gatherKeys(const RowBlock &block, const Array &array,
                                 const RowIndex &rows) const {
  int64_t head = getKeyHead(block.head);
  std::unique_ptr<T[]> gathered(
      new T[block.sequence->keys.size() * rows.width]);
  for (auto [j, row] : llvm::enumerate(block.sequence->keys))
    std::copy_n(array.data<T>() + rows(row.batch, head, row.row), rows.width,
                gathered.get() + j * rows.width);
  roundFactors(gathered.get(), block.sequence->keys.size() * rows.width);
  return gathered;
}

template <typename T>
std::shared_ptr<Array>
VariantEvaluation<T>::multiplyRows(const RowBlock &block, const T *rows,
                                   const T *keys, int64_t depth) const {
  int64_t count = block.sequence->keys.size();
  std::unique_ptr<T[]> transposed(new T[count * depth]);
  transpose(keys, transposed.get(), count, depth);
  auto products = std::make_shared<Array>(
      llvm::ArrayRef<int64_t>{block.count, count}, getStorage<T>());
  T *data = products->template data<T>();
  std::fill_n(data, block.count * count, T(0));
  multiplyAdd(rows, transposed.get(), data, block.count, count, depth);
  return products;
}

template <typename T>
std::shared_ptr<Array>
VariantEvaluation<T>::computeProducts(const RowBlock &block) const {
  return multiplyRows(block, gatherRows(block, query, queryRows).get(),
                      gatherKeys(block, key, keyRows).get(), queryRows.width);
}

template <typename T>
std::shared_ptr<Array>
VariantEvaluation<T>::scaleProducts(const Array &products, T by) const {
  auto scores = std::make_shared<Array>(products.getShape(), getStorage<T>());
  for (int64_t n = 0; n < products.getNumElements(); ++n)
    scores->template data<T>()[n] = products.data<T>()[n] * (scale * by);
  return scores;
}

template <typename T>
llvm::LogicalResult VariantEvaluation<T>::modifyScores(const RowBlock &block,
                                                       Frame &inner,
                                                       const RuntimeValue &mask,
                                                       RuntimeValue &scores) {
  if (variant.getScoreMod().empty())
    return llvm::success();
  llvm::SmallVector<RuntimeValue> arguments = masks.getCoordinates(block),
                                  results;
  arguments.insert(arguments.begin(), scores);
  inner.setActiveLanes(mask);
  if (failed(masks.runRegion(inner, variant.getScoreMod(), arguments, results)))
    return llvm::failure();
  scores = results.front();
  return llvm::success();
}

template <typename T>
template <typename Fn>
void VariantEvaluation<T>::forDropout(const RowBlock &block, Fn fn) const {
  attn::AttentionOpInterface op = variant;
  if (!op.getDropoutAttr())
    return;
  uint64_t dropped = op.getDroppedShare(),
           steps = attn::AttentionOpInterface::kDropoutSteps;
  uint64_t offset = frame.getInteger(op.getDropoutOffset());
  uint64_t seed = uint64_t(frame.getInteger(op.getDropoutSeed())) ^
                  (offset & ~uint64_t(0xFFFFFFFF));
  uint32_t head = block.sequence->entry * queryRows.heads + block.head;
  uint64_t stream = head | offset << 32;
  T factor = T(steps) / T(steps - dropped);
  int64_t keys = block.sequence->keys.size();
  for (int64_t i = 0; i < block.count; ++i)
    for (int64_t j = 0; j < keys; ++j) {
      bool isKept =
          generator::numberAt(seed, stream, block.first + i, j) >= dropped;
      fn(i * keys + j, isKept ? factor : T(0));
    }
}

template <typename T>
llvm::LogicalResult VariantEvaluation<T>::forBlocks(
    llvm::ArrayRef<RowBlock> blocks,
    llvm::function_ref<llvm::LogicalResult(const RowBlock &, Frame &)> body)
    const {
  attn::AttentionOpInterface op = variant;
  return frame.runInParallel(
      op->getContext(), blocks.size(), [&](int64_t index, Frame &inner) {
        const RowBlock &block = blocks[index];
        SequenceLengths lengths{block.sequence->queries,
                                int64_t(block.sequence->keys.size())};
        inner.setEnvironment(&lengths);
        return body(block, inner);
      });
}

} // namespace fovea::interp

#endif // FOVEA_LIB_INTERPRETER_ATTENTION_VARIANTEVALUATION_H
