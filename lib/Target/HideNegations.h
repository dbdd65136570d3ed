//===- HideNegations.h - Around a bug in ptxas ------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_TARGET_HIDENEGATIONS_H
#define FOVEA_LIB_TARGET_HIDENEGATIONS_H

namespace llvm {
class Module;
} // namespace llvm

namespace fovea {

/// ptxas makes one instruction of `max(max(a, -b), c)` and loses the sign, for
/// sm_90 and later, in each release from 12.8 to 13.0 that was tried; so it
/// does with `min`. Negated operands of either become complements plus one,
/// which it leaves alone.
void hideNegations(llvm::Module &module);

} // namespace fovea

#endif // FOVEA_LIB_TARGET_HIDENEGATIONS_H
