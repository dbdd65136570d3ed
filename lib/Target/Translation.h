//===- Translation.h - Registers what fovea-translate does ------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_TARGET_TRANSLATION_H
#define FOVEA_LIB_TARGET_TRANSLATION_H

#include "mlir/IR/BuiltinOps.h"

#include <functional>

namespace fovea {

/// As mlir::TranslateFromMLIRRegistration, but the program is looked at before
/// it is parsed.
void registerTranslation(
    llvm::StringRef name, llvm::StringRef description,
    mlir::LogicalResult (*translate)(mlir::Operation *, llvm::raw_ostream &),
    std::function<void(mlir::DialectRegistry &)> registerDialects);

} // namespace fovea

#endif // FOVEA_LIB_TARGET_TRANSLATION_H
