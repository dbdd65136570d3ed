//===- Memory.cpp - Finds and checks the bytes of an access ---------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Translates addresses of all state spaces to bytes. Checks bounds,
// initialisation and, with the history in Order.h, races. All instructions that
// access memory use it.
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"

#include "llvm/ADT/StringExtras.h"

using namespace fovea::ptx;
using llvm::StringRef;
using llvm::Twine;

static std::string hex(uint64_t value) {
  return "0x" + llvm::utohexstr(value, /*LowerCase=*/true);
}

std::string fovea::ptx::describeShared(const Cta &cta, uint32_t offset) {
  std::string text = hex(offset) + " of the shared memory";
  if (cta.cluster->ctas.size() > 1)
    text += " of CTA rank " + std::to_string(cta.rank);
  return text;
}

/// "0x1000000120 of global memory".
static std::string describeGlobal(const Bytes &bytes) {
  const Device::Allocation &in = *bytes.global;
  std::string text = hex(in.address + (bytes.data - in.bytes.get()));
  return text +
         (in.name.empty() ? " of global memory" : " of '" + in.name + "'");
}

static StringRef describe(Use use) {
  return use == Use::Read ? "reads" : use == Use::Write ? "writes" : "updates";
}

static bool outOfBounds(Warp &warp, const Inst &inst, const Twine &where,
                        uint64_t bytes, Use use, unsigned lane) {
  warp.fail(inst, "bounds",
            "'" + warp.code->function->body[inst.index].opcode + "' " +
                describe(use) + " " + Twine(bytes) + " bytes at " + where,
            1u << lane);
  return false;
}

static bool findGlobal(Warp &warp, const Inst &inst, uint64_t address,
                       uint64_t bytes, Use use, unsigned lane, Bytes &result) {
  const Device::Allocation *in = warp.lastAllocation;
  if (!in || address - in->address >= in->size) {
    const Device &device = warp.cluster->run->device;
    in = device.findBefore(address);
    if (!in || address - in->address >= in->size) {
      std::string where = hex(address);
      if (in && address - in->address < (1 << 20))
        where += ", " + std::to_string(address - in->address - in->size) +
                 " bytes past the end of " +
                 (in->name.empty() ? "an allocation" : "'" + in->name + "'") +
                 " of " + std::to_string(in->size) + " bytes";
      else
        where += ", outside of all allocations";
      return outOfBounds(warp, inst, where, bytes, use, lane);
    }
    warp.lastAllocation = in;
  }
  uint64_t offset = address - in->address;
  if (bytes > in->size - offset)
    return outOfBounds(
        warp, inst,
        hex(address) + ", beyond the end of " +
            (in->name.empty() ? "an allocation" : "'" + in->name + "'") +
            " of " + Twine(in->size) + " bytes",
        bytes, use, lane);
  if (!in->forbidden.empty())
    if (auto part = in->findForbidden(offset, bytes);
        part != in->forbidden.end())
      return outOfBounds(warp, inst,
                         hex(address) +
                             ", which overlaps the forbidden memory "
                             "from " +
                             hex(in->address + part->first) + " to " +
                             hex(in->address + part->second),
                         bytes, use, lane);
  if (in->readOnly && use != Use::Read) {
    warp.fail(inst, "space", "constant memory is written", 1u << lane);
    return false;
  }
  result.data = in->bytes.get() + offset;
  result.written = in->written.get() + offset;
  result.cta = nullptr;
  result.global = in;
  return true;
}

static bool findShared(Warp &warp, const Inst &inst, uint64_t address,
                       uint64_t bytes, Use use, unsigned lane, Bytes &result) {
  uint32_t rank = uint32_t(address) >> kRankShift;
  uint32_t offset = address & kOffsetMask;
  Cta *cta = warp.cluster->findCta(rank);
  if (!cta || address >> 32)
    return outOfBounds(warp, inst,
                       hex(address) + " of shared memory, which belongs to no "
                                      "CTA of the cluster",
                       bytes, use, lane);
  if (offset < kReservedShared || offset + bytes > cta->shared.size())
    return outOfBounds(warp, inst,
                       describeShared(*cta, offset) +
                           ", of which the kernel has " + hex(kReservedShared) +
                           " to " + hex(cta->shared.size()),
                       bytes, use, lane);
  if (cta != warp.cta && !cta->live) {
    warp.fail(inst, "cluster",
              "shared memory of a CTA whose threads have all ended is used",
              1u << lane);
    return false;
  }
  result.data = cta->shared.data() + offset;
  result.written = cta->written.data() + offset;
  result.cta = cta;
  result.global = nullptr;
  result.offset = offset;
  return true;
}

bool fovea::ptx::findBytes(Warp &warp, const Inst &inst, Space space,
                           uint64_t address, uint64_t bytes, Use use,
                           unsigned lane, Bytes &result) {
  if (space == Space::Generic) {
    switch (address & kWindowMask) {
    case kSharedWindow:
      space = Space::Shared;
      address &= ~kWindowMask;
      break;
    case kLocalWindow:
      space = Space::Local;
      address &= ~kWindowMask;
      break;
    case kParamWindow:
      space = Space::Param;
      address &= ~kWindowMask;
      break;
    default:
      space = Space::Global;
    }
  }
  switch (space) {
  case Space::Generic:
  case Space::Global:
  case Space::Const:
    return findGlobal(warp, inst, address, bytes, use, lane, result);
  case Space::Shared:
    return findShared(warp, inst, address, bytes, use, lane, result);
  case Space::Local: {
    Cta &cta = *warp.cta;
    if (address < kReservedLocal || address > cta.localBytes ||
        address + bytes > cta.localBytes || cta.local.empty())
      return outOfBounds(warp, inst,
                         hex(address) +
                             " of local memory, of which a thread "
                             "has " +
                             Twine(cta.localBytes - kReservedLocal) + " bytes",
                         bytes, use, lane);
    uint64_t at = (warp.index * 32 + lane) * cta.localBytes + address;
    result.data = cta.local.data() + at;
    result.written = cta.localWritten.data() + at;
    result.cta = nullptr;
    result.global = nullptr;
    return true;
  }
  case Space::Param: {
    const std::vector<uint8_t> &all = warp.cluster->run->launch.parameters;
    if (use != Use::Read) {
      warp.fail(inst, "space", "a parameter of the kernel is written",
                1u << lane);
      return false;
    }
    if (address + bytes > all.size() || address + bytes < address)
      return outOfBounds(warp, inst,
                         hex(address) + " of the parameters, which have " +
                             Twine(all.size()) + " bytes",
                         bytes, use, lane);
    result.data = const_cast<uint8_t *>(all.data()) + address;
    result.written = nullptr;
    result.cta = nullptr;
    result.global = nullptr;
    return true;
  }
  }
  return false;
}

bool fovea::ptx::checkWritten(Warp &warp, const Inst &inst, const Bytes &bytes,
                              uint64_t count, uint64_t address, unsigned lane) {
  if (!bytes.written)
    return true;
  for (uint64_t n = 0; n < count; ++n) {
    if (bytes.written[n])
      continue;
    if (!warp.cluster->run->launch.checkUninitialized)
      return true;
    warp.fail(inst, "uninitialized",
              "byte " + Twine(n) + " of the " + Twine(count) + " read at " +
                  (bytes.cta ? describeShared(*bytes.cta, bytes.offset)
                             : hex(address)) +
                  " was never written",
              1u << lane);
    return false;
  }
  return true;
}

/// Checks an access to global memory against the preceding grid, if that may
/// still run.
static bool watchPrimary(Warp &warp, const Inst &inst, const Bytes &bytes,
                         uint64_t count, const Access &access) {
  const Footprint *primary = warp.cluster->run->launch.primary.get();
  if (!primary)
    return true;
  Stamp end;
  end.agent = warp.cluster->gridAgent;
  end.cluster = warp.cluster->index;
  end.epoch = 1;
  end.lanes = access.issuerLanes;
  if (access.knowledge->known.covers(end))
    return true;
  const auto *watched = primary->shadow.find(bytes.global->address);
  if (!watched)
    return true;
  Stamp with = GlobalShadow::find(
      *watched, bytes.data - bytes.global->bytes.get(), count, access.write);
  if (!with)
    return true;
  Run &run = *warp.cluster->run;
  Diagnostic diagnostic = run.makeDiagnostic(
      inst.index, "race",
      Twine(access.write ? "this writes " : "this reads ") + Twine(count) +
          " bytes at " + describeGlobal(bytes) + ", which kernel '" +
          primary->kernel +
          "' accesses; this kernel may start before that one has ended, and no "
          "'griddepcontrol.wait' comes before this");
  diagnostic.notes.push_back({"the access of '" + primary->kernel + "'",
                              primary->file, primary->places[with.place]});
  run.report(std::move(diagnostic));
  warp.cluster->failed = true;
  return false;
}

bool fovea::ptx::isWatched(const Warp &warp, const Bytes &bytes) {
  if (bytes.cta)
    return bytes.cta->shadow != nullptr;
  const Run &run = *warp.cluster->run;
  return bytes.global && (run.footprint || run.launch.primary);
}

bool fovea::ptx::watch(Warp &warp, const Inst &inst, const Bytes &bytes,
                       uint64_t count, const Access &access) {
  if (!isWatched(warp, bytes))
    return true;
  Stamp with;
  Conflict conflict = Conflict::None;
  if (bytes.cta) {
    conflict = bytes.cta->shadow->touch(bytes.offset, count, access, with);
  } else {
    if (!watchPrimary(warp, inst, bytes, count, access))
      return false;
    Footprint *footprint = warp.cluster->run->footprint.get();
    if (!footprint)
      return true;
    GlobalShadow::Watched *&watched = warp.watched[bytes.global->address];
    if (!watched)
      watched = &footprint->shadow.watch(*bytes.global);
    conflict = GlobalShadow::touch(
        *watched, bytes.data - bytes.global->bytes.get(), count, access, with);
  }
  if (conflict == Conflict::None)
    return true;
  warp.race(inst, conflict, with, access,
            Twine(count) + " bytes at " +
                (bytes.cta ? describeShared(*bytes.cta, bytes.offset)
                           : describeGlobal(bytes)));
  return false;
}
