//===- CapturedSizes.h - Sizes of captured tensors --------------*- C++ -*-===//
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

/// The dimensions of captured tensors that are indexed by batch entry, head,
/// query or key, and that must cover the size of that coordinate.
llvm::SmallVector<DimCover> getCapturedCovers(AttentionOpInterface op);

/// Reports a dimension that is statically too small.
llvm::LogicalResult verifyCapturedSizes(AttentionOpInterface op);

} // namespace fovea::attn

#endif // FOVEA_LIB_DIALECT_ATTN_IR_CAPTUREDSIZES_H
