//===- Device.h - Global memory of the emulated device ----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_PTX_DEVICE_H
#define FOVEA_PTX_DEVICE_H

#include "fovea/PTX/Module.h"

#include "llvm/ADT/ArrayRef.h"

#include <cstdlib>
#include <map>
#include <mutex>

namespace fovea::ptx {

struct Variable;

/// Global memory: allocations separated by gaps, so that an address belongs to
/// at most one allocation, and for each byte whether it has been written.
class Device {
public:
  /// One allocation. Kernels find it by address and access its bytes directly.
  struct Allocation {
    struct Free {
      void operator()(uint8_t *bytes) const { std::free(bytes); }
    };
    uint64_t address, size;
    std::unique_ptr<uint8_t[], Free> bytes;
    /// One byte per byte: nonzero once it has been written.
    std::unique_ptr<uint8_t[]> written;
    /// Constant memory, which kernels may not write.
    bool readOnly = false;
    /// Ranges that no kernel may access: begin and end, relative to the
    /// address.
    std::map<uint64_t, uint64_t> forbidden;
    std::string name;

    /// The forbidden range that overlaps the bytes, or end().
    std::map<uint64_t, uint64_t>::const_iterator
    findForbidden(uint64_t offset, uint64_t size) const;
  };

  Device();
  ~Device();

  /// Allocates `size` uninitialised bytes at a multiple of `alignment` (a power
  /// of two). An allocation of 0 bytes has a unique address. Reports use
  /// `name`.
  llvm::Expected<uint64_t> allocate(uint64_t size, uint64_t alignment = 256,
                                    llvm::StringRef name = "");
  /// Allocates memory that the host accesses too: the address is a pointer.
  /// Writes of the host can't be observed, so all of it counts as written.
  llvm::Expected<uint64_t> allocateManaged(uint64_t size);
  /// Frees an allocation; any other address is an error.
  llvm::Error free(uint64_t address);

  /// Copies and fills; a byte outside of the allocation is an error.
  llvm::Error write(uint64_t address, const void *from, uint64_t size);
  llvm::Error read(uint64_t address, void *to, uint64_t size) const;
  llvm::Error fill(uint64_t address, uint8_t value, uint64_t size);
  /// Forbids all kernels to access the bytes, for gaps between objects within
  /// one allocation. Holds until the allocation is freed.
  llvm::Error forbid(uint64_t address, uint64_t size);

  /// True if the address belongs to an allocation.
  bool contains(uint64_t address) const { return find(address) != nullptr; }
  /// The allocation that contains the address, or null.
  const Allocation *find(uint64_t address) const;
  /// The last allocation that begins at or before the address, or null.
  const Allocation *findBefore(uint64_t address) const;

  /// The addresses of the module's variables in `.global` and `.const`, which
  /// are allocated and initialised on the first call. Valid until `unload`.
  llvm::Expected<std::map<const Variable *, uint64_t>>
  load(const Module &module);
  /// Frees the module's variables. Call it before the module is destroyed.
  void unload(const Module &module);

private:
  llvm::Expected<Allocation *> check(uint64_t address, uint64_t size,
                                     llvm::StringRef what) const;
  llvm::Expected<uint64_t> allocateLocked(uint64_t size, uint64_t alignment,
                                          llvm::StringRef name,
                                          bool managed = false);
  mutable std::mutex mutex;
  std::map<uint64_t, std::unique_ptr<Allocation>> allocations;
  std::map<const Module *, std::map<const Variable *, uint64_t>> variables;
  uint64_t next;
};

} // namespace fovea::ptx

#endif // FOVEA_PTX_DEVICE_H
