//===- SharedMemoryModel.h - What the warps of a CTA share ------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_INTERPRETER_WARP_SHAREDMEMORYMODEL_H
#define FOVEA_LIB_INTERPRETER_WARP_SHAREDMEMORYMODEL_H

#include "fovea/Dialect/Warp/IR/PipelineRounds.h"
#include "fovea/Interpreter/Interpreter.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <vector>

namespace fovea::interp {

class PendingDot;
using warp::Party;
using warp::StageUse;

/// Rows that one warp group stored over what a slot holds.
struct StoredRows {
  Party party;
  /// A whole tile, of which the rows count.
  RuntimeValue tile;
  mlir::Operation *writer;
};

/// Rows of a stage that one warp group filled: it may read them back until it
/// acquires the stage again, whatever the others do.
struct FilledRows {
  Party party;
  StageUse use;
  /// A whole tile, of which the rows count.
  RuntimeValue tile;
};

/// One place in shared memory that is written and read as a whole: a stage of
/// a buffer, a slot of a mailbox, or a column of tensor memory.
struct Slot {
  /// Empty before the first write and while a copy is under way.
  RuntimeValue contents;
  /// The stage that the contents belong to; none if the whole CTA wrote them.
  StageUse use;
  mlir::Operation *writer = nullptr;
  std::optional<Party> writingParty;
  /// The dot in memory form that computes the contents.
  std::shared_ptr<PendingDot> product;
  /// Who read the contents, if no pipeline orders reads and writes.
  llvm::SmallVector<Party, 2> readers;
  llvm::SmallVector<StoredRows, 0> stored;
  llvm::SmallVector<FilledRows, 0> filled;
  /// The last stores of those who have not shown them to units that run on
  /// their own.
  llvm::SmallVector<std::pair<Party, mlir::Operation *>, 0> unfenced;

  /// What the party stored over the contents; null if it did not.
  const StoredRows *findStored(const Party &party) const;
  /// What the party filled and may read back; null if there is nothing.
  const FilledRows *findFilled(const Party &party) const;
  /// The party's last store, if it is not shown yet.
  mlir::Operation *findUnfenced(const Party &party) const;
  /// The party's stores are shown.
  void fence(const Party &party);
};

/// A buffer that `warp.alloc` made.
class SharedBuffer : public Object {
public:
  explicit SharedBuffer(int64_t numSlots) : slots(numSlots) {}
  std::vector<Slot> slots;
};

/// What a value of shared memref type stands for: some slots of a buffer.
class SharedView : public Object {
public:
  SharedView(std::shared_ptr<SharedBuffer> buffer, int64_t first)
      : buffer(std::move(buffer)), first(first) {}
  Slot &getSlot() { return buffer->slots[first]; }
  std::shared_ptr<SharedBuffer> buffer;
  int64_t first;
};

class MailboxState : public Object {
public:
  explicit MailboxState(int64_t numSlots) : slots(numSlots) {}
  std::vector<Slot> slots;
};

/// Columns of 32 bits. What a column holds is an array of its rows, with two
/// elements each if they have 16 bits.
class TensorMemory : public Object {
public:
  explicit TensorMemory(int64_t columns) : columns(columns) {}
  std::vector<Slot> columns;
};

/// What a value of tensor memory type stands for: columns from `first` on.
class TmemView : public Object {
public:
  TmemView(std::shared_ptr<TensorMemory> memory, int64_t first)
      : memory(std::move(memory)), first(first) {}
  std::shared_ptr<TensorMemory> memory;
  int64_t first;
};

/// What a value of type `!warp.turns` stands for.
class TurnsState : public Object, public warp::TurnOrder {
public:
  using TurnOrder::TurnOrder;
};

/// What a value of type `!warp.pipeline` stands for.
class PipelineState : public Object, public warp::PipelineRounds {
public:
  using PipelineRounds::PipelineRounds;
};

/// What happens to a stage once dots are done.
struct Signal {
  warp::PipelineRounds *pipeline;
  int64_t stage;
  /// Who commits or releases it.
  Party party;
  bool releases;
  void apply() const;
};

/// A product that has been issued and not delivered.
class PendingDot : public Object {
public:
  mlir::Operation *op = nullptr;
  /// In memory form: who issued it, and whom it tells that it is done.
  Party issuer;
  llvm::SmallVector<Signal, 2> signals;
  bool signalled = false;
  /// Of the other form: the product.
  std::shared_ptr<const Array> result;
  llvm::SmallVector<Slot *, 2> operands;
  /// The one among them of which only the issuer's own rows are read.
  Slot *rowOperand = nullptr;
  /// Does nothing read the operands any more?
  bool complete = false;
  /// Did the program wait for it?
  bool delivered = false;
  /// The dot that adds to it: it will not be delivered by itself.
  mlir::Operation *taker = nullptr;
};

} // namespace fovea::interp

#endif // FOVEA_LIB_INTERPRETER_WARP_SHAREDMEMORYMODEL_H
