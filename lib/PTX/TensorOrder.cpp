//===- TensorOrder.cpp - Order of tcgen05.mma, .cp and commits ------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The asynchronous tcgen05 work that threads issue: its pipelines, the fence
// before a synchronisation, and the work that a commit tracks. Handlers in
// Instructions/ use it for the order in which work completes and for races.
//
//===----------------------------------------------------------------------===//

#include "TensorMemoryAccess.h"

using namespace fovea::ptx;

/// Outstanding work that `isEarlier` selects. Of one thread's work in one
/// pipeline, which is a chain, the last piece is enough.
static void findWork(const Cluster &cluster,
                     llvm::function_ref<bool(const Stamp &)> isEarlier,
                     llvm::SmallVectorImpl<uint64_t> &after) {
  llvm::SmallVector<const Work *> found;
  for (const Work &item : cluster.work) {
    if (!item.stamp || !isEarlier(item.stamp))
      continue;
    const Work **same = llvm::find_if(found, [&](const Work *other) {
      return item.stamp.pipeline != kCopyPipeline &&
             item.stamp.pipeline == other->stamp.pipeline &&
             isSameThread(item.stamp, other->stamp);
    });
    if (same == found.end())
      found.push_back(&item);
    else if ((*same)->number < item.number)
      *same = &item;
  }
  for (const Work *item : found)
    after.push_back(item->number);
}

static Stamp makeStamp(Warp &warp, const Inst &inst, unsigned lane,
                       uint16_t agent, unsigned pipeline) {
  Stamp stamp;
  stamp.agent = agent;
  stamp.epoch = warp.matrices.epoch;
  stamp.lanes = 1u << lane;
  stamp.cluster = warp.cluster->index;
  stamp.place = inst.index;
  stamp.pipeline = pipeline;
  return stamp;
}

Stamp fovea::ptx::makeProductStamp(Warp &warp, const Inst &inst, unsigned lane,
                                   uint32_t d,
                                   const InstructionDescriptor &descriptor,
                                   unsigned group) {
  Cluster &cluster = *warp.cluster;
  unsigned pipeline = kIssuePipeline;
  if (cluster.run->launch.promisedTensorOrder) {
    uint64_t rank = warp.cta->rank;
    uint64_t key = uint64_t(d) | uint64_t(descriptor.m) << 32 |
                   uint64_t(descriptor.n) << 41 |
                   uint64_t(descriptor.kind) << 50 | uint64_t(group) << 54 |
                   (group == 2 ? rank & ~uint64_t(1) : rank) << 56;
    // The last pipeline stands for all further accumulators.
    unsigned next = std::min<size_t>(kIssuePipeline + cluster.pipelines.size(),
                                     kLastPipeline);
    pipeline = cluster.pipelines.try_emplace(key, next).first->second;
  }
  return makeStamp(warp, inst, lane, warp.matrixAgent, pipeline);
}

Stamp fovea::ptx::makeCopyStamp(Warp &warp, const Inst &inst, unsigned lane) {
  bool promised = warp.cluster->run->launch.promisedTensorOrder;
  return makeStamp(warp, inst, lane, warp.tensorCopyAgent,
                   promised ? kCopyPipeline : kIssuePipeline);
}

void fovea::ptx::issueTensorWork(Warp &warp, const Inst &inst,
                                 const Stamp &stamp, llvm::StringRef what,
                                 std::function<bool()> finish) {
  Cluster &cluster = *warp.cluster;
  unsigned lane = __builtin_ctz(stamp.lanes);
  const TensorOrder &order = warp.knowledgeOf(lane).tensor;
  llvm::SmallVector<uint64_t> after;
  findWork(
      cluster,
      [&](const Stamp &earlier) { return isPipelined(earlier, stamp, order); },
      after);
  cluster.issue(warp, inst, what, std::move(finish), after);
  cluster.work.back().stamp = stamp;
  TensorThread &thread = warp.tensorThreads[lane];
  thread.unpublished = true;
  if (stamp.pipeline == kCopyPipeline)
    return;
  // With the promised order, products of other threads may be in other
  // pipelines, which clocks do not tell apart. A commit then covers none of
  // them.
  thread.behind.join(order.copies);
  if (!cluster.run->launch.promisedTensorOrder)
    thread.behind.join(order.products);
}

void fovea::ptx::publishTensorWork(Warp &warp, uint32_t mask) {
  warp.splitGroups(mask);
  uint32_t issued = 0;
  for (auto &[lane, thread] : warp.tensorThreads)
    if (thread.unpublished && mask >> lane & 1) {
      thread.unpublished = false;
      issued |= 1u << lane;
      // Other lanes did not issue this work.
      warp.splitGroups(1u << lane);
    }
  for (LaneGroup &group : warp.groups) {
    if (!(group.mask & mask))
      continue;
    TensorOrder &passed = group.knowledge.passed;
    passed.join(group.knowledge.tensor);
    if (!(group.mask & issued))
      continue;
    passed.copies.raise(warp.tensorCopyAgent, warp.matrices.epoch, group.mask);
    passed.products.raise(warp.matrixAgent, warp.matrices.epoch, group.mask);
  }
  // Later work is not published.
  if (issued)
    ++warp.matrices.epoch;
}

Knowledge fovea::ptx::commitTensorWork(Warp &warp, unsigned lane,
                                       llvm::SmallVectorImpl<uint64_t> &after) {
  // A commit implies the fence. Its arrive-on operation has cluster scope; the
  // work is ordered after everything that the thread observed, so waiting
  // threads are too.
  publishTensorWork(warp, 1u << lane);
  Knowledge result;
  warp.release(1u << lane, result);
  Clock done = warp.tensorThreads[lane].behind;
  for (uint16_t agent : {warp.matrixAgent, warp.tensorCopyAgent})
    done.raise(agent, warp.matrices.epoch, 1u << lane);
  ++warp.matrices.epoch;
  result.known.join(done);
  result.passed.done.join(done);
  Stamp own;
  own.agent = warp.matrixAgent;
  own.cluster = warp.cluster->index;
  own.lanes = 1u << lane;
  findWork(
      *warp.cluster,
      [&](const Stamp &stamp) { return isSameThread(stamp, own); }, after);
  return result;
}
