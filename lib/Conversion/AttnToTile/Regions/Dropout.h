//===- Dropout.h - Dropout masks --------------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Derives the random number stream of a head and draws the dropout mask of a
// score tile.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_DROPOUT_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_DROPOUT_H

#include "Kernel/KernelBuilder.h"

namespace fovea {

/// The random number stream of one head of one batch entry, i64.
struct DropoutStream {
  mlir::Value key, stream;
};

/// The stream of a batch entry and query head, from the op's seed and offset.
DropoutStream emitDropoutStream(KernelBuilder &kb,
                                attn::AttentionOpInterface op,
                                mlir::Value batch, mlir::Value head);

/// True for the pairs of a `rows` by `columns` tile that dropout keeps, i1. The
/// tile starts at `row` and `column`; keys are along `keyDim`. Records the
/// generator in `kb`.
mlir::Value emitIsKept(KernelBuilder &kb, attn::AttentionOpInterface op,
                       DropoutStream numbers, mlir::Value row,
                       mlir::Value column, int64_t rows, int64_t columns,
                       int64_t keyDim);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_DROPOUT_H
