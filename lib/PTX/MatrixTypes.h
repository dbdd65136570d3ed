//===- MatrixTypes.h - Helpers of matrix instructions -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_PTX_MATRIXTYPES_H
#define FOVEA_LIB_PTX_MATRIXTYPES_H

#include "Machine.h"

#include "fovea/PTX/Units/Numeric.h"

#include <optional>

namespace fovea::ptx {

/// Takes the next modifier as an element type; reports an error if there is
/// none.
std::optional<ElementType> takeMatrixType(Build &build);

/// Reports an aligned instruction that only a part of the warp reaches.
Step failAligned(Warp &warp, const Inst &inst, uint32_t mask);

} // namespace fovea::ptx

#endif // FOVEA_LIB_PTX_MATRIXTYPES_H
