//===- HelperKernels.h - Kernels before and after another -------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_HELPERKERNELS_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_HELPERKERNELS_H

#include "Kernel/KernelBuilder.h"

#include "fovea/Schedule/Schedule.h"

namespace fovea {

/// Extents of scratch memory or of a grid, in sizes of an operand's dimensions.
class SizeExpressions {
public:
  SizeExpressions(KernelBuilder &kb, unsigned operand)
      : kb(kb), operand(operand) {}

  /// The size of a dimension of the operand's memref: a constant, or one more
  /// symbol.
  mlir::AffineExpr getSize(int64_t dim) { return getSize(operand, dim); }
  /// That of another operand.
  mlir::AffineExpr getSize(unsigned of, int64_t dim);
  mlir::ArrayAttr getNames() const { return kb.builder.getArrayAttr(names); }

private:
  KernelBuilder &kb;
  unsigned operand;
  llvm::SmallVector<mlir::Attribute> names;
};

/// Gives the kernel scratch memory of `element`s, which is zero at first if
/// `isZeroed`, as its last argument; returns its number.
unsigned declareScratch(KernelBuilder &kb, llvm::StringRef name,
                        mlir::ArrayAttr sizes,
                        llvm::ArrayRef<mlir::AffineExpr> extents,
                        mlir::Type element, bool isZeroed = false);

/// One more kernel of a launch.
struct HelperKernel {
  /// Follows the main kernel's name in its own.
  llvm::StringRef suffix;
  /// Those of the main kernel's arguments that it takes.
  llvm::ArrayRef<unsigned> arguments;
  /// Number of CTAs, in symbols for the sizes of that name.
  mlir::ArrayAttr sizes;
  mlir::AffineExpr ctas;
  plan::KernelAttr plan;
  /// Whether it runs after the main kernel, not before it.
  bool isAfter = false;
};

/// Makes a kernel that runs before or after the one whose ABI is `main`, with
/// its ABI, behind those there are. Its body goes where `b` stands then: at its
/// end.
mlir::gpu::GPUFuncOp beginHelperKernel(mlir::OpBuilder &b,
                                       const KernelBuilder &kb,
                                       launch::AbiOp main,
                                       const HelperKernel &described);

/// Lets each kernel of a launch get ready under the one before it, where the
/// target can. All have their bodies.
void overlapKernels(const KernelBuilder &kb, launch::AbiOp main);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_HELPERKERNELS_H
