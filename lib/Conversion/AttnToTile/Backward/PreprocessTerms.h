//===- PreprocessTerms.h - What score_mod adds by query ------*- C++ -*----===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where D's kernel leaves what a query's pairs share in their exponents, for
// all tiles of keys, that is not LSE alone: also the terms that score_mod adds
// whatever the key is. Both kernels sort score_mod's terms alike, since both
// evaluate it for the same blocks of queries (AffineScore::takeOfQueries).
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_PREPROCESSTERMS_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_PREPROCESSTERMS_H

#include "Backward/BackwardLoads.h"

namespace fovea {

/// Whether the terms are in what scratch memory has for the exponents of the
/// kernel's blocks.
bool areQueryTermsApart(const BackwardKernel &kernel);

/// The terms of the tile's rows, for D's kernel; null if there are none.
mlir::FailureOr<mlir::Value> emitQueryTerms(const BackwardKernel &kernel,
                                            const QueryPlace &place);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_PREPROCESSTERMS_H
