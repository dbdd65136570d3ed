//===- SharedMemoryModel.h - What the warps of a CTA share ------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_INTERPRETER_SHAREDMEMORYMODEL_H
#define FOVEA_LIB_INTERPRETER_SHAREDMEMORYMODEL_H

#include "fovea/Dialect/Warp/IR/Warp.h"
#include "fovea/Interpreter/Interpreter.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <vector>

namespace fovea::interp {

class PendingDot;
class PipelineState;

/// Who takes part in synchronisation: a role's region (null: the kernel before
/// its roles start) and the warp group. Agents come and go, parties stay.
struct Party {
  mlir::Region *role = nullptr;
  int64_t group = 0;
  bool operator==(const Party &other) const {
    return role == other.role && group == other.group;
  }
  std::string describe() const;
};

/// How many coroutines execute a role: one for each warp group, or one in all
/// if the role produces, since what it produces it produces once.
int64_t countGroups(fovea::warp::SpecializeOp op, unsigned role);

/// One use of a stage: the `round`-th time that it is filled.
struct StageUse {
  PipelineState *pipeline = nullptr;
  int64_t stage = 0, round = 0;
  explicit operator bool() const { return pipeline != nullptr; }
  bool operator==(const StageUse &other) const {
    return pipeline == other.pipeline && stage == other.stage &&
           round == other.round;
  }
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

/// The order of turns of one role's warp groups.
class TurnsState : public Object {
public:
  mlir::Region *role = nullptr;
  int64_t ended = 0;
  /// Turns begun by each group.
  llvm::SmallVector<int64_t> begun;
};

/// What happens to a stage once dots are done.
struct Signal {
  PipelineState *pipeline;
  int64_t stage;
  /// The consumer that releases the stage; none: the producer commits it.
  std::optional<Party> consumer;
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
  /// Does nothing read the operands any more?
  bool complete = false;
  /// Did the program wait for it?
  bool delivered = false;
};

/// How far a consumer is with a stage: it holds the stage between `waited` and
/// `released`. The producer learns of the release later if dots must be done
/// before: `given`.
struct ConsumerState {
  int64_t waited = 0, released = 0, given = 0;
  mlir::Operation *wait = nullptr;
};

/// One stage's barriers, as counts of completed rounds.
struct StageState {
  int64_t acquired = 0, committed = 0, full = 0;
  /// Commits, whether the dots before them are done or not.
  int64_t handedOver = 0;
  int64_t copiesInFlight = 0;
  /// The last copy into the stage and its round.
  mlir::Operation *copy = nullptr;
  int64_t copiedRound = -1;
  llvm::SmallVector<std::pair<Party, ConsumerState>, 4> consumers;

  ConsumerState &getConsumer(const Party &party);
};

/// A pipeline; rounds stand for the phases of its barriers.
class PipelineState : public Object {
public:
  PipelineState(mlir::Operation *op, int64_t numStages)
      : op(op), stages(numStages) {}

  /// Finds out who uses the pipeline; arrival counts follow. Fails with an
  /// error at what uses it in another way, or as a second producer.
  llvm::LogicalResult findUsers(Frame &frame);

  /// Rounds of a stage that all consumers have released; `limit` if there are
  /// none to wait for.
  int64_t countReleased(int64_t stage, int64_t limit) const;
  /// The consumers that a round still waits for, as text.
  std::string describeMissing(int64_t stage, int64_t round) const;

  /// Lets the stage become full once it is committed and all copies landed.
  void update(int64_t stage);

  mlir::Operation *op;
  std::vector<StageState> stages;

private:
  llvm::LogicalResult addUsers(Frame &frame, mlir::Value value,
                               mlir::Region *region);

  std::optional<Party> producer;
};

} // namespace fovea::interp

#endif // FOVEA_LIB_INTERPRETER_SHAREDMEMORYMODEL_H
