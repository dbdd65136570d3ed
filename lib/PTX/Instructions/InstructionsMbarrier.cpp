//===- InstructionsMbarrier.cpp - mbarrier --------------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All forms of mbarrier: initialisation, arrivals, transaction counts and
// waits.
//
//===----------------------------------------------------------------------===//

#include "Atomics.h"
#include "Lanes.h"
#include "Mbarrier.h"

#include "llvm/ADT/StringSwitch.h"

using namespace fovea::ptx;
using llvm::StringRef;
using llvm::Twine;

static constexpr uint32_t kMostArrivals = (1 << 20) - 1;
static constexpr int64_t kMostTransactions = (1 << 20) - 1;

//===----------------------------------------------------------------------===//
// Semantics
//===----------------------------------------------------------------------===//

std::string Cluster::settle(Mbarrier &m) {
  if (m.pending || m.transactions)
    return "";
  m.last = std::move(m.current);
  m.current = Knowledge();
  m.lastRemote = std::move(m.currentRemote);
  m.currentRemote = Knowledge();
  ++m.phase;
  m.observed = false;
  // Asynchronous work of the phase has completed.
  m.last.known.raise(m.agent, m.phase);
  m.pending = m.count;
  return "";
}

std::string Cluster::arrive(Mbarrier &m, uint32_t count) {
  if (!count || count > m.pending)
    return std::to_string(count) + " arrivals at the mbarrier at " +
           describeShared(ctas[m.rank], m.offset) + ", whose phase " +
           std::to_string(m.phase) + " expects only " +
           std::to_string(m.pending) + " more";
  if (!m.observed)
    return "an arrival in phase " + std::to_string(m.phase) +
           " of the mbarrier at " + describeShared(ctas[m.rank], m.offset) +
           ", but no wait for phase " + std::to_string(m.phase - 1) +
           " has returned true";
  m.pending -= count;
  return settle(m);
}

std::string Cluster::addTransactions(Mbarrier &m, int64_t bytes) {
  m.transactions += bytes;
  if (std::abs(m.transactions) > kMostTransactions)
    return "the transaction count of the mbarrier at " +
           describeShared(ctas[m.rank], m.offset) + " becomes " +
           std::to_string(m.transactions) + ", beyond 2^20-1";
  return settle(m);
}

Mbarrier *fovea::ptx::findMbarrier(Warp &warp, const Inst &inst, Space space,
                                   uint64_t address, unsigned lane,
                                   bool async) {
  if (address & 7) {
    warp.fail(inst, "alignment",
              "the address 0x" + llvm::utohexstr(address, true) +
                  " of an mbarrier is not a multiple of 8",
              1u << lane);
    return nullptr;
  }
  Bytes bytes;
  if (!findBytes(warp, inst, space, address, 8, Use::Both, lane, bytes))
    return nullptr;
  Mbarrier *m = bytes.cta ? bytes.cta->findMbarrier(bytes.offset) : nullptr;
  if (!m) {
    warp.fail(inst, "mbarrier",
              "there is no mbarrier at " +
                  (bytes.cta ? describeShared(*bytes.cta, bytes.offset)
                             : "0x" + llvm::utohexstr(address, true)) +
                  ": nothing has initialised it",
              1u << lane);
    return nullptr;
  }
  Access access = warp.access(inst, 1u << lane, false);
  const Stamp &init = m->initialized;
  bool own = init.agent == warp.agent && init.lanes == (1u << lane);
  if (bytes.cta->shadow && !own && !access.knowledge->known.covers(init) &&
      !access.knowledge->inits.covers(init)) {
    warp.race(inst, Conflict::Unordered, init, access,
              "the mbarrier at " + describeShared(*bytes.cta, bytes.offset));
    return nullptr;
  }
  if (async && !m->fenced) {
    Run &run = *warp.cluster->run;
    Diagnostic diagnostic = run.makeDiagnostic(
        inst.index, "proxy",
        "asynchronous work uses the mbarrier at " +
            describeShared(*bytes.cta, bytes.offset) +
            ", whose initialisation no 'fence.mbarrier_init' or "
            "'fence.proxy.async' has made visible to it");
    run.addNote(diagnostic, init.place, "it was initialised here");
    run.report(std::move(diagnostic));
    return nullptr;
  }
  return m;
}

void fovea::ptx::publishArrival(const Warp &warp, Mbarrier &m, Scope scope,
                                const Knowledge &knowledge) {
  if (m.rank == warp.cta->rank)
    return m.current.join(knowledge);
  const Cluster &cluster = *warp.cluster;
  m.current.joinAsync(knowledge, cluster.agentsPerCta * cluster.ctas.size());
  if (scope != InCta)
    m.currentRemote.join(knowledge);
}

static bool check(Warp &warp, const Inst &inst, const std::string &problem,
                  uint32_t lanes) {
  if (problem.empty())
    return true;
  warp.fail(inst, "mbarrier", problem, lanes);
  return false;
}

bool fovea::ptx::completeTransactions(Warp &warp, const Inst &inst,
                                      Mbarrier &mbarrier, int64_t bytes) {
  return check(warp, inst, warp.cluster->addTransactions(mbarrier, -bytes), 0);
}

bool fovea::ptx::arriveLater(Warp &warp, const Inst &inst, Mbarrier &mbarrier,
                             uint32_t count) {
  return check(warp, inst, warp.cluster->arrive(mbarrier, count), 0);
}

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

namespace {
struct Form {
  enum Kind : uint8_t {
    Init,
    Invalidate,
    Arrive,
    Drop,
    Expect,
    Complete,
    Test,
    Try
  } kind = Arrive;
  Space space = Space::Generic;
  bool remote = false, relaxed = false;
  Scope scope = InCta;
  /// arrive.expect_tx; the optional operands that are present.
  bool expects = false, counted = false, result = false;
  /// Waits by parity instead of state.
  bool parity = false;
};
} // namespace

static uint64_t makeState(const Mbarrier &m) {
  return m.phase << 24 | (m.pending & 0xffffff);
}

/// Slots: address, count.
static Step runInit(Warp &warp, const Inst &inst, uint32_t mask) {
  const auto &form = *static_cast<const Form *>(inst.data);
  bool fine = allLanes(mask, [&](unsigned l) {
    uint64_t address = laneAddress(warp, inst, inst.ops[0], l);
    uint32_t count = warp.at<uint32_t>(inst.ops[1])[l];
    if (address & 7) {
      warp.fail(inst, "alignment",
                "an mbarrier's address is not a multiple of 8", 1u << l);
      return false;
    }
    Bytes bytes;
    if (!findBytes(warp, inst, form.space, address, 8, Use::Write, l, bytes))
      return false;
    if (!bytes.cta || bytes.cta != warp.cta) {
      warp.fail(inst, "space",
                "the mbarrier is not in the CTA's own shared memory", 1u << l);
      return false;
    }
    if (!count || count > kMostArrivals) {
      warp.fail(inst, "mbarrier",
                "an mbarrier must expect from 1 to 2^20-1 arrivals, found " +
                    Twine(count),
                1u << l);
      return false;
    }
    if (bytes.cta->findMbarrier(bytes.offset)) {
      warp.fail(inst, "mbarrier",
                "the mbarrier at " + describeShared(*bytes.cta, bytes.offset) +
                    " is initialised again without an 'mbarrier.inval' in "
                    "between",
                1u << l);
      return false;
    }
    Access access = warp.access(inst, 1u << l, true);
    if (!watch(warp, inst, bytes, 8, access))
      return false;
    memset(bytes.written, kMbarrier, 8);
    auto m = std::make_unique<Mbarrier>();
    m->offset = bytes.offset;
    m->rank = bytes.cta->rank;
    m->count = m->pending = count;
    m->agent = warp.cluster->newAgent();
    m->initialized = access.stamp;
    warp.unfenced.push_back(m.get());
    bytes.cta->mbarriers[bytes.offset] = std::move(m);
    return true;
  });
  return fine ? Step::Next : Step::Fail;
}

static Step runInvalidate(Warp &warp, const Inst &inst, uint32_t mask) {
  const auto &form = *static_cast<const Form *>(inst.data);
  bool fine = allLanes(mask, [&](unsigned l) {
    uint64_t address = laneAddress(warp, inst, inst.ops[0], l);
    Mbarrier *m = findMbarrier(warp, inst, form.space, address, l);
    if (!m)
      return false;
    Cta &cta = warp.cluster->ctas[m->rank];
    memset(cta.written.data() + m->offset, 0, 8);
    if (cta.shadow)
      cta.shadow->forget(m->offset, 8);
    for (Warp &other : cta.warps)
      llvm::erase(other.unfenced, m);
    // Waiting threads find that the phase has ended, and then that there is no
    // mbarrier.
    ++m->phase;
    auto found = cta.mbarriers.find(m->offset);
    cta.retired.push_back(std::move(found->second));
    cta.mbarriers.erase(found);
    return true;
  });
  return fine ? Step::Next : Step::Fail;
}

/// Slots: [state,] address, [transactions or count].
static Step runArrive(Warp &warp, const Inst &inst, uint32_t mask) {
  const auto &form = *static_cast<const Form *>(inst.data);
  Cluster &cluster = *warp.cluster;
  Slot address = inst.ops[form.result], last = inst.ops[inst.numOps - 1];
  // Lanes with the same mbarrier arrive together and publish one release.
  uint32_t left = mask;
  while (left) {
    unsigned lane = __builtin_ctz(left);
    uint64_t where = laneAddress(warp, inst, address, lane);
    uint32_t lanes = 0;
    forLanes(left, [&](unsigned l) {
      if (laneAddress(warp, inst, address, l) == where)
        lanes |= 1u << l;
    });
    left &= ~lanes;
    Mbarrier *m = findMbarrier(warp, inst, form.space, where, lane);
    if (!m)
      return Step::Fail;
    if (!form.remote && m->rank != warp.cta->rank)
      return warp.fail(inst, "space",
                       "the mbarrier belongs to another CTA, but the "
                       "instruction supports only the CTA's own",
                       1u << lane);
    bool arrives = form.kind == Form::Arrive || form.kind == Form::Drop;
    if (arrives) {
      Knowledge knowledge;
      if (form.relaxed)
        warp.releaseFenced(lanes, form.scope, knowledge);
      else
        warp.release(lanes, knowledge);
      publishArrival(warp, *m, form.scope, knowledge);
    }
    bool fine = allLanes(lanes, [&](unsigned l) {
      uint32_t value = form.counted || form.expects ||
                               form.kind == Form::Expect ||
                               form.kind == Form::Complete
                           ? warp.at<uint32_t>(last)[l]
                           : 1;
      uint64_t state = makeState(*m);
      std::string problem;
      if (form.expects || form.kind == Form::Expect) {
        // Together with the arrival, so that no phase ends in between.
        m->transactions += value;
        if (m->transactions > kMostTransactions)
          problem = "the mbarrier expects " + std::to_string(m->transactions) +
                    " bytes, beyond 2^20-1";
        else if (form.kind == Form::Expect)
          problem = cluster.settle(*m);
        value = 1;
      } else if (form.kind == Form::Complete) {
        problem = cluster.addTransactions(*m, -int64_t(value));
      }
      if (problem.empty() && arrives) {
        if (form.kind == Form::Drop) {
          if (value > m->count)
            problem = "more arrivals are dropped than are expected";
          else
            m->count -= value;
        }
        if (problem.empty())
          problem = cluster.arrive(*m, value);
      }
      if (form.result)
        warp.at<uint64_t>(inst.ops[0])[l] = state;
      return check(warp, inst, problem, 1u << l);
    });
    if (!fine)
      return Step::Fail;
  }
  return Step::Next;
}

/// Acquires the knowledge that arrivals within the scope of a successful wait
/// have published.
static void observe(Warp &warp, const Form &form, uint32_t mask,
                    const Mbarrier &m) {
  if (form.relaxed)
    warp.acquireFenced(mask, InCta, m.last);
  else
    warp.acquire(mask, m.last);
  if (form.scope == InCta)
    return;
  if (form.relaxed)
    warp.acquireFenced(mask, InCluster, m.lastRemote);
  else
    warp.acquire(mask, m.lastRemote);
}

/// Slots: predicate, address, state or parity, [time].
static Step runWait(Warp &warp, const Inst &inst, uint32_t mask) {
  const auto &form = *static_cast<const Form *>(inst.data);
  Fragment &f = warp.fragment();
  bool resumed = f.wait.kind == Wait::Mbarrier;
  f.wait = Wait();
  uint32_t over = 0;
  Mbarrier *first = nullptr;
  uint32_t left = mask;
  while (left) {
    unsigned lane = __builtin_ctz(left);
    uint64_t where = laneAddress(warp, inst, inst.ops[1], lane);
    Mbarrier *m = findMbarrier(warp, inst, form.space, where, lane);
    if (!m)
      return Step::Fail;
    if (m->rank != warp.cta->rank)
      return warp.fail(inst, "space",
                       "a wait supports only the CTA's own mbarriers, but the "
                       "mbarrier belongs to another CTA",
                       1u << lane);
    if (!first)
      first = m;
    uint32_t lanes = 0, done = 0;
    forLanes(left, [&](unsigned l) {
      if (laneAddress(warp, inst, inst.ops[1], l) != where)
        return;
      lanes |= 1u << l;
      bool complete;
      if (form.parity)
        complete = (m->phase & 1) != (warp.at<uint32_t>(inst.ops[2])[l] & 1);
      else
        complete = m->phase != warp.at<uint64_t>(inst.ops[2])[l] >> 24;
      done |= uint32_t(complete) << l;
    });
    left &= ~lanes;
    over |= done;
    if (done) {
      m->observed = true;
      observe(warp, form, done, *m);
    }
  }
  // A try_wait may time out before the phase ends, so the emulator does so
  // occasionally.
  if (!over && form.kind == Form::Try && (resumed || warp.cluster->draw(8))) {
    f.wait.kind = Wait::Mbarrier;
    f.wait.mbarrier = first;
    f.wait.value = first->phase;
    return Step::Wait;
  }
  warp.setPredicate(inst.ops[0], over, mask);
  return over == mask ? Step::Next : Step::Yield;
}

static Step runPendingCount(Warp &warp, const Inst &inst, uint32_t mask) {
  forLanes(mask, [&](unsigned l) {
    warp.at<uint32_t>(inst.ops[0])[l] =
        warp.at<uint64_t>(inst.ops[1])[l] & 0xffffff;
  });
  return Step::Next;
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

static void buildWait(Build &b, Form form) {
  form.parity = b.take("parity");
  if (!b.expectOperands(3, 3 + (form.kind == Form::Try)))
    return;
  b.writePredicate(b.operand(0));
  b.inst.imm = b.address(b.operand(1));
  b.read(2, {Type::Bits, uint16_t(form.parity ? 32 : 64)});
  if (b.count() == 4)
    b.read(3, {Type::Bits, 32});
  b.attach(form);
  b.set(runWait);
}

static void buildArrive(Build &b, Form form) {
  bool both = form.kind == Form::Arrive || form.kind == Form::Drop;
  form.expects = both && b.take("expect_tx");
  if (b.take("noComplete"))
    return b.error("'mbarrier.arrive.noComplete' is not modelled");
  unsigned n = 0;
  // `_` means no result; remote mbarriers have none.
  form.result = both && b.operand(0).kind != Operand::Address;
  if (form.result && b.operand(0).kind == Operand::Sink) {
    form.result = false;
    ++n;
  } else if (form.result) {
    b.write(n++, {Type::Bits, 64});
  }
  unsigned least = n + 1 + (form.expects || !both);
  if (!b.expectOperands(least, n + 2))
    return;
  b.inst.imm = b.address(b.operand(n++));
  form.counted = n < b.count();
  if (form.counted)
    b.read(n, {Type::Bits, 32});
  b.attach(form);
  b.set(runArrive);
}

static void buildMbarrier(Build &b) {
  Form form;
  // `arrive.expect_tx` has both modifiers; the first one decides.
  StringRef kind =
      b.needOneOf({"init", "inval", "arrive", "arrive_drop", "expect_tx",
                   "complete_tx", "test_wait", "try_wait", "pending_count"});
  StringRef order = b.takeOneOf({"release", "acquire", "relaxed"});
  form.scope = b.takeOneOf({"cta", "cluster"}) == "cluster" ? InCluster : InCta;
  form.relaxed = order == "relaxed";
  StringRef space = b.takeOneOf({"shared", "shared::cta", "shared::cluster"});
  form.space = space.empty() ? Space::Generic : Space::Shared;
  form.remote = space == "shared::cluster" || space.empty();
  b.need("b64");
  if (kind == "pending_count") {
    if (!b.expectOperands(2, 2))
      return;
    b.write(0, {Type::Bits, 32});
    b.read(1, {Type::Bits, 64});
    return b.set(runPendingCount);
  }
  if (kind == "test_wait" || kind == "try_wait") {
    form.kind = kind == "try_wait" ? Form::Try : Form::Test;
    return buildWait(b, form);
  }
  if (kind == "init" || kind == "inval") {
    bool init = kind == "init";
    if (!b.expectOperands(1 + init, 1 + init))
      return;
    b.inst.imm = b.address(b.operand(0));
    if (init)
      b.read(1, {Type::Bits, 32});
    b.attach(form);
    return b.set(init ? runInit : runInvalidate);
  }
  form.kind = kind == "arrive"        ? Form::Arrive
              : kind == "arrive_drop" ? Form::Drop
              : kind == "expect_tx"   ? Form::Expect
                                      : Form::Complete;
  buildArrive(b, form);
}

llvm::ArrayRef<Entry> fovea::ptx::getMbarrierEntries() {
  static const Entry entries[] = {{"mbarrier", buildMbarrier}};
  return entries;
}
