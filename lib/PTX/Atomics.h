//===- Atomics.h - Modifiers and order of memory accesses -------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_PTX_ATOMICS_H
#define FOVEA_LIB_PTX_ATOMICS_H

#include "Machine.h"

namespace fovea::ptx {

Space takeSpace(Build &build);
Order takeOrder(Build &build, Order otherwise);
/// Takes the scope; the device if the instruction has none.
Scope takeScope(Build &build);
/// Takes cache modifiers; returns true if an operand with a cache policy
/// follows.
bool takeCacheModifiers(Build &build);

/// The lane's address, see Build::address.
inline uint64_t laneAddress(Warp &warp, const Inst &inst, Slot base,
                            unsigned lane) {
  if (inst.flags >> 31)
    return uint32_t(warp.at<uint32_t>(base)[lane] + uint32_t(inst.imm));
  return warp.at<uint64_t>(base)[lane] + inst.imm;
}

/// The order of an access. A strong write publishes, and a strong read observes
/// the publications of strong writes to the address. A release or acquire does
/// so by itself, a relaxed access together with surrounding fences.
struct Strong {
  Order order = Order::Weak;
  Scope scope = InDevice;
};

/// One strong access. It makes the access and its observation or publication
/// atomic for other CTAs, which other host threads may execute: construct it
/// before touching the bytes.
class StrongAccess {
public:
  /// `bytes` are those at `address`, accessed by the lanes of `mask`.
  StrongAccess(Warp &warp, const Bytes &bytes, uint64_t address, uint32_t mask,
               Strong strong);
  /// Returns false for an acquiring read that told the lanes nothing new.
  bool observe();
  /// `replaces` is true for a plain store, see Warp::publish.
  void publish(bool replaces);

private:
  Warp &warp;
  uint32_t mask;
  Strong strong;
  Flags *flags = nullptr;
  uint64_t key = 0;
  /// Held for global memory.
  std::unique_lock<std::mutex> lock;
};

} // namespace fovea::ptx

#endif // FOVEA_LIB_PTX_ATOMICS_H
