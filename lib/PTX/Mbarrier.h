//===- Mbarrier.h - What uses mbarriers -----------------------------*- C++
//-*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_PTX_MBARRIER_H
#define FOVEA_LIB_PTX_MBARRIER_H

#include "Machine.h"

namespace fovea::ptx {

/// The mbarrier at an address, which must have been initialised before, in the
/// order that the lane knows; otherwise reports that and returns null. With
/// `async`, other proxies must see the initialisation too.
Mbarrier *findMbarrier(Warp &warp, const Inst &inst, Space space,
                       uint64_t address, unsigned lane, bool async = false);

/// Work that ends later and counts at the mbarrier: reports what is wrong.
bool completeTransactions(Warp &warp, const Inst &inst, Mbarrier &mbarrier,
                          int64_t bytes);
bool arriveLater(Warp &warp, const Inst &inst, Mbarrier &mbarrier,
                 uint32_t count);

} // namespace fovea::ptx

#endif // FOVEA_LIB_PTX_MBARRIER_H
