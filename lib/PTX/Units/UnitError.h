//===- UnitError.h - Errors of units ----------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_PTX_UNITS_UNITERROR_H
#define FOVEA_LIB_PTX_UNITS_UNITERROR_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

namespace fovea::ptx {

inline llvm::Error makeError(const llvm::Twine &text) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), text);
}

} // namespace fovea::ptx

#endif // FOVEA_LIB_PTX_UNITS_UNITERROR_H
