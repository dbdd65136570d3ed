//===- Device.h - Global memory of the emulated device --------------*- C++
//-*-===//
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

/// Global memory: allocations with gaps between them, so that an address
/// belongs to one allocation or to none, and a bit for each byte that says
/// whether it was ever written.
class Device {
public:
  /// One allocation. Kernels find it by address and use its bytes directly.
  struct Allocation {
    struct Free {
      void operator()(uint8_t *bytes) const { std::free(bytes); }
    };
    uint64_t address, size;
    std::unique_ptr<uint8_t[], Free> bytes;
    /// One byte for each byte: not 0 once it was written.
    std::unique_ptr<uint8_t[]> written;
    /// Constant memory: kernels may not write there.
    bool readOnly = false;
    /// Parts that no kernel may access: begin and end, from its address on.
    std::map<uint64_t, uint64_t> forbidden;
    std::string name;

    /// The forbidden part that the bytes reach, or end().
    std::map<uint64_t, uint64_t>::const_iterator
    findForbidden(uint64_t offset, uint64_t size) const;
  };

  Device();
  ~Device();

  /// `size` bytes at a multiple of `alignment` (a power of two), never written.
  /// An allocation of 0 bytes has an address of its own. `name` is for reports.
  llvm::Expected<uint64_t> allocate(uint64_t size, uint64_t alignment = 256,
                                    llvm::StringRef name = "");
  /// Memory that the host reaches, too: the address is a pointer. What the host
  /// writes nobody sees, so all of it counts as written.
  llvm::Expected<uint64_t> allocateManaged(uint64_t size);
  /// Frees what one of these returned; any other address is an error.
  llvm::Error free(uint64_t address);

  /// Copies and fills; any byte outside of one allocation is an error.
  llvm::Error write(uint64_t address, const void *from, uint64_t size);
  llvm::Error read(uint64_t address, void *to, uint64_t size) const;
  llvm::Error fill(uint64_t address, uint8_t value, uint64_t size);
  /// Lets no kernel access the bytes: what lies around them are objects of
  /// their own. Holds as long as the allocation.
  llvm::Error forbid(uint64_t address, uint64_t size);

  /// Whether the address lies in an allocation.
  bool contains(uint64_t address) const { return find(address) != nullptr; }
  /// The allocation that the address lies in or, if none, null.
  const Allocation *find(uint64_t address) const;
  /// The nearest allocation that ends at or before the address, or null.
  const Allocation *findBefore(uint64_t address) const;

  /// The addresses of the module's variables in `.global` and `.const`, which
  /// are made and initialised the first time. They hold until `unload`.
  llvm::Expected<std::map<const Variable *, uint64_t>>
  load(const Module &module);
  /// Frees the module's variables. To be called before the module goes.
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
