//===- RoleScheduler.h - Interleaves the roles of a CTA ---------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A scheduler interleaves the ops, copies and dots of a CTA's agents in an
// order drawn from a seed, so that synchronisation errors show as failures.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_INTERPRETER_WARP_ROLESCHEDULER_H
#define FOVEA_LIB_INTERPRETER_WARP_ROLESCHEDULER_H

#include "Warp/Agent.h"

#include <functional>
#include <random>

namespace fovea::interp {

class WarpTrace;

/// State that the CTAs of a grid share, besides memory.
struct GridState {
  /// The index of the next work item, after the initial one per CTA.
  int64_t nextWork = 0;
  /// Number of semaphore releases so far.
  uint64_t releases = 0;
};

/// An asynchronous copy that has not landed.
struct PendingCopy {
  Slot *slot;
  RuntimeValue data;
  StageUse use;
};

/// Data that a copy to global memory has read but not yet written.
struct PendingWrite {
  Agent *issuer;
  std::function<void()> write;
};

/// A CTA under execution. Its agents run one op at a time, in an order drawn
/// from a seed.
class Cta {
public:
  /// Stopped: the trace is full. Blocked: only other CTAs can make progress.
  enum class Status { Running, Blocked, Finished, Stopped, Failed };

  Cta(const Frame &like, const GridPosition &position, uint64_t seed,
      GridState &grid);

  /// Starts the kernel with `arguments`.
  llvm::LogicalResult start(mlir::Region &kernel,
                            llvm::ArrayRef<RuntimeValue> arguments);
  /// Runs one agent for a while, or completes one copy or dot.
  Status advance();
  /// Fails with a description of the events that agents wait for.
  Status reportDeadlock();
  /// Runs to the end, without other CTAs.
  llvm::LogicalResult run();
  /// The frame that recorded why the CTA failed.
  Frame &getFailedFrame() { return *failed; }

  /// For handlers. Starts the roles, waits for them, or lets `agent` continue
  /// when all are done.
  llvm::LogicalResult executeRoles(warp::SpecializeOp op, Agent &agent);
  void addCopy(PendingCopy copy) { copies.push_back(std::move(copy)); }
  void addWrite(PendingWrite write) { writes.push_back(std::move(write)); }
  /// Completes the agent's copies to global memory.
  void finishWrites(Agent &agent);
  /// Dots in tensor memory complete in the order of their issue.
  void addDot(Agent &agent, std::shared_ptr<PendingDot> dot) {
    agent.lastDot = dot;
    dots.push_back(std::move(dot));
  }
  llvm::ArrayRef<std::shared_ptr<PendingDot>> getDots() const { return dots; }
  /// Applies the signal once all dots that the agent has issued so far are
  /// done.
  void signalAfterDots(Agent &agent, const Signal &signal);
  /// The object that an op creates: one per CTA, regardless of how often the op
  /// is executed.
  template <typename T, typename... Args>
  std::shared_ptr<T> getObject(mlir::Operation *op, Args... args) {
    std::shared_ptr<Object> &object = objects[op];
    if (!object)
      object = std::make_shared<T>(args...);
    return std::static_pointer_cast<T>(object);
  }
  /// Returns true at random, with a probability of 1/4; never with a trace.
  /// Code that depends on a ballot must tolerate a spurious one.
  bool drawSpuriousBallot() { return !trace && draw(4) == 0; }
  /// Records an event that other agents may wait for.
  void notify() { ++epoch; }
  /// A semaphore was released.
  void notifyGrid() { ++grid.releases; }
  llvm::ArrayRef<std::unique_ptr<Agent>> getAgents() const { return agents; }

  const GridPosition position;
  GridState &grid;
  /// Calls of `warp.next_work`.
  int64_t numNextWork = 0;
  /// The last `warp.fetch_work`, and `warp.finish_work` if executed.
  mlir::Operation *fetch = nullptr, *finish = nullptr;

private:
  llvm::LogicalResult startRoles(warp::SpecializeOp op, Agent &agent);
  Status runAgent(Agent &agent);
  void landCopy(size_t index);
  void landWrite(size_t index);
  void finishDot();
  /// The number of events that agents may wait for.
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
  /// In the order of their creation, so that errors do not depend on addresses.
  llvm::MapVector<mlir::Operation *, std::shared_ptr<Object>> objects;
  /// The `warp.specialize` under execution.
  mlir::Operation *roles = nullptr;
  bool hadRoles = false;
  Frame *failed = nullptr;
};

} // namespace fovea::interp

#endif // FOVEA_LIB_INTERPRETER_WARP_ROLESCHEDULER_H
