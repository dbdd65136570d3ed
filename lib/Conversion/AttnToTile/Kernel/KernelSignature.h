//===- KernelSignature.h - A kernel's arguments -----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_KERNELSIGNATURE_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_KERNELSIGNATURE_H

#include "Kernel/PackedHeads.h"

#include "fovea/Dialect/Attn/IR/KernelFunction.h"
#include "fovea/Dialect/Launch/IR/Launch.h"

namespace fovea {

/// The operands and results of a kernel op as a kernel's arguments, and what
/// the kernel's host is told of them: all by KernelOpInterface.
class KernelSignature {
public:
  explicit KernelSignature(attn::KernelOpInterface op);

  /// Types of the kernel's arguments, and what a host passes for them.
  llvm::SmallVector<mlir::Type> getTypes();
  llvm::SmallVector<mlir::Attribute> describeParameters();
  /// Names the arguments of a kernel of those types.
  void nameArguments(mlir::gpu::GPUFuncOp kernel);

  /// What the host passes for each tensor. The lowering of the op has settled
  /// which of them must be contiguous.
  mlir::ArrayAttr describeTensors(mlir::gpu::GPUFuncOp kernel);
  /// What the kernel takes for granted about sizes, for its host to check.
  mlir::ArrayAttr describeConstraints();
  /// What integers in tensors should be, or null.
  mlir::ArrayAttr describeContents();
  /// The number of work items, an expression in the sizes whose names it
  /// appends; sizes that the types say are constants.
  mlir::AffineExpr getWorkItems(int64_t tileM, PackedHeads packedHeads,
                                llvm::SmallVectorImpl<mlir::Attribute> &sizes);

private:
  /// What a host passes for one operand or result of the op.
  struct Argument {
    std::string name;
    mlir::Type type;
    launch::Access access;
    llvm::SmallVector<std::string> dims;
    llvm::SmallVector<int64_t> order;
    bool isCopied;
  };
  /// The size of that name: a constant, or one more symbol.
  mlir::AffineExpr getSize(llvm::StringRef name,
                           llvm::SmallVectorImpl<mlir::Attribute> &sizes);

  attn::KernelOpInterface op;
  llvm::SmallVector<Argument> arguments;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_KERNELSIGNATURE_H
