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

/// Option value: use the recurrence of the kernel's plan.
inline constexpr auto kScheduleRecurrence = static_cast<RecurrenceKind>(~0u);

/// The names of the recurrences for pass and pipeline options. The sources of
/// the algorithms are in docs/Dialects/Tile.md.
inline auto recurrenceValues() {
  return llvm::cl::values(
      clEnumValN(kScheduleRecurrence, "auto",
                 "the recurrence of the kernel's plan; deferred without one"),
      clEnumValN(RecurrenceKind::ThreePass, "three-pass",
                 "separate loops for row maximum, row sum and output"),
      clEnumValN(RecurrenceKind::Normalized, "normalized",
                 "one loop; normalises the accumulator in each iteration"),
      clEnumValN(RecurrenceKind::Deferred, "deferred",
                 "one loop; normalises the accumulator after the loop"),
      clEnumValN(RecurrenceKind::Conditional, "conditional",
                 "like deferred; rescales only if the maximum grew by more "
                 "than tau"),
      clEnumValN(RecurrenceKind::Lazy, "lazy",
                 "like conditional; computes maxima only if some score "
                 "exceeds the offset by more than tau"));
}

#define GEN_PASS_DECL
#include "fovea/Dialect/Tile/Transforms/Passes.h.inc"

/// Adds patterns that expand `tile.softmax_merge` and `tile.softmax_finish` to
/// elementwise arithmetic.
void populateExpandSoftmaxStatePatterns(mlir::RewritePatternSet &patterns);

#define GEN_PASS_REGISTRATION
#include "fovea/Dialect/Tile/Transforms/Passes.h.inc"

} // namespace fovea::tile

#endif // FOVEA_DIALECT_TILE_TRANSFORMS_PASSES_H
