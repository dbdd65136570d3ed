//===- ExactFloats.h - Floats that need exact rounding ----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds floats that must be computed as written, because a discontinuous op
// reads them.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_EXACTFLOATS_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_EXACTFLOATS_H

#include "mlir/IR/Region.h"
#include "llvm/ADT/DenseSet.h"

namespace fovea {

/// The floats of a region that reach a comparison, a rounding to integers or a
/// remainder. There an error in the last place becomes an error of one:
/// `floor(i / 41)` is off by one if `82 / 41` is just below 2. Such values are
/// computed as written, each op rounded to nearest; all others may be
/// reassociated and approximated.
llvm::DenseSet<mlir::Value> findExactValues(mlir::Region &region);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_EXACTFLOATS_H
