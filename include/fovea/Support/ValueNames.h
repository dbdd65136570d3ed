//===- ValueNames.h - Names of values in printed IR -------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values have names in their locations (`NameLoc`), which
// `fovea-compile --emit` and `--mlir-use-nameloc-as-prefix` print. Names help
// readers of the IR and have no meaning for passes. When an op is lowered, the
// new ops inherit its location, and so its name.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_SUPPORT_VALUENAMES_H
#define FOVEA_SUPPORT_VALUENAMES_H

#include "mlir/IR/Location.h"
#include "mlir/IR/Value.h"

namespace fovea {

/// Returns `loc` with a name, replacing any previous name.
mlir::Location getNamedLoc(mlir::Location loc, const llvm::Twine &name);

/// Returns `loc` with a suffix added to its name, for values that belong to the
/// named value. Without a name, returns `loc`.
mlir::Location addToName(mlir::Location loc, llvm::StringRef suffix);

/// Names a newly created value and returns it.
mlir::Value named(const llvm::Twine &name, mlir::Value value);

/// Returns the name of a block argument or of an op's only result, or an empty
/// string.
llvm::StringRef getName(mlir::Value value);

} // namespace fovea

#endif // FOVEA_SUPPORT_VALUENAMES_H
