//===- ScalarizeMasks.h - Masks element by element --------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_TARGET_SCALARIZEMASKS_H
#define FOVEA_LIB_TARGET_SCALARIZEMASKS_H

namespace llvm {
class Module;
} // namespace llvm

namespace fovea {

/// Evaluates the conditions of selects between vectors one element after the
/// other, down to what is loaded or carried. Op by op, every coordinate of a
/// block of scores would be alive at once beside the scores: more than there
/// are registers for.
void scalarizeMasks(llvm::Module &module);

} // namespace fovea

#endif // FOVEA_LIB_TARGET_SCALARIZEMASKS_H
