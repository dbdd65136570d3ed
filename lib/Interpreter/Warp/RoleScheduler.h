//===- RoleScheduler.h - Interleaves the roles of a CTA ---------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_INTERPRETER_WARP_ROLESCHEDULER_H
#define FOVEA_LIB_INTERPRETER_WARP_ROLESCHEDULER_H

#include "Warp/SharedMemoryModel.h"
#include "TileSupport.h"
#include "fovea/Interpreter/Handlers.h"
#include "fovea/Interpreter/Trace.h"

#include <functional>
#include <random>

namespace fovea::interp {

/// What the CTAs of a grid have in common, besides memory.
struct GridState {
  /// The number of the next work item. The first ones are given out already.
  int64_t nextWork = 0;
  /// Releases of semaphores so far.
  uint64_t releases = 0;
};

class Cta;

/// Environment of frames at the warp level. Environments are constant, what
/// they refer to need not be.
struct WarpEnvironment {
  struct Agent *agent;
};

/// One coroutine of a CTA: a warp group of a role, a whole role, or the kernel
/// before and after its roles.
struct Agent : warp::Participant {
  Agent(const Frame &like, Party party, Cta &cta);
  // The frame refers to the environment.
  Agent(const Agent &) = delete;

  WarpEnvironment environment;
  Cta &cta;
  Frame frame;
  bool finished = false, waiting = false;
  /// While waiting: whether other CTAs may end that.
  bool waitsForOthers = false;
  /// While waiting: the CTA's state when it started to wait, and for what.
  uint64_t waitingSince = 0;
  std::string waitsFor;
  /// Set by ops that synchronise: a good moment to let others run.
  bool synchronised = false;
  /// How often it is chosen; drawn from the seed.
  unsigned weight = 1;

  /// Asynchronous dots in the order of their issue; delivered ones are removed.
  llvm::SmallVector<std::shared_ptr<PendingDot>, 4> dots;
  /// Slots that it stored to, some of them not shown since.
  llvm::SmallPtrSet<Slot *, 4> unfenced;
  /// Copies out that may still read their slot, and by which op.
  llvm::SmallVector<std::pair<Slot *, mlir::Operation *>, 2> copiesOut;
  /// The last dot in memory form that it issued.
  std::shared_ptr<PendingDot> lastDot;

  /// Suspends the op that is being executed until the CTA's state changes.
  llvm::LogicalResult wait(std::string reason) {
    waitsFor = std::move(reason);
    waitsForOthers = false;
    frame.suspend();
    return llvm::success();
  }
  /// The same until another CTA releases a semaphore, too.
  llvm::LogicalResult waitForOthers(std::string reason) {
    (void)wait(std::move(reason));
    waitsForOthers = true;
    return llvm::success();
  }
};

/// An asynchronous copy that has not landed.
struct PendingCopy {
  Slot *slot;
  RuntimeValue data;
  StageUse use;
};

/// What a copy out has read and not written yet.
struct PendingWrite {
  Agent *issuer;
  std::function<void()> write;
};

/// A CTA under execution. Its agents run one op at a time, in an order drawn
/// from a seed.
class Cta {
public:
  /// Stopped: what was to be traced is. Blocked: only other CTAs can help.
  enum class Status { Running, Blocked, Finished, Stopped, Failed };

  Cta(const Frame &like, const GridPosition &position, uint64_t seed,
      GridState &grid);

  /// `arguments` are the kernel's.
  llvm::LogicalResult start(mlir::Region &kernel,
                            llvm::ArrayRef<RuntimeValue> arguments);
  /// Lets one agent run for a while, or one copy land.
  Status advance();
  /// Fails: what agents wait for never happens.
  Status reportDeadlock();
  /// Runs to the end, alone.
  llvm::LogicalResult run();
  /// The frame that recorded why the CTA failed.
  Frame &getFailedFrame() { return *failed; }

  /// For handlers. Starts the roles, or waits for them, or, when all are done,
  /// lets `agent` go on.
  llvm::LogicalResult executeRoles(warp::SpecializeOp op, Agent &agent);
  void addCopy(PendingCopy copy) { copies.push_back(std::move(copy)); }
  void addWrite(PendingWrite write) { writes.push_back(std::move(write)); }
  /// Writes what the agent's copies out have read.
  void finishWrites(Agent &agent);
  /// Dots in memory form are done in the order of their issue.
  void addDot(Agent &agent, std::shared_ptr<PendingDot> dot) {
    agent.lastDot = dot;
    dots.push_back(std::move(dot));
  }
  llvm::ArrayRef<std::shared_ptr<PendingDot>> getDots() const { return dots; }
  /// Gives the signal once all dots are done that the party issued so far.
  void signalAfterDots(Agent &agent, const Signal &signal);
  /// The object that an op makes: one for each CTA, however often the op is
  /// executed.
  template <typename T, typename... Args>
  std::shared_ptr<T> getObject(mlir::Operation *op, Args... args) {
    std::shared_ptr<Object> &object = objects[op];
    if (!object)
      object = std::make_shared<T>(args...);
    return std::static_pointer_cast<T>(object);
  }
  /// True now and then; never where what happens is to be seen.
  bool castVote() { return !trace && draw(4) == 0; }
  /// Something happened that others may wait for.
  void notify() { ++epoch; }
  /// A semaphore was released.
  void notifyGrid() { ++grid.releases; }
  llvm::ArrayRef<std::unique_ptr<Agent>> getAgents() const { return agents; }

  const GridPosition position;
  GridState &grid;
  /// Calls of `warp.next_work`.
  int64_t numNextWork = 0;
  /// The last `warp.fetch_work`, and `warp.finish_work` if there was one.
  mlir::Operation *fetch = nullptr, *finish = nullptr;

private:
  llvm::LogicalResult startRoles(warp::SpecializeOp op, Agent &agent);
  Status runAgent(Agent &agent);
  void landCopy(size_t index);
  void landWrite(size_t index);
  void finishDot();
  /// The number of things that happened that agents may wait for.
  uint64_t getState() const { return epoch + grid.releases; }
  bool isBlocked() const;
  Status fail(Agent &agent);
  llvm::LogicalResult checkEnd(Agent &agent);
  llvm::LogicalResult checkWork(Agent &agent);
  llvm::LogicalResult checkFills(Agent &agent);
  uint64_t draw(uint64_t count) { return random() % count; }
  unsigned drawWeight();

  WarpTrace *trace = nullptr;
  uint64_t seed;
  std::mt19937_64 random;
  uint64_t epoch = 0;
  unsigned copyWeight, dotWeight;
  std::vector<std::unique_ptr<Agent>> agents;
  std::vector<PendingCopy> copies;
  std::vector<PendingWrite> writes;
  std::vector<std::shared_ptr<PendingDot>> dots;
  /// In the order of their creation, so that errors don't depend on addresses.
  llvm::MapVector<mlir::Operation *, std::shared_ptr<Object>> objects;
  /// The `warp.specialize` under execution.
  mlir::Operation *roles = nullptr;
  bool hadRoles = false;
  Frame *failed = nullptr;
};

/// The rows of a tile that whoever executes the frame holds: all, or, in a role
/// whose warp groups part them by the tile's layout, those of a group.
RowRange getHeldRows(Frame &frame, mlir::RankedTensorType tile);

/// The agent that a frame belongs to; records an error outside kernels.
llvm::FailureOr<Agent *> getAgent(mlir::Operation *op, Frame &frame);

} // namespace fovea::interp

#endif // FOVEA_LIB_INTERPRETER_WARP_ROLESCHEDULER_H
