//===- GlobalShadow.h - Access history of global memory ---------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Race detection for global memory. It works as for shared memory, but in pages
// that get a shadow on their first access. Clusters run on several host
// threads, so each page has a lock.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_PTX_GLOBALSHADOW_H
#define FOVEA_LIB_PTX_GLOBALSHADOW_H

#include "Order.h"

#include "fovea/PTX/Device.h"
#include "fovea/PTX/Report.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

namespace fovea::ptx {

class GlobalShadow {
public:
  static constexpr uint64_t kPage = 4096;

  struct Page {
    std::mutex mutex;
    Shadow shadow{kPage, /*bounded=*/true};
  };
  /// The pages of one allocation.
  struct Watched {
    explicit Watched(uint64_t bytes) : pages((bytes + kPage - 1) / kPage) {}
    ~Watched();
    Page &get(uint64_t page);
    std::vector<std::atomic<Page *>> pages;
  };

  Watched &watch(const Device::Allocation &allocation);
  /// The pages of a watched allocation, or null. Addresses are never reused.
  const Watched *find(uint64_t address) const;

  static Conflict touch(Watched &watched, uint64_t offset, uint64_t bytes,
                        const Access &access, Stamp &with);
  /// Shadow::find, without locks: no thread may write any more.
  static Stamp find(const Watched &watched, uint64_t offset, uint64_t bytes,
                    bool reads);

private:
  mutable std::mutex mutex;
  std::map<uint64_t, std::unique_ptr<Watched>> all;
};

/// The accesses of a kernel and the locations of its instructions, for a kernel
/// that may overlap its end.
struct Footprint {
  GlobalShadow shadow;
  std::string kernel, file;
  std::vector<Location> places;
};

} // namespace fovea::ptx

#endif // FOVEA_LIB_PTX_GLOBALSHADOW_H
