//===- ValueNames.h - What values are called in printed IR ------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names of values are in their locations (`NameLoc`): `fovea-compile --emit`
// and
// --mlir-use-nameloc-as-prefix print them. They say what a value is to who
// reads the IR, and nothing to passes. What an op is lowered to has its
// location, and so its name.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_SUPPORT_VALUENAMES_H
#define FOVEA_SUPPORT_VALUENAMES_H

#include "mlir/IR/Location.h"
#include "mlir/IR/Value.h"

namespace fovea {

/// `loc` with a name, in place of one that it has.
mlir::Location getNamedLoc(mlir::Location loc, const llvm::Twine &name);

/// `loc` with a longer name: of what belongs to the value of that name. Where
/// there is none, none is made up.
mlir::Location addToName(mlir::Location loc, llvm::StringRef suffix);

/// Names a value that was just made, and returns it.
mlir::Value named(const llvm::Twine &name, mlir::Value value);

/// The name of a block's argument or of an op's only result; empty if it has
/// none.
llvm::StringRef getName(mlir::Value value);

} // namespace fovea

#endif // FOVEA_SUPPORT_VALUENAMES_H
