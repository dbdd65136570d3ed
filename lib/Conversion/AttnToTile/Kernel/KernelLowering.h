//===- KernelLowering.h - From a kernel op to tile programs -----*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_KERNELLOWERING_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_KERNELLOWERING_H

#include "Kernel/KernelBuilder.h"

namespace fovea {

/// Makes the kernels of one op. The pass makes their functions, ABIs and grids
/// by KernelOpInterface, and asks this for what they compute.
class KernelLowering {
public:
  virtual ~KernelLowering() = default;
  /// Emits the body of the main kernel where `kb` stands; gives the plan that
  /// shaped it.
  virtual mlir::FailureOr<plan::KernelAttr> emit(KernelBuilder &kb) = 0;
  /// Makes the kernels that run before and after the main one, whose ABI is
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
std::unique_ptr<KernelLowering> makeBackwardLowering(attn::BackwardOp op);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_KERNELLOWERING_H
