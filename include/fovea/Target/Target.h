//===- Target.h - Chips that Fovea compiles for -----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_TARGET_TARGET_H
#define FOVEA_TARGET_TARGET_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

namespace fovea {

/// What the compiler must know of a chip.
struct TargetInfo {
  /// Name that users give, also the name that LLVM and ptxas know.
  llvm::StringRef name;
  /// PTX ISA version that LLVM shall emit, for example "ptx74".
  llvm::StringRef ptxFeature;
  /// Dynamic shared memory that one CTA may have, in bytes.
  int64_t sharedMemory;
  /// 32-bit registers of one SM.
  int64_t registers;
  /// Has wgmma and TMA: copies and dots can be the work of different warps.
  bool warpGroupDots = false;
  /// A kernel can start before the one before it in a stream has ended.
  bool overlapsLaunches = false;
};

/// All targets, in the order in which they should be listed.
llvm::ArrayRef<TargetInfo> getTargets();

/// The target with that name, or null.
const TargetInfo *lookupTarget(llvm::StringRef name);

/// As above; reports an unknown name, and which names are known.
const TargetInfo *
lookupTarget(llvm::StringRef name,
             llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace fovea

#endif // FOVEA_TARGET_TARGET_H
