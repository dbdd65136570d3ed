//===- Target.h - Chips that Fovea compiles for -----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_SUPPORT_TARGET_H
#define FOVEA_SUPPORT_TARGET_H

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
  /// Has tcgen05 and TMA: one thread issues dots, which accumulate in tensor
  /// memory.
  bool tensorMemoryDots = false;
  /// Adds vectors of f32 to global memory in one instruction.
  bool addsVectors = false;
  /// Kernels are lowered to PTX; else they stop at the warp level.
  bool emitsPTX = true;
  /// Bytes of what CTAs read together that stay in L2 beside what else goes
  /// through it. Measured on an H200 (50 MB of L2), where less costs sections
  /// and more misses; taken over for the others.
  int64_t sharedInL2 = int64_t(32) << 20;
  /// Multiprocessors, for orders of work whose CTAs should be at work together:
  /// those of an H200, taken over for the others. Kernels run on any number.
  int64_t multiprocessors = 132;
};

/// All targets, in the order in which they should be listed.
llvm::ArrayRef<TargetInfo> getTargets();

/// Says that kernels for `target` are no PTX yet, and what to use instead; to
/// be asked for where something needs PTX. Fails if it said so.
llvm::LogicalResult
checkEmitsPTX(const TargetInfo &target,
              llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// The target with that name, or null.
const TargetInfo *lookupTarget(llvm::StringRef name);

/// As above; reports an unknown name, and which names are known.
const TargetInfo *
lookupTarget(llvm::StringRef name,
             llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace fovea

#endif // FOVEA_SUPPORT_TARGET_H
