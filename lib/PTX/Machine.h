//===- Machine.h - State of an executing kernel -----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state of a launch: Run, its clusters, CTAs, warps, fragments (lanes with
// the same program counter), barriers and asynchronous work. Handlers in
// Instructions/ change it; Cluster schedules warps, and Order.h defines
// happens-before.
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

// Windows of the generic address space. A shared address is the rank of its CTA
// in the cluster, from bit 24 on, and the offset there, so CTAs use the same
// form for their own and for remote memory.
inline constexpr uint64_t kSharedWindow = uint64_t(0x7001) << 32;
inline constexpr uint64_t kLocalWindow = uint64_t(0x7002) << 32;
inline constexpr uint64_t kParamWindow = uint64_t(0x7003) << 32;
inline constexpr uint64_t kWindowMask = uint64_t(0xffffffff) << 32;
inline constexpr unsigned kRankShift = 24;
inline constexpr uint32_t kOffsetMask = (1u << kRankShift) - 1;
/// Reserved by the system; lower addresses are invalid. Local memory does not
/// begin at 0 for the same reason.
inline constexpr uint32_t kReservedShared = 1024, kReservedLocal = 16;

//===----------------------------------------------------------------------===//
// Synchronisation objects
//===----------------------------------------------------------------------===//

/// The reason why a fragment is blocked.
struct Wait {
  enum Kind : uint8_t {
    None,
    Barrier,        // a named barrier's phase
    Mbarrier,       // an mbarrier's phase
    ClusterBarrier, // the cluster barrier's phase
    WarpSync,       // other lanes of the warp
    Groups,         // asynchronous groups: `value` of them may be outstanding
    Registers,      // setmaxnreg.inc
    Columns         // tcgen05.alloc
  } kind = None;
  uint32_t object = 0;
  uint64_t value = 0;
  /// Scheduling steps until a potentially blocking wait times out; 0: never.
  uint32_t patience = 0;
  struct Mbarrier *mbarrier = nullptr;
  /// Set when the wait has ended.
  bool done = false;
};

struct Waiter {
  Warp *warp;
  uint32_t mask;
};

/// A named barrier of a CTA.
struct Barrier {
  uint32_t expected = 0, arrived = 0;
  /// Arrived lanes of each warp.
  std::vector<uint32_t> lanes;
  uint64_t phase = 0;
  Knowledge knowledge;
  std::vector<Waiter> waiters;
  /// The instruction that set `expected`; the partial result of barrier.red.
  uint32_t place = 0;
  uint32_t reduction = 0, result = 0;
  bool fresh = true;
};

/// The state of an mbarrier, which occupies 8 bytes of shared memory.
struct Mbarrier {
  uint32_t offset = 0, rank = 0;
  uint32_t count = 0, pending = 0;
  int64_t transactions = 0;
  uint64_t phase = 0;
  /// True if a wait has returned true for the last completed phase.
  bool observed = true;
  uint16_t agent = kNoAgent;
  /// Knowledge published by the arrivals of the current and of the last phase:
  /// to all waits; and, by arrivals of other CTAs with cluster scope, to waits
  /// with cluster scope.
  Knowledge current, last, currentRemote, lastRemote;
  /// Its initialisation, and whether that is visible to other proxies.
  Stamp initialized;
  bool fenced = false;
};

/// A piece of asynchronous work.
struct Work {
  /// Performs its memory accesses; returns false after reporting an error.
  std::function<bool()> finish;
  Warp *warp = nullptr;
  uint32_t place = 0;
  /// Numbers of work that must complete first.
  llvm::SmallVector<uint64_t, 2> after;
  uint64_t number = 0;
  std::string what;
  /// tcgen05.mma and .cp: its thread, epoch and pipeline.
  Stamp stamp;
};

//===----------------------------------------------------------------------===//
// Warps
//===----------------------------------------------------------------------===//

/// Lanes of a warp with the same program counter.
struct Fragment {
  uint32_t pc = 0, mask = 0;
  /// The join that it runs to: its index in Warp::joins, or -1, and its
  /// position.
  int32_t join = -1;
  uint32_t joinPc = kNoTarget;
  Wait wait;
  /// For the trace: the step in which the wait began, or 0, and its reason.
  uint64_t waitsSince = 0;
  std::string waitsFor;
};

/// The position where the fragments of a warp reconverge.
struct Join {
  uint32_t pc, expected, arrived;
  int32_t parent;
};

/// Lanes with the same knowledge.
struct LaneGroup {
  uint32_t mask;
  Knowledge knowledge;
};

/// Groups of asynchronous work, of a lane (cp.async, bulk copies) or of a warp
/// (wgmma).
struct Groups {
  struct Group {
    /// Numbers of its work, and of the part that only reads shared memory.
    std::vector<uint64_t> work, reads;
    /// wgmma: the registers in use.
    std::vector<uint32_t> registers;
    uint32_t epoch = 0;
  };
  /// Groups without an observed completion. The last one is open.
  std::deque<Group> groups{{}};
  /// The epoch of newly issued work.
  uint32_t epoch = 1;

  Group &open() { return groups.back(); }
  void commit() {
    groups.back().epoch = epoch++;
    groups.emplace_back();
  }
};

/// The tcgen05.mma and .cp of a lane.
struct TensorThread {
  /// True if no fence before a synchronisation has followed the last one.
  bool unpublished = false;
  /// Work of other threads that is executed before it.
  Clock behind;
};

/// A register that an outstanding tcgen05.ld writes: its slot of 64 bytes, and
/// the number of the load.
struct LoadedRegister {
  uint32_t slot;
  uint64_t work;
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
  /// Agents of the warp, its cp.async, its bulk groups (reads of shared memory,
  /// and everything else), its wgmma or tcgen05.mma, its tcgen05.ld, its
  /// tcgen05.st and its tcgen05.cp.
  uint16_t agent = 0, copyAgent = 0, bulkAgent = 0, bulkWriteAgent = 0,
           matrixAgent = 0, loadAgent = 0, storeAgent = 0, tensorCopyAgent = 0;
  uint32_t epoch = 1;
  std::vector<Fragment> fragments;
  std::vector<Join> joins;
  uint32_t current = 0;
  std::vector<LaneGroup> groups;
  std::array<Groups, 32> copies, bulks;
  Groups matrices;
  uint64_t steps = 0, threadSteps = 0;
  /// setmaxnreg: current registers per thread.
  uint32_t registers = 0;
  /// wgmma: the step of the last write to each register, by slot of 64 bytes,
  /// and the step of the last fence.
  std::vector<uint64_t> writtenAt;
  uint64_t fencedAt = 0;
  /// The number of outstanding wgmmas that use each register, and the last kind
  /// of use.
  std::vector<uint32_t> busyRegisters, heldAs;
  uint32_t numBusy = 0;
  uint64_t lastMatrixWork = 0;
  /// wgmma: a hash of the executed instructions, and the last one. The warps of
  /// a group must agree.
  uint64_t matrixHash = 0;
  const Inst *lastMatrix = nullptr;
  /// The same of setmaxnreg.
  uint64_t registersHash = 0;
  const Inst *lastSetRegisters = nullptr;
  /// Outstanding tcgen05.ld and .st, and the registers of loads.
  std::vector<uint64_t> tensorLoads, tensorStores;
  std::vector<LoadedRegister> loadRegisters;
  uint32_t loadEpoch = 1, storeEpoch = 1;
  /// By lane.
  llvm::SmallDenseMap<unsigned, TensorThread, 1> tensorThreads;
  /// The allocation of the last access to global memory.
  const Device::Allocation *lastAllocation = nullptr;
  /// The access histories of allocations, by address.
  llvm::SmallDenseMap<uint64_t, GlobalShadow::Watched *, 8> watched;
  Fences fences;
  Polled polled;
  /// The cluster barrier's phase at which each lane has arrived, minus one.
  std::array<uint64_t, 32> clusterArrivals{};
  /// Its index in the cluster.
  uint32_t number = 0;
  /// mbarriers that it initialised without a fence so far.
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
  /// Runs up to `budget` instructions of one fragment. Returns false on an
  /// error.
  bool run(uint64_t budget);
  bool execute(uint64_t budget);
  /// Selects a fragment that can run; returns false if there is none.
  bool choose();
  bool isDone() const { return !live; }

  // Control flow.
  Step branch(const Inst &inst, uint32_t taken, uint32_t mask);
  void exitLanes(uint32_t mask);
  /// Checks the state when all threads of the CTA have ended.
  Step checkEnd(const Inst &inst);
  bool arriveAtJoin();
  void releaseJoins();
  bool breakJoins();
  void removeFragment(uint32_t index);
  int32_t newJoin(uint32_t pc, uint32_t expected, int32_t parent);

  // Order.
  Knowledge &knowledgeOf(unsigned lane);
  /// Publishes the lanes' accesses and knowledge into `to`, and ends the epoch.
  void release(uint32_t mask, Knowledge &to);
  /// Publishes the knowledge that fences of that scope or a wider one have
  /// released before a relaxed access.
  void releaseFenced(uint32_t mask, Scope scope, Knowledge &to);
  void acquire(uint32_t mask, const Knowledge &from);
  /// Observes, at that distance, the part of `from` that a relaxed access may
  /// observe. A later fence makes the rest effective.
  void acquireFenced(uint32_t mask, Scope distance, const Knowledge &from);
  /// Shares the knowledge and accesses of the lanes of the mask among them.
  void syncLanes(uint32_t mask);
  /// Fences the lanes' strong accesses of that scope and narrower ones.
  void fence(uint32_t mask, Scope scope);
  /// Records a strong read of the address. Returns false for an acquire from
  /// which the lanes learn nothing since their last read of it.
  bool observe(const Flags &flags, uint64_t address, uint32_t mask, Order order,
               Scope scope);
  /// Records a strong write of the address. A plain store ends earlier
  /// publications; an atomic continues them.
  void publish(Flags &flags, uint64_t address, uint32_t mask, Order order,
               Scope scope, bool replaces);
  /// Fences the lanes' initialisations of mbarriers.
  void fenceInits(uint32_t mask);
  /// Makes the lanes' knowledge visible to the async proxy.
  void fenceProxy(uint32_t mask);
  void acquireAgent(uint32_t mask, uint16_t agent, uint32_t epoch,
                    bool lanewise);
  void splitGroups(uint32_t mask);

  /// .sync for the lanes of `members`: returns Next if all of them are here,
  /// else Wait or Jump (to the same instruction).
  Step gather(const Inst &inst, uint32_t mask, uint32_t members);

  /// Reports an error of this warp and returns Step::Fail.
  Step fail(const Inst &inst, llvm::StringRef kind, const llvm::Twine &message,
            uint32_t lanes = 0);
  Step race(const Inst &inst, Conflict conflict, const Stamp &with,
            const Access &access, const llvm::Twine &where);
  /// An access of the lanes through the generic proxy.
  Access access(const Inst &inst, uint32_t lanes, bool write,
                std::optional<Scope> strong = std::nullopt);
  /// An access of an asynchronous agent that the lanes started.
  Access asyncAccess(const Inst &inst, uint32_t lanes, bool write,
                     uint16_t agent, uint32_t epoch, bool async);
  std::string describe(uint32_t lanes) const;
  /// .aligned: true if the mask has all live threads of the warp.
  bool isWhole(uint32_t mask) const { return mask == live; }
};

//===----------------------------------------------------------------------===//
// CTAs and clusters
//===----------------------------------------------------------------------===//

/// An issued cp.async.
struct SmallCopy {
  uint64_t from, work;
  uint32_t bytes;
};

/// The matrix A that `.collector::a::fill` has put into the collector buffer.
struct Collector {
  bool valid = false, fromTensor = false;
  /// The matrix descriptor or the address in tensor memory, and those fields of
  /// the instruction descriptor that concern A.
  uint64_t operand = 0;
  uint32_t fields = 0;
};

struct Cta {
  Cluster *cluster = nullptr;
  /// The last cp.async to each address of shared memory.
  llvm::DenseMap<uint32_t, SmallCopy> smallCopies;
  std::array<uint32_t, 3> id{};
  uint32_t rank = 0;
  std::vector<uint8_t> shared;
  /// One byte per byte: written or not, see kWritten.
  std::vector<uint8_t> written;
  std::unique_ptr<Shadow> shadow;
  llvm::DenseMap<uint32_t, std::unique_ptr<Mbarrier>> mbarriers;
  /// Invalidated mbarriers, for which threads may still wait.
  std::vector<std::unique_ptr<Mbarrier>> retired;
  std::array<Barrier, 16> barriers;
  std::deque<Warp> warps;
  uint32_t live = 0;
  std::vector<uint8_t> local, localWritten;
  uint64_t localBytes = 0;
  /// setmaxnreg: free registers of the CTA.
  int64_t freeRegisters = 0;
  /// Tensor memory, created by the first allocation: 512 columns of 128 lanes;
  /// the allocation that owns each column, or 0.
  std::vector<uint32_t> tensor;
  std::vector<uint8_t> tensorWritten;
  std::unique_ptr<Shadow> tensorShadow;
  std::vector<uint32_t> tensorOwners;
  /// Incremented by each deallocation.
  uint32_t tensorAllocations = 0;
  bool mayAllocate = true;
  /// Columns of the last allocation, or 0.
  uint32_t lastAllocation = 0;
  Collector collector;
  /// Allocations that the other CTA of the pair has made: address, columns.
  std::deque<std::pair<uint32_t, uint32_t>> pairAllocations;

  Mbarrier *findMbarrier(uint32_t offset) {
    auto found = mbarriers.find(offset);
    return found == mbarriers.end() ? nullptr : found->second.get();
  }
};

/// The cluster barrier.
struct ClusterBarrier {
  uint64_t phase = 0;
  /// Arrived lanes of each warp of the cluster.
  std::vector<uint32_t> arrived;
  Knowledge knowledge, last;
};

struct Cluster {
  Run *run = nullptr;
  /// Its index in the grid.
  uint32_t index = 0;
  std::deque<Cta> ctas;
  std::vector<Warp *> running;
  std::vector<Work> work;
  uint64_t nextWork = 1;
  /// Numbers of outstanding work.
  llvm::DenseMap<uint64_t, bool> pending;
  /// Pipelines of tcgen05.mma, by accumulator, kind and shape.
  llvm::DenseMap<uint64_t, unsigned> pipelines;
  ClusterBarrier barrier;
  std::mt19937_64 random;
  uint16_t nextAgent = 0;
  /// The agent whose epoch is the end of the preceding grid.
  uint16_t gridAgent = 0;
  uint16_t agentsPerCta = 0;
  uint64_t time = 0;
  /// Publications of strong accesses to shared memory.
  Flags flags;
  bool failed = false;

  /// Sets up the cluster with that linear index.
  Cluster(Run &run, uint64_t index);
  /// Runs one warp for a while. Returns true when all warps have ended or on an
  /// error.
  bool runTimeSlice();
  uint64_t draw(uint64_t bound) { return bound ? random() % bound : 0; }

  uint64_t issue(Warp &warp, const Inst &inst, llvm::StringRef what,
                 std::function<bool()> finish,
                 llvm::ArrayRef<uint64_t> after = {});
  bool isPending(uint64_t number) const { return pending.count(number); }
  /// Completes one piece of work that may complete; returns false if there is
  /// none.
  bool finishSome();
  bool finishWork(size_t index);
  bool isReady(Warp &warp, Fragment &fragment);
  void reportDeadlock();
  Cta *findCta(uint32_t rank) {
    return rank < ctas.size() ? &ctas[rank] : nullptr;
  }
  uint16_t newAgent() { return nextAgent++; }
  /// Records the begin or end of asynchronous work.
  void trace(const Work &item, bool begins);

  // Barriers.
  void completeBarrier(Cta &cta, Barrier &barrier);
  void checkBarriers(Cta &cta);
  void checkClusterBarrier();
  /// Counts an arrival or changes the transaction count, and ends the phase
  /// when nothing is outstanding. Returns an error message, or an empty string.
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
  /// Publications of strong accesses to global memory.
  std::mutex flagsMutex;
  Flags flags;
  /// Accesses to global memory; null if they are not checked.
  std::shared_ptr<Footprint> footprint;
  /// The process number of the first CTA in the trace.
  uint64_t traceProcess = 0;
  /// True once a thread has let the next grid start.
  std::atomic<bool> launchedDependents{false};
  std::atomic<uint64_t> warpInstructions{0}, threadInstructions{0};

  Run(Device &device, const Module &module, const Launch &launch,
      const Code &code);
  void report(Diagnostic diagnostic);
  Location locate(uint32_t place) const;
  uint64_t getTraceProcess(const Cta &cta) const;
  /// The location of an instruction, for the trace.
  llvm::json::Object getPlace(uint32_t place) const;
  /// The CTA id of a rank in a cluster.
  std::array<uint32_t, 3> getCtaId(uint32_t cluster, uint32_t rank) const;
  Diagnostic makeDiagnostic(uint32_t place, llvm::StringRef kind,
                            const llvm::Twine &message) const;
  void addNote(Diagnostic &diagnostic, uint32_t place,
               const llvm::Twine &message) const;
};

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// The checked bytes of an access.
struct Bytes {
  uint8_t *data = nullptr, *written = nullptr;
  /// Shared memory: the CTA and the offset. Null for other spaces.
  Cta *cta = nullptr;
  uint32_t offset = 0;
  /// Global memory: the allocation. Null for other spaces.
  const Device::Allocation *global = nullptr;
};

enum class Use : uint8_t { Read, Write, Both };

// Values of Bytes::written.
inline constexpr uint8_t kWritten = 1, kMbarrier = 2;

/// Finds and checks the bytes of one lane's access; returns false after
/// reporting an error.
bool findBytes(Warp &warp, const Inst &inst, Space space, uint64_t address,
               uint64_t bytes, Use use, unsigned lane, Bytes &result);
/// Reports reads of uninitialised bytes.
bool checkWritten(Warp &warp, const Inst &inst, const Bytes &bytes,
                  uint64_t count, uint64_t address, unsigned lane);
/// Records an access to shared or global memory and checks it for races.
bool isWatched(const Warp &warp, const Bytes &bytes);
bool watch(Warp &warp, const Inst &inst, const Bytes &bytes, uint64_t count,
           const Access &access);
/// "waits at barrier 1: 32 of 64 threads have arrived".
std::string describeWait(Warp &warp, const Fragment &fragment);
/// "shared memory of CTA 1 at 0x420".
std::string describeShared(const Cta &cta, uint32_t offset);

} // namespace fovea::ptx

#endif // FOVEA_LIB_PTX_MACHINE_H
