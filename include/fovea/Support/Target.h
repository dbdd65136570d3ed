//===- Target.h - Compilation targets ---------------------------*- C++ -*-===//
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

/// Properties of a target GPU.
struct TargetInfo {
  /// The name used by users, LLVM and ptxas.
  llvm::StringRef name;
  /// PTX ISA version to emit, for example "ptx74".
  llvm::StringRef ptxFeature;
  /// Maximum dynamic shared memory of a CTA in bytes.
  int64_t sharedMemory;
  /// 32-bit registers of one SM.
  int64_t registers;
  /// Has wgmma and TMA.
  bool warpGroupDots = false;
  /// Supports programmatic dependent launch: a kernel can start before the
  /// preceding one in its stream ends.
  bool overlapsLaunches = false;
  /// Has tcgen05 and TMA: one thread issues dots, which accumulate in tensor
  /// memory.
  bool tensorMemoryDots = false;
  /// Has atomic adds of f32 vectors to global memory.
  bool addsVectors = false;
  /// Has `tcgen05.ld.red`, a load from tensor memory that also returns the
  /// maximum or minimum of the loaded columns.
  bool reducingTmemLoads = false;
  /// Has f32x2 arithmetic, and minima and maxima of three f32. Left out for
  /// targets whose kernels are not scheduled for it.
  bool packsFloats = false;
  /// Results per clock and SM of the unit that computes exp2 (MUFU).
  int64_t specialRate = 16;
  /// bf16 floating-point operations per clock and SM of the MMA unit; 0 if it
  /// is not used by a cost model.
  int64_t dotRate = 0;
  /// Bytes of data shared by CTAs that stay in L2 in addition to other traffic.
  /// Measured on an H200 (50 MB of L2), where a lower value increases misses;
  /// used for all targets.
  int64_t sharedInL2 = int64_t(32) << 20;
  /// Number of SMs, for work orders whose CTAs should run concurrently. The
  /// value of an H200 is used for all targets; kernels run on any number of
  /// SMs.
  int64_t multiprocessors = 132;

  /// Has TMA, mbarriers for copies and `setmaxnreg`, so that the warps of a
  /// kernel can have roles.
  bool hasRoles() const { return warpGroupDots || tensorMemoryDots; }
};

/// All targets in display order.
llvm::ArrayRef<TargetInfo> getTargets();

/// Returns the target with that name, or null.
const TargetInfo *lookupTarget(llvm::StringRef name);

/// The same, with an error that lists the known names.
const TargetInfo *
lookupTarget(llvm::StringRef name,
             llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace fovea

#endif // FOVEA_SUPPORT_TARGET_H
