//===- GlobalShadow.h - Who accessed global memory ------------------*- C++
//-*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Global memory is watched like shared memory, by pages, of which those that
// are accessed have a shadow. Clusters run on several host threads.
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
  /// Of an allocation that was watched; addresses are given out once.
  const Watched *find(uint64_t address) const;

  static Conflict touch(Watched &watched, uint64_t offset, uint64_t bytes,
                        const Access &access, Stamp &with);
  /// As Shadow::find, once nobody writes anymore.
  static Stamp find(const Watched &watched, uint64_t offset, uint64_t bytes,
                    bool reads);

private:
  mutable std::mutex mutex;
  std::map<uint64_t, std::unique_ptr<Watched>> all;
};

/// What a kernel accessed, and where its instructions stand: for a kernel that
/// may run beside its end.
struct Footprint {
  GlobalShadow shadow;
  std::string kernel, file;
  std::vector<Location> places;
};

} // namespace fovea::ptx

#endif // FOVEA_LIB_PTX_GLOBALSHADOW_H
