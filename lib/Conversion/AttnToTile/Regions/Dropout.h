//===- Dropout.h - Which weights dropout keeps ------------------*- C++ -*-===//
//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_DROPOUT_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_DROPOUT_H

#include "Kernel/KernelBuilder.h"

namespace fovea {

/// The random numbers of one head of one batch entry, i64.
struct DropoutStream {
  mlir::Value key, stream;
};

/// The stream of a batch entry and a query head, from the op's seed and offset.
DropoutStream emitDropoutStream(KernelBuilder &kb,
                                attn::AttentionOpInterface op,
                                mlir::Value batch, mlir::Value head);

/// Which weights of a tile of `rows` by `columns` are kept, i1; its first
/// element is that of the row at `row` and the column at `column`, and keys lie
/// along `keyDim`. Says in `kb` which generator the kernel draws from.
mlir::Value emitIsKept(KernelBuilder &kb, attn::AttentionOpInterface op,
                       DropoutStream numbers, mlir::Value row,
                       mlir::Value column, int64_t rows, int64_t columns,
                       int64_t keyDim);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_DROPOUT_H
