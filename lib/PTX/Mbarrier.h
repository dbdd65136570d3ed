//===- Mbarrier.h - Access to mbarriers -------------------------*- C++ -*-===//
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

/// Finds the mbarrier at an address. Its initialisation must happen before the
/// access of the lane and, with `async`, be visible to other proxies; otherwise
/// reports an error and returns null.
Mbarrier *findMbarrier(Warp &warp, const Inst &inst, Space space,
                       uint64_t address, unsigned lane, bool async = false);

/// Publishes at an mbarrier the knowledge that an arrival of the warp with that
/// scope releases. With .cta scope, threads of another CTA are ordered after
/// asynchronous work only, and not after generic-proxy accesses.
void publishArrival(const Warp &warp, Mbarrier &mbarrier, Scope scope,
                    const Knowledge &knowledge);

/// Completes transactions of asynchronous work; returns false after an error.
bool completeTransactions(Warp &warp, const Inst &inst, Mbarrier &mbarrier,
                          int64_t bytes);
bool arriveLater(Warp &warp, const Inst &inst, Mbarrier &mbarrier,
                 uint32_t count);

} // namespace fovea::ptx

#endif // FOVEA_LIB_PTX_MBARRIER_H
