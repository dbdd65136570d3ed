//===- Sequences.h - Locates sequences in tensors ---------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Locates the rows of each sequence for all sequence forms: batched, padded,
// packed and paged.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_INTERPRETER_ATTENTION_SEQUENCES_H
#define FOVEA_LIB_INTERPRETER_ATTENTION_SEQUENCES_H

#include "fovea/Dialect/Attn/IR/Attn.h"
#include "fovea/Interpreter/Interpreter.h"

#include <vector>

namespace fovea::interp {

/// A key's row in K and V: indices of the batch and the sequence dimension.
struct KeyRow {
  int64_t batch, row;
};

/// One sequence of an attn op, which the regions call batch entry `entry`.
struct Sequence {
  int64_t entry;
  /// Position of its queries in Q and O.
  int64_t batch, firstQuery, queries;
  llvm::SmallVector<KeyRow, 0> keys;
};

/// The number of keys that a sequence may have: rows of the key tensor, or of
/// the pages in a row of the page table.
int64_t getKeyCapacity(attn::AttentionOpInterface op, Frame &frame);

/// The sequences of an op, in any form. Offsets, lengths and tables that point
/// outside the tensors are failures of the frame.
llvm::FailureOr<std::vector<Sequence>>
locateSequences(attn::AttentionOpInterface op, Frame &frame);

} // namespace fovea::interp

#endif // FOVEA_LIB_INTERPRETER_ATTENTION_SEQUENCES_H
