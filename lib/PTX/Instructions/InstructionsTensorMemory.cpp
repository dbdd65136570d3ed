//===- InstructionsTensorMemory.cpp - tcgen05 except mma and cp -----------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tcgen05: allocation of tensor memory, ld, st, their waits and fences, and
// commit.
//
//===----------------------------------------------------------------------===//

#include "Atomics.h"
#include "Lanes.h"
#include "MatrixTypes.h"
#include "Mbarrier.h"
#include "TensorMemoryAccess.h"

#include "fovea/PTX/Units/Fragments.h"
#include "fovea/PTX/Units/TensorMemory.h"

using namespace fovea::ptx;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Cells
//===----------------------------------------------------------------------===//

TensorAccess::TensorAccess(Warp &warp, const Inst &inst, unsigned lane,
                           const Stamp &stamp)
    : warp(warp), inst(inst) {
  // tcgen05 work is ordered after the knowledge at the last fence.
  knowledge.tensor = warp.knowledgeOf(lane).tensor;
  knowledge.known = knowledge.tensor.done;
  access.stamp = stamp;
  access.agentsPerCta = warp.cluster->agentsPerCta;
  access.knowledge = &knowledge;
}

bool TensorAccess::touchLanes(Cta &cta, unsigned lane, unsigned count,
                              unsigned column, bool write) {
  if (lane + count > kTensorMemoryLanes || column >= kTensorMemoryColumns ||
      cta.tensorOwners.empty() || !cta.tensorOwners[column]) {
    warp.fail(inst, "tensor-memory",
              "lane " + Twine(lane + count - 1) + " of column " +
                  Twine(column) +
                  " of tensor memory is not allocated by the CTA");
    return false;
  }
  if (!cta.tensorShadow)
    return true;
  access.write = write;
  Stamp with;
  Conflict conflict = cta.tensorShadow->touch(4 * tensorCell(lane, column),
                                              4 * count, access, with);
  if (conflict == Conflict::None)
    return true;
  warp.race(inst, conflict, with, access,
            "lane " + Twine(lane) + " of column " + Twine(column) +
                " of tensor memory");
  return false;
}

bool TensorAccess::touch(Cta &cta, unsigned lane, unsigned column, bool write) {
  return touchLanes(cta, lane, 1, column, write);
}

bool fovea::ptx::readCell(Warp &warp, const Inst &inst, const Cta &cta,
                          unsigned lane, unsigned column, uint32_t &value) {
  uint32_t cell = tensorCell(lane, column);
  if (!cta.tensorWritten[cell] &&
      warp.cluster->run->launch.checkUninitialized) {
    warp.fail(inst, "uninitialized",
              "lane " + Twine(lane) + " of column " + Twine(column) +
                  " of tensor memory was never written");
    return false;
  }
  value = cta.tensor[cell];
  return true;
}

void fovea::ptx::writeCell(Cta &cta, unsigned lane, unsigned column,
                           uint32_t value) {
  uint32_t cell = tensorCell(lane, column);
  cta.tensor[cell] = value;
  cta.tensorWritten[cell] = 1;
}

unsigned fovea::ptx::takeCtaGroup(Build &b) {
  StringRef group = b.needOneOf({"cta_group::1", "cta_group::2"});
  for (const Instruction &other : b.function.body) {
    if (other.opcode != "tcgen05")
      continue;
    const auto *found = llvm::find_if(other.modifiers, [](StringRef modifier) {
      return modifier.starts_with("cta_group::");
    });
    if (found == other.modifiers.end())
      continue;
    if (*found != group)
      b.error(
          "all 'tcgen05' of a kernel must have the same .cta_group, found ." +
          group + ", and ." + *found + " at line " + Twine(other.loc.line));
    break;
  }
  return group.ends_with("2") ? 2 : 1;
}

bool fovea::ptx::findGroup(Warp &warp, const Inst &inst, unsigned group,
                           Cta *ctas[2]) {
  ctas[0] = ctas[1] = warp.cta;
  if (group == 1)
    return true;
  Cta *odd = warp.cluster->findCta(warp.cta->rank | 1);
  if (!odd) {
    warp.fail(inst, "cluster", "the CTA is not part of a pair");
    return false;
  }
  ctas[0] = warp.cluster->findCta(warp.cta->rank & ~1u);
  ctas[1] = odd;
  return true;
}

//===----------------------------------------------------------------------===//
// Allocation
//===----------------------------------------------------------------------===//

static void prepare(Cta &cta) {
  if (!cta.tensor.empty())
    return;
  uint32_t cells = kTensorMemoryLanes * kTensorMemoryColumns;
  cta.tensor.resize(cells);
  cta.tensorWritten.resize(cells);
  cta.tensorOwners.resize(kTensorMemoryColumns);
  if (cta.shadow)
    cta.tensorShadow = std::make_unique<Shadow>(4 * uint64_t(cells));
}

/// The first columns that are free in all CTAs, or ~0.
static uint32_t findColumns(Cta *ctas[2], uint32_t count) {
  for (uint32_t first = 0; first + count <= kTensorMemoryColumns;
       first += count) {
    bool free = true;
    for (uint32_t column = first; column < first + count; ++column)
      free = free && !ctas[0]->tensorOwners[column] &&
             !ctas[1]->tensorOwners[column];
    if (free)
      return first;
  }
  return ~0u;
}

/// Checks the number of columns and the CTA's permit, and records the number.
static bool mayAllocate(Warp &warp, const Inst &inst, Cta &cta,
                        uint32_t count) {
  auto refuse = [&](const Twine &message) {
    warp.fail(inst, "tensor-memory", message);
    return false;
  };
  if (llvm::Error error = checkAllocation(count)) {
    std::string text = llvm::toString(std::move(error));
    return refuse(text);
  }
  if (!cta.mayAllocate)
    return refuse("the CTA has given up its right to allocate "
                  "('tcgen05.relinquish_alloc_permit')");
  // An allocation that waited for columns is executed again.
  if (warp.fragment().wait.kind == Wait::Columns)
    return true;
  if (cta.lastAllocation && count > cta.lastAllocation)
    return refuse("the CTA allocates " + Twine(count) +
                  " columns after an allocation of " +
                  Twine(cta.lastAllocation) +
                  ": the number of columns must not increase");
  cta.lastAllocation = count;
  return true;
}

/// Slots: the destination of the address, columns. imm: offset; data: group.
static Step runAllocate(Warp &warp, const Inst &inst, uint32_t mask) {
  unsigned group = *static_cast<const unsigned *>(inst.data);
  if (!warp.isWhole(mask))
    return failAligned(warp, inst, mask);
  Cta *ctas[2];
  if (!findGroup(warp, inst, group, ctas))
    return Step::Fail;
  prepare(*ctas[0]);
  prepare(*ctas[1]);
  unsigned lane = __builtin_ctz(mask);
  uint32_t count = warp.at<uint32_t>(inst.ops[1])[lane];
  Cta &cta = *warp.cta;
  if (!mayAllocate(warp, inst, cta, count))
    return Step::Fail;
  Fragment &f = warp.fragment();
  uint32_t column;
  if (group == 2 && !cta.pairAllocations.empty()) {
    uint32_t other;
    std::tie(column, other) = cta.pairAllocations.front();
    cta.pairAllocations.pop_front();
    if (other != count)
      return warp.fail(inst, "tensor-memory",
                       "the CTAs of the pair must allocate the same number of "
                       "columns, found " +
                           Twine(count) + " and " + Twine(other));
  } else {
    column = findColumns(ctas, count);
    if (column == ~0u) {
      f.wait.kind = Wait::Columns;
      f.wait.value = cta.tensorAllocations;
      return Step::Wait;
    }
    for (Cta *each : {ctas[0], ctas[1]})
      for (uint32_t n = column; n < column + count; ++n)
        each->tensorOwners[n] = column + 1;
    if (group == 2)
      ctas[ctas[0] == &cta]->pairAllocations.push_back({column, count});
  }
  f.wait = Wait();
  uint64_t address = laneAddress(warp, inst, inst.ops[0], lane);
  Bytes bytes;
  if (address & 3)
    return warp.fail(inst, "alignment",
                     "the address of an allocation must be stored at a "
                     "multiple of 4");
  if (!findBytes(warp, inst, address >> 32 ? Space::Generic : Space::Shared,
                 address, 4, Use::Write, lane, bytes) ||
      !watch(warp, inst, bytes, 4, warp.access(inst, 1u << lane, true)))
    return Step::Fail;
  memcpy(bytes.data, &column, 4);
  memset(bytes.written, kWritten, 4);
  return Step::Next;
}

static Step runDeallocate(Warp &warp, const Inst &inst, uint32_t mask) {
  if (!warp.isWhole(mask))
    return failAligned(warp, inst, mask);
  unsigned lane = __builtin_ctz(mask);
  Cta &cta = *warp.cta;
  uint32_t address = warp.at<uint32_t>(inst.ops[0])[lane],
           count = warp.at<uint32_t>(inst.ops[1])[lane];
  bool fits = !cta.tensorOwners.empty() &&
              uint64_t(address) + count <= kTensorMemoryColumns && count;
  for (uint32_t n = address; fits && n < address + count; ++n)
    fits = cta.tensorOwners[n] == address + 1;
  if (fits && address + count < kTensorMemoryColumns)
    fits = cta.tensorOwners[address + count] != address + 1;
  if (!fits)
    return warp.fail(
        inst, "tensor-memory",
        Twine(count) + " columns from 0x" + llvm::utohexstr(address, true) +
            " are released, but no allocation has this address and size");
  for (uint32_t n = address; n < address + count; ++n) {
    cta.tensorOwners[n] = 0;
    memset(cta.tensorWritten.data() + tensorCell(0, n), 0, kTensorMemoryLanes);
  }
  if (cta.tensorShadow)
    cta.tensorShadow->forget(4 * uint64_t(tensorCell(0, address)),
                             4 * uint64_t(count) * kTensorMemoryLanes);
  // Waiting allocations in both CTAs of a pair are retried.
  for (Cta &each : warp.cluster->ctas)
    ++each.tensorAllocations;
  return Step::Next;
}

static Step runRelinquish(Warp &warp, const Inst &, uint32_t) {
  warp.cta->mayAllocate = false;
  return Step::Next;
}

//===----------------------------------------------------------------------===//
// ld, st
//===----------------------------------------------------------------------===//

namespace {
/// tcgen05.ld.red: the reduction over the registers of each thread.
struct LoadReduction {
  Type::Class type = Type::None;
  bool largest = false, magnitudes = false, nan = false;
};

/// Slots: registers (and the result of the reduction) and the address, or the
/// address and registers.
struct Transfer {
  bool store = false, packed = false;
  TensorMemoryShape shape = TensorMemoryShape::L32x32b;
  unsigned registers = 1;
  int64_t half = 0;
  std::optional<LoadReduction> reduction;
};

struct TransferCell {
  uint8_t lane, shift, bits;
  uint16_t column;
};
} // namespace

/// The cells of register `reg` of lane `lane`: one, or two halves.
static unsigned findCells(const Transfer &t, uint32_t address, unsigned lane,
                          unsigned reg, TransferCell cells[2]) {
  unsigned parts = t.packed ? 2 : 1;
  for (unsigned p = 0; p < parts; ++p) {
    TensorMemoryCell at = t.packed
                              ? getPackedTensorMemoryCell(t.shape, lane, reg, p)
                              : getTensorMemoryCell(t.shape, lane, reg);
    cells[p] = {uint8_t(getTensorMemoryLane(address) + at.lane),
                uint8_t(16 * p), uint8_t(t.packed ? 16 : 32),
                uint16_t(getTensorMemoryColumn(address) + at.column +
                         (at.half ? t.half : 0))};
  }
  return parts;
}

static bool forCells(
    const Transfer &t, uint32_t address,
    llvm::function_ref<bool(unsigned, unsigned, const TransferCell &)> visit) {
  for (unsigned reg = 0; reg < t.registers; ++reg)
    for (unsigned lane = 0; lane < 32; ++lane) {
      TransferCell cells[2];
      unsigned parts = findCells(t, address, lane, reg, cells);
      for (unsigned p = 0; p < parts; ++p)
        if (!visit(reg, lane, cells[p]))
          return false;
    }
  return true;
}

static uint32_t reduceFloats(const LoadReduction &r, uint32_t a, uint32_t b) {
  float x = bitsToFloat(a), y = bitsToFloat(b);
  if (r.largest)
    return floatToBits(r.nan ? pickFloat<true, true>(x, y)
                             : pickFloat<true, false>(x, y));
  return floatToBits(r.nan ? pickFloat<false, true>(x, y)
                           : pickFloat<false, false>(x, y));
}

static uint32_t reduce(const LoadReduction &r, uint32_t a, uint32_t b) {
  if (r.type == Type::Float)
    return reduceFloats(r, a, b);
  bool less = r.type == Type::Signed ? int32_t(a) < int32_t(b) : a < b;
  return less == r.largest ? b : a;
}

/// Reduces the loaded registers of each thread into the register after them.
static void reduceLoaded(Warp &warp, const Inst &inst, const Transfer &t) {
  const LoadReduction &r = *t.reduction;
  uint32_t sign = r.magnitudes ? 0x80000000u : 0;
  for (unsigned lane = 0; lane < 32; ++lane) {
    uint32_t result = warp.at<uint32_t>(inst.ops[0])[lane] & ~sign;
    for (unsigned reg = 1; reg < t.registers; ++reg)
      result =
          reduce(r, result, warp.at<uint32_t>(inst.ops[reg])[lane] & ~sign);
    warp.at<uint32_t>(inst.ops[t.registers])[lane] = result;
  }
}

static void startStore(Warp &warp, const Inst &inst, const Transfer &t,
                       uint32_t address) {
  auto values = std::make_shared<std::vector<uint32_t>>();
  for (unsigned reg = 0; reg < t.registers; ++reg) {
    const uint32_t *lanes = warp.at<uint32_t>(inst.ops[1 + reg]);
    values->insert(values->end(), lanes, lanes + 32);
  }
  Warp *self = &warp;
  const Transfer *form = &t;
  warp.tensorStores.push_back(
      warp.cluster->issue(warp, inst, "tcgen05.st", [=] {
        return forCells(
            *form, address,
            [&](unsigned reg, unsigned lane, const TransferCell &c) {
              uint32_t value = (*values)[reg * 32 + lane];
              if (c.bits == 16)
                value = value >> c.shift & 0xffff;
              writeCell(*self->cta, c.lane, c.column, value);
              return true;
            });
      }));
}

static void startLoad(Warp &warp, const Inst &inst, const Transfer &t,
                      uint32_t address) {
  Warp *self = &warp;
  const Inst *where = &inst;
  const Transfer *form = &t;
  uint64_t number = warp.cluster->issue(warp, inst, "tcgen05.ld", [=] {
    bool fine = forCells(
        *form, address,
        [&](unsigned reg, unsigned lane, const TransferCell &c) {
          uint32_t value;
          if (!readCell(*self, *where, *self->cta, c.lane, c.column, value))
            return false;
          uint32_t &to = self->at<uint32_t>(where->ops[reg])[lane];
          if (c.bits == 32)
            to = value;
          else
            to = c.shift ? (to & 0xffffu) | value << 16 : value & 0xffff;
          return true;
        });
    if (fine && form->reduction)
      reduceLoaded(*self, *where, *form);
    return fine;
  });
  warp.tensorLoads.push_back(number);
  for (unsigned reg = 0; reg < inst.numResults; ++reg) {
    uint32_t at = inst.ops[reg].offset / 64;
    ++warp.busyRegisters[at];
    ++warp.numBusy;
    warp.loadRegisters.push_back({at, number});
  }
}

static Step runTransfer(Warp &warp, const Inst &inst, uint32_t mask) {
  const auto &t = *static_cast<const Transfer *>(inst.data);
  if (mask != kAllLanes)
    return failAligned(warp, inst, mask);
  const uint32_t *given =
      warp.at<uint32_t>(inst.ops[t.store ? 0 : inst.numResults]);
  uint32_t address = given[0] + uint32_t(inst.imm);
  for (unsigned l = 1; l < 32; ++l)
    if (given[l] != given[0])
      return warp.fail(inst, "tensor-memory",
                       "lanes of the warp give different addresses");
  if (t.shape != TensorMemoryShape::L32x32b &&
      getTensorMemoryLane(address) % 16)
    return warp.fail(inst, "tensor-memory",
                     "an access to 16 lanes of tensor memory must begin at a "
                     "multiple of 16, found lane " +
                         Twine(getTensorMemoryLane(address)));
  unsigned first = warp.index % 4 * 32;
  Stamp stamp;
  stamp.agent = t.store ? warp.storeAgent : warp.loadAgent;
  stamp.epoch = t.store ? warp.storeEpoch : warp.loadEpoch;
  stamp.cluster = warp.cluster->index;
  stamp.place = inst.index;
  TensorAccess access(warp, inst, 0, stamp);
  bool fine =
      forCells(t, address, [&](unsigned, unsigned, const TransferCell &c) {
        if (c.lane < first || c.lane >= first + 32) {
          warp.fail(inst, "tensor-memory",
                    "the warp may access lanes " + Twine(first) + " to " +
                        Twine(first + 31) + " of tensor memory, found " +
                        Twine(unsigned(c.lane)));
          return false;
        }
        return access.touch(*warp.cta, c.lane, c.column, t.store);
      });
  if (!fine)
    return Step::Fail;
  if (t.store)
    startStore(warp, inst, t, address);
  else
    startLoad(warp, inst, t, address);
  return Step::Next;
}

/// imm: 1 for stores.
static Step runWait(Warp &warp, const Inst &inst, uint32_t mask) {
  if (!warp.isWhole(mask))
    return failAligned(warp, inst, mask);
  bool stores = inst.imm;
  auto &work = stores ? warp.tensorStores : warp.tensorLoads;
  Fragment &f = warp.fragment();
  for (uint64_t number : work)
    if (warp.cluster->isPending(number)) {
      f.wait.kind = Wait::Groups;
      f.wait.value = number;
      return Step::Wait;
    }
  f.wait = Wait();
  work.clear();
  if (!stores) {
    for (const LoadedRegister &each : warp.loadRegisters)
      --warp.busyRegisters[each.slot];
    warp.numBusy -= warp.loadRegisters.size();
    warp.loadRegisters.clear();
  }
  uint16_t agent = stores ? warp.storeAgent : warp.loadAgent;
  uint32_t epoch = stores ? warp.storeEpoch++ : warp.loadEpoch++;
  for (LaneGroup &group : warp.groups)
    group.knowledge.tensor.done.raise(agent, epoch);
  return Step::Next;
}

/// imm: 1 for fence::after_thread_sync.
static Step runFence(Warp &warp, const Inst &inst, uint32_t mask) {
  if (!inst.imm) {
    publishTensorWork(warp, mask);
    return Step::Next;
  }
  warp.splitGroups(mask);
  for (LaneGroup &group : warp.groups)
    if (group.mask & mask)
      group.knowledge.tensor.join(group.knowledge.passed);
  return Step::Next;
}

//===----------------------------------------------------------------------===//
// commit
//===----------------------------------------------------------------------===//

/// Slots: mbarrier, [mask].
static Step runCommit(Warp &warp, const Inst &inst, uint32_t mask) {
  Cluster &cluster = *warp.cluster;
  bool fine = allLanes(mask, [&](unsigned l) {
    uint64_t address = laneAddress(warp, inst, inst.ops[0], l);
    if ((address & kWindowMask) == kSharedWindow)
      address &= ~kWindowMask;
    uint32_t ranks = 1u << (uint32_t(address) >> kRankShift & 31);
    if (inst.numOps > 1)
      ranks = warp.at<uint16_t>(inst.ops[1])[l];
    if (!ranks || ranks >> cluster.ctas.size()) {
      warp.fail(inst, "cluster",
                "the mask 0x" + llvm::utohexstr(ranks, true) +
                    " names CTAs outside of the cluster",
                1u << l);
      return false;
    }
    auto targets = std::make_shared<std::vector<std::pair<Cta *, uint32_t>>>();
    bool found = allLanes(ranks, [&](unsigned rank) {
      Mbarrier *m = findMbarrier(
          warp, inst, Space::Shared,
          (address & kOffsetMask) | uint64_t(rank) << kRankShift, l, true);
      if (m)
        targets->push_back({&cluster.ctas[rank], m->offset});
      return m != nullptr;
    });
    if (!found)
      return false;
    Warp *self = &warp;
    const Inst *where = &inst;
    llvm::SmallVector<uint64_t, 1> after;
    Knowledge done = commitTensorWork(warp, l, after);
    cluster.issue(
        warp, inst, "tcgen05.commit",
        [=] {
          for (auto [cta, offset] : *targets) {
            Mbarrier *m = cta->findMbarrier(offset);
            if (!m) {
              self->fail(*where, "mbarrier", "the mbarrier no longer exists");
              return false;
            }
            publishArrival(*self, *m, InCluster, done);
            if (!arriveLater(*self, *where, *m, 1))
              return false;
          }
          return true;
        },
        after);
    return true;
  });
  return fine ? Step::Next : Step::Fail;
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

/// `.min` or `.max`, `.abs`, `.NaN` and the type of tcgen05.ld.red.
static void takeReduction(Build &b, Transfer &t) {
  if (!b.needFeature(Feature::ReducingLoad, "'tcgen05.ld.red'"))
    return;
  LoadReduction r;
  r.largest = b.needOneOf({"min", "max"}) == "max";
  StringRef type = b.needOneOf({"f32", "u32", "s32"});
  r.type = type == "f32"   ? Type::Float
           : type == "u32" ? Type::Unsigned
                           : Type::Signed;
  r.magnitudes = b.take("abs");
  r.nan = b.take("NaN");
  if (r.type != Type::Float && (r.magnitudes || r.nan))
    return b.error(".abs and .NaN of 'tcgen05.ld.red' need type .f32, found ." +
                       type,
                   "syntax");
  // The ISA leaves open whether the two halves of a lane are reduced together.
  if (t.shape == TensorMemoryShape::L16x32bx2)
    return b.error("'tcgen05.ld.red' of shape .16x32bx2 is not modelled");
  if (t.shape != TensorMemoryShape::L32x32b)
    return b.error("'tcgen05.ld.red' needs shape .32x32b or .16x32bx2",
                   "syntax");
  if (t.registers < 2)
    return b.error("'tcgen05.ld.red' needs at least .x2, found .x1", "syntax");
  if (t.packed)
    return b.error("'tcgen05.ld.red' has no .pack::16b", "syntax");
  t.reduction = r;
}

/// Takes the modifiers; returns false after an error.
static bool takeTransfer(Build &b, Transfer &t) {
  bool reduces = !t.store && b.take("red");
  b.need("sync");
  b.need("aligned");
  StringRef shape =
      b.needOneOf({"32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2"});
  StringRef num =
      b.needOneOf({"x1", "x2", "x4", "x8", "x16", "x32", "x64", "x128"});
  t.packed = b.take(t.store ? "unpack::16b" : "pack::16b");
  if (!reduces)
    b.need("b32");
  if (b.failed())
    return false;
  t.shape = llvm::cantFail(parseTensorMemoryShape(shape));
  unsigned count = 1;
  (void)num.drop_front().getAsInteger(10, count);
  auto registers = getTensorMemoryRegisters(t.shape, count);
  if (!registers) {
    b.error(llvm::toString(registers.takeError()));
    return false;
  }
  t.registers = *registers;
  if (reduces)
    takeReduction(b, t);
  return !b.failed();
}

static void buildTransfer(Build &b, bool store) {
  Transfer t;
  t.store = store;
  if (!takeTransfer(b, t))
    return;
  bool halves = t.shape == TensorMemoryShape::L16x32bx2;
  unsigned wanted = 2 + halves + t.reduction.has_value();
  if (!b.expectOperands(wanted, wanted))
    return;
  const Operand &vector = b.operand(store ? 1 + halves : 0);
  const Operand &address = b.operand(store ? 0 : 1 + t.reduction.has_value());
  if (halves)
    t.half = b.constant(b.operand(store ? 1 : 2));
  auto addAddress = [&] {
    if (address.kind != Operand::Address)
      return b.error(address.loc, "tensor memory needs an address: [%r1]");
    b.inst.imm = address.integer;
    b.read(address.elements.front(), {Type::Bits, 32});
  };
  if (store)
    addAddress();
  llvm::ArrayRef<Operand> elements = vector.elements;
  if (vector.kind != Operand::Vector)
    elements = vector;
  if (elements.size() != t.registers)
    return b.error(vector.loc, "a vector of " + Twine(t.registers) +
                                   " is needed here, found " +
                                   Twine(elements.size()));
  for (const Operand &element : elements)
    store ? b.read(element, {Type::Bits, 32})
          : b.write(element, {Type::Bits, 32});
  if (t.reduction)
    b.write(1, {Type::Bits, 32});
  if (!store)
    addAddress();
  b.inst.holdsRegisters = !store;
  b.attach(t);
  b.set(runTransfer);
}

static void buildAllocation(Build &b, StringRef kind) {
  unsigned group = takeCtaGroup(b);
  b.need("sync");
  b.need("aligned");
  if (kind == "relinquish_alloc_permit") {
    b.expectOperands(0, 0);
    return b.set(runRelinquish);
  }
  b.take("shared::cta");
  b.need("b32");
  if (!b.expectOperands(2, 2))
    return;
  if (kind == "alloc")
    b.inst.imm = b.address(b.operand(0));
  else
    b.read(0, {Type::Bits, 32});
  b.read(1, {Type::Bits, 32});
  b.attach(group);
  b.set(kind == "alloc" ? runAllocate : runDeallocate);
}

static void buildCommit(Build &b) {
  takeCtaGroup(b);
  b.need("mbarrier::arrive::one");
  b.take("shared::cluster");
  bool multicast = b.take("multicast::cluster");
  b.need("b64");
  if (!b.expectOperands(1 + multicast, 1 + multicast))
    return;
  b.inst.imm = b.address(b.operand(0));
  if (multicast)
    b.read(1, {Type::Bits, 16});
  b.set(runCommit);
}

static void buildTensor(Build &b) {
  if (!b.needFeature(Feature::Tcgen05, "'tcgen05'"))
    return;
  StringRef kind =
      b.needOneOf({"alloc", "dealloc", "relinquish_alloc_permit", "ld", "st",
                   "wait::ld", "wait::st", "cp", "mma", "commit",
                   "fence::before_thread_sync", "fence::after_thread_sync"});
  if (kind.ends_with("thread_sync")) {
    b.expectOperands(0, 0);
    b.inst.imm = kind.contains("after");
    return b.set(runFence);
  }
  if (kind.starts_with("wait")) {
    b.need("sync");
    b.need("aligned");
    b.expectOperands(0, 0);
    b.inst.imm = kind.ends_with("st");
    return b.set(runWait);
  }
  if (kind == "ld" || kind == "st")
    return buildTransfer(b, kind == "st");
  if (kind == "commit")
    return buildCommit(b);
  if (kind == "mma")
    return buildTensorMultiply(b);
  if (kind == "cp")
    return buildTensorCopy(b);
  if (!kind.empty())
    buildAllocation(b, kind);
}

llvm::ArrayRef<Entry> fovea::ptx::getTensorMemoryEntries() {
  static const Entry entries[] = {{"tcgen05", buildTensor}};
  return entries;
}
