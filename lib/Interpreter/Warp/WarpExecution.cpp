//===- WarpExecution.cpp - Runs the CTAs of a grid --------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs CTAs independently on the context's threads, or interleaves several of
// them if they share a work counter, semaphores or accumulators in memory.
//
//===----------------------------------------------------------------------===//

#include "Warp/WarpExecution.h"
#include "Warp/RoleScheduler.h"

#include "fovea/Dialect/Tile/IR/Semaphores.h"
#include "fovea/Interpreter/Trace.h"

#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::interp;

/// Number of blocks that run concurrently if they share state.
static constexpr int64_t kResidentBlocks = 3;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

bool fovea::interp::isWarpObject(Type type) {
  return isa<warp::WarpDialect>(type.getDialect()) ||
         warp::isSharedBuffer(type) || warp::isTmemBuffer(type);
}

LogicalResult fovea::interp::verifyWarpObjects(Operation *kernel) {
  auto function = cast<FunctionOpInterface>(kernel);
  for (BlockArgument argument : function.getArguments())
    if (isWarpObject(argument.getType()))
      return emitError(argument.getLoc(), "a kernel's argument cannot be a ")
             << argument.getType();
  WalkResult result = kernel->walk([](Operation *op) {
    // Ops with regions and terminators pass values on.
    if (isa_and_nonnull<warp::WarpDialect>(op->getDialect()) ||
        isa<RegionBranchOpInterface>(op) ||
        op->hasTrait<OpTrait::IsTerminator>())
      return WalkResult::advance();
    for (Type type : op->getOperandTypes())
      if (isWarpObject(type)) {
        op->emitError("the interpreter cannot execute '")
            << op->getName().getStringRef() << "' on " << type;
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

static std::string describeBlock(int64_t block, int64_t count) {
  return ("in block " + Twine(block) + " of " + Twine(count)).str();
}

namespace {
/// A CTA that runs concurrently with others: it advances once in `slowness`
/// times that it is chosen.
struct Resident {
  std::unique_ptr<Cta> cta;
  uint64_t slowness;
};
} // namespace

// Maximum ratio of the speeds of blocks: at equal speeds they would keep the
// order in which they started.
static constexpr uint64_t kMostSlowness = 16;

/// Runs several blocks concurrently, interleaved, so that work items are
/// fetched, semaphores released and sums accumulated in any order.
static LogicalResult runInterleaved(Frame &frame, Region &kernel,
                                    ArrayRef<RuntimeValue> arguments,
                                    int64_t count, uint64_t seed) {
  GridState grid;
  std::mt19937_64 random(seed);
  SmallVector<Resident> resident;
  /// Blocks that are blocked since the last event.
  llvm::SmallPtrSet<Cta *, kResidentBlocks> blocked;
  int64_t next = 0;
  auto fail = [&](Cta &cta) {
    frame.adoptFailure(cta.getFailedFrame());
    frame.note() << describeBlock(cta.position.block[0], count);
    return failure();
  };
  while (next < count || !resident.empty()) {
    if (next < count && int64_t(resident.size()) < kResidentBlocks) {
      GridPosition position{{next++, 0, 0}, {count, 1, 1}};
      resident.push_back({std::make_unique<Cta>(frame, position, seed, grid),
                          1 + random() % kMostSlowness});
      if (failed(resident.back().cta->start(kernel, arguments)))
        return fail(*resident.back().cta);
      continue;
    }
    auto &[cta, slowness] = resident[random() % resident.size()];
    if (random() % slowness != 0)
      continue;
    Cta::Status status = cta->advance();
    if (status != Cta::Status::Blocked)
      blocked.clear();
    switch (status) {
    case Cta::Status::Failed:
      return fail(*cta);
    case Cta::Status::Stopped:
      return success();
    case Cta::Status::Finished:
      std::swap(cta, resident.back().cta);
      std::swap(slowness, resident.back().slowness);
      resident.pop_back();
      break;
    case Cta::Status::Running:
      break;
    case Cta::Status::Blocked:
      blocked.insert(cta.get());
      if (blocked.size() < resident.size())
        break;
      cta->reportDeadlock();
      return fail(*cta);
    }
  }
  return success();
}

static LogicalResult runOne(Frame &frame, Region &kernel,
                            ArrayRef<RuntimeValue> arguments,
                            const GridPosition &position, uint64_t seed) {
  GridState grid;
  Cta cta(frame, position, seed, grid);
  if (succeeded(cta.start(kernel, arguments)) && succeeded(cta.run()))
    return success();
  frame.adoptFailure(cta.getFailedFrame());
  return failure();
}

LogicalResult fovea::interp::runBlocks(Frame &frame, Region &kernel,
                                       ArrayRef<RuntimeValue> arguments,
                                       int64_t count, uint64_t seed) {
  bool isWarpLevel = false, isShared = false;
  kernel.walk([&](Operation *op) {
    isWarpLevel |= isa_and_nonnull<warp::WarpDialect>(op->getDialect());
    // Blocks that share a work counter, semaphores or arrivals, or add to the
    // same elements.
    auto store = dyn_cast<tile::AddsToMemoryOpInterface>(op);
    isShared |=
        isa<warp::NextWorkOp, warp::FetchWorkOp, tile::SemaphoreWaitOp,
            tile::SemaphoreReleaseOp, tile::ArriveOp, tile::JoinOp>(op) ||
        (store && store.isAddition());
  });
  if (isShared && isWarpLevel)
    return runInterleaved(frame, kernel, arguments, count, seed);
  auto runBlock = [&](int64_t block, Frame &inner) -> LogicalResult {
    GridPosition position{{block, 0, 0}, {count, 1, 1}};
    if (isWarpLevel)
      return runOne(inner, kernel, arguments, position, seed);
    inner.setEnvironment(&position);
    SmallVector<RuntimeValue> results;
    return inner.run(kernel, arguments, results);
  };
  // A trace records the first block only.
  int64_t executed = frame.getEnvironment<TraceEnvironment>() ? 1 : count;
  auto describe = [&](int64_t block) { return describeBlock(block, count); };
  executed = std::min(executed, count);
  if (!isShared)
    return frame.runInParallel(kernel.getContext(), executed, runBlock,
                               describe);
  // Sequential, so that sums do not depend on the number of threads.
  for (int64_t block = 0; block < executed; ++block)
    if (failed(frame.runInParallel(
            kernel.getContext(), 1,
            [&](int64_t, Frame &inner) { return runBlock(block, inner); },
            [&](int64_t) { return describe(block); })))
      return failure();
  return success();
}
