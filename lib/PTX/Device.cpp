//===- Device.cpp - Global memory of the emulated device ------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements allocation and host access for global memory, and the global
// variables of modules.
//
//===----------------------------------------------------------------------===//

#include "fovea/PTX/Device.h"

#include "Syntax/Program.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>

using namespace fovea::ptx;
using llvm::Twine;

// Far from 0, from the windows of other spaces, and from small integers. Gaps
// are larger than a row of most tensors, so that accesses to a row past the end
// are detected.
static constexpr uint64_t kBase = uint64_t(0x10) << 32;
static constexpr uint64_t kGap = 1 << 16;
static constexpr uint64_t kManagedAlignment = 4096;
static constexpr uint64_t kMostBytes = uint64_t(1) << 40;

Device::Device() : next(kBase) {}
Device::~Device() = default;

llvm::Expected<uint64_t> Device::allocateLocked(uint64_t size,
                                                uint64_t alignment,
                                                llvm::StringRef name,
                                                bool managed) {
  if (!llvm::isPowerOf2_64(alignment) || alignment > kGap)
    return makeError("memory", "an alignment must be a power of two up to " +
                                   Twine(kGap) + ", found " + Twine(alignment));
  if (size > kMostBytes)
    return makeError("memory", Twine(size) + " bytes are too many");
  auto allocation = std::make_unique<Allocation>();
  uint64_t padded =
      llvm::alignTo(std::max<uint64_t>(size, 1), kManagedAlignment);
  allocation->bytes.reset(static_cast<uint8_t *>(
      managed ? std::aligned_alloc(kManagedAlignment, padded)
              : std::calloc(std::max<uint64_t>(size, 1), 1)));
  allocation->written.reset(new (std::nothrow) uint8_t[size ? size : 1]());
  if (!allocation->bytes || !allocation->written)
    return makeError("memory",
                     "there is no memory for " + Twine(size) + " bytes");
  uint64_t address;
  if (managed) {
    address = reinterpret_cast<uintptr_t>(allocation->bytes.get());
    memset(allocation->bytes.get(), 0, padded);
    memset(allocation->written.get(), 1, size);
  } else {
    // An odd multiple of the alignment, so that accesses that need more fail.
    address = llvm::alignTo(next, 2 * alignment) + alignment;
    next = llvm::alignTo(address + size + kGap, kGap);
  }
  allocation->address = address;
  allocation->size = size;
  allocation->name = name.str();
  allocations[address] = std::move(allocation);
  return address;
}

llvm::Expected<uint64_t> Device::allocate(uint64_t size, uint64_t alignment,
                                          llvm::StringRef name) {
  std::lock_guard<std::mutex> lock(mutex);
  return allocateLocked(size, alignment, name);
}

llvm::Expected<uint64_t> Device::allocateManaged(uint64_t size) {
  std::lock_guard<std::mutex> lock(mutex);
  return allocateLocked(size, kManagedAlignment, "", /*managed=*/true);
}

llvm::Error Device::free(uint64_t address) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!allocations.erase(address))
    return makeError("memory",
                     "0x" + llvm::utohexstr(address) + " was not allocated");
  return llvm::Error::success();
}

const Device::Allocation *Device::findBefore(uint64_t address) const {
  std::lock_guard<std::mutex> lock(mutex);
  auto after = allocations.upper_bound(address);
  return after == allocations.begin() ? nullptr
                                      : std::prev(after)->second.get();
}

const Device::Allocation *Device::find(uint64_t address) const {
  const Allocation *before = findBefore(address);
  return before && address - before->address < before->size ? before : nullptr;
}

llvm::Expected<Device::Allocation *>
Device::check(uint64_t address, uint64_t size, llvm::StringRef what) const {
  const Allocation *found = findBefore(address);
  if (found && address - found->address <= found->size &&
      size <= found->size - (address - found->address))
    return const_cast<Allocation *>(found);
  return makeError("bounds", "the host " + what + " " + Twine(size) +
                                 " bytes at 0x" + llvm::utohexstr(address) +
                                 ", which are not in one allocation");
}

llvm::Error Device::write(uint64_t address, const void *from, uint64_t size) {
  llvm::Expected<Allocation *> found = check(address, size, "writes");
  if (!found)
    return found.takeError();
  uint64_t offset = address - (*found)->address;
  if (size) {
    memcpy((*found)->bytes.get() + offset, from, size);
    memset((*found)->written.get() + offset, 1, size);
  }
  return llvm::Error::success();
}

llvm::Error Device::read(uint64_t address, void *to, uint64_t size) const {
  llvm::Expected<Allocation *> found = check(address, size, "reads");
  if (!found)
    return found.takeError();
  if (size)
    memcpy(to, (*found)->bytes.get() + (address - (*found)->address), size);
  return llvm::Error::success();
}

llvm::Error Device::fill(uint64_t address, uint8_t value, uint64_t size) {
  llvm::Expected<Allocation *> found = check(address, size, "fills");
  if (!found)
    return found.takeError();
  uint64_t offset = address - (*found)->address;
  memset((*found)->bytes.get() + offset, value, size);
  memset((*found)->written.get() + offset, 1, size);
  return llvm::Error::success();
}

std::map<uint64_t, uint64_t>::const_iterator
Device::Allocation::findForbidden(uint64_t offset, uint64_t size) const {
  // Ranges are disjoint: check the last one that begins before the end.
  auto after = forbidden.lower_bound(offset + size);
  if (after == forbidden.begin() || std::prev(after)->second <= offset)
    return forbidden.end();
  return std::prev(after);
}

llvm::Error Device::forbid(uint64_t address, uint64_t size) {
  llvm::Expected<Allocation *> found = check(address, size, "forbids");
  if (!found)
    return found.takeError();
  Allocation &in = **found;
  uint64_t begin = address - in.address, end = begin + size;
  for (auto other = in.findForbidden(begin, size); other != in.forbidden.end();
       other = in.findForbidden(begin, end - begin)) {
    begin = std::min(begin, other->first);
    end = std::max(end, other->second);
    in.forbidden.erase(other);
  }
  if (size)
    in.forbidden[begin] = end;
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Variables of modules
//===----------------------------------------------------------------------===//

llvm::Expected<std::map<const Variable *, uint64_t>>
Device::load(const Module &module) {
  std::lock_guard<std::mutex> lock(mutex);
  auto known = variables.find(&module);
  if (known != variables.end())
    return known->second;
  std::map<const Variable *, uint64_t> result;
  const Syntax &syntax = module.getProgram().syntax;
  for (const Variable &variable : syntax.variables) {
    if (variable.space == Space::Shared)
      continue;
    llvm::Expected<uint64_t> address = allocateLocked(
        variable.bytes, std::max<uint64_t>(variable.alignment, 16),
        variable.name);
    if (!address)
      return address.takeError();
    result[&variable] = *address;
    Allocation &allocation = *allocations[*address];
    // Variables without initial values are zero.
    memset(allocation.written.get(), 1, variable.bytes);
    if (!variable.initial.empty())
      memcpy(allocation.bytes.get(), variable.initial.data(),
             variable.initial.size());
    allocation.readOnly = variable.space == Space::Const;
  }
  for (auto [variable, address] : result)
    for (const Variable::Relocation &relocation : variable->relocations) {
      uint64_t target = 0;
      for (auto [other, otherAddress] : result)
        if (other->name == relocation.symbol)
          target = otherAddress + relocation.addend;
      if (!target || relocation.offset + 8 > variable->bytes)
        return makeError("memory", "the initial value '" + relocation.symbol +
                                       "' of '" + variable->name +
                                       "' is not a variable in .global");
      memcpy(allocations[address]->bytes.get() + relocation.offset, &target, 8);
    }
  variables[&module] = result;
  return result;
}

void Device::unload(const Module &module) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = variables.find(&module);
  if (found == variables.end())
    return;
  for (auto [variable, address] : found->second)
    allocations.erase(address);
  variables.erase(found);
}
