//===- MatrixTypes.h - What matrix instructions share ---------------*- C++
//-*-===//
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

/// The next modifier as the type of a matrix's elements; none is an error.
std::optional<ElementType> takeMatrixType(Build &build);

/// Reports an aligned instruction that a part of a warp reaches.
Step failAligned(Warp &warp, const Inst &inst, uint32_t mask);

} // namespace fovea::ptx

#endif // FOVEA_LIB_PTX_MATRIXTYPES_H
