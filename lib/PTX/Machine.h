//===- Machine.h - What executes a kernel ---------------------------*- C++
//-*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_PTX_MACHINE_H
#define FOVEA_LIB_PTX_MACHINE_H

#include "Flags.h"
#include "GlobalShadow.h"
#include "Syntax/Program.h"

#include "fovea/PTX/Launch.h"
#include "fovea/PTX/Trace.h"

#include "llvm/ADT/StringExtras.h"

#include <atomic>
#include <cstring>
#include <functional>
#include <optional>
#include <random>

namespace fovea::ptx {

struct Cta;
struct Cluster;
struct Run;

// Windows of the generic address space. An address of shared memory is the rank
// of its CTA in the cluster, from bit 24 on, and the offset there: CTAs see
// their own and their neighbours' memory alike.
inline constexpr uint64_t kSharedWindow = uint64_t(0x7001) << 32;
inline constexpr uint64_t kLocalWindow = uint64_t(0x7002) << 32;
inline constexpr uint64_t kParamWindow = uint64_t(0x7003) << 32;
inline constexpr uint64_t kWindowMask = uint64_t(0xffffffff) << 32;
inline constexpr unsigned kRankShift = 24;
inline constexpr uint32_t kOffsetMask = (1u << kRankShift) - 1;
/// The system's own; an address below it is nobody's. Local memory begins
/// elsewhere than at 0 for the same reason.
inline constexpr uint32_t kReservedShared = 1024, kReservedLocal = 16;

//===----------------------------------------------------------------------===//
// Synchronisation objects
//===----------------------------------------------------------------------===//

/// What a fragment waits for.
struct Wait {
  enum Kind : uint8_t {
    None,
    Barrier,        // a named barrier's phase
    Mbarrier,       // an mbarrier's phase
    ClusterBarrier, // the cluster barrier's phase
    WarpSync,       // other lanes of the warp
    Groups,         // asynchronous groups: `value` of them may be under way
    Registers,      // setmaxnreg.inc
    Columns         // tcgen05.alloc
  } kind = None;
  uint32_t object = 0;
  uint64_t value = 0;
  /// Turns until a potentially blocking wait gives up; 0: never.
  uint32_t patience = 0;
  struct Mbarrier *mbarrier = nullptr;
  /// Set when it is over.
  bool done = false;
};

struct Waiter {
  Warp *warp;
  uint32_t mask;
};

/// A named barrier of a CTA.
struct Barrier {
  uint32_t expected = 0, arrived = 0;
  /// Lanes that arrived, of each warp.
  std::vector<uint32_t> lanes;
  uint64_t phase = 0;
  Knowledge knowledge;
  std::vector<Waiter> waiters;
  /// The instruction that set `expected`; barrier.red's value so far.
  uint32_t place = 0;
  uint32_t reduction = 0, result = 0;
  bool fresh = true;
};

/// An mbarrier: the object behind 8 bytes of shared memory.
struct Mbarrier {
  uint32_t offset = 0, rank = 0;
  uint32_t count = 0, pending = 0;
  int64_t transactions = 0;
  uint64_t phase = 0;
  uint16_t agent = kNobody;
  /// What arrivals of the current phase, and of the last, have published.
  Knowledge current, last;
  /// Its initialisation, and whether other proxies can see it.
  Stamp initialized;
  bool fenced = false;
};

/// One piece of asynchronous work.
struct Work {
  /// What it does to memory; false: it failed, and has reported it.
  std::function<bool()> finish;
  Warp *warp = nullptr;
  uint32_t place = 0;
  /// Numbers of work that must be done before it.
  llvm::SmallVector<uint64_t, 2> after;
  uint64_t number = 0;
  std::string what;
};

//===----------------------------------------------------------------------===//
// Warps
//===----------------------------------------------------------------------===//

/// Agents of a warp. They are numbered warp by warp, CTA by CTA.
inline constexpr unsigned kWarpAgents = 7;

/// Lanes of a warp that are at the same place.
struct Fragment {
  uint32_t pc = 0, mask = 0;
  /// The join that it runs to: index into Warp::joins, or -1; its place.
  int32_t join = -1;
  uint32_t joinPc = kNoTarget;
  Wait wait;
  /// For the trace: the turn in which it began to wait, or 0; for what.
  uint64_t waitsSince = 0;
  std::string waitsFor;
};

/// Where the parts of a fragment meet again.
struct Join {
  uint32_t pc, expected, arrived;
  int32_t parent;
};

/// Lanes with the same knowledge.
struct LaneGroup {
  uint32_t mask;
  Knowledge knowledge;
};

/// Groups of asynchronous work: of a lane (cp.async, bulk copies), or of a warp
/// (wgmma).
struct Groups {
  struct Group {
    /// Numbers of its work; of that which only reads shared memory.
    std::vector<uint64_t> work, reads;
    /// wgmma: the registers that it holds.
    std::vector<uint32_t> registers;
    uint32_t epoch = 0;
  };
  /// Groups that nobody has seen the end of. The last is the one that is open.
  std::deque<Group> groups{{}};
  /// The epoch of work that is issued now.
  uint32_t epoch = 1;

  Group &open() { return groups.back(); }
  void commit() {
    groups.back().epoch = epoch++;
    groups.emplace_back();
  }
};

struct Warp {
  Cta *cta = nullptr;
  Cluster *cluster = nullptr;
  const Code *code = nullptr;
  std::vector<uint8_t> storage;
  uint8_t *regs = nullptr;
  const uint8_t *constants = nullptr;
  uint32_t index = 0;
  uint32_t live = 0, started = 0;
  /// Agents: the warp, its cp.async, its bulk groups (what they read in shared
  /// memory, and the rest), its wgmma, its tcgen05.ld and tcgen05.st.
  uint16_t agent = 0, copyAgent = 0, bulkAgent = 0, bulkWriteAgent = 0,
           matrixAgent = 0, loadAgent = 0, storeAgent = 0;
  uint32_t epoch = 1;
  std::vector<Fragment> fragments;
  std::vector<Join> joins;
  uint32_t current = 0;
  std::vector<LaneGroup> groups;
  std::array<Groups, 32> copies, bulks;
  Groups matrices;
  uint64_t steps = 0, threadSteps = 0;
  /// setmaxnreg: registers of a thread now.
  uint32_t registers = 0;
  /// wgmma: when each register was last written (step), by slot of 64 bytes,
  /// and by what; the steps of the last fence.
  std::vector<uint64_t> writtenAt;
  uint64_t fencedAt = 0;
  /// By how many wgmmas under way each is held, and which was the last.
  std::vector<uint32_t> busyRegisters, heldAs;
  uint32_t numBusy = 0;
  uint64_t lastMatrixWork = 0;
  /// wgmma: what was executed, as a hash, and the last of it. The warps of a
  /// group must agree.
  uint64_t matrixTrail = 0;
  const Inst *lastMatrix = nullptr;
  /// tcgen05.ld and .st that are under way, and the registers of loads.
  std::vector<uint64_t> tensorLoads, tensorStores;
  std::vector<uint32_t> loadRegisters;
  uint32_t loadEpoch = 1, storeEpoch = 1;
  /// What waits have seen and no fence before a synchronisation has passed on.
  std::vector<std::pair<uint16_t, uint32_t>> tensorDone;
  /// Where the last access to global memory was.
  const Device::Allocation *lastAllocation = nullptr;
  /// What watches accesses to an allocation, by its address.
  llvm::SmallDenseMap<uint64_t, GlobalShadow::Watched *, 8> watched;
  Fences fences;
  Polled polled;
  /// The cluster barrier's phase that each lane has arrived at, less one.
  std::array<uint64_t, 32> clusterArrivals{};
  /// Its number in the cluster.
  uint32_t number = 0;
  /// mbarriers that it has initialised and not fenced.
  std::vector<struct Mbarrier *> unfenced;

  template <class T>
  T *at(Slot slot) const {
    return reinterpret_cast<T *>(
        (slot.constant ? const_cast<uint8_t *>(constants) : regs) +
        slot.offset);
  }
  uint32_t predicate(Slot slot) const { return *at<uint32_t>(slot); }
  void setPredicate(Slot slot, uint32_t bits, uint32_t mask) const {
    uint32_t *p = at<uint32_t>(slot);
    *p = (*p & ~mask) | (bits & mask);
  }

  Fragment &fragment() { return fragments[current]; }
  /// Runs up to `budget` instructions of one fragment. False: an error.
  bool run(uint64_t budget);
  bool execute(uint64_t budget);
  /// Whether some fragment can go on (and chooses it).
  bool choose();
  bool isDone() const { return !live; }

  // Control flow.
  Step branch(const Inst &inst, uint32_t taken, uint32_t mask);
  void exitLanes(uint32_t mask);
  /// What must hold when all threads of the CTA have ended.
  Step checkEnd(const Inst &inst);
  bool arriveAtJoin();
  void releaseJoins();
  bool breakJoins();
  void removeFragment(uint32_t index);
  int32_t newJoin(uint32_t pc, uint32_t expected, int32_t parent);

  // Order.
  Knowledge &knowledgeOf(unsigned lane);
  /// Publishes what the lanes did and know into `to`, and ends the epoch.
  void release(uint32_t mask, Knowledge &to);
  void acquire(uint32_t mask, const Knowledge &from);
  /// What one lane or mask does becomes known to all lanes of the mask.
  void syncLanes(uint32_t mask);
  /// Makes what lanes know visible to the async proxy.
  void fenceProxy(uint32_t mask);
  void acquireAgent(uint32_t mask, uint16_t agent, uint32_t epoch,
                    bool lanewise);
  void splitGroups(uint32_t mask);

  /// .sync of the lanes that `members` names: Next if all of them are here,
  /// Wait or Jump (the instruction again) until they are.
  Step gather(const Inst &inst, uint32_t mask, uint32_t members);

  /// Reports an error of this warp; returns Step::Fail.
  Step fail(const Inst &inst, llvm::StringRef kind, const llvm::Twine &message,
            uint32_t lanes = 0);
  Step race(const Inst &inst, Conflict conflict, const Stamp &with,
            const Access &access, const llvm::Twine &where);
  /// An access of the lanes through the generic proxy.
  Access access(const Inst &inst, uint32_t lanes, bool write,
                std::optional<Scope> strong = std::nullopt);
  /// One of an agent that they start.
  Access asyncAccess(const Inst &inst, uint32_t lanes, bool write,
                     uint16_t agent, uint32_t epoch, bool async);
  std::string describe(uint32_t lanes) const;
  /// Whether all threads of the warp that run are in the mask: .aligned.
  bool isWhole(uint32_t mask) const { return mask == live; }
};

//===----------------------------------------------------------------------===//
// CTAs and clusters
//===----------------------------------------------------------------------===//

/// A cp.async that was issued.
struct SmallCopy {
  uint64_t from, work;
  uint32_t bytes;
};

struct Cta {
  Cluster *cluster = nullptr;
  /// The last cp.async to a place in shared memory.
  llvm::DenseMap<uint32_t, SmallCopy> smallCopies;
  std::array<uint32_t, 3> id{};
  uint32_t rank = 0;
  std::vector<uint8_t> shared;
  /// One byte for each: was written.
  std::vector<uint8_t> written;
  std::unique_ptr<Shadow> shadow;
  llvm::DenseMap<uint32_t, std::unique_ptr<Mbarrier>> mbarriers;
  /// mbarriers that were invalidated: somebody may still wait for them.
  std::vector<std::unique_ptr<Mbarrier>> retired;
  std::array<Barrier, 16> barriers;
  std::deque<Warp> warps;
  uint32_t live = 0;
  std::vector<uint8_t> local, localWritten;
  uint64_t localBytes = 0;
  /// setmaxnreg: registers that nobody holds.
  int64_t freeRegisters = 0;
  /// Tensor memory, made at the first allocation: 512 columns of 128 lanes;
  /// the allocation that holds a column, 0 if none does.
  std::vector<uint32_t> tensor;
  std::vector<uint8_t> tensorWritten;
  std::unique_ptr<Shadow> tensorShadow;
  std::vector<uint32_t> tensorOwners;
  /// Changes with every allocation given back.
  uint32_t tensorAllocations = 0;
  bool mayAllocate = true;
  /// Allocations of a pair that the other CTA of it has made: address, columns.
  std::deque<std::pair<uint32_t, uint32_t>> pairAllocations;

  Mbarrier *findMbarrier(uint32_t offset) {
    auto found = mbarriers.find(offset);
    return found == mbarriers.end() ? nullptr : found->second.get();
  }
};

/// The cluster barrier.
struct ClusterBarrier {
  uint64_t phase = 0;
  /// Lanes that have arrived, by warp of the cluster.
  std::vector<uint32_t> arrived;
  Knowledge knowledge, last;
};

struct Cluster {
  Run *run = nullptr;
  /// Its number in the grid.
  uint32_t index = 0;
  std::deque<Cta> ctas;
  std::vector<Warp *> running;
  std::vector<Work> work;
  uint64_t nextWork = 1;
  /// Numbers of work that is under way.
  llvm::DenseMap<uint64_t, bool> pending;
  ClusterBarrier barrier;
  std::mt19937_64 random;
  uint16_t nextAgent = 0;
  /// The end of the grid before this one.
  uint16_t gridAgent = 0;
  uint16_t agentsPerCta = 0;
  uint64_t time = 0;
  /// Strong accesses to shared memory.
  Flags flags;
  bool failed = false;

  /// Sets up the cluster of that linear index.
  Cluster(Run &run, uint64_t index);
  /// Lets warps run for a while. True once all have ended, or on an error.
  bool turn();
  uint64_t draw(uint64_t bound) { return bound ? random() % bound : 0; }

  uint64_t issue(Warp &warp, const Inst &inst, llvm::StringRef what,
                 std::function<bool()> finish,
                 llvm::ArrayRef<uint64_t> after = {});
  bool isPending(uint64_t number) const { return pending.count(number); }
  /// Ends one piece of work that may end. False: there is none.
  bool finishSome();
  bool finishWork(size_t index);
  bool isReady(Warp &warp, Fragment &fragment);
  void reportDeadlock();
  Cta *findCta(uint32_t rank) {
    return rank < ctas.size() ? &ctas[rank] : nullptr;
  }
  uint16_t newAgent() { return nextAgent++; }
  /// That asynchronous work began, or ended.
  void trace(const Work &item, bool begins);

  // Barriers.
  void completeBarrier(Cta &cta, Barrier &barrier);
  void checkBarriers(Cta &cta);
  void checkClusterBarrier();
  /// Counts an arrival, or a change of the transaction count, and ends the
  /// phase when nothing is left to wait for. Returns what is wrong, if so.
  std::string arrive(Mbarrier &mbarrier, uint32_t count);
  std::string addTransactions(Mbarrier &mbarrier, int64_t bytes);
  std::string settle(Mbarrier &mbarrier);
};

/// One launch.
struct Run {
  Device &device;
  const Module &module;
  const Launch &launch;
  const Code &code;
  const Kernel &kernel;
  std::array<uint32_t, 3> cluster{};
  uint64_t staticShared = 0, sharedBytes = 0;
  uint32_t registersPerThread = 0;
  std::map<const Variable *, uint64_t> variables;
  std::mutex mutex;
  std::vector<Diagnostic> errors;
  std::atomic<bool> stop{false};
  /// Strong accesses to global memory.
  std::mutex flagsMutex;
  Flags flags;
  /// Who accessed global memory; null if nobody wants to know.
  std::shared_ptr<Footprint> footprint;
  /// In the trace, the first CTA.
  uint64_t traceProcess = 0;
  /// Some thread has let the next grid start.
  std::atomic<bool> launchedDependents{false};
  std::atomic<uint64_t> warpInstructions{0}, threadInstructions{0};

  Run(Device &device, const Module &module, const Launch &launch,
      const Code &code);
  void report(Diagnostic diagnostic);
  Location locate(uint32_t place) const;
  uint64_t getTraceProcess(const Cta &cta) const;
  /// Where an instruction stands, for the trace.
  llvm::json::Object getPlace(uint32_t place) const;
  /// The CTA of a cluster.
  std::array<uint32_t, 3> getCtaId(uint32_t cluster, uint32_t rank) const;
  Diagnostic makeDiagnostic(uint32_t place, llvm::StringRef kind,
                            const llvm::Twine &message) const;
  void addNote(Diagnostic &diagnostic, uint32_t place,
               const llvm::Twine &message) const;
};

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Bytes that an access reaches, once it was checked.
struct Bytes {
  uint8_t *data = nullptr, *written = nullptr;
  /// Shared memory: whose, and where. Null for other spaces.
  Cta *cta = nullptr;
  uint32_t offset = 0;
  /// Global memory: of which allocation. Null for other spaces.
  const Device::Allocation *global = nullptr;
};

enum class Use : uint8_t { Read, Write, Both };

// What Bytes::written holds.
inline constexpr uint8_t kWritten = 1, kMbarrier = 2;

/// Finds and checks the bytes of an access of one lane; reports what is wrong
/// and returns false.
bool findBytes(Warp &warp, const Inst &inst, Space space, uint64_t address,
               uint64_t bytes, Use use, unsigned lane, Bytes &result);
/// Reports bytes that are read and were never written.
bool checkWritten(Warp &warp, const Inst &inst, const Bytes &bytes,
                  uint64_t count, uint64_t address, unsigned lane);
/// Watches an access to shared or global memory.
bool isWatched(const Warp &warp, const Bytes &bytes);
bool watch(Warp &warp, const Inst &inst, const Bytes &bytes, uint64_t count,
           const Access &access);
/// "waits at barrier 1: 32 of 64 threads have arrived".
std::string describeWait(Warp &warp, const Fragment &fragment);
/// "shared memory of CTA 1 at 0x420".
std::string describeShared(const Cta &cta, uint32_t offset);

} // namespace fovea::ptx

#endif // FOVEA_LIB_PTX_MACHINE_H
