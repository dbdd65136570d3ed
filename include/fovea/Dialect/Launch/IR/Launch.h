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
/// A dialect that kernels are written in. The verifier of `launch.abi` asks all
/// such dialects about its kernel.
struct KernelDialectInterface
    : mlir::DialectInterface::Base<KernelDialectInterface> {
  KernelDialectInterface(mlir::Dialect *dialect) : Base(dialect) {}

  /// Checks what holds for all of a kernel's values, no matter whose ops.
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
/// The tensor with that name among #launch.tensor attributes, or null.
TensorAttr lookupTensor(mlir::ArrayAttr tensors, llvm::StringRef name);

/// The abi op of `kernel`, which stands beside it; null if there is none.
AbiOp lookupAbi(mlir::Operation *kernel);
/// The same; without one an error of the kernel.
AbiOp requireAbi(mlir::Operation *kernel);

/// The kernels that run before the one of `abi`, or after it, in order.
llvm::SmallVector<AbiOp> getPrologueKernels(AbiOp abi);
llvm::SmallVector<AbiOp> getEpilogueKernels(AbiOp abi);
/// All kernels of the launch of `abi`, in order.
llvm::SmallVector<AbiOp> getLaunchedKernels(AbiOp abi);
/// The kernels of its launch that run before the one of `abi`, in order.
llvm::SmallVector<AbiOp> getKernelsBefore(AbiOp abi);
/// Whether the kernel of `abi` touches the scratch memory of that name, more
/// than it asks for its size; whether one of those before it does.
bool isTouchedIn(AbiOp abi, llvm::StringRef scratch);
bool isTouchedBefore(AbiOp abi, llvm::StringRef scratch);

/// The kernels in `root` that hosts ask for: all but those of prologues and
/// epilogues.
llvm::SmallVector<AbiOp> getEntryKernels(mlir::Operation *root);

/// An expression in sizes, by their names, as launch metadata has it.
llvm::json::Value toJSON(mlir::AffineExpr expr, mlir::ArrayAttr sizes);
} // namespace fovea::launch

#endif // FOVEA_DIALECT_LAUNCH_IR_LAUNCH_H
