//===- Passes.h - Passes of the tile dialect --------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_TILE_TRANSFORMS_PASSES_H
#define FOVEA_DIALECT_TILE_TRANSFORMS_PASSES_H

#include "fovea/Dialect/Tile/IR/KernelFacts.h"
#include "fovea/Dialect/Tile/IR/Tile.h"

#include "mlir/Pass/Pass.h"
#include "llvm/Support/CommandLine.h"

namespace mlir {
class RewritePatternSet;
} // namespace mlir

namespace fovea::tile {

/// As an option's value: the recurrence that the kernel's schedule names.
inline constexpr auto kScheduleRecurrence = static_cast<RecurrenceKind>(~0u);

/// The names of the recurrences, for options of passes and pipelines.
/// docs/Tile.md says where each is from.
inline auto recurrenceValues() {
  return llvm::cl::values(
      clEnumValN(kScheduleRecurrence, "auto",
                 "what the kernel's schedule says; deferred without one"),
      clEnumValN(RecurrenceKind::ThreePass, "three-pass",
                 "maximum, sum and weighted sum in a loop each"),
      clEnumValN(RecurrenceKind::Normalized, "normalized",
                 "one loop, the accumulator is divided at every step"),
      clEnumValN(RecurrenceKind::Deferred, "deferred",
                 "one loop, the accumulator is divided after it"),
      clEnumValN(RecurrenceKind::Conditional, "conditional",
                 "as deferred, rescaling only where the maximum grew by more "
                 "than tau"),
      clEnumValN(RecurrenceKind::Lazy, "lazy",
                 "as conditional, computing maxima only where some score "
                 "exceeds the last one by more than tau"));
}

#define GEN_PASS_DECL
#include "fovea/Dialect/Tile/Transforms/Passes.h.inc"

/// Adds patterns that write `tile.softmax_merge` and `tile.softmax_finish` as
/// elementwise arithmetic.
void populateExpandSoftmaxStatePatterns(mlir::RewritePatternSet &patterns);

#define GEN_PASS_REGISTRATION
#include "fovea/Dialect/Tile/Transforms/Passes.h.inc"

} // namespace fovea::tile

#endif // FOVEA_DIALECT_TILE_TRANSFORMS_PASSES_H
