//===- SharedMemoryModel.h - State of shared memory -------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// State that the agents of a CTA share: slots of buffers and mailboxes, tensor
// memory, pipelines, the ping-pong order of warp groups, and outstanding dots.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_INTERPRETER_WARP_SHAREDMEMORYMODEL_H
#define FOVEA_LIB_INTERPRETER_WARP_SHAREDMEMORYMODEL_H

#include "fovea/Dialect/Warp/IR/PipelineUses.h"
#include "fovea/Interpreter/Interpreter.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <vector>

namespace fovea::interp {

class PendingDot;
using warp::Party;
using warp::StageUse;

/// Rows that one warp group stored over a slot's contents.
struct StoredRows {
  Party party;
  /// A whole tile, of which only these rows matter.
  RuntimeValue tile;
  mlir::Operation *writer;
};

/// Rows of a stage that one warp group filled. It may read them back until it
/// acquires the stage again, independent of the other groups.
struct FilledRows {
  Party party;
  StageUse use;
  /// A whole tile, of which only these rows matter.
  RuntimeValue tile;
};

/// A unit of shared memory that is written and read as a whole: a stage of a
/// buffer, a slot of a mailbox, or a column of tensor memory.
struct Slot {
  /// Empty before the first write and while a copy is outstanding.
  RuntimeValue contents;
  /// The stage use that the contents belong to; none if the whole CTA wrote
  /// them.
  StageUse use;
  mlir::Operation *writer = nullptr;
  std::optional<Party> writingParty;
  /// The dot in tensor memory that computes the contents.
  std::shared_ptr<PendingDot> product;
  /// The agents that read the contents, if no pipeline orders reads and writes.
  llvm::SmallVector<Party, 2> readers;
  llvm::SmallVector<StoredRows, 0> stored;
  llvm::SmallVector<FilledRows, 0> filled;
  /// The last stores of agents without a proxy fence since.
  llvm::SmallVector<std::pair<Party, mlir::Operation *>, 0> unfenced;

  /// The rows that the agent stored over the contents, or null.
  const StoredRows *findStored(const Party &party) const;
  /// The rows that the agent filled and may read back, or null.
  const FilledRows *findFilled(const Party &party) const;
  /// A last store, if no proxy fence follows it: of the agent or, to a stage,
  /// of another role or unless `ownRows` another warp group.
  mlir::Operation *findUnfenced(const Party &party, bool ownRows) const;
  /// Records a proxy fence after the agent's stores.
  void fence(const Party &party);
};

/// A buffer of `warp.alloc`.
class SharedBuffer : public Object {
public:
  explicit SharedBuffer(int64_t numSlots) : slots(numSlots) {}
  std::vector<Slot> slots;
};

/// The value of a shared memref: some slots of a buffer.
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

/// Columns of 32 bits. A column's contents are an array of its rows, with two
/// elements each if they have 16 bits.
class TensorMemory : public Object {
public:
  explicit TensorMemory(int64_t columns) : columns(columns) {}
  std::vector<Slot> columns;
};

/// The value of a tensor memory memref: columns from `first` on.
class TmemView : public Object {
public:
  TmemView(std::shared_ptr<TensorMemory> memory, int64_t first)
      : memory(std::move(memory)), first(first) {}
  std::shared_ptr<TensorMemory> memory;
  int64_t first;
};

/// The value of type `!warp.turns`: the ping-pong order of a role's warp
/// groups.
class TurnsState : public Object, public warp::PingPongOrder {
public:
  using PingPongOrder::PingPongOrder;
};

/// The value of type `!warp.pipeline`.
class PipelineState : public Object, public warp::PipelineUses {
public:
  using PipelineUses::PipelineUses;
};

/// A commit or release of a stage, which may be delayed until dots are done.
struct Signal {
  warp::PipelineUses *pipeline;
  int64_t stage;
  /// The agent that commits or releases the stage.
  Party party;
  bool releases;
  void apply() const;
};

/// A dot that has been issued and not waited for.
class PendingDot : public Object {
public:
  mlir::Operation *op = nullptr;
  /// In tensor memory: the issuing agent, and the signals to apply when the dot
  /// is done.
  Party issuer;
  llvm::SmallVector<Signal, 2> signals;
  bool signalled = false;
  /// In registers: the result.
  std::shared_ptr<const Array> result;
  llvm::SmallVector<Slot *, 2> operands;
  /// The operand of which only the issuer's own rows are read, if any.
  Slot *rowOperand = nullptr;
  /// True if the dot no longer reads its operands.
  bool complete = false;
  /// True if the program has waited for it.
  bool delivered = false;
  /// The dot that accumulates into this one, which is then not waited for
  /// separately.
  mlir::Operation *taker = nullptr;
};

} // namespace fovea::interp

#endif // FOVEA_LIB_INTERPRETER_WARP_SHAREDMEMORYMODEL_H
