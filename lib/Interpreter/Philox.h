//===- Philox.h - Random bits of a position ---------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_INTERPRETER_PHILOX_H
#define FOVEA_LIB_INTERPRETER_PHILOX_H

#include <array>
#include <cstdint>

namespace fovea::interp {

/// Philox 4x32-10 (Salmon et al., Parallel random numbers: as easy as 1, 2, 3).
inline std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter,
                                      uint64_t key) {
  uint32_t low = key, high = key >> 32;
  for (int round = 0; round < 10; ++round) {
    uint64_t a = uint64_t(0xD2511F53) * counter[0],
             b = uint64_t(0xCD9E8D57) * counter[2];
    counter = {uint32_t(b >> 32) ^ counter[1] ^ low, uint32_t(b),
               uint32_t(a >> 32) ^ counter[3] ^ high, uint32_t(a)};
    low += 0x9E3779B9;
    high += 0xBB67AE85;
  }
  return counter;
}

/// The number of 16 bits at a position, as `tile.random` says.
inline uint32_t randomAt(uint64_t key, uint64_t stream, uint32_t row,
                         uint32_t column) {
  std::array<uint32_t, 4> words =
      philox({4 * (column / 16) + column % 8 / 2, 8 * (row / 16) + row % 8,
              uint32_t(stream), uint32_t(stream >> 32)},
             key);
  uint32_t word = words[2 * (row / 8 % 2) + column / 8 % 2];
  return column % 2 ? word >> 16 : word & 0xFFFF;
}

} // namespace fovea::interp

#endif // FOVEA_LIB_INTERPRETER_PHILOX_H
