//===- PreparePTX.h - LLVM IR made ready for the backend --------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_TARGET_PREPAREPTX_H
#define FOVEA_LIB_TARGET_PREPAREPTX_H

namespace llvm {
class Module;
} // namespace llvm

namespace fovea {

/// The backend makes two selects of one with two conditions. Joined in an
/// `asm`, they remain one, and ptxas joins them in the second comparison.
void keepConjunctions(llvm::Module &module);

/// ptxas makes one instruction of `max(max(a, -b), c)` and loses the sign, for
/// sm_90 and later, in each release from 12.8 to 13.0 that was tried; so it
/// does with `min`. Negated operands of either become complements plus one,
/// which it leaves alone.
void hideNegations(llvm::Module &module);

/// LLVM compares what was rounded to bf16 as bf16, and where f32 flushes
/// subnormal numbers the backend writes `setp.ftz.bf16`, which is no
/// instruction. It does the same to f16, where it is one: an element of 3e-5
/// would not be above 0. The same in f32.
void widenComparisons(llvm::Module &module);

/// As in comparisons, the backend flushes f16 where it takes magnitudes,
/// negates and takes extremes (`abs.ftz.f16x2`), to which LLVM narrows what is
/// done to elements that were just read. In f32.
void keepSubnormalHalves(llvm::Module &module);

/// The backend gives all that use a constant one register. Where a dot in
/// flight reads it, nobody else may (PTX ISA, wgmma.mma_async): weights that
/// are 0 whatever the scores are get registers of their own.
void separateConstants(llvm::Module &module);

} // namespace fovea

#endif // FOVEA_LIB_TARGET_PREPAREPTX_H
