//===- CapturedSizes.h - How large captured tensors are ---------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_ATTN_IR_CAPTUREDSIZES_H
#define FOVEA_LIB_DIALECT_ATTN_IR_CAPTUREDSIZES_H

#include "fovea/Dialect/Attn/IR/Attn.h"

namespace fovea::attn {

/// Sizes of captured tensors that must not be less than those of the call: of
/// dimensions that are read at every batch entry, head, query or key.
llvm::SmallVector<DimCover> getCapturedCovers(AttentionOpInterface op);

/// Reports such a dimension that is known to be too short.
llvm::LogicalResult verifyCapturedSizes(AttentionOpInterface op);

} // namespace fovea::attn

#endif // FOVEA_LIB_DIALECT_ATTN_IR_CAPTUREDSIZES_H
