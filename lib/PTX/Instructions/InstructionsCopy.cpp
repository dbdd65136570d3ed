//===- InstructionsCopy.cpp - Asynchronous copies -------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// cp.async with its groups, the waits for groups of cp.async and bulk copies,
// and the arrival of copies at an mbarrier.
//
//===----------------------------------------------------------------------===//

#include "Atomics.h"
#include "Lanes.h"
#include "Mbarrier.h"

#include "llvm/ADT/StringSwitch.h"

using namespace fovea::ptx;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// The first outstanding work of all committed groups except the last `keep`,
/// or 0.
static uint64_t findPending(Cluster &cluster, Groups &groups, uint64_t keep,
                            bool reads) {
  uint64_t committed = groups.groups.size() - 1;
  for (uint64_t n = 0; n + keep < committed; ++n) {
    const Groups::Group &group = groups.groups[n];
    for (uint64_t number : reads ? group.reads : group.work)
      if (cluster.isPending(number))
        return number;
  }
  return 0;
}

/// Waits until at most `keep` groups of each lane are outstanding, then
/// acquires the accesses of the completed groups.
static Step waitGroups(Warp &warp, uint32_t mask, std::array<Groups, 32> &all,
                       llvm::ArrayRef<uint16_t> agents, uint64_t keep,
                       bool reads) {
  Fragment &f = warp.fragment();
  uint64_t pending = 0;
  allLanes(mask, [&](unsigned l) {
    pending = findPending(*warp.cluster, all[l], keep, reads);
    return !pending;
  });
  if (pending) {
    f.wait.kind = Wait::Groups;
    f.wait.value = pending;
    return Step::Wait;
  }
  f.wait = Wait();
  // Acquires together for lanes with the same epoch.
  uint32_t left = mask;
  while (left) {
    unsigned first = __builtin_ctz(left);
    auto epochOf = [&](unsigned l) {
      uint64_t committed = all[l].groups.size() - 1;
      return committed > keep ? all[l].groups[committed - keep - 1].epoch : 0;
    };
    uint32_t epoch = epochOf(first), lanes = 0;
    forLanes(left, [&](unsigned l) {
      if (epochOf(l) == epoch)
        lanes |= 1u << l;
    });
    left &= ~lanes;
    for (uint16_t agent : agents)
      if (epoch)
        warp.acquireAgent(lanes, agent, epoch, lanes != warp.live);
  }
  if (!reads)
    forLanes(mask, [&](unsigned l) {
      while (all[l].groups.size() - 1 > keep)
        all[l].groups.pop_front();
    });
  return Step::Next;
}

static Step runCommit(Warp &warp, const Inst &inst, uint32_t mask) {
  auto &all = inst.flags ? warp.bulks : warp.copies;
  forLanes(mask, [&](unsigned l) { all[l].commit(); });
  return Step::Next;
}

/// imm: the number of groups that may stay outstanding; flags: 1 for bulk
/// groups, 2 for reads only, 4 to include uncommitted work.
static Step runWaitGroup(Warp &warp, const Inst &inst, uint32_t mask) {
  bool bulk = inst.flags & 1;
  auto &all = bulk ? warp.bulks : warp.copies;
  if ((inst.flags & 4) && warp.fragment().wait.kind != Wait::Groups)
    forLanes(mask, [&](unsigned l) { all[l].commit(); });
  bool reads = inst.flags & 2;
  llvm::SmallVector<uint16_t, 2> agents{bulk ? warp.bulkAgent : warp.copyAgent};
  if (bulk && !reads)
    agents.push_back(warp.bulkWriteAgent);
  return waitGroups(warp, mask, all, agents, inst.imm, reads);
}

//===----------------------------------------------------------------------===//
// cp.async
//===----------------------------------------------------------------------===//

namespace {
struct Small {
  unsigned bytes = 16;
  /// The fourth operand: none, the number of bytes to read, or a predicate that
  /// skips the read.
  enum { All, Size, Ignore } source = All;
  bool negated = false;
};

/// The copy of one lane.
struct Piece {
  Bytes to, from;
  uint32_t bytes;
};
} // namespace

/// True if a copy changes nothing: an identical copy is outstanding (threads
/// without own data may repeat the copies of others), or the bytes are equal
/// already.
static bool isRepeated(Warp &warp, const Piece &piece, uint64_t from,
                       unsigned bytes) {
  auto found = warp.cta->smallCopies.find(piece.to.offset);
  if (found != warp.cta->smallCopies.end()) {
    const SmallCopy &last = found->second;
    bool isSame =
        last.bytes == piece.bytes && (!last.bytes || last.from == from);
    bool isOnItsWay = last.work == warp.cluster->nextWork ||
                      warp.cluster->isPending(last.work);
    if (isOnItsWay)
      return isSame;
  }
  static constexpr uint8_t kZeros[16] = {};
  return llvm::all_of(llvm::ArrayRef(piece.to.written, bytes),
                      [](uint8_t state) { return state == kWritten; }) &&
         (!piece.bytes ||
          !memcmp(piece.to.data, piece.from.data, piece.bytes)) &&
         !memcmp(piece.to.data + piece.bytes, kZeros, bytes - piece.bytes);
}

/// Slots: target, source, [size or predicate]. flags: bit mask of 32-bit bases.
static Step runSmallCopy(Warp &warp, const Inst &inst, uint32_t mask) {
  const auto &form = *static_cast<const Small *>(inst.data);
  auto pieces = std::make_shared<std::vector<Piece>>();
  const auto *offsets = reinterpret_cast<const int32_t *>(&inst.imm);
  auto addressOf = [&](unsigned which, unsigned l) -> uint64_t {
    if (inst.flags >> which & 1)
      return uint32_t(warp.at<uint32_t>(inst.ops[which])[l] + offsets[which]);
    return warp.at<uint64_t>(inst.ops[which])[l] + offsets[which];
  };
  uint32_t ignored =
      form.source == Small::Ignore
          ? warp.predicate(inst.ops[2]) ^ (form.negated ? ~0u : 0)
          : 0;
  bool fine = allLanes(mask, [&](unsigned l) {
    Piece piece{};
    uint64_t to = addressOf(0, l), from = addressOf(1, l);
    piece.bytes = form.source == Small::Size ? warp.at<uint32_t>(inst.ops[2])[l]
                  : ignored >> l & 1         ? 0
                                             : form.bytes;
    if (piece.bytes > form.bytes) {
      warp.fail(inst, "bounds",
                "'cp.async' of " + Twine(form.bytes) + " bytes must not read " +
                    Twine(piece.bytes),
                1u << l);
      return false;
    }
    if ((to | (piece.bytes ? from : 0)) & (form.bytes - 1)) {
      warp.fail(
          inst, "alignment",
          "'cp.async' of " + Twine(form.bytes) +
              " bytes needs addresses that are multiples of its size, found "
              "0x" +
              llvm::utohexstr(to, true) + " and 0x" +
              llvm::utohexstr(from, true),
          1u << l);
      return false;
    }
    if (!findBytes(warp, inst, Space::Shared, to, form.bytes, Use::Write, l,
                   piece.to))
      return false;
    if (piece.to.cta != warp.cta) {
      warp.fail(
          inst, "space",
          "the destination of 'cp.async' is not in the CTA's own shared memory",
          1u << l);
      return false;
    }
    if (piece.bytes &&
        (!findBytes(warp, inst, Space::Global, from, piece.bytes, Use::Read, l,
                    piece.from) ||
         !checkWritten(warp, inst, piece.from, piece.bytes, from, l)))
      return false;
    Access access = warp.asyncAccess(inst, 1u << l, true, warp.copyAgent,
                                     warp.copies[l].epoch, /*async=*/false);
    if (warp.cluster->run->launch.allowEqualWrites &&
        isRepeated(warp, piece, from, form.bytes)) {
      access.write = false;
      access.stamp.equal = 1;
    }
    warp.cta->smallCopies[piece.to.offset] = {from, warp.cluster->nextWork,
                                              piece.bytes};
    if (!watch(warp, inst, piece.to, form.bytes, access))
      return false;
    // The read of the source is not a write of equal values.
    access.write = false;
    access.stamp.equal = 0;
    if (piece.bytes && !watch(warp, inst, piece.from, piece.bytes, access))
      return false;
    pieces->push_back(piece);
    return true;
  });
  if (!fine)
    return Step::Fail;
  unsigned bytes = form.bytes;
  uint64_t number = warp.cluster->issue(warp, inst, "cp.async", [=] {
    for (const Piece &piece : *pieces) {
      if (piece.bytes)
        memcpy(piece.to.data, piece.from.data, piece.bytes);
      memset(piece.to.data + piece.bytes, 0, bytes - piece.bytes);
      memset(piece.to.written, kWritten, bytes);
    }
    return true;
  });
  forLanes(mask,
           [&](unsigned l) { warp.copies[l].open().work.push_back(number); });
  return Step::Next;
}

/// A base of 32 or 64 bits; the offset is stored in its half of imm.
static void twoAddresses(Build &b, unsigned first, unsigned second) {
  uint32_t wide = 0;
  int32_t offsets[2];
  unsigned which = 0;
  for (unsigned n : {first, second}) {
    b.inst.flags = 0;
    offsets[which] = b.address(b.operand(n));
    wide |= (b.inst.flags >> 31) << which++;
  }
  b.inst.flags = wide;
  memcpy(&b.inst.imm, offsets, sizeof offsets);
}

static void buildSmallCopy(Build &b) {
  StringRef cache = b.needOneOf({"ca", "cg"});
  if (!b.take("shared"))
    b.need("shared::cta");
  b.need("global");
  bool hint = b.take("L2::cache_hint");
  b.takeOneOf({"L2::64B", "L2::128B", "L2::256B"});
  if (!b.expectOperands(3 + hint, 4 + hint))
    return;
  Small form;
  form.bytes = b.constant(b.operand(2));
  if (form.bytes != 16 &&
      (cache == "cg" || (form.bytes != 4 && form.bytes != 8)))
    return b.error(b.operand(2).loc, "'cp.async." + cache + "' copies " +
                                         (cache == "cg" ? "16" : "4, 8 or 16") +
                                         " bytes");
  twoAddresses(b, 0, 1);
  if (b.count() == 4u + hint) {
    const Operand &source = b.operand(3);
    bool predicate = source.kind == Operand::Reg &&
                     b.function.registers[source.index].type.kind == Type::Pred;
    form.source = predicate ? Small::Ignore : Small::Size;
    form.negated = source.negated;
    if (predicate)
      b.readNegatable(source);
    else
      b.read(source, {Type::Bits, 32});
  }
  b.attach(form);
  b.set(runSmallCopy);
}

/// Arrives at an mbarrier when all earlier cp.async of the lanes have
/// completed.
static Step runCopyArrive(Warp &warp, const Inst &inst, uint32_t mask) {
  Cluster &cluster = *warp.cluster;
  struct Arrival {
    Cta *cta;
    uint32_t offset, count;
    Knowledge knowledge;
  };
  auto arrivals = std::make_shared<std::vector<Arrival>>();
  llvm::SmallVector<uint64_t> after;
  bool fine = allLanes(mask, [&](unsigned l) {
    uint64_t address = laneAddress(warp, inst, inst.ops[0], l);
    Mbarrier *m =
        findMbarrier(warp, inst, Space::Generic,
                     address >> 32 ? address : address | kSharedWindow, l);
    if (!m)
      return false;
    // Without .noinc, the arrival increments the pending count first.
    if (inst.flags & 1)
      ++m->pending;
    Groups &groups = warp.copies[l];
    for (const Groups::Group &group : groups.groups)
      for (uint64_t number : group.work)
        if (cluster.isPending(number) && !llvm::is_contained(after, number))
          after.push_back(number);
    Arrival *arrival = nullptr;
    for (Arrival &known : *arrivals)
      if (known.offset == m->offset)
        arrival = &known;
    if (!arrival)
      arrival = &arrivals->emplace_back(
          Arrival{&cluster.ctas[m->rank], m->offset, 0, {}});
    ++arrival->count;
    arrival->knowledge.known.raise(warp.copyAgent, groups.epoch++, 1u << l);
    return true;
  });
  if (!fine)
    return Step::Fail;
  Warp *self = &warp;
  const Inst *at = &inst;
  cluster.issue(
      warp, inst, "cp.async.mbarrier.arrive",
      [=] {
        for (Arrival &arrival : *arrivals) {
          Mbarrier *m = arrival.cta->findMbarrier(arrival.offset);
          if (!m) {
            self->fail(*at, "mbarrier", "the mbarrier no longer exists");
            return false;
          }
          m->current.join(arrival.knowledge);
          if (!arriveLater(*self, *at, *m, arrival.count))
            return false;
        }
        return true;
      },
      after);
  return Step::Next;
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

static void buildGroups(Build &b, bool bulk) {
  b.inst.flags = bulk;
  if (b.take("commit_group")) {
    b.expectOperands(0, 0);
    return b.set(runCommit);
  }
  if (b.take("wait_all")) {
    b.expectOperands(0, 0);
    b.inst.flags |= 4;
    return b.set(runWaitGroup);
  }
  b.need("wait_group");
  if (bulk && b.take("read"))
    b.inst.flags |= 2;
  if (!b.expectOperands(1, 1))
    return;
  b.inst.imm = b.constant(b.operand(0));
  if (b.inst.imm < 0)
    b.error(b.operand(0).loc, "a number of groups must not be negative");
  b.set(runWaitGroup);
}

static void buildCopy(Build &b) {
  b.need("async");
  if (b.take("bulk")) {
    if (b.hasModifier("commit_group") || b.hasModifier("wait_group"))
      return buildGroups(b, true);
    return buildBulk(b);
  }
  if (b.hasModifier("commit_group") || b.hasModifier("wait_group") ||
      b.hasModifier("wait_all"))
    return buildGroups(b, false);
  if (!b.take("mbarrier"))
    return buildSmallCopy(b);
  b.need("arrive");
  bool noIncrement = b.take("noinc");
  b.takeOneOf({"shared", "shared::cta"});
  b.need("b64");
  if (!b.expectOperands(1, 1))
    return;
  b.inst.imm = b.address(b.operand(0));
  b.inst.flags |= !noIncrement;
  b.set(runCopyArrive);
}

llvm::ArrayRef<Entry> fovea::ptx::getCopyEntries() {
  static const Entry entries[] = {{"cp", buildCopy}};
  return entries;
}
