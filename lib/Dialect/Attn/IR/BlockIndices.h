//===- BlockIndices.h - Syntax of attn.block_min and block_max --*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_ATTN_IR_BLOCKINDICES_H
#define FOVEA_LIB_DIALECT_ATTN_IR_BLOCKINDICES_H

#include "mlir/IR/OpImplementation.h"

namespace fovea::attn {

/// Parses or prints `[%b, %j0 to %j1]`: exactly one index, that of dimension
/// `dim`, is a range.
mlir::ParseResult parseBlockIndices(
    mlir::OpAsmParser &parser,
    llvm::SmallVectorImpl<mlir::OpAsmParser::UnresolvedOperand> &indices,
    mlir::OpAsmParser::UnresolvedOperand &first,
    mlir::OpAsmParser::UnresolvedOperand &last, mlir::IntegerAttr &dim);
void printBlockIndices(mlir::OpAsmPrinter &p, mlir::Operation *op,
                       mlir::OperandRange indices, mlir::Value first,
                       mlir::Value last, mlir::IntegerAttr dim);

} // namespace fovea::attn

#endif // FOVEA_LIB_DIALECT_ATTN_IR_BLOCKINDICES_H
