//===- Attn.h - The attn dialect --------------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_ATTN_IR_ATTN_H
#define FOVEA_DIALECT_ATTN_IR_ATTN_H

#include "fovea/Support/Generator.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "fovea/Dialect/Attn/IR/AttnDialect.h.inc"
#include "fovea/Dialect/Attn/IR/AttnEnums.h.inc"

namespace fovea::attn {
/// Names of the dimensions that tiles of output are counted by: so many of
/// `rows` for each of `batch` and `heads`. With `sequences`, rows are those of
/// sequences that lie one behind the other, and that many offsets say where.
/// Those of `heads` that share one of `sharedHeads` may be rows of one tile.
struct WorkDims {
  std::string batch, heads, rows, sharedHeads, sequences;
};

/// An LSE of so much, or of less than minus that, is a row's that the backward
/// takes to see nothing: its last place is several octaves of the row's
/// weights, which exp(score - lse) then can't give. -inf is one of them.
inline constexpr double kLargestLse = 0x1p25;

/// Size `dim` counts blocks of `block`, which cover size `of`.
struct DimCover {
  std::string dim;
  int64_t block;
  std::string of;
};

/// What the integers in `tensor` should be: from 0 to the size `of`, and
/// ascending if so said. With `block` they are lists instead: the first ones of
/// each row, as many as `entries` has, are different numbers of blocks of
/// `block` of that size.
struct Contents {
  std::string tensor, of;
  bool ascending = false;
  int64_t block = 0;
  std::string entries;
};

/// Where a sequence form puts keys.
struct KeyPlaces {
  /// Sequences lie end to end in one batch entry; two operands say where their
  /// queries and their keys begin.
  bool arePacked = false;
  /// Rows of a page, if K and V are pools of pages: their batch dimension
  /// counts pages, their sequence dimension the rows of one.
  std::optional<int64_t> page;
  /// Which operand has each batch entry's number of keys, if one has.
  std::optional<unsigned> lengths;

  /// Whether each batch entry has as many keys as the tensors.
  bool fillTensors() const { return !arePacked && !page && !lengths; }
};

class AttentionOpInterface;
namespace detail {
std::optional<double> getConstantScale(AttentionOpInterface op);
int64_t getDroppedShare(AttentionOpInterface op);
bool isSparse(AttentionOpInterface op);
llvm::StringRef getBlockListName(unsigned index);
llvm::SmallVector<std::string> getBlockListDims(AttentionOpInterface op,
                                                unsigned index);
} // namespace detail
} // namespace fovea::attn

#include "fovea/Dialect/Attn/IR/AttnAttrInterfaces.h.inc"
#include "fovea/Dialect/Attn/IR/AttnOpInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "fovea/Dialect/Attn/IR/AttnAttrs.h.inc"

namespace fovea::attn::detail {
/// Keywords of the sequence forms that have a clause in attention ops.
llvm::ArrayRef<llvm::StringRef> getSequenceKeywords();
/// What stands behind the operands in such a clause; the form.
mlir::FailureOr<SequenceFormAttrInterface>
parseSequenceParameters(mlir::OpAsmParser &parser, llvm::StringRef keyword);
} // namespace fovea::attn::detail

#define GET_OP_CLASSES
#include "fovea/Dialect/Attn/IR/AttnOps.h.inc"

#endif // FOVEA_DIALECT_ATTN_IR_ATTN_H
