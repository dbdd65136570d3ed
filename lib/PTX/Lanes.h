//===- Lanes.h - Applies scalar functions to 32 lanes -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_PTX_LANES_H
#define FOVEA_LIB_PTX_LANES_H

#include "Machine.h"

#include <cstring>
#include <utility>

namespace fovea::ptx {

/// Packs 32 bytes that are 0 or 1 into bits.
inline uint32_t packBits(const uint8_t *bytes) {
  uint32_t result = 0;
  for (int n = 0; n < 4; ++n) {
    uint64_t eight;
    memcpy(&eight, bytes + 8 * n, 8);
    result |= uint32_t(eight * 0x0102040810204080ull >> 56) << (8 * n);
  }
  return result;
}

inline void unpackBits(uint32_t bits, uint8_t *bytes) {
  for (int l = 0; l < 32; ++l)
    bytes[l] = bits >> l & 1;
}

/// The lanes of an argument; a predicate is expanded to one byte per lane.
template <class T>
struct Argument {
  const T *lanes;
  Argument(Warp &warp, Slot slot) : lanes(warp.at<T>(slot)) {}
  T operator[](int l) const { return lanes[l]; }
};
template <>
struct Argument<bool> {
  uint8_t lanes[32];
  Argument(Warp &warp, Slot slot) { unpackBits(warp.predicate(slot), lanes); }
  bool operator[](int l) const { return lanes[l]; }
};

template <class T>
inline void putLanes(Warp &warp, Slot slot, const T *values, uint32_t mask) {
  T *to = warp.at<T>(slot);
  if (mask == kAllLanes) {
    memcpy(to, values, 32 * sizeof(T));
    return;
  }
  for (int l = 0; l < 32; ++l)
    if (mask >> l & 1)
      to[l] = values[l];
}

template <class T>
struct Result {
  alignas(64) T lanes[32];
  void put(Warp &warp, Slot slot, uint32_t mask) {
    putLanes(warp, slot, lanes, mask);
  }
};
template <>
struct Result<bool> {
  alignas(64) uint8_t lanes[32];
  void put(Warp &warp, Slot slot, uint32_t mask) {
    warp.setPredicate(slot, packBits(lanes), mask);
  }
};

template <auto F>
struct Map;

/// Executes `d = F(a, b, ...)`; the slots are d, a, b, ... in that order.
template <class R, class... A, R (*F)(A...)>
struct Map<F> {
  template <size_t... I>
  static Step apply(Warp &warp, const Inst &inst, uint32_t mask,
                    std::index_sequence<I...>) {
    auto arguments =
        std::tuple<Argument<A>...>(Argument<A>(warp, inst.ops[I + 1])...);
    Result<R> result;
    for (int lane = 0; lane < 32; ++lane)
      result.lanes[lane] = F(std::get<I>(arguments)[lane]...);
    result.put(warp, inst.ops[0], mask);
    return Step::Next;
  }
  static Step run(Warp &warp, const Inst &inst, uint32_t mask) {
    return apply(warp, inst, mask, std::index_sequence_for<A...>());
  }
};

template <auto F>
inline constexpr Handler map = &Map<F>::run;

/// `map` for functions whose last parameter is the instruction's flags.
template <auto F>
struct FlagMap;
template <class R, class... A, R (*F)(uint32_t, A...)>
struct FlagMap<F> {
  template <size_t... I>
  static Step apply(Warp &warp, const Inst &inst, uint32_t mask,
                    std::index_sequence<I...>) {
    auto arguments =
        std::tuple<Argument<A>...>(Argument<A>(warp, inst.ops[I + 1])...);
    Result<R> result{};
    for (int lane = 0; lane < 32; ++lane)
      if (mask >> lane & 1)
        result.lanes[lane] = F(inst.flags, std::get<I>(arguments)[lane]...);
    result.put(warp, inst.ops[0], mask);
    return Step::Next;
  }
  static Step run(Warp &warp, const Inst &inst, uint32_t mask) {
    return apply(warp, inst, mask, std::index_sequence_for<A...>());
  }
};

template <auto F>
inline constexpr Handler mapWithFlags = &FlagMap<F>::run;

/// Calls `visit(lane)` for each lane of the mask.
template <class F>
inline void forLanes(uint32_t mask, F visit) {
  for (; mask; mask &= mask - 1)
    visit(unsigned(__builtin_ctz(mask)));
}

/// forLanes that stops when `visit` returns false.
template <class F>
inline bool allLanes(uint32_t mask, F visit) {
  for (; mask; mask &= mask - 1)
    if (!visit(unsigned(__builtin_ctz(mask))))
      return false;
  return true;
}

} // namespace fovea::ptx

#endif // FOVEA_LIB_PTX_LANES_H
