//===- HelperKernels.h - Prologue and epilogue kernels ----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Helper kernels that run before or after a main kernel, the scratch memory
// that they share with it, and their overlap on the stream.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_HELPERKERNELS_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_HELPERKERNELS_H

#include "Kernel/KernelBuilder.h"

#include "fovea/Schedule/Schedule.h"

namespace fovea {

/// Extents of scratch memory or of a grid, in terms of the sizes of operands.
class SizeExpressions {
public:
  SizeExpressions(KernelBuilder &kb, unsigned operand)
      : kb(kb), operand(operand) {}

  /// The size of a dimension of the operand's memref: a constant, or a new
  /// symbol.
  mlir::AffineExpr getSize(int64_t dim) { return getSize(operand, dim); }
  /// The size of a dimension of another operand.
  mlir::AffineExpr getSize(unsigned of, int64_t dim);
  mlir::ArrayAttr getNames() const { return kb.builder.getArrayAttr(names); }

private:
  KernelBuilder &kb;
  unsigned operand;
  llvm::SmallVector<mlir::Attribute> names;
};

/// Adds scratch memory of `element`s, zero-initialized if `isZeroed`, as the
/// kernel's last argument; returns the argument's index.
unsigned declareScratch(KernelBuilder &kb, llvm::StringRef name,
                        mlir::ArrayAttr sizes,
                        llvm::ArrayRef<mlir::AffineExpr> extents,
                        mlir::Type element, bool isZeroed = false);

/// A helper kernel of a launch.
struct HelperKernel {
  /// Suffix of the kernel's name after that of the main kernel.
  llvm::StringRef suffix;
  /// Arguments of the main kernel that it takes.
  llvm::ArrayRef<unsigned> arguments;
  /// Number of CTAs, in symbols for the sizes of those names.
  mlir::ArrayAttr sizes;
  mlir::AffineExpr ctas;
  plan::KernelAttr plan;
  /// True if it runs after the main kernel, else it runs before.
  bool isAfter = false;
};

/// Creates a kernel with its ABI that runs before or after the one whose ABI is
/// `main`, after the existing helpers. Moves `b` to the end of its body.
mlir::gpu::GPUFuncOp beginHelperKernel(mlir::OpBuilder &b,
                                       const KernelBuilder &kb,
                                       launch::AbiOp main,
                                       const HelperKernel &described);

/// Lets each kernel of a launch start during the previous one (programmatic
/// dependent launch), if the target supports it. All kernels must have bodies.
void overlapKernels(const KernelBuilder &kb, launch::AbiOp main);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_HELPERKERNELS_H
