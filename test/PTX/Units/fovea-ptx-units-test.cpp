//===- fovea-ptx-units-test.cpp - Runs the tests of one unit ----*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Check.h"

#include "llvm/ADT/StringRef.h"

using namespace fovea::ptx::test;

namespace {
struct Unit {
  llvm::StringRef name;
  void (*run)();
};
} // namespace

static constexpr Unit kUnits[] = {
    {"numeric", testNumeric},
    {"arithmetic", testArithmetic},
    {"fragments", testFragments},
    {"swizzle", testSwizzle},
    {"descriptor", testDescriptor},
    {"instruction", testInstruction},
    {"tensor-memory", testTensorMemory},
    {"tensor-map", testTensorMap},
    {"reduction", testReduction},
    {"panels", testPanels},
};

int main(int argc, char **argv) {
  llvm::StringRef name = argc == 2 ? argv[1] : "";
  for (const Unit &unit : kUnits) {
    if (unit.name != name)
      continue;
    unit.run();
    const Tally &tally = Tally::get();
    llvm::outs() << name << ": " << tally.checks << " checks\n";
    if (tally.failures)
      llvm::errs() << tally.failures << " of them failed\n";
    return tally.failures ? 1 : 0;
  }
  llvm::errs() << "no unit '" << name << "'\n";
  return 1;
}
