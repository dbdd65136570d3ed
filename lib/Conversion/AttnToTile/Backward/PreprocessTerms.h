//===- PreprocessTerms.h - Query terms of score_mod -------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// If the preprocess kernel stores the softmax constants of queries for the keys
// kernel, they also include the terms of score_mod that do not depend on the
// key. Both kernels split score_mod in the same way, since both evaluate it for
// the same query blocks (AffineScore::takeOfQueries).
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_PREPROCESSTERMS_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_PREPROCESSTERMS_H

#include "Backward/BackwardKernel.h"

namespace fovea {

/// True if the softmax constants in scratch memory include the terms.
bool areQueryTermsApart(const BackwardKernel &kernel);

/// The terms of the tile's rows, for the preprocess kernel; null if there are
/// none.
mlir::FailureOr<mlir::Value> emitQueryTerms(const BackwardKernel &kernel,
                                            const QueryPlace &place);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_PREPROCESSTERMS_H
