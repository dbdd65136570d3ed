//===- Targets.h - Features by target architecture --------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The "Target ISA Notes" of the PTX ISA as a table: which `.target` has which
// feature.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_PTX_SYNTAX_TARGETS_H
#define FOVEA_LIB_PTX_SYNTAX_TARGETS_H

#include "llvm/ADT/StringRef.h"

namespace fovea::ptx {

/// Features that only some targets have.
enum class Feature : uint8_t {
  /// tcgen05, without the features below.
  Tcgen05,
  /// tcgen05.mma: .kind::i8.
  IntegerMma,
  /// tcgen05.mma: the operand scale-input-d.
  ScaleInputD,
  /// tcgen05.mma: .scale_vec::1X, 2X and 4X.
  ScaleVec,
  /// tcgen05.ld.red.
  ReducingLoad,
  /// cp.async.bulk.tensor: .cta_group.
  TensorCopyGroup,
  /// min and max of three f32.
  ThreeInputMinMax,
};

/// True if `target`, such as "sm_100a", has the feature.
bool hasFeature(llvm::StringRef target, Feature feature);
/// "sm_100 or higher": the targets with the feature, for error messages.
llvm::StringRef describeTargets(Feature feature);

} // namespace fovea::ptx

#endif // FOVEA_LIB_PTX_SYNTAX_TARGETS_H
