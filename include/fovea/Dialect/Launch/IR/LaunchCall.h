//===- LaunchCall.h - Launches in a host's code -----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The launch dialect's ops of a host: not in Launch.h, as those who make
// kernels know nothing of them.
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
/// What a host passes to a launch: tensors and scalars.
struct Signature {
  mlir::ArrayAttr tensors;
  llvm::SmallVector<ScalarParameterAttr> scalars;
  /// Whether the scalars are just those that the kernel reads. Before its code
  /// is written, more may be passed than remain.
  bool isFinal;
};

/// The scalars of the launch of `abi`, each once, in the order that the launch
/// metadata has them in: as the parameters of the kernel name them, then those
/// of its prologue and epilogue.
llvm::SmallVector<ScalarParameterAttr> getScalars(AbiOp abi);

/// The signature of a kernel with a `launch.abi`, or of a `launch.binary`;
/// nothing for other symbols.
std::optional<Signature> getSignature(mlir::Operation *symbol);
} // namespace fovea::launch

#endif // FOVEA_DIALECT_LAUNCH_IR_LAUNCHCALL_H
