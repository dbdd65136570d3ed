//===- KernelSignature.h - Arguments of a kernel ----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernel arguments for the operands and results of a kernel op, and their
// description in the ABI.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_KERNELSIGNATURE_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_KERNELSIGNATURE_H

#include "Kernel/PackedHeads.h"

#include "fovea/Dialect/Attn/IR/KernelFunction.h"
#include "fovea/Dialect/Launch/IR/Launch.h"

namespace fovea {

/// The operands and results of a kernel op as arguments of a kernel, and their
/// description for the host, both from KernelOpInterface.
class KernelSignature {
public:
  explicit KernelSignature(attn::KernelOpInterface op);

  /// Types of the kernel's arguments, and the parameters that a host passes for
  /// them.
  llvm::SmallVector<mlir::Type> getTypes();
  llvm::SmallVector<mlir::Attribute> describeParameters();
  /// Names the arguments of a kernel with those types.
  void nameArguments(mlir::gpu::GPUFuncOp kernel);

  /// Describes the tensors that the host passes. Runs after the lowering of the
  /// op, which determines the tensors that must be contiguous.
  mlir::ArrayAttr describeTensors(mlir::gpu::GPUFuncOp kernel);
  /// Describes constraints on sizes that the host checks.
  mlir::ArrayAttr describeConstraints();
  /// Describes the expected contents of integer tensors; null if there are
  /// none.
  mlir::ArrayAttr describeContents();
  /// The number of work items, an expression in the sizes whose names are
  /// appended to `sizes`. Static sizes are constants.
  mlir::AffineExpr getWorkItems(int64_t tileM, PackedHeads packedHeads,
                                llvm::SmallVectorImpl<mlir::Attribute> &sizes);

  /// The same for the blocks of `tileN` keys of all work items: an upper bound.
  mlir::AffineExpr getWorkBlocks(int64_t tileM, int64_t tileN,
                                 PackedHeads packedHeads,
                                 llvm::SmallVectorImpl<mlir::Attribute> &sizes);

private:
  /// The host's argument for one operand or result of the op.
  struct Argument {
    std::string name;
    mlir::Type type;
    launch::Access access;
    llvm::SmallVector<std::string> dims;
    llvm::SmallVector<int64_t> order;
    bool isCopied;
  };
  /// The size of that name: a constant, or a new symbol.
  mlir::AffineExpr getSize(llvm::StringRef name,
                           llvm::SmallVectorImpl<mlir::Attribute> &sizes);

  attn::KernelOpInterface op;
  llvm::SmallVector<Argument> arguments;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_KERNELSIGNATURE_H
