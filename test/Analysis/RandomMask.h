//===- RandomMask.h - Random mask_mod regions -------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_TEST_ANALYSIS_RANDOMMASK_H
#define FOVEA_TEST_ANALYSIS_RANDOMMASK_H

#include <cstdint>
#include <random>
#include <string>

namespace fovea::test {

/// Uniform random numbers, the same everywhere for one seed.
class Random {
public:
  explicit Random(uint64_t seed) : engine(seed) {}
  /// In [0, count).
  int64_t below(int64_t count) { return int64_t(engine() % uint64_t(count)); }
  int64_t between(int64_t low, int64_t high) {
    return low + below(high - low + 1);
  }
  bool chance(int percent) { return below(100) < percent; }
  template <typename T>
  T pick(std::initializer_list<T> choices) {
    return choices.begin()[below(int64_t(choices.size()))];
  }

private:
  std::mt19937_64 engine;
};

/// Number of positions supported by masks that read tensors at positions.
inline constexpr int64_t kTableSize = 160;

/// A mask that is free of undefined behaviour for sequences of up to 2^30
/// positions, or `kTableSize` of them if it reads tensors at positions.
struct RandomMask {
  /// A function `mask` with an attn.forward that captures %w : i32, %x : index,
  /// %l : tensor<?xi32> (read at the batch entry), %d : tensor<?x?xi32>,
  /// %e : tensor<?xi8> and %p : tensor<?x?xi1> (at positions).
  std::string source;
  bool readsPositions = false;
};

RandomMask makeRandomMask(Random &random);

} // namespace fovea::test

#endif // FOVEA_TEST_ANALYSIS_RANDOMMASK_H
