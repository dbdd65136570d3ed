//===- VariantSyntax.h - Clauses of attention ops ---------------*- C++ -*-===//
//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_ATTN_IR_VARIANTSYNTAX_H
#define FOVEA_LIB_DIALECT_ATTN_IR_VARIANTSYNTAX_H

#include "fovea/Dialect/Attn/IR/Attn.h"

namespace fovea::attn {

/// Operands and types of a clause such as `captures(%a, %b : t, u)`.
struct TypedOperands {
  llvm::SmallVector<mlir::OpAsmParser::UnresolvedOperand> operands;
  llvm::SmallVector<mlir::Type> types;
  mlir::SMLoc loc;
};

/// Parses as many types as there are operands: what follows the last one, a
/// comma perhaps, is the clause's own.
mlir::ParseResult parseTypedOperands(mlir::OpAsmParser &parser,
                                     TypedOperands &clause);

/// What stands between the operands and the types of an attention op. An op
/// adds keywords of its own, and regions, which it has in the order of their
/// names.
class VariantClauses {
public:
  using ParseOwn = llvm::function_ref<mlir::ParseResult(llvm::StringRef)>;

  VariantClauses(mlir::OpAsmParser &parser, mlir::OperationState &result,
                 llvm::ArrayRef<llvm::StringRef> regionNames,
                 llvm::ArrayRef<llvm::StringRef> ownKeywords = {},
                 ParseOwn parseOwn = {});

  /// All clauses, in any order, each at most once.
  mlir::ParseResult parse();
  /// Operands behind those of the op's direction, in the op's order; `before`
  /// are the sizes of the segments that lie before them.
  mlir::ParseResult resolve(mlir::SMLoc start, llvm::ArrayRef<int32_t> before);

private:
  mlir::ParseResult parseClause(llvm::StringRef keyword);
  mlir::ParseResult parseScale();
  mlir::ParseResult parseSinks();

  mlir::OpAsmParser &parser;
  mlir::OperationState &result;
  llvm::ArrayRef<llvm::StringRef> regionNames, ownKeywords;
  ParseOwn parseOwn;
  llvm::SmallVector<mlir::Region *> regions;
  mlir::Attribute sequence;
  TypedOperands scale, captures, sequenceOperands, sinks, dropout, blockLists;
};

/// Names of the regions that every attention op has, in its order.
inline constexpr llvm::StringLiteral kVariantRegions[] = {
    "score_mod", "mask_mod", "kv_bounds", "kv_classify"};

void printTypedOperands(mlir::OpAsmPrinter &p, llvm::StringRef keyword,
                        mlir::OperandRange operands);
/// Prints the clauses without regions.
void printVariantClauses(mlir::OpAsmPrinter &p, AttentionOpInterface op);
/// Prints the op's regions, then the attributes that no clause says, `own`
/// being those of the op's own clauses; then the colon.
void printVariantRegions(mlir::OpAsmPrinter &p, AttentionOpInterface op,
                         llvm::ArrayRef<llvm::StringRef> regionNames,
                         llvm::ArrayRef<llvm::StringRef> own = {});
/// Names the arguments of the regions that every attention op has; false if
/// `region` is none of them.
bool nameVariantArguments(AttentionOpInterface op, mlir::Region &region,
                          mlir::OpAsmSetValueNameFn setName);

} // namespace fovea::attn

#endif // FOVEA_LIB_DIALECT_ATTN_IR_VARIANTSYNTAX_H
