//===- Warp.cpp - Control flow and memory order of warps ------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Executes the instructions of a warp. The lanes with the same program counter
// form a fragment; branches split it, and fragments reconverge. Synchronisation
// passes happens-before knowledge between lanes. Handlers in Instructions/
// execute single instructions.
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"

#include "llvm/ADT/StringExtras.h"

using namespace fovea::ptx;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Execution
//===----------------------------------------------------------------------===//

/// Completes the outstanding tcgen05.ld that write the register; returns false
/// if something else still uses it, or after an error.
static bool finishLoads(Warp &warp, uint32_t slot) {
  llvm::SmallVector<uint64_t, 4> loads;
  for (const LoadedRegister &each : warp.loadRegisters)
    if (each.slot == slot)
      loads.push_back(each.work);
  Cluster &cluster = *warp.cluster;
  for (uint64_t load : loads) {
    auto found = llvm::find_if(
        cluster.work, [&](const Work &item) { return item.number == load; });
    if (found != cluster.work.end() &&
        !cluster.finishWork(found - cluster.work.begin()))
      return false;
  }
  llvm::erase_if(warp.loadRegisters, [&](const LoadedRegister &each) {
    if (!llvm::is_contained(loads, each.work))
      return false;
    --warp.busyRegisters[each.slot];
    --warp.numBusy;
    return true;
  });
  return !warp.busyRegisters[slot];
}

/// Records writes of registers, since wgmma requires a fence after them, and
/// rejects accesses to registers of an outstanding wgmma or tcgen05.ld.
static bool watchRegisters(Warp &warp, const Inst &inst) {
  if (warp.numBusy)
    for (unsigned n = 0; n < inst.numOps; ++n) {
      Slot slot = inst.ops[n];
      if (!slot.constant && warp.busyRegisters[slot.offset / 64]) {
        if (n >= inst.numResults &&
            warp.cluster->run->launch.waitForTensorLoads &&
            finishLoads(warp, slot.offset / 64))
          continue;
        if (warp.cluster->failed)
          return false;
        warp.fail(
            inst, "registers",
            Twine("a register of an outstanding wgmma or tcgen05.ld is ") +
                (n < inst.numResults ? "written" : "read") +
                " before the wait for it");
        return false;
      }
    }
  for (unsigned n = 0; n < inst.numResults; ++n)
    warp.writtenAt[inst.ops[n].offset / 64] = warp.steps;
  return true;
}

bool Warp::run(uint64_t budget) {
  Run &run = *cluster->run;
  if (!run.launch.trace)
    return execute(budget);
  llvm::json::Object details = run.getPlace(fragments[current].pc);
  uint64_t before = steps;
  bool fine = execute(budget);
  details["instructions"] = steps - before;
  run.launch.trace->addSpan(run.getTraceProcess(*cta), index, "run", "runs",
                            cluster->time, 1, std::move(details));
  return fine;
}

/// For the trace: the fragment is still blocked at the instruction, or its wait
/// has ended.
static void traceWait(Warp &warp, const Inst &inst, bool waits) {
  Fragment &f = warp.fragment();
  uint64_t now = warp.cluster->time;
  if (waits && !f.waitsSince) {
    f.waitsSince = now;
    f.waitsFor = describeWait(warp, f);
  } else if (!waits && f.waitsSince) {
    Run &run = *warp.cluster->run;
    run.launch.trace->addSpan(run.getTraceProcess(*warp.cta), warp.index,
                              "wait", f.waitsFor, f.waitsSince,
                              now - f.waitsSince, run.getPlace(inst.index));
    f.waitsSince = 0;
  }
}

bool Warp::execute(uint64_t budget) {
  const Inst *insts = code->insts.data();
  bool tracked = code->holdsRegisters, traced = cluster->run->launch.trace;
  uint64_t limit = cluster->run->launch.stepLimit;
  for (; budget; --budget) {
    Fragment &f = fragments[current];
    if (f.pc == f.joinPc) {
      if (arriveAtJoin())
        continue;
      return true;
    }
    const Inst &inst = insts[f.pc];
    uint32_t mask = f.mask;
    if (inst.guard >= 0) {
      uint32_t guard = *reinterpret_cast<uint32_t *>(regs + inst.guard);
      mask &= inst.guardNegated ? ~guard : guard;
    }
    ++steps;
    if (!mask) {
      ++f.pc;
      continue;
    }
    threadSteps += __builtin_popcount(mask);
    if (limit && steps > limit) {
      fail(inst, "steps",
           "the warp has executed " + Twine(limit) +
               " instructions, the limit: an endless loop?",
           mask);
      return false;
    }
    if (tracked && !inst.holdsRegisters && !watchRegisters(*this, inst))
      return false;
    switch (inst.run(*this, inst, mask)) {
    case Step::Next:
      if (traced)
        traceWait(*this, inst, /*waits=*/false);
      ++f.pc;
      break;
    case Step::Jump:
      if (fragments.empty() || current >= fragments.size())
        return true;
      break;
    case Step::Wait:
      if (traced)
        traceWait(*this, inst, /*waits=*/true);
      return true;
    case Step::Yield:
      ++f.pc;
      return true;
    case Step::Fail:
      return false;
    }
  }
  return true;
}

bool Warp::choose() {
  // Fragments of a warp are scheduled round-robin.
  uint32_t count = fragments.size();
  for (uint32_t n = 0; n < count; ++n) {
    uint32_t index = (current + (count > 1) + n) % count;
    if (cluster->isReady(*this, fragments[index])) {
      current = index;
      return true;
    }
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

void Warp::removeFragment(uint32_t index) {
  fragments[index] = fragments.back();
  fragments.pop_back();
  if (current >= fragments.size())
    current = 0;
}

int32_t Warp::newJoin(uint32_t pc, uint32_t expected, int32_t parent) {
  for (uint32_t n = 0; n < joins.size(); ++n)
    if (!joins[n].expected) {
      joins[n] = {pc, expected, 0, parent};
      return n;
    }
  joins.push_back({pc, expected, 0, parent});
  return joins.size() - 1;
}

Step Warp::branch(const Inst &inst, uint32_t taken, uint32_t mask) {
  Fragment &f = fragments[current];
  // A loop yields now and then, as it may wait for other warps.
  if (taken == mask) {
    f.pc = inst.target;
    return Step::Jump;
  }
  if (inst.imm)
    return fail(inst, "divergence",
                "'bra.uni' is taken by lanes " + describe(taken) +
                    " and not by lanes " + describe(mask & ~taken),
                taken);
  if (inst.join != kNoTarget && inst.join != f.joinPc) {
    f.join = newJoin(inst.join, f.mask, f.join);
    f.joinPc = inst.join;
  }
  Fragment part = f;
  part.pc = inst.target;
  part.mask = taken;
  f.mask = mask & ~taken;
  ++f.pc;
  fragments.push_back(part);
  return Step::Jump;
}

/// The current fragment has reached its join. Returns true if some fragment
/// continues from there immediately.
bool Warp::arriveAtJoin() {
  Fragment f = fragments[current];
  Join &join = joins[f.join];
  join.arrived |= f.mask;
  removeFragment(current);
  size_t before = fragments.size();
  if (join.arrived == join.expected)
    releaseJoins();
  if (fragments.size() == before)
    return false;
  current = fragments.size() - 1;
  return true;
}

void Warp::releaseJoins() {
  for (Join &join : joins) {
    if (!join.expected || join.arrived != join.expected)
      continue;
    Fragment f;
    f.pc = join.pc;
    f.mask = join.arrived;
    f.join = join.parent;
    f.joinPc = f.join < 0 ? kNoTarget : joins[f.join].pc;
    join.expected = 0;
    fragments.push_back(f);
  }
}

/// Releases lanes that wait at a join for others. The ISA does not guarantee
/// reconvergence; this is the last resort before a deadlock is reported.
bool Warp::breakJoins() {
  bool any = false;
  for (size_t n = 0; n < joins.size(); ++n) {
    Join &join = joins[n];
    if (!join.expected || !join.arrived)
      continue;
    any = true;
    Fragment f;
    f.pc = join.pc;
    f.mask = join.arrived;
    f.join = join.parent;
    f.joinPc = f.join < 0 ? kNoTarget : joins[f.join].pc;
    join.expected &= ~join.arrived;
    join.arrived = 0;
    fragments.push_back(f);
  }
  return any;
}

void Warp::exitLanes(uint32_t mask) {
  live &= ~mask;
  for (Join &join : joins) {
    join.expected &= ~mask;
    join.arrived &= ~mask;
  }
  Fragment &f = fragments[current];
  f.mask &= ~mask;
  ++f.pc;
  if (!f.mask)
    removeFragment(current);
  releaseJoins();
  if (fragments.empty())
    current = 0;
  cta->live -= __builtin_popcount(mask);
  cluster->checkBarriers(*cta);
}

Step Warp::gather(const Inst &inst, uint32_t mask, uint32_t members) {
  if (mask & ~members)
    return fail(inst, "membermask",
                "lanes " + describe(mask & ~members) +
                    " execute this, but the mask of members names lanes " +
                    describe(members) + " only",
                mask & ~members);
  uint32_t missing = members & live & ~mask;
  Fragment &f = fragments[current];
  if (!missing) {
    f.wait = Wait();
    return Step::Next;
  }
  // Merges other fragments of the warp that wait for the same synchronisation.
  for (uint32_t n = 0; n < fragments.size(); ++n) {
    Fragment &other = fragments[n];
    if (n == current || other.pc != f.pc || other.join != f.join ||
        other.wait.kind != Wait::WarpSync)
      continue;
    f.mask |= other.mask;
    f.wait = Wait();
    bool moves = current == fragments.size() - 1;
    fragments[n] = fragments.back();
    fragments.pop_back();
    if (moves)
      current = n;
    return Step::Jump;
  }
  f.wait.kind = Wait::WarpSync;
  f.wait.value = members;
  return Step::Wait;
}

Step Warp::checkEnd(const Inst &inst) {
  if (llvm::any_of(cta->tensorOwners, [](uint32_t owner) { return owner; }))
    return fail(inst, "tensor-memory",
                "the CTA ends without releasing its tensor memory: "
                "'tcgen05.dealloc' is missing");
  // Finds warps of a group that executed different wgmmas or setmaxnregs.
  for (Warp &warp : cta->warps) {
    Warp &first = cta->warps[warp.index & ~3u];
    if (warp.matrixHash != first.matrixHash)
      return warp.fail(
          warp.lastMatrix ? *warp.lastMatrix : *first.lastMatrix, "wgmma",
          "warps " + Twine(first.index) + " and " + Twine(warp.index) +
              " of one warp group did not execute the same "
              "'wgmma.mma_async'");
    if (warp.registersHash != first.registersHash)
      return warp.fail(
          warp.lastSetRegisters ? *warp.lastSetRegisters
                                : *first.lastSetRegisters,
          "registers",
          "warps " + Twine(first.index) + " and " + Twine(warp.index) +
              " of one warp group did not execute the same 'setmaxnreg'");
  }
  return Step::Jump;
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

Knowledge &Warp::knowledgeOf(unsigned lane) {
  for (LaneGroup &group : groups)
    if (group.mask >> lane & 1)
      return group.knowledge;
  return groups.front().knowledge;
}

void Warp::splitGroups(uint32_t mask) {
  for (size_t n = 0, e = groups.size(); n < e; ++n) {
    uint32_t inside = groups[n].mask & mask;
    if (!inside || inside == groups[n].mask)
      continue;
    LaneGroup rest = groups[n];
    rest.mask &= ~mask;
    groups[n].mask = inside;
    groups.push_back(std::move(rest));
  }
}

void Warp::release(uint32_t mask, Knowledge &to) {
  for (LaneGroup &group : groups)
    if (group.mask & mask)
      to.join(group.knowledge);
  if (mask == live)
    to.known.raise(agent, epoch);
  else
    to.known.raise(agent, epoch, mask);
  ++epoch;
}

void Warp::releaseFenced(uint32_t mask, Scope scope, Knowledge &to) {
  to.join(fences.published[scope]);
  for (LaneGroup &group : groups)
    if (group.mask & mask)
      to.joinRelaxed(group.knowledge);
}

void Warp::acquire(uint32_t mask, const Knowledge &from) {
  splitGroups(mask);
  for (LaneGroup &group : groups)
    if (group.mask & mask)
      group.knowledge.join(from);
}

void Warp::acquireFenced(uint32_t mask, Scope distance, const Knowledge &from) {
  fences.seen[distance].join(from);
  // Polling loads should not split the lanes.
  if (!from.hasRelaxed())
    return;
  splitGroups(mask);
  for (LaneGroup &group : groups)
    if (group.mask & mask)
      group.knowledge.joinRelaxed(from);
}

void Warp::acquireAgent(uint32_t mask, uint16_t which, uint32_t upTo,
                        bool lanewise) {
  splitGroups(mask);
  for (LaneGroup &group : groups)
    if (group.mask & mask) {
      if (lanewise)
        group.knowledge.known.raise(which, upTo, mask);
      else
        group.knowledge.known.raise(which, upTo);
    }
}

void Warp::syncLanes(uint32_t mask) {
  splitGroups(mask);
  Knowledge all;
  release(mask, all);
  // Tensor memory fences are usually executed by whole warps.
  for (const LaneGroup &group : groups)
    if (group.mask & mask)
      all.tensor.join(group.knowledge.tensor);
  llvm::erase_if(groups,
                 [&](const LaneGroup &group) { return group.mask & mask; });
  groups.push_back({mask, std::move(all)});
}

void Warp::fenceProxy(uint32_t mask) {
  splitGroups(mask);
  for (LaneGroup &group : groups) {
    if (!(group.mask & mask))
      continue;
    group.knowledge.showAll();
    if (group.mask == live)
      group.knowledge.visible.raise(agent, epoch);
    else
      group.knowledge.visible.raise(agent, epoch, group.mask);
  }
  ++epoch;
}

void Warp::fenceInits(uint32_t mask) {
  splitGroups(mask);
  for (LaneGroup &group : groups)
    if (group.mask & mask)
      group.knowledge.inits.raise(agent, epoch, group.mask);
  // Later initialisations are not covered.
  ++epoch;
}

void Warp::fence(uint32_t mask, Scope scope) {
  Knowledge all;
  release(mask, all);
  for (unsigned s = 0; s <= scope; ++s) {
    fences.published[s] = all;
    acquire(mask, fences.seen[s]);
  }
}

bool Warp::observe(const Flags &flags, uint64_t address, uint32_t mask,
                   Order order, Scope scope) {
  const Flags::Place *found = flags.lookup(address);
  uint64_t version = found ? found->version : 0;
  if (order == Order::Acquire &&
      polled.isKnown(&flags, address, version, mask, scope))
    return false;
  if (!found)
    return true;
  const uint32_t self = cluster->index;
  for (const Flags::Publication &p : found->publications) {
    unsigned distance = p.cluster != self     ? InDevice
                        : p.rank != cta->rank ? InCluster
                                              : InCta;
    if (distance > p.scope || distance > scope)
      continue;
    Knowledge here;
    here.join(self, p.cluster, p.knowledge);
    if (order == Order::Acquire || order == Order::Both)
      acquire(mask, here);
    else
      acquireFenced(mask, Scope(distance), here);
  }
  return true;
}

void Warp::publish(Flags &flags, uint64_t address, uint32_t mask, Order order,
                   Scope scope, bool replaces) {
  // Publications that were observed for the old value do not apply to the new
  // one.
  if (replaces)
    flags.clear(address);
  auto add = [&](Scope in, const Knowledge &knowledge) {
    flags.add(address, cluster->index, cta->rank, in, knowledge);
  };
  if (order == Order::Release || order == Order::Both) {
    Knowledge knowledge;
    release(mask, knowledge);
    add(scope, knowledge);
  } else {
    Knowledge knowledge;
    for (const LaneGroup &group : groups)
      if (group.mask & mask)
        knowledge.joinRelaxed(group.knowledge);
    if (knowledge.hasRelaxed())
      add(scope, knowledge);
  }
  for (unsigned s = 0; s <= scope; ++s)
    if (const Knowledge &fenced = fences.published[s]; !fenced.known.empty())
      add(Scope(s), fenced);
}

Access Warp::access(const Inst &inst, uint32_t lanes, bool write,
                    std::optional<Scope> strong) {
  Access result;
  result.stamp.agent = agent;
  result.stamp.epoch = epoch;
  result.stamp.lanes = lanes;
  result.stamp.place = inst.index;
  result.stamp.cluster = cluster->index;
  result.stamp.strong = strong.has_value();
  result.stamp.scope = strong.value_or(InCta);
  result.write = write;
  result.issuer = agent;
  result.issuerLanes = lanes;
  result.agentsPerCta = cluster->agentsPerCta;
  result.knowledge = &knowledgeOf(__builtin_ctz(lanes));
  return result;
}

Access Warp::asyncAccess(const Inst &inst, uint32_t lanes, bool write,
                         uint16_t which, uint32_t when, bool async) {
  Access result = access(inst, lanes, write);
  result.stamp.agent = which;
  result.stamp.epoch = when;
  result.stamp.async = async;
  return result;
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

/// "0-3,7" or "all".
std::string Warp::describe(uint32_t lanes) const {
  if (lanes == started || !lanes)
    return "all";
  std::string text;
  for (unsigned l = 0; l < 32; ++l) {
    if (!(lanes >> l & 1))
      continue;
    unsigned last = l;
    while (last < 31 && lanes >> (last + 1) & 1)
      ++last;
    text += (text.empty() ? "" : ",") + std::to_string(l);
    if (last > l)
      text += "-" + std::to_string(last);
    l = last;
  }
  return text;
}

static std::string describeId(const std::array<uint32_t, 3> &id) {
  return "(" + std::to_string(id[0]) + "," + std::to_string(id[1]) + "," +
         std::to_string(id[2]) + ")";
}

Step Warp::fail(const Inst &inst, StringRef kind, const Twine &message,
                uint32_t lanes) {
  Run &run = *cluster->run;
  Diagnostic diagnostic = run.makeDiagnostic(inst.index, kind, message);
  std::string who =
      "in warp " + std::to_string(index) + " of CTA " + describeId(cta->id);
  if (lanes && lanes != started)
    who += ", lanes " + describe(lanes);
  if (lanes && !(lanes & (lanes - 1)))
    who +=
        " (thread " + std::to_string(index * 32 + __builtin_ctz(lanes)) + ")";
  run.addNote(diagnostic, inst.index, who);
  run.report(std::move(diagnostic));
  cluster->failed = true;
  return Step::Fail;
}

/// Describes an agent for a report.
static std::string describeAgent(Cluster &cluster, const Stamp &stamp) {
  static constexpr const char *kWhat[kWarpAgents] = {"",
                                                     "a cp.async of ",
                                                     "a bulk copy of ",
                                                     "a bulk copy of ",
                                                     "matrix work of ",
                                                     "a tcgen05.ld of ",
                                                     "a tcgen05.st of ",
                                                     "a tcgen05.cp of "};
  // Agents are numbered in the order in which startWarp creates them.
  uint32_t rank = stamp.agent / cluster.agentsPerCta;
  if (rank < cluster.ctas.size()) {
    uint32_t in = stamp.agent % cluster.agentsPerCta;
    unsigned kind = in % kWarpAgents;
    std::string text =
        kWhat[kind] + ("warp " + std::to_string(in / kWarpAgents)) +
        " of CTA " + describeId(cluster.run->getCtaId(stamp.cluster, rank));
    if (kind == 0)
      text += ", lanes " +
              cluster.ctas[rank].warps[in / kWarpAgents].describe(stamp.lanes);
    return text;
  }
  if (stamp.cluster == cluster.index)
    for (Cta &cta : cluster.ctas)
      for (auto &[offset, mbarrier] : cta.mbarriers)
        if (mbarrier->agent == stamp.agent)
          return "work that completes at the mbarrier at " +
                 describeShared(cta, offset) + " in phase " +
                 std::to_string(stamp.epoch - 1);
  return "asynchronous work of CTA " +
         describeId(cluster.run->getCtaId(stamp.cluster, 0));
}

Step Warp::race(const Inst &inst, Conflict conflict, const Stamp &with,
                const Access &access, const Twine &where) {
  Run &run = *cluster->run;
  bool proxy = conflict == Conflict::Proxy;
  std::string message =
      std::string(access.write ? "this writes " : "this reads ") + where.str() +
      (proxy ? " through the async proxy, but the write before it went "
               "through the generic proxy and no 'fence.proxy.async' is "
               "between them"
             : ", unordered with an earlier access");
  Diagnostic diagnostic =
      run.makeDiagnostic(inst.index, proxy ? "proxy" : "race", message);
  run.addNote(diagnostic, with.place,
              "the other access, by " + describeAgent(*cluster, with));
  run.addNote(diagnostic, inst.index,
              "this one is by " + describeAgent(*cluster, access.stamp));
  run.report(std::move(diagnostic));
  cluster->failed = true;
  return Step::Fail;
}
