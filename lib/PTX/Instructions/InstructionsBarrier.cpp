//===- InstructionsBarrier.cpp - Barriers of warps, CTAs and clusters -----===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// bar, barrier and barrier.cluster, setmaxnreg, griddepcontrol, and
// instructions that end or delay threads.
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"

#include "llvm/ADT/StringSwitch.h"

using namespace fovea::ptx;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// bar, barrier
//===----------------------------------------------------------------------===//

namespace {
struct BarrierForm {
  enum Kind : uint8_t { Sync, Arrive, Popc, And, Or } kind = Sync;
  bool aligned = true, counted = false, negated = false;
};
} // namespace

static bool isComplete(const Cta &cta, const Barrier &barrier) {
  if (barrier.fresh)
    return false;
  if (barrier.expected)
    return barrier.arrived >= barrier.expected;
  // Without a count: all live threads.
  for (const Warp &warp : cta.warps)
    if (warp.live & ~barrier.lanes[warp.index])
      return false;
  return true;
}

void Cluster::completeBarrier(Cta &cta, Barrier &barrier) {
  for (const Waiter &waiter : barrier.waiters) {
    waiter.warp->acquire(waiter.mask, barrier.knowledge);
    waiter.warp->syncLanes(waiter.mask);
  }
  barrier.waiters.clear();
  barrier.knowledge = Knowledge();
  llvm::fill(barrier.lanes, 0);
  barrier.result = barrier.reduction;
  barrier.arrived = barrier.expected = 0;
  barrier.fresh = true;
  ++barrier.phase;
}

void Cluster::checkBarriers(Cta &cta) {
  for (Barrier &barrier : cta.barriers)
    if (!barrier.fresh && !barrier.expected && isComplete(cta, barrier))
      completeBarrier(cta, barrier);
  checkClusterBarrier();
}

/// Slots: [result,] barrier, [count,] [predicate].
static Step runBarrier(Warp &warp, const Inst &inst, uint32_t mask) {
  const auto &form = *static_cast<const BarrierForm *>(inst.data);
  Fragment &f = warp.fragment();
  bool reduces = form.kind >= BarrierForm::Popc;
  const Slot *slot = inst.ops + reduces;
  unsigned lane = __builtin_ctz(mask);
  uint32_t id = warp.at<uint32_t>(slot[0])[lane];
  if (id > 15)
    return warp.fail(inst, "barrier",
                     "a CTA has barriers 0 to 15, found " + Twine(id), mask);
  Barrier &barrier = warp.cta->barriers[id];
  if (f.wait.kind == Wait::Barrier) {
    f.wait = Wait();
    if (form.kind == BarrierForm::Popc)
      forLanes(mask, [&](unsigned l) {
        warp.at<uint32_t>(inst.ops[0])[l] = barrier.result;
      });
    else if (reduces)
      warp.setPredicate(inst.ops[0], barrier.result ? ~0u : 0, mask);
    return Step::Next;
  }
  if (form.aligned && !warp.isWhole(mask))
    return warp.fail(inst, "aligned",
                     "an aligned barrier must be executed by all live lanes of "
                     "the warp, found lanes " +
                         warp.describe(mask),
                     mask);
  uint32_t count = form.counted ? warp.at<uint32_t>(slot[1])[lane] : 0;
  if (form.counted && (count == 0 || count % 32 || count > 1024))
    return warp.fail(inst, "barrier",
                     "a count of threads must be a multiple of 32 up to 1024, "
                     "found " +
                         Twine(count),
                     mask);
  if (barrier.fresh) {
    barrier.fresh = false;
    barrier.expected = count;
    barrier.place = inst.index;
    barrier.reduction = form.kind == BarrierForm::And;
  } else if (barrier.expected != count) {
    auto name = [](uint32_t n) { return n ? std::to_string(n) : "all"; };
    return warp.fail(inst, "barrier",
                     "barrier " + Twine(id) + " is for " + name(count) +
                         " threads here and for " + name(barrier.expected) +
                         " at line " +
                         Twine(warp.cluster->run->locate(barrier.place).line),
                     mask);
  }
  uint32_t &lanes = barrier.lanes[warp.index];
  if (lanes & mask)
    return warp.fail(inst, "barrier",
                     "lanes " + warp.describe(lanes & mask) +
                         " arrive at barrier " + Twine(id) +
                         " a second time in one phase",
                     mask);
  lanes |= mask;
  barrier.arrived += form.aligned ? 32 : __builtin_popcount(mask);
  if (barrier.expected && barrier.arrived > barrier.expected)
    return warp.fail(inst, "barrier",
                     "barrier " + Twine(id) + " is for " +
                         Twine(barrier.expected) + " threads, and " +
                         Twine(barrier.arrived) + " have arrived",
                     mask);
  if (reduces) {
    uint32_t votes = warp.predicate(slot[1 + form.counted]);
    votes = (form.negated ? ~votes : votes) & mask;
    if (form.kind == BarrierForm::Popc)
      barrier.reduction += __builtin_popcount(votes);
    else if (form.kind == BarrierForm::And)
      barrier.reduction &= votes == mask;
    else
      barrier.reduction |= votes != 0;
  }
  warp.release(mask, barrier.knowledge);
  if (form.kind != BarrierForm::Arrive) {
    f.wait.kind = Wait::Barrier;
    f.wait.object = id;
    f.wait.value = barrier.phase;
    barrier.waiters.push_back({&warp, mask});
  }
  if (isComplete(*warp.cta, barrier))
    warp.cluster->completeBarrier(*warp.cta, barrier);
  return form.kind == BarrierForm::Arrive ? Step::Next : Step::Wait;
}

/// Slots: members.
static Step runWarpSync(Warp &warp, const Inst &inst, uint32_t mask) {
  uint32_t members = warp.at<uint32_t>(inst.ops[0])[__builtin_ctz(mask)];
  Step step = warp.gather(inst, mask, members);
  if (step == Step::Next)
    warp.syncLanes(mask);
  return step;
}

static Step runClusterBarrier(Warp &warp, const Inst &inst, uint32_t mask);

static void buildClusterBarrier(Build &b);

static void buildBarrier(Build &b) {
  if (b.take("cluster"))
    return buildClusterBarrier(b);
  if (b.take("warp")) {
    b.need("sync");
    if (!b.expectOperands(1, 1))
      return;
    b.read(0, {Type::Bits, 32});
    return b.set(runWarpSync);
  }
  BarrierForm form;
  form.aligned = b.name == "bar";
  b.take("cta");
  StringRef kind = b.needOneOf({"sync", "arrive", "red"});
  if (!form.aligned)
    form.aligned = b.take("aligned");
  unsigned results = 0;
  if (kind == "arrive")
    form.kind = BarrierForm::Arrive;
  if (kind == "red") {
    StringRef op = b.needOneOf({"popc", "and", "or"});
    b.need(op == "popc" ? "u32" : "pred");
    form.kind = op == "popc"  ? BarrierForm::Popc
                : op == "and" ? BarrierForm::And
                              : BarrierForm::Or;
    results = 2; // including the operand of the reduction
  }
  if (!b.expectOperands(1 + results + (kind == "arrive"), 2 + results))
    return;
  form.counted = b.count() == 2 + results;
  unsigned n = 0;
  Type word{Type::Bits, 32};
  if (results) {
    if (form.kind == BarrierForm::Popc)
      b.write(n++, word);
    else
      b.writePredicate(b.operand(n++));
  }
  b.read(n++, word);
  if (form.counted)
    b.read(n++, word);
  if (results)
    form.negated = b.readNegatable(b.operand(n));
  b.attach(form);
  b.set(runBarrier);
}

//===----------------------------------------------------------------------===//
// barrier.cluster
//===----------------------------------------------------------------------===//

void Cluster::checkClusterBarrier() {
  bool any = false;
  for (Cta &cta : ctas)
    for (Warp &warp : cta.warps) {
      uint32_t arrived = barrier.arrived[warp.number];
      any |= arrived != 0;
      if (warp.live & ~arrived)
        return;
    }
  if (!any)
    return;
  llvm::fill(barrier.arrived, 0);
  barrier.last = std::move(barrier.knowledge);
  barrier.knowledge = Knowledge();
  ++barrier.phase;
}

static Step runClusterBarrier(Warp &warp, const Inst &inst, uint32_t mask) {
  ClusterBarrier &barrier = warp.cluster->barrier;
  Fragment &f = warp.fragment();
  bool waits = inst.imm & 1, aligned = inst.imm & 2, relaxed = inst.imm & 4;
  if (aligned && !warp.isWhole(mask))
    return warp.fail(
        inst, "aligned",
        "an aligned 'barrier.cluster' must be executed by all live "
        "lanes of the warp, found lanes " +
            warp.describe(mask),
        mask);
  if (!waits) {
    uint32_t &arrived = barrier.arrived[warp.number];
    uint32_t again = arrived & mask;
    forLanes(mask, [&](unsigned l) {
      if (warp.clusterArrivals[l])
        again |= 1u << l;
    });
    if (again)
      return warp.fail(
          inst, "cluster",
          "lanes " + warp.describe(again) +
              " arrive at the cluster barrier again without having waited",
          again);
    arrived |= mask;
    forLanes(mask,
             [&](unsigned l) { warp.clusterArrivals[l] = barrier.phase + 1; });
    if (relaxed)
      warp.releaseFenced(mask, InCluster, barrier.knowledge);
    else
      warp.release(mask, barrier.knowledge);
    warp.cluster->checkClusterBarrier();
    return Step::Next;
  }
  uint64_t phase = warp.clusterArrivals[__builtin_ctz(mask)];
  bool fine = allLanes(mask, [&](unsigned l) {
    return warp.clusterArrivals[l] == phase && phase;
  });
  if (!fine)
    return warp.fail(inst, "cluster",
                     "'barrier.cluster.wait' without an arrival before it",
                     mask);
  if (barrier.phase < phase) {
    f.wait.kind = Wait::ClusterBarrier;
    f.wait.value = phase - 1;
    return Step::Wait;
  }
  f.wait = Wait();
  forLanes(mask, [&](unsigned l) { warp.clusterArrivals[l] = 0; });
  // No later phase can have ended, since this warp has not arrived there.
  warp.acquire(mask, barrier.last);
  return Step::Next;
}

static void buildClusterBarrier(Build &b) {
  bool waits = b.needOneOf({"arrive", "wait"}) == "wait";
  StringRef order = b.takeOneOf({"release", "relaxed", "acquire"});
  if (waits ? order == "release" || order == "relaxed" : order == "acquire")
    return b.error("'barrier.cluster' has no such order", "syntax");
  bool aligned = b.take("aligned");
  b.expectOperands(0, 0);
  b.inst.imm = waits | aligned << 1 | (order == "relaxed") << 2;
  b.set(runClusterBarrier);
}

//===----------------------------------------------------------------------===//
// Registers, grids, exits and delays
//===----------------------------------------------------------------------===//

/// Slots: none. imm: the count; flags: 1 for .inc.
static Step runSetRegisters(Warp &warp, const Inst &inst, uint32_t mask) {
  if (!warp.isWhole(mask))
    return warp.fail(inst, "aligned",
                     "'setmaxnreg' must be executed by all live lanes of the "
                     "warp, found lanes " +
                         warp.describe(mask),
                     mask);
  uint32_t wanted = inst.imm;
  int64_t change = (int64_t(wanted) - warp.registers) * 32;
  Fragment &f = warp.fragment();
  if (inst.flags ? change < 0 : change > 0)
    return warp.fail(inst, "registers",
                     "the warp has " + Twine(warp.registers) +
                         " registers per thread and must be given " +
                         (inst.flags ? "more" : "fewer") + ", found " +
                         Twine(wanted),
                     mask);
  if (change > warp.cta->freeRegisters) {
    f.wait.kind = Wait::Registers;
    f.wait.value = change;
    return Step::Wait;
  }
  f.wait = Wait();
  warp.cta->freeRegisters -= change;
  warp.registers = wanted;
  // Warp::checkEnd compares the warps of each group.
  warp.registersHash = (warp.registersHash + 2 * wanted + inst.flags + 1) *
                       0x9e3779b97f4a7c15ull;
  warp.lastSetRegisters = &inst;
  return Step::Next;
}

static void buildSetRegisters(Build &b) {
  b.inst.flags = b.needOneOf({"inc", "dec"}) == "inc";
  b.need("sync");
  b.need("aligned");
  b.need("u32");
  if (!b.expectOperands(1, 1))
    return;
  int64_t count = b.constant(b.operand(0));
  if (count < 24 || count > 256 || count % 8)
    b.error(b.operand(0).loc, "'setmaxnreg' takes a multiple of 8 from 24 to "
                              "256, found " +
                                  Twine(count));
  b.inst.imm = count;
  b.set(runSetRegisters);
}

static Step runNothing(Warp &, const Inst &, uint32_t) { return Step::Next; }
static Step runYield(Warp &, const Inst &, uint32_t) { return Step::Yield; }

/// The preceding grid has ended when this one runs, but only waiting threads
/// are ordered after it.
static Step runGridWait(Warp &warp, const Inst &, uint32_t mask) {
  warp.acquireAgent(mask, warp.cluster->gridAgent, 1, /*lanewise=*/false);
  return Step::Next;
}

static Step runLaunchDependents(Warp &warp, const Inst &, uint32_t) {
  warp.cluster->run->launchedDependents = true;
  return Step::Next;
}

static void buildGridDependency(Build &b) {
  bool waits = b.needOneOf({"wait", "launch_dependents"}) == "wait";
  b.expectOperands(0, 0);
  b.code.launchesDependents |= !waits;
  b.set(waits ? runGridWait : runLaunchDependents);
}

static void buildSleep(Build &b) {
  b.need("u32");
  if (!b.expectOperands(1, 1))
    return;
  b.read(0, {Type::Bits, 32});
  b.set(runYield);
}

static Step runTrap(Warp &warp, const Inst &inst, uint32_t mask) {
  return warp.fail(inst, "trap", "the kernel traps", mask);
}

static void buildTrap(Build &b) {
  b.expectOperands(0, 0);
  b.set(runTrap);
}

static void buildNothing(Build &b) {
  b.expectOperands(0, 1);
  b.set(runNothing);
}

llvm::ArrayRef<Entry> fovea::ptx::getBarrierEntries() {
  static const Entry entries[] = {{"bar", buildBarrier},
                                  {"barrier", buildBarrier}};
  return entries;
}

llvm::ArrayRef<Entry> fovea::ptx::getControlEntries() {
  static const Entry entries[] = {
      {"setmaxnreg", buildSetRegisters},
      {"griddepcontrol", buildGridDependency},
      {"nanosleep", buildSleep},
      {"trap", buildTrap},
      {"brkpt", buildNothing},
      {"pmevent", buildNothing},
  };
  return entries;
}
