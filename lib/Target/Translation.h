//===- Translation.h - Translations of fovea-translate ----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Registration of translations that parse untrusted input.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_TARGET_TRANSLATION_H
#define FOVEA_LIB_TARGET_TRANSLATION_H

#include "mlir/IR/BuiltinOps.h"

#include <functional>

namespace fovea {

/// As mlir::TranslateFromMLIRRegistration, but checks the program text before
/// it is parsed.
void registerTranslation(
    llvm::StringRef name, llvm::StringRef description,
    mlir::LogicalResult (*translate)(mlir::Operation *, llvm::raw_ostream &),
    std::function<void(mlir::DialectRegistry &)> registerDialects);

} // namespace fovea

#endif // FOVEA_LIB_TARGET_TRANSLATION_H
