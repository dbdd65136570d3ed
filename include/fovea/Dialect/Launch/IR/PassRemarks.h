//===- PassRemarks.h - Remarks on schedule fields ---------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Errors and remarks of passes that apply a field of a kernel's schedule. They
// need the kernel's 'launch.abi' only, so passes do not depend on planners.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_LAUNCH_IR_PASSREMARKS_H
#define FOVEA_DIALECT_LAUNCH_IR_PASSREMARKS_H

#include "fovea/Dialect/Launch/IR/Launch.h"

namespace fovea {

/// Reports that a pass cannot apply `field` of the kernel's schedule: an error
/// at `where` if the field is user-specified, otherwise a remark.
mlir::LogicalResult reportMissed(mlir::Operation *where, launch::AbiOp abi,
                                 llvm::StringRef field,
                                 const llvm::Twine &reason);
/// The same for kernels without a 'launch.abi' yet.
mlir::LogicalResult reportMissed(mlir::Operation *where, llvm::StringRef kernel,
                                 bool isUserSpecified, llvm::StringRef field,
                                 const llvm::Twine &reason);
/// Reports, as a remark, that a pass has applied `field` of the kernel's
/// schedule: what was changed, and how often.
void reportDone(mlir::Operation *where, launch::AbiOp abi,
                llvm::StringRef field, llvm::StringRef what, int64_t count);

} // namespace fovea

#endif // FOVEA_DIALECT_LAUNCH_IR_PASSREMARKS_H
