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
      : op(op), frame(frame), places(op.getSequence().getKeyPlaces()),
        query(frame.getArray(op.getQuery()).getShape()),
        key(frame.getArray(op.getKey()).getShape()),
        queries(query[op.getSequenceDim()]), keys(key[op.getSequenceDim()]) {}

  LogicalResult read(std::vector<Sequence> &sequences) {
    if (failed(checkShapes()))
      return failure();
    if (places.arePacked)
      return readPacked(sequences);
    if (places.page)
      return readPaged(sequences);
    return readEntries(sequences);
  }

private:
  /// Checks dynamic sizes, which the types leave open.
  LogicalResult checkShapes() {
    Value value = op.getValue();
    if (value &&
        key.drop_back() != frame.getArray(value).getShape().drop_back())
      return frame.fail(op) << "key and value must agree in all but the head "
                               "dim";
    if (!places.page && query[0] != key[0])
      return frame.fail(op)
             << "query and key must have the same batch size, found "
             << query[0] << " and " << key[0];
    if (places.arePacked && query[0] != 1)
      return frame.fail(op) << "packed sequences need a batch dimension of 1, "
                               "found "
                            << query[0];
    for (auto [index, operand] : llvm::enumerate(op.getSequenceOperands())) {
      int64_t expected =
          places.arePacked
              ? frame.getArray(op.getSequenceOperands()[0]).getShape()[0]
              : query[0];
      int64_t found = frame.getArray(operand).getShape()[0];
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

  Sequence &addBatchEntry(std::vector<Sequence> &sequences, int64_t entry) {
    Sequence &sequence = sequences.emplace_back();
    sequence.entry = sequence.batch = entry;
    sequence.firstQuery = 0;
    sequence.queries = queries;
    return sequence;
  }

  /// Sequences that are batch entries, with all keys or the first ones.
  LogicalResult readEntries(std::vector<Sequence> &sequences) {
    const int64_t *lengths =
        places.lengths ? getOperand(*places.lengths) : nullptr;
    for (int64_t entry = 0; entry < query[0]; ++entry) {
      Sequence &sequence = addBatchEntry(sequences, entry);
      int64_t count =
          lengths ? std::clamp<int64_t>(lengths[entry], 0, keys) : keys;
      for (int64_t j = 0; j < count; ++j)
        sequence.keys.push_back({entry, j});
    }
    return success();
  }

  LogicalResult checkOffsets(StringRef name, const int64_t *offsets,
                             int64_t count, int64_t rows) {
    for (int64_t n = 0; n < count; ++n) {
      int64_t least = n == 0 ? 0 : offsets[n - 1];
      if (offsets[n] < least || offsets[n] > rows)
        return frame.fail(op)
               << "'" << name << "' must be ascending within [0, " << rows
               << "], found " << offsets[n] << " at " << n;
    }
    return success();
  }

  LogicalResult readPacked(std::vector<Sequence> &sequences) {
    int64_t count =
        frame.getArray(op.getSequenceOperands()[0]).getNumElements();
    const int64_t *queryOffsets = getOperand(0), *keyOffsets = getOperand(1);
    if (failed(checkOffsets("cu_q", queryOffsets, count, queries)) ||
        failed(checkOffsets("cu_k", keyOffsets, count, keys)))
      return failure();
    for (int64_t n = 0; n + 1 < count; ++n) {
      Sequence &sequence = sequences.emplace_back();
      sequence.entry = n;
      sequence.batch = 0;
      sequence.firstQuery = queryOffsets[n];
      sequence.queries = queryOffsets[n + 1] - queryOffsets[n];
      for (int64_t row = keyOffsets[n]; row < keyOffsets[n + 1]; ++row)
        sequence.keys.push_back({0, row});
    }
    return success();
  }

  LogicalResult readPaged(std::vector<Sequence> &sequences) {
    const Array &table =
        frame.getArray(op.getSequenceOperands()[places.pageTable]);
    const int64_t *lengths = getOperand(*places.lengths);
    int64_t page = *places.page, pagesPerEntry = table.getShape()[1];
    if (keys != page)
      return frame.fail(op)
             << "pages must have " << page << " rows, found " << keys;
    for (int64_t entry = 0; entry < query[0]; ++entry) {
      Sequence &sequence = addBatchEntry(sequences, entry);
      int64_t count = std::max<int64_t>(lengths[entry], 0);
      if (count > pagesPerEntry * page)
        return frame.fail(op) << "batch entry " << entry << " has " << count
                              << " keys, but its row of the table holds "
                              << pagesPerEntry * page;
      for (int64_t j = 0; j < count; ++j) {
        int64_t index = table.data<int64_t>()[entry * pagesPerEntry + j / page];
        if (index < 0 || index >= key[0])
          return frame.fail(op)
                 << "page " << index << " of batch entry " << entry
                 << " lies outside [0, " << key[0] << ")";
        sequence.keys.push_back({index, j % page});
      }
    }
    return success();
  }

  attn::AttentionOpInterface op;
  Frame &frame;
  attn::KeyLocations places;
  ArrayRef<int64_t> query, key;
  int64_t queries, keys;
};
} // namespace

int64_t fovea::interp::getKeyCapacity(attn::AttentionOpInterface op,
                                      Frame &frame) {
  attn::KeyLocations places = op.getSequence().getKeyPlaces();
  if (!places.page)
    return frame.getArray(op.getKey()).getShape()[op.getSequenceDim()];
  Value table = op.getSequenceOperands()[places.pageTable];
  return frame.getArray(table).getShape()[1] * *places.page;
}

FailureOr<std::vector<Sequence>>
fovea::interp::locateSequences(attn::AttentionOpInterface op, Frame &frame) {
  std::vector<Sequence> sequences;
  if (failed(SequenceReader(op, frame).read(sequences)))
    return failure();
  return sequences;
}
