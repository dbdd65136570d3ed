//===- Generator.h - Position-based random numbers --------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Host version of the random numbers of `tile.random` and dropout. The numbers
// of a version never change, so a backward pass that runs later draws the same
// ones.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_SUPPORT_GENERATOR_H
#define FOVEA_SUPPORT_GENERATOR_H

#include <array>
#include <cstdint>

namespace fovea::generator {

/// The only version so far.
inline constexpr int64_t kVersion = 1;

/// Number of adjacent positions that share a counter, and bits of each random
/// number.
inline constexpr int64_t kNeighbours = 8, kNumberBits = 16;

/// Philox 4x32-7 (Salmon et al., Parallel random numbers: as easy as 1, 2, 3).
inline constexpr int kRounds = 7;
inline constexpr uint32_t kFactors[] = {0xD2511F53, 0xCD9E8D57};
/// Increment of each word of the key per Philox step.
inline constexpr uint32_t kKeySteps[] = {0x9E3779B9, 0xBB67AE85};

inline std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter,
                                      uint64_t key) {
  uint32_t low = key, high = key >> 32;
  for (int round = 0; round < kRounds; ++round) {
    uint64_t a = uint64_t(kFactors[0]) * counter[0],
             b = uint64_t(kFactors[1]) * counter[2];
    counter = {uint32_t(b >> 32) ^ counter[1] ^ low, uint32_t(b),
               uint32_t(a >> 32) ^ counter[3] ^ high, uint32_t(a)};
    low += kKeySteps[0];
    high += kKeySteps[1];
  }
  return counter;
}

/// Returns the random number at a position; eight adjacent `j` share a counter.
inline uint32_t numberAt(uint64_t key, uint64_t stream, uint32_t i,
                         uint32_t j) {
  std::array<uint32_t, 4> words = philox(
      {uint32_t(j / kNeighbours), i, uint32_t(stream), uint32_t(stream >> 32)},
      key);
  uint32_t word = words[j % kNeighbours / 2];
  return j % 2 ? word >> kNumberBits : word & 0xFFFF;
}

} // namespace fovea::generator

#endif // FOVEA_SUPPORT_GENERATOR_H
