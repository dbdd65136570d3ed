//===- Launch.h - The launch dialect ----------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_LAUNCH_IR_LAUNCH_H
#define FOVEA_DIALECT_LAUNCH_IR_LAUNCH_H

#include "fovea/Dialect/Plan/IR/Plan.h"
#include "fovea/Support/Generator.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/DialectInterface.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/JSON.h"

namespace fovea::launch {
/// Implemented by dialects that kernels consist of. The verifier of
/// `launch.abi` calls all of them.
struct KernelDialectInterface
    : mlir::DialectInterface::Base<KernelDialectInterface> {
  KernelDialectInterface(mlir::Dialect *dialect) : Base(dialect) {}

  /// Checks invariants of all values of a kernel, including those of other
  /// dialects' ops.
  virtual llvm::LogicalResult verifyKernel(mlir::Operation *kernel) const = 0;
};
} // namespace fovea::launch

#include "fovea/Dialect/Launch/IR/LaunchDialect.h.inc"
#include "fovea/Dialect/Launch/IR/LaunchEnums.h.inc"

#include "fovea/Dialect/Launch/IR/LaunchAttrInterfaces.h.inc"
#include "fovea/Dialect/Launch/IR/LaunchOpInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "fovea/Dialect/Launch/IR/LaunchAttrs.h.inc"

#define GET_OP_CLASSES
#include "fovea/Dialect/Launch/IR/LaunchOps.h.inc"

namespace fovea::launch {
/// The size in expressions for scratch memory that is the number of CTAs of the
/// launch's main kernel, along x.
inline constexpr llvm::StringLiteral kCtasSize = "ctas";

/// The tensor `name` among #launch.tensor attributes, or null.
TensorAttr lookupTensor(mlir::ArrayAttr tensors, llvm::StringRef name);

/// The abi op of `kernel`, in the same module; null if there is none.
AbiOp lookupAbi(mlir::Operation *kernel);
/// The same; reports an error if there is none.
AbiOp requireAbi(mlir::Operation *kernel);

/// The kernels of the prologue or epilogue of `abi`, in order.
llvm::SmallVector<AbiOp> getPrologueKernels(AbiOp abi);
llvm::SmallVector<AbiOp> getEpilogueKernels(AbiOp abi);
/// All kernels of the launch of `abi`, in order.
llvm::SmallVector<AbiOp> getLaunchedKernels(AbiOp abi);
/// The kernels of the launch that run before the kernel of `abi`, in order.
llvm::SmallVector<AbiOp> getKernelsBefore(AbiOp abi);
/// True if the kernel of `abi`, or a kernel before it, accesses the scratch
/// memory `scratch`. A query of its size is no access.
bool isTouchedIn(AbiOp abi, llvm::StringRef scratch);
bool isTouchedBefore(AbiOp abi, llvm::StringRef scratch);

/// The kernels in `root` that hosts launch: all except those of prologues and
/// epilogues.
llvm::SmallVector<AbiOp> getEntryKernels(mlir::Operation *root);

/// An expression in named sizes, in the form of the launch metadata.
llvm::json::Value toJSON(mlir::AffineExpr expr, mlir::ArrayAttr sizes);
} // namespace fovea::launch

#endif // FOVEA_DIALECT_LAUNCH_IR_LAUNCH_H
