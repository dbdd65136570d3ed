//===- Check.h - Checks of units' tests -------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_TEST_PTX_UNITS_CHECK_H
#define FOVEA_TEST_PTX_UNITS_CHECK_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>

namespace fovea::ptx::test {

/// Counts checks; the first failures are printed.
struct Tally {
  uint64_t checks = 0, failures = 0;

  static Tally &get() {
    static Tally tally;
    return tally;
  }

  void add(bool holds, const char *file, int line, const llvm::Twine &what) {
    constexpr uint64_t kMostPrinted = 20;
    ++checks;
    if (holds || ++failures > kMostPrinted)
      return;
    llvm::errs() << file << ":" << line << ": " << what << "\n";
  }
};

template <typename A, typename B>
void checkEqual(const A &found, const B &expected, const char *file, int line,
                const char *text) {
  bool holds = found == expected;
  if (holds) {
    ++Tally::get().checks;
    return;
  }
  std::string message;
  llvm::raw_string_ostream(message)
      << text << ": found " << found << ", expected " << expected;
  Tally::get().add(false, file, line, message);
}

inline void checkError(llvm::Error error, llvm::StringRef expected,
                       const char *file, int line) {
  std::string found = llvm::toString(std::move(error));
  bool holds = expected.empty() ? found.empty()
                                : llvm::StringRef(found).contains(expected);
  Tally::get().add(holds, file, line,
                   "error '" + found + "', expected '" + expected + "'");
}

/// Pseudo-random numbers, the same everywhere.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t next() {
    state += 0x9e3779b97f4a7c15;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// In [low, high].
  int64_t next(int64_t low, int64_t high) {
    return low + int64_t(next() % uint64_t(high - low + 1));
  }

private:
  uint64_t state;
};

} // namespace fovea::ptx::test

#define CHECK_EQUAL(found, expected)                                           \
  fovea::ptx::test::checkEqual(found, expected, __FILE__, __LINE__, #found)
#define CHECK_TRUE(condition)                                                  \
  fovea::ptx::test::Tally::get().add(condition, __FILE__, __LINE__, #condition)
/// An error whose text contains `text`.
#define CHECK_ERROR(error, text)                                               \
  fovea::ptx::test::checkError(error, text, __FILE__, __LINE__)
#define CHECK_SUCCESS(error)                                                   \
  fovea::ptx::test::checkError(error, "", __FILE__, __LINE__)

namespace fovea::ptx::test {
void testNumeric();
void testArithmetic();
void testFragments();
void testSwizzle();
void testDescriptor();
void testInstruction();
void testTensorMemory();
void testTensorMap();
void testReduction();
void testPanels();
} // namespace fovea::ptx::test

#endif // FOVEA_TEST_PTX_UNITS_CHECK_H
