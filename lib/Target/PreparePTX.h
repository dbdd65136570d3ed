//===- PreparePTX.h - Workarounds before the backend ------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rewrites of LLVM IR after optimisation, each of which works around a
// limitation of the NVPTX backend or of ptxas.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_TARGET_PREPAREPTX_H
#define FOVEA_LIB_TARGET_PREPAREPTX_H

namespace llvm {
class Module;
} // namespace llvm

namespace fovea {

/// The backend splits a select with a conjunction of two conditions into two
/// selects. Joined in an `asm`, the conditions stay one, and ptxas merges the
/// conjunction into the second comparison.
void keepConjunctions(llvm::Module &module);

/// For sm_90 and later, ptxas (tested from 12.8 to 13.0) combines `max(max(a,
/// -b), c)` into one instruction and loses the sign; likewise for `min`.
/// Negated operands of either become the complement plus one, which ptxas does
/// not combine.
void hideNegations(llvm::Module &module);

/// Compares 16-bit floats as f32. LLVM compares values rounded to bf16 as bf16;
/// with f32 subnormals flushed, the backend emits `setp.ftz.bf16`, which does
/// not exist. For f16 the instruction exists, but an element of 3e-5 would not
/// compare greater than 0.
void widenComparisons(llvm::Module &module);

/// Computes f16 magnitudes, negations, minima and maxima in f32. As in
/// comparisons, the backend flushes subnormal f16 there (`abs.ftz.f16x2`), and
/// LLVM narrows operations on loaded elements to f16.
void keepSubnormalHalves(llvm::Module &module);

/// Gives constant operands of asynchronous dots their own registers. The
/// backend uses one register for all uses of a constant, but the registers of
/// an outstanding dot must not be accessed (PTX ISA, wgmma.mma_async). An
/// example are constant zero probabilities.
void separateConstants(llvm::Module &module);

} // namespace fovea

#endif // FOVEA_LIB_TARGET_PREPAREPTX_H
