//===- Npy.h - Tensors in .npy files ----------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads and writes tensors in numpy's file format.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_INTERPRETER_NPY_H
#define FOVEA_INTERPRETER_NPY_H

#include "fovea/Interpreter/HostTensor.h"

#include <optional>
#include <string>

namespace fovea::interp {

/// Reads a .npy file (format 1, 2 or 3) with little-endian elements of `kind`
/// in C order. bf16 is read from numpy's raw two-byte type, with which
/// ml_dtypes' bfloat16 is saved; uint16 is accepted for elements of the kind
/// `uint16Is`, too. `error` receives the error message.
llvm::FailureOr<HostTensor> readNpy(llvm::StringRef path, ElementKind kind,
                                    std::optional<ElementKind> uint16Is,
                                    std::string &error);

/// Writes a .npy file, format 1; bf16 as numpy's raw two-byte type, elements of
/// the kind `asUint16` as uint16.
llvm::LogicalResult writeNpy(llvm::StringRef path, const HostTensor &tensor,
                             std::optional<ElementKind> asUint16,
                             std::string &error);

/// The kind's usual name, for example `bf16`.
llvm::StringRef getName(ElementKind kind);

} // namespace fovea::interp

#endif // FOVEA_INTERPRETER_NPY_H
