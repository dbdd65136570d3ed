//===- Sequences.cpp - Locates sequences in tensors -------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads lengths, offsets and page tables, with bounds checks.
//
//===----------------------------------------------------------------------===//

#include "Attention/Sequences.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::interp;

namespace {
/// Reads the sequences of one op.
class SequenceReader {
public:
  SequenceReader(attn::AttentionOpInterface op, Frame &frame)
      : op(op), frame(frame), places(op.getSequence().getPlaces()),
        query(frame.getArray(op.getQuery()).getShape()),
        key(frame.getArray(op.getKey()).getShape()),
        queries(query[op.getSequenceDim()]), keys(key[op.getSequenceDim()]) {}

  LogicalResult read(std::vector<Sequence> &sequences) {
    if (failed(checkShapes()))
      return failure();
    for (int64_t n = 0, count = countSequences(); n < count; ++n) {
      Sequence &sequence = sequences.emplace_back();
      sequence.entry = n;
      placeQueries(sequence);
      if (failed(placeKeys(sequence)))
        return failure();
    }
    return success();
  }

private:
  /// Checks dynamic sizes, which the types leave open.
  LogicalResult checkShapes() {
    Value value = op.getValue();
    if (value &&
        key.drop_back() != frame.getArray(value).getShape().drop_back())
      return frame.fail(op) << "key and value must agree in all but the head "
                               "dim";
    if (places.sharesBatch() && query[0] != key[0])
      return frame.fail(op)
             << "query and key must have the same batch size, found "
             << query[0] << " and " << key[0];
    if (places.packsQueries() && query[0] != 1)
      return frame.fail(op) << "packed sequences need a batch dimension of 1, "
                               "found "
                            << query[0];
    if (failed(checkEntries()))
      return failure();
    if (places.page && keys != *places.page)
      return frame.fail(op)
             << "pages must have " << *places.page << " rows, found " << keys;
    if (places.packsQueries() &&
        failed(checkOffsets("cu_q", *places.queryOffsets, queries)))
      return failure();
    if (places.packsKeys())
      return checkOffsets("cu_k", *places.keyOffsets, keys);
    if (places.pageOffsets)
      return checkOffsets("page_indptr", *places.pageOffsets,
                          countEntries(places.pageTable));
    return success();
  }

  int64_t countEntries(unsigned operand) {
    return frame.getArray(op.getSequenceOperands()[operand]).getShape()[0];
  }
  int64_t countSequences() {
    return places.packsQueries()
               ? std::max<int64_t>(countEntries(*places.queryOffsets) - 1, 0)
               : query[0];
  }

  /// Checks the number of entries of each operand.
  LogicalResult checkEntries() {
    int64_t sequences = countSequences();
    if (places.hasAllKeys() && !places.sharesBatch() && key[0] != sequences)
      return frame.fail(op) << "key and value must have " << sequences
                            << " batch entries, found " << key[0];
    for (unsigned index : llvm::seq(op.getSequenceOperands().size())) {
      // The list of the pages of all sequences has any length.
      if (places.pageOffsets && index == places.pageTable)
        continue;
      bool isOffsets = index == places.queryOffsets ||
                       index == places.keyOffsets ||
                       index == places.pageOffsets;
      int64_t found = countEntries(index);
      int64_t expected = isOffsets ? sequences + 1 : sequences;
      if (found != expected)
        return frame.fail(op)
               << "'" << op.getSequence().getOperandNames()[index]
               << "' must have " << expected << " entries, found " << found;
    }
    return success();
  }

  const int64_t *getOperand(unsigned index) {
    return frame.getArray(op.getSequenceOperands()[index]).data<int64_t>();
  }

  LogicalResult checkOffsets(StringRef name, unsigned operand, int64_t rows) {
    const int64_t *offsets = getOperand(operand);
    for (int64_t n = 0, count = countEntries(operand); n < count; ++n) {
      int64_t least = n == 0 ? 0 : offsets[n - 1];
      if (offsets[n] < least || offsets[n] > rows)
        return frame.fail(op)
               << "'" << name << "' must be ascending within [0, " << rows
               << "], found " << offsets[n] << " at " << n;
    }
    return success();
  }

  void placeQueries(Sequence &sequence) {
    sequence.batch = sequence.entry;
    sequence.firstQuery = 0;
    sequence.queries = queries;
    if (!places.packsQueries())
      return;
    const int64_t *offsets = getOperand(*places.queryOffsets) + sequence.entry;
    sequence.batch = 0;
    sequence.firstQuery = offsets[0];
    sequence.queries = offsets[1] - offsets[0];
  }

  LogicalResult placeKeys(Sequence &sequence) {
    if (places.page)
      return placePagedKeys(sequence);
    int64_t n = sequence.entry, batch = n, first = 0, end = keys;
    if (places.lengths)
      end = std::clamp<int64_t>(getOperand(*places.lengths)[n], 0, keys);
    if (places.packsKeys()) {
      const int64_t *offsets = getOperand(*places.keyOffsets) + n;
      batch = 0, first = offsets[0], end = offsets[1];
    }
    for (int64_t row = first; row < end; ++row)
      sequence.keys.push_back({batch, row});
    return success();
  }

  LogicalResult placePagedKeys(Sequence &sequence) {
    const Array &table =
        frame.getArray(op.getSequenceOperands()[places.pageTable]);
    int64_t page = *places.page, pages = table.getShape().back(),
            n = sequence.entry, first = n * pages;
    if (places.pageOffsets) {
      const int64_t *offsets = getOperand(*places.pageOffsets) + n;
      first = offsets[0];
      pages = offsets[1] - first;
    }
    int64_t count = std::max<int64_t>(getOperand(*places.lengths)[n], 0);
    if (count > pages * page)
      return frame.fail(op)
             << "batch entry " << n << " has " << count
             << " keys, but its row of the table holds " << pages * page;
    for (int64_t j = 0; j < count; ++j) {
      int64_t index = table.data<int64_t>()[first + j / page];
      if (index < 0 || index >= key[0])
        return frame.fail(op) << "page " << index << " of batch entry " << n
                              << " lies outside [0, " << key[0] << ")";
      sequence.keys.push_back({index, j % page});
    }
    return success();
  }

  attn::AttentionOpInterface op;
  Frame &frame;
  attn::SequencePlaces places;
  ArrayRef<int64_t> query, key;
  int64_t queries, keys;
};
} // namespace

int64_t fovea::interp::getKeyCapacity(attn::AttentionOpInterface op,
                                      Frame &frame) {
  attn::SequencePlaces places = op.getSequence().getPlaces();
  if (!places.page)
    return frame.getArray(op.getKey()).getShape()[op.getSequenceDim()];
  Value table = op.getSequenceOperands()[places.pageTable];
  return frame.getArray(table).getShape().back() * *places.page;
}

FailureOr<std::vector<Sequence>>
fovea::interp::locateSequences(attn::AttentionOpInterface op, Frame &frame) {
  std::vector<Sequence> sequences;
  if (failed(SequenceReader(op, frame).read(sequences)))
    return failure();
  return sequences;
}
