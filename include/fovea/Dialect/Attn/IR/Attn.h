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
/// Names of the dimensions that count the output tiles: the tiles of `rows` for
/// each of `batch` and `heads`. With `sequences`, rows belong to packed
/// sequences, and that dimension counts their offsets. Heads of `heads` that
/// share one of `sharedHeads` may be rows of one tile (PackGQA). An empty
/// `batch` or `heads` is 1.
struct WorkDims {
  std::string batch, heads, rows, sharedHeads, sequences;
  /// The dimension of a sequence's keys, and the keys of each of its elements.
  std::string keys = {};
  int64_t keysOfElement = 1;
};

/// The backward pass treats a row whose LSE is at least this large in absolute
/// value as fully masked: one ULP of such an LSE is several octaves of the
/// probabilities, so exp(score - lse) has no precision. This includes -inf.
inline constexpr double kLargestLse = 0x1p25;

/// Dimension `dim` counts blocks of size `block`, which must cover dimension
/// `of`.
struct DimCover {
  std::string dim;
  int64_t block;
  std::string of;
};

/// Valid contents of the integer tensor `tensor`: values from 0 to `times` the
/// size of dimension `of`, ascending if `ascending`. With `block` the tensor
/// contains block lists instead: the first `entries` values of each row must be
/// different indices of blocks of size `block` of that size. With `page` it
/// contains page tables: the values of each row that hold its first `entries`
/// keys, in pages of that many rows, must be indices below that size. With
/// `offsets`, the tensor is one list of the tables of all sequences, and that
/// tensor has the start of each table and the end of the last one.
/// With `transposed`, block lists must be those of that tensor transposed.
struct Contents {
  std::string tensor, of;
  bool ascending = false;
  int64_t block = 0;
  std::string entries = {};
  int64_t times = 1, page = 0;
  std::string offsets = {};
  std::string transposed = {};
};

/// The memory layout of the queries and keys of a sequence form. Operands are
/// given by their index among the form's operands.
struct SequencePlaces {
  /// The operand with the offsets of the queries, if those of all sequences are
  /// packed into one batch entry; and the same for keys. Packed keys imply
  /// packed queries.
  std::optional<unsigned> queryOffsets, keyOffsets;
  /// Most queries of a packed sequence, a hint; 0 if unknown.
  int64_t mostQueries = 0;
  /// Rows of a page if K and V are page pools: their batch dimension counts
  /// pages, their sequence dimension the rows of a page.
  std::optional<int64_t> page;
  /// The operand with the page tables, one row per sequence, if there are
  /// pages.
  unsigned pageTable = 0;
  /// The operand with the start of each sequence's table and the end of the
  /// last one, if the tables of all sequences are one list.
  std::optional<unsigned> pageOffsets;
  /// The operand with the number of keys per sequence, if any.
  std::optional<unsigned> lengths;

  /// The size that counts the pages of a sequence, or of all in one list.
  llvm::StringRef getPagesDim() const { return pageOffsets ? "NP" : "P"; }
  bool packsQueries() const { return queryOffsets.has_value(); }
  bool packsKeys() const { return keyOffsets.has_value(); }
  /// True if each sequence has all keys of a batch entry.
  bool hasAllKeys() const { return !packsKeys() && !page && !lengths; }
  /// True if queries and keys have one batch dimension.
  bool sharesBatch() const { return !page && packsQueries() == packsKeys(); }
};

class AttentionOpInterface;
namespace detail {
mlir::RankedTensorType getValueType(AttentionOpInterface op);
std::optional<double> getConstantScale(AttentionOpInterface op);
int64_t getDroppedShare(AttentionOpInterface op);
bool isSparse(AttentionOpInterface op);
llvm::StringRef getBlockListName(unsigned index);
llvm::SmallVector<std::string> getBlockListDims(AttentionOpInterface op,
                                                unsigned index);
llvm::StringRef getQueryBlockListName(unsigned index);
llvm::SmallVector<std::string> getQueryBlockListDims(AttentionOpInterface op,
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
/// Parses the parameters after the operands of such a clause and returns the
/// form. The number of operands may select one.
mlir::FailureOr<SequenceFormAttrInterface>
parseSequenceParameters(mlir::OpAsmParser &parser, llvm::StringRef keyword,
                        size_t operands);
} // namespace fovea::attn::detail

#define GET_OP_CLASSES
#include "fovea/Dialect/Attn/IR/AttnOps.h.inc"

#endif // FOVEA_DIALECT_ATTN_IR_ATTN_H
