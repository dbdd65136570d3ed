//===- ContributionSums.h - Simplify contributions --------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Simplifies the sums of `attn.contribute` at the end of attn-differentiate. A
// sum that is known to be zero is erased. A factor that is the same for all
// queries moves to the end of the product, so that kernels multiply the sum
// over the queries instead of each summand.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_ATTN_TRANSFORMS_CONTRIBUTIONSUMS_H
#define FOVEA_LIB_DIALECT_ATTN_TRANSFORMS_CONTRIBUTIONSUMS_H

#include "fovea/Dialect/Attn/IR/Attn.h"

namespace fovea::attn {

/// Rewrites the contributions of `op`'s score_gradient. The caller erases ops
/// that become dead.
void simplifyContributions(BackwardOp op);

} // namespace fovea::attn

#endif // FOVEA_LIB_DIALECT_ATTN_TRANSFORMS_CONTRIBUTIONSUMS_H
