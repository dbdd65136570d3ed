//===- KernelLowering.h - Lowerings of kernel ops ---------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface between the pass attn-to-tile and the lowering of each kernel
// op.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_KERNELLOWERING_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_KERNELLOWERING_H

#include "Kernel/KernelBuilder.h"

namespace fovea {

/// Emits the kernels of one op. The pass creates their functions, ABIs and
/// grids by KernelOpInterface; this class emits their bodies.
class KernelLowering {
public:
  virtual ~KernelLowering() = default;
  /// Emits the body of the main kernel at the builder of `kb`; returns its
  /// plan.
  virtual mlir::FailureOr<plan::KernelAttr> emit(KernelBuilder &kb) = 0;
  /// Creates the kernels that run before and after the main one, whose ABI is
  /// `main`.
  virtual mlir::LogicalResult emitHelpers(KernelBuilder &kb,
                                          launch::AbiOp main) {
    return mlir::success();
  }
};

/// The lowering of `op`; null, with a diagnostic, if there is none.
std::unique_ptr<KernelLowering> makeKernelLowering(attn::KernelOpInterface op);

std::unique_ptr<KernelLowering> makeForwardLowering(attn::ForwardOp op);
std::unique_ptr<KernelLowering> makeMergeLowering(attn::MergeOp op);
std::unique_ptr<KernelLowering> makeAppendLowering(attn::AppendOp op);
std::unique_ptr<KernelLowering> makeBackwardLowering(attn::BackwardOp op);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_KERNELLOWERING_H
