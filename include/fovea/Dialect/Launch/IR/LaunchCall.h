//===- LaunchCall.h - Launches in host code ---------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The host ops of the launch dialect. They are not in Launch.h because code
// that creates kernels does not use them.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_LAUNCH_IR_LAUNCHCALL_H
#define FOVEA_DIALECT_LAUNCH_IR_LAUNCHCALL_H

#include "fovea/Dialect/Launch/IR/Launch.h"

#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

#define GET_OP_CLASSES
#include "fovea/Dialect/Launch/IR/LaunchCallOps.h.inc"

namespace fovea::launch {
/// The operands of a launch: tensors and scalars.
struct Signature {
  mlir::ArrayAttr tensors;
  llvm::SmallVector<ScalarParameterAttr> scalars;
  /// True if the scalars are exactly those that the kernel reads. A kernel that
  /// is not serialized yet may lose scalars.
  bool isFinal;
};

/// The scalars of the launch of `abi`, each once, in the order of the launch
/// metadata: the parameters of the kernel, of its prologue and of its epilogue.
llvm::SmallVector<ScalarParameterAttr> getScalars(AbiOp abi);

/// The signature of a kernel with a `launch.abi`, or of a `launch.binary`;
/// nullopt for other symbols.
std::optional<Signature> getSignature(mlir::Operation *symbol);
} // namespace fovea::launch

#endif // FOVEA_DIALECT_LAUNCH_IR_LAUNCHCALL_H
