//===- BlockCursor.h - Iterates over blocks ---------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The sequence of blocks that `tile.softmax_sum` and `tile.for_blocks` execute.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_INTERPRETER_ATTENTION_BLOCKCURSOR_H
#define FOVEA_LIB_INTERPRETER_ATTENTION_BLOCKCURSOR_H

#include "fovea/Interpreter/Interpreter.h"

#include "llvm/Support/MathExtras.h"

namespace fovea::interp {

/// The current block of `tile.softmax_sum` or `tile.for_blocks`, and whether it
/// is partial.
template <typename Op>
class BlockCursor {
public:
  explicit BlockCursor(Op op) : op(op) {}

  /// Moves to the first block.
  void start(Frame &frame) {
    for (mlir::Value init : op.getInits())
      visited.push_back(frame.get(init));
    if (!op.isVisiting())
      block = frame.getInteger(op.getLower());
    if (op.getDescending() && !isEmpty(frame)) {
      // Unsigned, since the distance of two keys may overflow.
      uint64_t keys = uint64_t(frame.getInteger(op.getUpper())) - block;
      block += (keys - 1) / op.getStep() * op.getStep();
    }
    isFirst = true;
  }

  /// Returns true if there is no block; ops that run at least once execute one
  /// nevertheless.
  bool isEmpty(Frame &frame) {
    if (op.isVisiting())
      return false;
    return frame.getInteger(op.getLower()) >= frame.getInteger(op.getUpper());
  }

  /// Returns true after the last block.
  bool isDone(Frame &frame) {
    if (op.isVisiting())
      return position >= frame.getInteger(op.getCount());
    if (isFirst)
      return isEmpty(frame) && !op.runsAtLeastOnce();
    return isPast || block < frame.getInteger(op.getLower()) ||
           block >= frame.getInteger(op.getUpper());
  }

  /// Arguments of the `visit` region.
  llvm::SmallVector<RuntimeValue> getVisit() const {
    llvm::SmallVector<RuntimeValue> values = {RuntimeValue::integer(position)};
    llvm::append_range(values, visited);
    return values;
  }
  /// Takes the results of the `visit` region.
  void takeVisit(llvm::MutableArrayRef<RuntimeValue> yielded) {
    block = yielded.front().getInteger();
    visited.assign(yielded.begin() + 1, yielded.end());
  }

  /// The block's first element and whether it is partial.
  llvm::LogicalResult get(Frame &frame,
                          llvm::SmallVectorImpl<RuntimeValue> &values) {
    bool isPartial;
    if (op.isVisiting()) {
      isPartial = position < frame.getInteger(op.getMasked());
    } else {
      int64_t fullUpper = frame.getInteger(op.getFullUpper());
      bool isFull =
          block >= frame.getInteger(op.getFullLower()) && block < fullUpper;
      if (isFull && fullUpper - block < int64_t(op.getStep()))
        return frame.fail(op) << "full_upper " << fullUpper
                              << " lies inside the block of keys " << block
                              << " to " << block + int64_t(op.getStep()) - 1;
      isPartial = !isFull || (op.runsAtLeastOnce() && isFirst);
    }
    isFirst = false;
    values.push_back(RuntimeValue::integer(block));
    values.push_back(RuntimeValue::integer(isPartial));
    return llvm::success();
  }

  void advance() {
    if (op.isVisiting()) {
      ++position;
      return;
    }
    int64_t step = op.getStep();
    isPast = op.getDescending() ? llvm::SubOverflow(block, step, block)
                                : llvm::AddOverflow(block, step, block);
  }

  int64_t getBlock() const { return block; }

private:
  Op op;
  int64_t block = 0, position = 0;
  llvm::SmallVector<RuntimeValue> visited;
  bool isFirst = true, isPast = false;
};

} // namespace fovea::interp

#endif // FOVEA_LIB_INTERPRETER_ATTENTION_BLOCKCURSOR_H
