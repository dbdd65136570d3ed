//===- InstructionsBulk.cpp - Bulk and tensor copies ----------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// cp.async.bulk and cp.reduce.async.bulk, with and without tensor maps (TMA).
// Each copy is asynchronous work of its cluster that completes at an mbarrier
// or a bulk group.
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"
#include "Mbarrier.h"

#include "fovea/PTX/Units/TensorMap.h"

#include "llvm/ADT/StringSwitch.h"

using namespace fovea::ptx;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Common parts of bulk copies
//===----------------------------------------------------------------------===//

namespace {
struct Bulk {
  bool tensor = false, toShared = true, fromShared = false, prefetch = false;
  bool reduces = false, multicast = false, gathers = false;
  /// .cta_group::2: the mbarrier may be in the other CTA of the pair.
  bool paired = false;
  ReduceOp op = ReduceOp::Add;
  TensorDataType type = TensorDataType::UInt8;
  unsigned rank = 0;
  // Slot indices of the operands, and a bit mask of 32-bit bases.
  unsigned target = 0, source = 0, coordinates = 0, size = 0, barrier = 0,
           mask = 0;
  uint32_t narrow = 0;
  int64_t targetOffset = 0, sourceOffset = 0, barrierOffset = 0;
  const char *name = "";
};

/// A destination in shared memory, and the mbarrier that is notified.
struct Landing {
  Cta *cta;
  uint32_t offset;
  /// The CTA of the mbarrier, which may differ from `cta`.
  Cta *barrierCta;
  uint32_t barrier;
};
} // namespace

static uint64_t baseAt(Warp &warp, const Inst &inst, const Bulk &form,
                       unsigned slot, int64_t offset, unsigned l) {
  if (form.narrow >> slot & 1)
    return uint32_t(warp.at<uint32_t>(inst.ops[slot])[l] + uint32_t(offset));
  return warp.at<uint64_t>(inst.ops[slot])[l] + offset;
}

/// With 64-bit bases, shared addresses may be generic ones.
static uint64_t asShared(uint64_t address) {
  return (address & kWindowMask) == kSharedWindow ? address & ~kWindowMask
                                                  : address;
}

static bool refuse(Warp &warp, const Inst &inst, StringRef kind, unsigned lane,
                   const Twine &message) {
  warp.fail(inst, kind, message, 1u << lane);
  return false;
}

static bool take(Warp &warp, const Inst &inst, unsigned lane, StringRef kind,
                 llvm::Error error) {
  if (!error)
    return true;
  std::string text = llvm::toString(std::move(error));
  return refuse(warp, inst, kind, lane, text);
}

static bool readMap(Warp &warp, const Inst &inst, uint64_t address, unsigned l,
                    TensorMap &map) {
  if (address & 63)
    return refuse(warp, inst, "alignment", l,
                  "the address 0x" + llvm::utohexstr(address, true) +
                      " of a tensor map is not a multiple of 64");
  Bytes bytes;
  if (!findBytes(warp, inst, Space::Generic, address, kTensorMapBytes,
                 Use::Read, l, bytes))
    return false;
  llvm::Expected<TensorMap> decoded = decodeTensorMap(bytes.data);
  if (!decoded)
    return take(warp, inst, l, "tensor-map", decoded.takeError());
  map = *decoded;
  return true;
}

static void visitRuns(const TensorMap &map, const Bulk &form,
                      llvm::ArrayRef<int32_t> coordinates, uint32_t offset,
                      BoxUse use,
                      llvm::function_ref<void(const BoxRun &)> visit) {
  if (form.gathers)
    forEachGatherRun(map, coordinates, offset, use, visit);
  else
    forEachRun(map, coordinates, offset, use, visit);
}

/// A tensor copy signals an mbarrier of the destination's CTA, with
/// .cta_group::2 of its pair.
static bool checkBarrierRank(Warp &warp, const Inst &inst, const Bulk &form,
                             uint32_t rank, uint32_t barrierRank, unsigned l) {
  if (!form.tensor || (rank ^ barrierRank) <= uint32_t(form.paired))
    return true;
  return refuse(warp, inst, "mbarrier", l,
                "the mbarrier of a tensor copy must be in the CTA of the "
                "destination" +
                    Twine(form.paired ? " or in the other CTA of its pair"
                                      : ", without '.cta_group::2'") +
                    ", found CTA rank " + Twine(barrierRank) +
                    " for a destination in rank " + Twine(rank));
}

/// The address of the mbarrier that a destination signals. A multicast signals
/// each destination's own CTA; with .cta_group::2 it signals, in the pair of
/// each destination, the CTA with the parity of the mbarrier's CTA.
static uint64_t getSignalledBarrier(const Bulk &form, uint64_t barrier,
                                    uint32_t rank) {
  if (!form.multicast)
    return barrier;
  uint32_t parity = uint32_t(barrier) >> kRankShift & 1;
  uint32_t to = form.paired ? (rank & ~1u) | parity : rank;
  return (barrier & kOffsetMask) | uint64_t(to) << kRankShift;
}

/// Finds the CTAs that a copy to shared memory writes to.
static bool findLandings(Warp &warp, const Inst &inst, const Bulk &form,
                         uint64_t bytes, unsigned l,
                         std::vector<Landing> &landings) {
  Cluster &cluster = *warp.cluster;
  uint64_t target =
      asShared(baseAt(warp, inst, form, form.target, form.targetOffset, l));
  uint64_t barrier =
      asShared(baseAt(warp, inst, form, form.barrier, form.barrierOffset, l));
  uint32_t ranks = 0, own = uint32_t(target) >> kRankShift;
  if (!checkBarrierRank(warp, inst, form, own, uint32_t(barrier) >> kRankShift,
                        l))
    return false;
  if (form.multicast) {
    ranks = warp.at<uint16_t>(inst.ops[form.mask])[l];
    if (!ranks || ranks >> cluster.ctas.size())
      return refuse(warp, inst, "cluster", l,
                    "the multicast mask 0x" + llvm::utohexstr(ranks, true) +
                        " names CTAs outside of the cluster of " +
                        Twine(cluster.ctas.size()));
  }
  for (uint32_t rank = 0; rank < cluster.ctas.size(); ++rank) {
    if (form.multicast ? !(ranks >> rank & 1) : rank != own)
      continue;
    Bytes to;
    uint64_t address = (target & kOffsetMask) | uint64_t(rank) << kRankShift;
    if (!findBytes(warp, inst, Space::Shared, address, bytes, Use::Write, l,
                   to))
      return false;
    Mbarrier *m =
        findMbarrier(warp, inst, Space::Shared,
                     getSignalledBarrier(form, barrier, rank), l, true);
    if (!m)
      return false;
    for (uint64_t n = 0; n < bytes; n += 8)
      if (to.written[n] == kMbarrier)
        return refuse(warp, inst, "mbarrier", l,
                      "the copy overwrites the mbarrier at " +
                          describeShared(*to.cta, to.offset + n));
    Access access =
        warp.asyncAccess(inst, 1u << l, true, m->agent, m->phase + 1, true);
    if (!watch(warp, inst, to, bytes, access))
      return false;
    landings.push_back({to.cta, to.offset, &cluster.ctas[m->rank], m->offset});
  }
  if (landings.empty())
    return refuse(warp, inst, "bounds", l,
                  "0x" + llvm::utohexstr(target, true) +
                      " is not in the shared memory of the cluster");
  return true;
}

static bool watchesGlobal(const Warp &warp) {
  const Run &run = *warp.cluster->run;
  return run.footprint || run.launch.primary;
}

/// A thread that waits at the mbarrier is ordered after the read of the source.
static Access readingAccess(Warp &warp, const Inst &inst,
                            llvm::ArrayRef<Landing> landings, unsigned l) {
  const Landing &first = landings.front();
  Mbarrier *m = first.barrierCta->findMbarrier(first.barrier);
  return warp.asyncAccess(inst, 1u << l, false, m->agent, m->phase + 1, true);
}

/// Writes the data to all destinations and completes their mbarriers'
/// transactions.
static bool land(Warp &warp, const Inst &inst, llvm::ArrayRef<Landing> landings,
                 llvm::ArrayRef<uint8_t> bytes) {
  for (const Landing &landing : landings) {
    if (!landing.cta->live)
      return warp.fail(inst, "cluster",
                       "the copy completes after all threads of its "
                       "destination CTA have ended"),
             false;
    memcpy(landing.cta->shared.data() + landing.offset, bytes.data(),
           bytes.size());
    memset(landing.cta->written.data() + landing.offset, kWritten,
           bytes.size());
    Mbarrier *m = landing.barrierCta->findMbarrier(landing.barrier);
    if (!m)
      return warp.fail(inst, "mbarrier",
                       "the mbarrier of the copy no longer exists"),
             false;
    if (!completeTransactions(warp, inst, *m, bytes.size()))
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Bulk copies to shared memory
//===----------------------------------------------------------------------===//

static bool loadTensor(Warp &warp, const Inst &inst, const Bulk &form,
                       unsigned l) {
  TensorMap map;
  uint64_t at = baseAt(warp, inst, form, form.source, form.sourceOffset, l);
  if (!readMap(warp, inst, at, l, map))
    return false;
  llvm::SmallVector<int32_t, 5> coordinates;
  for (unsigned n = 0; n < form.rank; ++n)
    coordinates.push_back(warp.at<int32_t>(inst.ops[form.coordinates + n])[l]);
  uint64_t target =
      asShared(baseAt(warp, inst, form, form.target, form.targetOffset, l));
  uint32_t offset = target & kOffsetMask;
  llvm::Error error = form.gathers ? checkGather(map, form.rank, offset)
                                   : checkBoxCopy(map, form.rank, offset);
  if (!take(warp, inst, l, "tensor-map", std::move(error)))
    return false;
  uint64_t bytes = getBoxBytes(map) * (form.gathers ? 4 : 1);
  std::vector<Landing> landings;
  if (!findLandings(warp, inst, form, bytes, l, landings))
    return false;
  // The load is ordered after accesses before its issue, not before its
  // completion.
  if (watchesGlobal(warp)) {
    Access access = readingAccess(warp, inst, landings, l);
    bool fine = true;
    visitRuns(
        map, form, coordinates, offset, BoxUse::Load, [&](const BoxRun &run) {
          Bytes from;
          fine = fine && (!run.inside ||
                          (findBytes(warp, inst, Space::Global, run.global,
                                     run.bytes, Use::Read, l, from) &&
                           watch(warp, inst, from, run.bytes, access)));
        });
    if (!fine)
      return false;
  }
  Warp *self = &warp;
  const Inst *where = &inst;
  const Bulk *f = &form;
  warp.cluster->issue(warp, inst, "tensor load", [=] {
    std::vector<uint8_t> data(bytes);
    bool fine = true;
    visitRuns(
        map, *f, coordinates, offset, BoxUse::Load, [&](const BoxRun &run) {
          uint8_t *to = data.data() + (run.shared - offset);
          if (!run.inside) {
            writeFill(map, to, run.bytes);
            return;
          }
          Bytes from;
          fine = fine &&
                 findBytes(*self, *where, Space::Global, run.global, run.bytes,
                           Use::Read, l, from) &&
                 checkWritten(*self, *where, from, run.bytes, run.global, l);
          if (fine)
            memcpy(to, from.data, run.bytes);
        });
    return fine && land(*self, *where, landings, data);
  });
  return true;
}

static bool checkBulkSize(Warp &warp, const Inst &inst, unsigned l,
                          uint64_t bytes, uint64_t a, uint64_t b) {
  if (bytes % 16 || (a | b) % 16)
    return refuse(warp, inst, "alignment", l,
                  "a bulk copy needs addresses and a size that are multiples "
                  "of 16 bytes, found 0x" +
                      llvm::utohexstr(a, true) + ", 0x" +
                      llvm::utohexstr(b, true) + " and " + Twine(bytes));
  return true;
}

static bool loadBulk(Warp &warp, const Inst &inst, const Bulk &form,
                     unsigned l) {
  uint64_t bytes = warp.at<uint32_t>(inst.ops[form.size])[l];
  uint64_t at = baseAt(warp, inst, form, form.source, form.sourceOffset, l);
  uint64_t to = baseAt(warp, inst, form, form.target, form.targetOffset, l);
  if (!checkBulkSize(warp, inst, l, bytes, at, to))
    return false;
  if (form.fromShared)
    at = asShared(at);
  Bytes from;
  if (!findBytes(warp, inst, form.fromShared ? Space::Shared : Space::Global,
                 at, bytes, Use::Read, l, from) ||
      !checkWritten(warp, inst, from, bytes, at, l))
    return false;
  std::vector<Landing> landings;
  if (!findLandings(warp, inst, form, bytes, l, landings))
    return false;
  if (!watch(warp, inst, from, bytes, readingAccess(warp, inst, landings, l)))
    return false;
  Warp *self = &warp;
  const Inst *where = &inst;
  const Bulk *f = &form;
  warp.cluster->issue(warp, inst, "bulk load", [=] {
    std::vector<uint8_t> data(from.data, from.data + bytes);
    if (!f->reduces)
      return land(*self, *where, landings, data);
    const Landing &landing = landings[0];
    std::vector<uint8_t> sum(landing.cta->shared.data() + landing.offset,
                             landing.cta->shared.data() + landing.offset +
                                 bytes);
    reduceElements(f->op, f->type, sum.data(), data.data(),
                   bytes / getByteWidth(f->type));
    return land(*self, *where, landings, sum);
  });
  return true;
}

//===----------------------------------------------------------------------===//
// Bulk copies to global memory
//===----------------------------------------------------------------------===//

/// Some bytes from a buffer to global memory.
namespace {
struct Store {
  uint64_t global;
  uint32_t from, bytes;
};
} // namespace

static bool storeNow(Warp &warp, const Inst &inst, const Bulk &form,
                     TensorDataType type, const std::vector<uint8_t> &data,
                     llvm::ArrayRef<Store> stores, unsigned l) {
  Run &run = *warp.cluster->run;
  std::unique_lock<std::mutex> lock(run.mutex, std::defer_lock);
  for (const Store &store : stores) {
    Bytes to;
    if (!findBytes(warp, inst, Space::Global, store.global, store.bytes,
                   form.reduces ? Use::Both : Use::Write, l, to))
      return false;
    if (!form.reduces) {
      memcpy(to.data, data.data() + store.from, store.bytes);
    } else {
      if (!checkWritten(warp, inst, to, store.bytes, store.global, l))
        return false;
      // Other threads may add to the same address.
      lock.lock();
      reduceElements(form.op, type, to.data, data.data() + store.from,
                     store.bytes / getByteWidth(type));
      lock.unlock();
    }
    memset(to.written, kWritten, store.bytes);
  }
  return true;
}

/// A thread that waits for the group is ordered after the write.
static bool watchStores(Warp &warp, const Inst &inst, const Bulk &form,
                        llvm::ArrayRef<Store> stores, unsigned l) {
  if (!watchesGlobal(warp))
    return true;
  Access access = warp.asyncAccess(inst, 1u << l, true, warp.bulkWriteAgent,
                                   warp.bulks[l].epoch, true);
  // Reductions are atomic.
  access.stamp.strong = form.reduces;
  access.stamp.scope = InDevice;
  return llvm::all_of(stores, [&](const Store &store) {
    Bytes to;
    return findBytes(warp, inst, Space::Global, store.global, store.bytes,
                     form.reduces ? Use::Both : Use::Write, l, to) &&
           watch(warp, inst, to, store.bytes, access);
  });
}

/// Issues two pieces of work: one reads shared memory, the other writes.
static bool issueStore(Warp &warp, const Inst &inst, const Bulk &form,
                       TensorDataType type, const Bytes &from, uint64_t bytes,
                       uint64_t address, std::vector<Store> stores,
                       unsigned l) {
  if (from.cta != warp.cta)
    return refuse(
        warp, inst, "space", l,
        "the source of a bulk store is not in the CTA's own shared memory");
  // Out-of-bounds bytes are not written.
  for (const Store &store : stores) {
    Bytes part = from;
    part.data += store.from;
    part.written += store.from;
    part.offset += store.from;
    if (!checkWritten(warp, inst, part, store.bytes, address + store.from, l))
      return false;
  }
  Groups &groups = warp.bulks[l];
  Access access = warp.asyncAccess(inst, 1u << l, false, warp.bulkAgent,
                                   groups.epoch, true);
  if (!watch(warp, inst, from, bytes, access) ||
      !watchStores(warp, inst, form, stores, l))
    return false;
  Warp *self = &warp;
  const Inst *where = &inst;
  const Bulk *f = &form;
  auto data = std::make_shared<std::vector<uint8_t>>();
  uint64_t read = warp.cluster->issue(warp, inst, "bulk store's read", [=] {
    if (!self->cta->live) {
      self->fail(*where, "bulk",
                 "the copy still reads shared memory when all threads of the "
                 "CTA have ended: 'cp.async.bulk.wait_group.read' is missing");
      return false;
    }
    data->assign(from.data, from.data + bytes);
    return true;
  });
  uint64_t write = warp.cluster->issue(
      warp, inst, "bulk store",
      [=] { return storeNow(*self, *where, *f, type, *data, stores, l); },
      read);
  groups.open().reads.push_back(read);
  groups.open().work.push_back(read);
  groups.open().work.push_back(write);
  return true;
}

static bool storeTensor(Warp &warp, const Inst &inst, const Bulk &form,
                        unsigned l) {
  TensorMap map;
  uint64_t at = baseAt(warp, inst, form, form.target, form.targetOffset, l);
  if (!readMap(warp, inst, at, l, map))
    return false;
  llvm::SmallVector<int32_t, 5> coordinates;
  for (unsigned n = 0; n < form.rank; ++n)
    coordinates.push_back(warp.at<int32_t>(inst.ops[form.coordinates + n])[l]);
  uint64_t address =
      asShared(baseAt(warp, inst, form, form.source, form.sourceOffset, l));
  uint32_t offset = address & kOffsetMask;
  llvm::Error error = form.gathers ? checkGather(map, form.rank, offset)
                                   : checkBoxCopy(map, form.rank, offset);
  if (!take(warp, inst, l, "tensor-map", std::move(error)))
    return false;
  if (form.reduces &&
      !take(warp, inst, l, "tensor-map", checkReduction(form.op, map.type)))
    return false;
  uint64_t bytes = getBoxBytes(map) * (form.gathers ? 4 : 1);
  Bytes from;
  if (!findBytes(warp, inst, Space::Shared, address, bytes, Use::Read, l, from))
    return false;
  std::vector<Store> stores;
  visitRuns(map, form, coordinates, offset, BoxUse::Store,
            [&](const BoxRun &run) {
              if (run.inside)
                stores.push_back({run.global, run.shared - offset, run.bytes});
            });
  return issueStore(warp, inst, form, map.type, from, bytes, address,
                    std::move(stores), l);
}

static bool storeBulk(Warp &warp, const Inst &inst, const Bulk &form,
                      unsigned l) {
  uint64_t bytes = warp.at<uint32_t>(inst.ops[form.size])[l];
  uint64_t to = baseAt(warp, inst, form, form.target, form.targetOffset, l);
  uint64_t address =
      asShared(baseAt(warp, inst, form, form.source, form.sourceOffset, l));
  if (!checkBulkSize(warp, inst, l, bytes, to, address))
    return false;
  Bytes from;
  if (!findBytes(warp, inst, Space::Shared, address, bytes, Use::Read, l, from))
    return false;
  return issueStore(warp, inst, form, form.type, from, bytes, address,
                    {{to, 0, uint32_t(bytes)}}, l);
}

static Step runBulk(Warp &warp, const Inst &inst, uint32_t mask) {
  const auto &form = *static_cast<const Bulk *>(inst.data);
  bool fine = allLanes(mask, [&](unsigned l) {
    if (form.tensor)
      return form.toShared ? loadTensor(warp, inst, form, l)
                           : storeTensor(warp, inst, form, l);
    return form.toShared ? loadBulk(warp, inst, form, l)
                         : storeBulk(warp, inst, form, l);
  });
  return fine ? Step::Next : Step::Fail;
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

static Step runNothing(Warp &, const Inst &, uint32_t) { return Step::Next; }

static unsigned addAddress(Build &b, Bulk &form, const Operand &operand,
                           int64_t &offset) {
  unsigned slot = b.slots.size();
  b.inst.flags = 0;
  offset = b.address(operand);
  form.narrow |= (b.inst.flags >> 31) << slot;
  return slot;
}

/// `[map, {x, y}]`
static void addTensor(Build &b, Bulk &form, const Operand &operand,
                      unsigned &slot, int64_t &offset) {
  if (operand.kind != Operand::Address || operand.elements.size() != 2 ||
      operand.elements[1].kind != Operand::Vector)
    return b.error(operand.loc,
                   "a tensor is [map, {coordinates}]: coordinates are missing");
  slot = addAddress(b, form, operand, offset);
  form.coordinates = b.slots.size();
  const auto &coordinates = operand.elements[1].elements;
  if (coordinates.size() != form.rank)
    return b.error(operand.loc, Twine(form.rank) +
                                    " coordinates are needed, found " +
                                    Twine(coordinates.size()));
  for (const Operand &coordinate : coordinates)
    b.read(coordinate, {Type::Bits, 32});
}

static TensorDataType dataTypeOf(Type type) {
  switch (type.kind) {
  case Type::BFloat:
    return TensorDataType::BFloat16;
  case Type::Float:
    return type.bits == 16   ? TensorDataType::Float16
           : type.bits == 32 ? TensorDataType::Float32
                             : TensorDataType::Float64;
  case Type::Signed:
    return type.bits == 64 ? TensorDataType::Int64 : TensorDataType::Int32;
  default:
    return type.bits == 64 ? TensorDataType::UInt64 : TensorDataType::UInt32;
  }
}

static void takeReduction(Build &b, Bulk &form) {
  StringRef op =
      b.needOneOf({"add", "min", "max", "inc", "dec", "and", "or", "xor"});
  if (b.failed())
    return;
  form.op = llvm::cantFail(parseReduceOp(op));
  if (form.tensor)
    return;
  b.take("noftz");
  Type type = b.takeType();
  form.type = dataTypeOf(type);
  if (llvm::Error error = checkReduction(form.op, form.type))
    b.error(llvm::toString(std::move(error)));
  if (type.packed || type.bits < 16)
    b.unsupportedType(type);
}

static void takeGroup(Build &b, Bulk &form) {
  StringRef group = b.takeOneOf({"cta_group::1", "cta_group::2"});
  form.paired = group == "cta_group::2";
  if (!group.empty())
    b.needFeature(Feature::TensorCopyGroup,
                  "." + group + " of '" + b.name + "'");
}

void fovea::ptx::buildBulk(Build &b) {
  Bulk form;
  form.reduces = b.take("reduce");
  form.prefetch = b.take("prefetch");
  form.tensor = b.take("tensor");
  if (form.tensor) {
    StringRef rank = b.needOneOf({"1d", "2d", "3d", "4d", "5d"});
    form.rank = rank.empty() ? 0 : rank[0] - '0';
    StringRef mode = b.takeOneOf({"tile", "tile::gather4", "tile::scatter4"});
    form.gathers = mode == "tile::gather4" || mode == "tile::scatter4";
    if (form.gathers)
      form.rank = 5;
  }
  bool hint = b.take("L2::cache_hint");
  if (form.prefetch) {
    b.need("L2");
    b.need("global");
    b.inst.imm = b.address(b.operand(0));
    if (form.tensor && b.operand(0).elements.size() != 2)
      b.error("a tensor is [map, {coordinates}]");
    return b.set(runNothing);
  }
  // The first space is the target, the second one the source.
  StringRef target = b.needOneOf({"global", "shared::cluster", "shared::cta"});
  StringRef source = b.needOneOf({"global", "shared::cluster", "shared::cta"});
  form.toShared = target != "global";
  form.fromShared = source != "global";
  if (!form.toShared && source != "shared::cta")
    return b.error("a bulk copy from ." + source + " to ." + target +
                       " does not exist",
                   "syntax");
  if (form.reduces)
    takeReduction(b, form);
  form.multicast = b.take("multicast::cluster");
  if (form.toShared)
    b.need("mbarrier::complete_tx::bytes");
  else
    b.need("bulk_group");
  if (form.tensor && form.toShared)
    takeGroup(b, form);
  unsigned wanted =
      (form.tensor ? 2 : 3) + form.toShared + form.multicast + hint;
  if (!b.expectOperands(wanted, wanted))
    return;
  unsigned n = 2;
  if (form.tensor && !form.toShared)
    addTensor(b, form, b.operand(0), form.target, form.targetOffset);
  else
    form.target = addAddress(b, form, b.operand(0), form.targetOffset);
  if (form.tensor && form.toShared)
    addTensor(b, form, b.operand(1), form.source, form.sourceOffset);
  else
    form.source = addAddress(b, form, b.operand(1), form.sourceOffset);
  if (!form.tensor) {
    form.size = b.slots.size();
    b.read(n++, {Type::Bits, 32});
  }
  if (form.toShared)
    form.barrier = addAddress(b, form, b.operand(n++), form.barrierOffset);
  if (form.multicast) {
    form.mask = b.slots.size();
    b.read(n++, {Type::Bits, 16});
  }
  if (hint)
    b.read(n++, {Type::Bits, 64});
  b.inst.flags = 0;
  b.attach(form);
  b.set(runBulk);
}
