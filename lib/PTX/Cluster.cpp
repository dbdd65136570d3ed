//===- Cluster.cpp - Schedules the warps of a cluster ---------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sets up the CTAs and warps of a cluster, and schedules warps and asynchronous
// work with the launch's seed. A host thread runs a cluster to its end and
// reports deadlocks.
//
//===----------------------------------------------------------------------===//

#include "Machine.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace fovea::ptx;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Start
//===----------------------------------------------------------------------===//

namespace {
/// Computes the values of a special register for each lane of a warp.
struct Specials {
  const Run &run;
  const Cluster &cluster;
  const Cta &cta;
  uint32_t warp;
  std::array<uint32_t, 3> clusterId, inCluster;

  uint64_t get(StringRef name, uint32_t lane) const {
    const Launch &launch = run.launch;
    uint32_t thread = warp * 32 + lane;
    const auto &block = launch.block, &grid = launch.grid, &size = run.cluster;
    auto [base, part] = name.split('.');
    unsigned d = part == "y" ? 1 : part == "z" ? 2 : 0;
    std::array<uint32_t, 3> tid{thread % block[0], thread / block[0] % block[1],
                                thread / (block[0] * block[1])};
    if (base == "%tid")
      return tid[d];
    if (base == "%ntid")
      return block[d];
    if (base == "%ctaid")
      return cta.id[d];
    if (base == "%nctaid")
      return grid[d];
    if (base == "%clusterid")
      return clusterId[d];
    if (base == "%nclusterid")
      return grid[d] / size[d];
    if (base == "%cluster_ctaid")
      return inCluster[d];
    if (base == "%cluster_nctaid")
      return size[d];
    if (base == "%cluster_ctarank")
      return cta.rank;
    if (base == "%cluster_nctarank")
      return size[0] * size[1] * size[2];
    if (base == "%laneid")
      return lane;
    if (base == "%warpid")
      return warp;
    if (base == "%nwarpid")
      return (block[0] * block[1] * block[2] + 31) / 32;
    if (base == "%smid")
      return (cta.id[0] + grid[0] * (cta.id[1] + grid[1] * cta.id[2])) %
             launch.chip.multiprocessors;
    if (base == "%nsmid")
      return launch.chip.multiprocessors;
    if (base == "%dynamic_smem_size")
      return launch.dynamicSharedBytes;
    if (base == "%total_smem_size")
      return run.sharedBytes;
    if (base == "WARP_SZ")
      return 32;
    uint32_t self = 1u << lane, less = self - 1;
    if (base == "%lanemask_eq")
      return self;
    if (base == "%lanemask_lt")
      return less;
    if (base == "%lanemask_le")
      return less | self;
    if (base == "%lanemask_gt")
      return ~(less | self);
    if (base == "%lanemask_ge")
      return ~less;
    return 0;
  }
};
} // namespace

static uint64_t addressOf(const Run &run, const Cta &cta,
                          const Variable &variable) {
  switch (variable.space) {
  case Space::Shared: {
    uint64_t offset = kReservedShared + variable.offset;
    if (variable.dynamic)
      offset = kReservedShared + run.staticShared;
    return offset | uint64_t(cta.rank) << kRankShift;
  }
  case Space::Local:
    return kReservedLocal + variable.offset;
  case Space::Param:
    return variable.offset;
  default:
    return run.variables.find(&variable)->second;
  }
}

static void startWarp(Warp &warp, Cta &cta, uint32_t index,
                      const Specials &specials) {
  Run &run = *cta.cluster->run;
  const Code &code = run.code;
  warp.cta = &cta;
  warp.cluster = cta.cluster;
  warp.code = &code;
  warp.index = index;
  const auto &block = run.launch.block;
  uint32_t threads = block[0] * block[1] * block[2];
  uint32_t count = std::min(32u, threads - index * 32);
  warp.started = warp.live = count == 32 ? kAllLanes : (1u << count) - 1;
  warp.storage.resize(code.registerBytes + 64);
  uintptr_t base = reinterpret_cast<uintptr_t>(warp.storage.data());
  warp.regs = reinterpret_cast<uint8_t *>((base + 63) & ~uintptr_t(63));
  warp.constants = code.constants.data();
  Cluster &cluster = *cta.cluster;
  warp.agent = cluster.newAgent();
  warp.copyAgent = cluster.newAgent();
  warp.bulkAgent = cluster.newAgent();
  warp.bulkWriteAgent = cluster.newAgent();
  warp.matrixAgent = cluster.newAgent();
  warp.loadAgent = cluster.newAgent();
  warp.storeAgent = cluster.newAgent();
  warp.tensorCopyAgent = cluster.newAgent();
  warp.groups.push_back({warp.started, {}});
  Fragment start;
  start.mask = warp.started;
  warp.fragments.push_back(start);
  warp.registers = run.registersPerThread;
  if (code.holdsRegisters) {
    warp.writtenAt.resize(code.registerBytes / 64 + 1);
    warp.busyRegisters.resize(code.registerBytes / 64 + 1);
    warp.heldAs.resize(code.registerBytes / 64 + 1);
  }
  for (const Preset &preset : code.presets)
    for (uint32_t l = 0; l < 32; ++l) {
      uint64_t value = preset.variable ? addressOf(run, cta, *preset.variable) +
                                             preset.addend
                                       : specials.get(preset.special, l);
      uint8_t *at = warp.regs + preset.offset;
      unsigned bytes = getSlotBytes(preset.type) / 32;
      memcpy(at + l * bytes, &value, std::min(bytes, 8u));
    }
}

Cluster::Cluster(Run &run, uint64_t number) : run(&run), index(number) {
  random.seed(run.launch.seed * 0x9e3779b97f4a7c15ull + number * 2 + 1);
  const auto &size = run.cluster;
  std::array<uint32_t, 3> first = run.getCtaId(number, 0);
  std::array<uint32_t, 3> id{first[0] / size[0], first[1] / size[1],
                             first[2] / size[2]};
  uint32_t ctaCount = size[0] * size[1] * size[2];
  const auto &block = run.launch.block;
  uint32_t threads = block[0] * block[1] * block[2];
  uint32_t warps = (threads + 31) / 32;
  for (uint32_t rank = 0; rank < ctaCount; ++rank) {
    Cta &cta = ctas.emplace_back();
    cta.cluster = this;
    cta.rank = rank;
    std::array<uint32_t, 3> in{rank % size[0], rank / size[0] % size[1],
                               rank / size[0] / size[1]};
    cta.id = run.getCtaId(number, rank);
    uint64_t bytes = kReservedShared + run.sharedBytes;
    cta.shared.resize(bytes);
    cta.written.resize(bytes);
    if (run.launch.checkRaces)
      cta.shadow = std::make_unique<Shadow>(bytes);
    cta.localBytes = kReservedLocal + run.kernel.localBytes;
    if (run.kernel.localBytes) {
      cta.local.resize(cta.localBytes * threads);
      cta.localWritten.resize(cta.localBytes * threads);
    }
    cta.live = threads;
    cta.freeRegisters = 0;
    for (Barrier &barrier : cta.barriers)
      barrier.lanes.resize(warps);
    for (uint32_t w = 0; w < warps; ++w) {
      Warp &warp = cta.warps.emplace_back();
      Specials specials{run, *this, cta, w, id, in};
      startWarp(warp, cta, w, specials);
      warp.number = rank * warps + w;
      running.push_back(&warp);
    }
  }
  barrier.arrived.resize(uint64_t(warps) * ctaCount);
  agentsPerCta = warps * kWarpAgents;
  if (Trace *trace = run.launch.trace)
    for (Cta &cta : ctas) {
      uint64_t process = run.getTraceProcess(cta);
      trace->nameProcess(process, run.kernel.name + " (" + Twine(cta.id[0]) +
                                      "," + Twine(cta.id[1]) + "," +
                                      Twine(cta.id[2]) + ")");
      for (Warp &warp : cta.warps)
        trace->nameThread(process, warp.index, "warp " + Twine(warp.index));
    }
  gridAgent = newAgent();
}

//===----------------------------------------------------------------------===//
// Scheduling
//===----------------------------------------------------------------------===//

bool Cluster::runTimeSlice() {
  ++time;
  if (run->stop.load(std::memory_order_relaxed))
    failed = true;
  if (failed)
    return true;
  if (!work.empty() && draw(3) == 0 && !finishSome())
    if (failed)
      return true;
  uint32_t count = running.size();
  uint32_t start = draw(count);
  for (uint32_t n = 0; n < count; ++n) {
    uint32_t at = start + n < count ? start + n : start + n - count;
    Warp &warp = *running[at];
    if (!warp.choose())
      continue;
    uint64_t budget = draw(4) ? 200 + draw(800) : 1 + draw(32);
    if (!warp.run(budget)) {
      failed = true;
      return true;
    }
    if (warp.isDone()) {
      running[at] = running.back();
      running.pop_back();
    }
    return running.empty() && work.empty();
  }
  if (running.empty()) {
    // Asynchronous work may outlive the threads that issued it.
    finishSome();
    return work.empty() || failed;
  }
  if (finishSome() || failed)
    return failed;
  bool broken = false;
  for (Warp *warp : running)
    broken |= warp->breakJoins();
  if (broken)
    return false;
  reportDeadlock();
  failed = true;
  return true;
}

uint64_t Cluster::issue(Warp &warp, const Inst &inst, StringRef what,
                        std::function<bool()> finish,
                        llvm::ArrayRef<uint64_t> after) {
  Work item;
  item.finish = std::move(finish);
  item.warp = &warp;
  item.place = inst.index;
  item.number = nextWork++;
  item.after.assign(after.begin(), after.end());
  item.what = what.str();
  pending[item.number] = true;
  trace(item, /*begins=*/true);
  work.push_back(std::move(item));
  return work.back().number;
}

bool Cluster::finishSome() {
  if (work.empty())
    return false;
  size_t start = draw(work.size());
  for (size_t n = 0; n < work.size(); ++n) {
    size_t index = (start + n) % work.size();
    if (llvm::none_of(work[index].after,
                      [&](uint64_t number) { return isPending(number); }))
      return finishWork(index);
  }
  return false;
}

bool Cluster::finishWork(size_t index) {
  Work item = std::move(work[index]);
  work[index] = std::move(work.back());
  work.pop_back();
  trace(item, /*begins=*/false);
  bool fine = item.finish();
  pending.erase(item.number);
  if (!fine)
    failed = true;
  return fine;
}

void Cluster::trace(const Work &item, bool begins) {
  if (Trace *trace = run->launch.trace)
    trace->addWork(run->getTraceProcess(*item.warp->cta), item.warp->index,
                   item.what, item.number, begins, time,
                   run->getPlace(item.place));
}

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

bool Cluster::isReady(Warp &warp, Fragment &fragment) {
  const Wait &wait = fragment.wait;
  switch (wait.kind) {
  case Wait::None:
    return true;
  case Wait::Barrier:
    return warp.cta->barriers[wait.object].phase != wait.value;
  case Wait::Mbarrier:
    return wait.mbarrier->phase != wait.value;
  case Wait::ClusterBarrier:
    return barrier.phase != wait.value;
  case Wait::Registers:
    return warp.cta->freeRegisters >= int64_t(wait.value);
  case Wait::WarpSync:
    return wait.done;
  case Wait::Groups:
    return !isPending(wait.value);
  case Wait::Columns:
    return warp.cta->tensorAllocations != wait.value;
  }
  return true;
}

std::string fovea::ptx::describeWait(Warp &warp, const Fragment &fragment) {
  const Wait &wait = fragment.wait;
  Cta &cta = *warp.cta;
  switch (wait.kind) {
  case Wait::None:
    return "runs";
  case Wait::Barrier: {
    const Barrier &barrier = cta.barriers[wait.object];
    return "waits at barrier " + std::to_string(wait.object) + ": " +
           std::to_string(barrier.arrived) + " of " +
           std::to_string(barrier.expected) + " threads have arrived";
  }
  case Wait::Mbarrier: {
    const Mbarrier &m = *wait.mbarrier;
    std::string text = "waits for phase " + std::to_string(wait.value) +
                       " of the mbarrier at " +
                       describeShared(warp.cluster->ctas[m.rank], m.offset) +
                       ": " + std::to_string(m.count - m.pending) + " of " +
                       std::to_string(m.count) + " arrivals";
    if (m.transactions > 0)
      text += ", " + std::to_string(m.transactions) + " bytes are missing";
    if (m.transactions < 0)
      text += ", " + std::to_string(-m.transactions) +
              " bytes more have arrived than expected";
    return text;
  }
  case Wait::ClusterBarrier:
    return "waits at the cluster barrier, phase " + std::to_string(wait.value);
  case Wait::WarpSync:
    return "waits for other lanes of its warp";
  case Wait::Registers:
    return "waits for " + std::to_string(wait.value) + " registers, " +
           std::to_string(cta.freeRegisters) + " are free";
  case Wait::Columns:
    return "waits for columns of tensor memory";
  case Wait::Groups:
    return "waits for asynchronous work";
  }
  return "";
}

void Cluster::reportDeadlock() {
  Diagnostic diagnostic;
  bool first = true;
  for (Warp *warp : running) {
    for (Fragment &fragment : warp->fragments) {
      uint32_t place = run->code.insts[fragment.pc].index;
      if (first)
        diagnostic = run->makeDiagnostic(
            place, "deadlock",
            "deadlock: no thread of the cluster can make progress");
      first = false;
      const auto &id = warp->cta->id;
      run->addNote(diagnostic, place,
                   "warp " + Twine(warp->index) + " of CTA (" + Twine(id[0]) +
                       "," + Twine(id[1]) + "," + Twine(id[2]) + "), lanes " +
                       warp->describe(fragment.mask) + " " +
                       describeWait(*warp, fragment));
    }
  }
  run->report(std::move(diagnostic));
}
