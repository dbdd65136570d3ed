//===- BlockMap.h - Maps of visible blocks and elements ---------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Requests that make the evaluation of attention report which blocks and
// elements are visible instead of computing outputs, and programs for such
// requests. `fovea explain` uses them.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_INTERPRETER_BLOCKMAP_H
#define FOVEA_INTERPRETER_BLOCKMAP_H

#include "fovea/Dialect/Attn/IR/Attn.h"
#include "fovea/Interpreter/HostTensor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

namespace fovea::interp {

/// How many of a block's pairs of query and key are visible under the mask.
enum class BlockVisibility { None, Some, All };

/// How a kernel processes a block, according to the op's regions and lists:
/// skips it, executes it with the mask's arithmetic, or without.
enum class BlockUse { Skipped, Masked, Plain };

/// One head of one sequence, one row of codes per row of blocks. The code of a
/// block is the digit `truth + 3 * visit`.
struct BlockMap {
  struct Row {
    std::string codes;
    int64_t visiblePairs = 0;
  };
  int64_t entry, head, queries, keys;
  std::vector<Row> rows;
};

/// Environment of functions with attn ops: map blocks instead of computing
/// attention.
struct BlockMapRequest {
  /// Number of queries and keys of a block.
  int64_t rows, columns;
  /// True if the kernel evaluates `kv_classify` for single blocks.
  bool classify;
  std::vector<BlockMap> *maps;
  /// True if the kernel's tiles are keys, which iterate over blocks of queries.
  bool hasKeyTiles = false;
  /// The query_bounds of such a kernel, if any.
  mlir::Region *queryBounds = nullptr;
};

/// Environment of functions with an attn op: evaluate single pairs of query and
/// key instead of computing attention. The pairs are those of the `rows`
/// queries from `first` on, and of all keys, of one head of one sequence.
struct ElementRequest {
  int64_t entry, head, first, rows;
  /// Scores that score_mod is applied to.
  llvm::ArrayRef<double> scores;

  /// One i1 per pair, true if the key is visible to the query.
  HostTensor *visible;
  /// One f64 per score and pair: the result of score_mod, NaN if the pair is
  /// masked.
  HostTensor *changed;
};

/// A function `visible` whose only op has the mask, the sequences and the lists
/// of `forward`, without score_mod, on f32 tensors with head dim 1. Its
/// arguments are the op's operands; it returns O and LSE. If the mask does not
/// depend on the head, one head stands for all; likewise for batch entries.
mlir::OwningOpRef<mlir::ModuleOp> makeMaskProgram(attn::ForwardOp forward);

/// The same with score_mod, and with all heads and batch entries.
mlir::OwningOpRef<mlir::ModuleOp> makeElementProgram(attn::ForwardOp forward);

/// A function whose only op is an attn.forward of the function's arguments,
/// with the clauses, score_mod and mask_mod of `backward`.
mlir::OwningOpRef<mlir::ModuleOp> makeForwardProgram(attn::BackwardOp backward);

/// The sizes of an attention problem.
struct AttentionSizes {
  int64_t batch, heads, queries, keys;
};

/// Q, K or V (`operand` 0 to 2) of such a program: zeros, with `sizes` for the
/// dynamic dimensions of the type.
HostTensor makeMaskInput(mlir::func::FuncOp program, unsigned operand,
                         const AttentionSizes &sizes);

} // namespace fovea::interp

#endif // FOVEA_INTERPRETER_BLOCKMAP_H
