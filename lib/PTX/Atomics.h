//===- Atomics.h - What accesses to memory share --------------------*- C++
//-*-===//
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
/// The device, if the instruction does not say.
Scope takeScope(Build &build);
/// True if an operand with a cache policy follows.
bool takeCacheModifiers(Build &build);

/// The address that a lane gives, see Build::address.
inline uint64_t laneAddress(Warp &warp, const Inst &inst, Slot base,
                            unsigned lane) {
  if (inst.flags >> 31)
    return uint32_t(warp.at<uint32_t>(base)[lane] + uint32_t(inst.imm));
  return warp.at<uint64_t>(base)[lane] + inst.imm;
}

/// A strong read sees what strong writes to the place have published, a strong
/// write publishes. A release or an acquire does so itself, others with the
/// fences around them.
struct Strong {
  Order order = Order::Weak;
  Scope scope = InDevice;
};

/// One strong access. Other CTAs, which other host threads may run, meet what
/// it reads or writes together with what it observes or publishes, or neither:
/// make it before the bytes are touched.
class StrongAccess {
public:
  /// `bytes` are those at `address`, which the lanes of `mask` access.
  StrongAccess(Warp &warp, const Bytes &bytes, uint64_t address, uint32_t mask,
               Strong strong);
  /// False: an acquiring read, and the lanes knew all of it.
  bool observe();
  /// `replaces`: a plain store, see Flags::publish.
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
