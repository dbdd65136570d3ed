//===- VariantSyntax.h - Syntax of attention ops' clauses -------*- C++ -*-===//
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

/// Parses operands and as many types. The caller parses the rest of the clause,
/// for example a comma.
mlir::ParseResult parseTypedOperands(mlir::OpAsmParser &parser,
                                     TypedOperands &clause);

/// Parses the clauses between the operands and the types of an attention op. An
/// op can add keywords and regions; regions are in the order of their names.
class VariantClauses {
public:
  using ParseOwn = llvm::function_ref<mlir::ParseResult(llvm::StringRef)>;

  VariantClauses(mlir::OpAsmParser &parser, mlir::OperationState &result,
                 llvm::ArrayRef<llvm::StringRef> regionNames,
                 llvm::ArrayRef<llvm::StringRef> ownKeywords = {},
                 ParseOwn parseOwn = {});

  /// Parses all clauses, in any order, each at most once.
  mlir::ParseResult parse();
  /// Resolves the operands after those of the op's direction, in the op's
  /// order. `before` contains the sizes of the preceding segments. `last`, if
  /// not null, are the operands of a segment after the common ones.
  mlir::ParseResult resolve(mlir::SMLoc start, llvm::ArrayRef<int32_t> before,
                            TypedOperands *last = nullptr);

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

/// Names of the regions that all attention ops have, in order.
inline constexpr llvm::StringLiteral kVariantRegions[] = {
    "score_mod", "mask_mod", "kv_bounds", "kv_classify"};

void printTypedOperands(mlir::OpAsmPrinter &p, llvm::StringRef keyword,
                        mlir::OperandRange operands);
/// Prints the clauses without regions.
void printVariantClauses(mlir::OpAsmPrinter &p, AttentionOpInterface op);
/// Prints the op's regions, the attributes without a clause and the colon.
/// `own` are attributes of the op's own clauses.
void printVariantRegions(mlir::OpAsmPrinter &p, AttentionOpInterface op,
                         llvm::ArrayRef<llvm::StringRef> regionNames,
                         llvm::ArrayRef<llvm::StringRef> own = {});
/// Names the arguments of a region that all attention ops have; false if
/// `region` is another region.
bool nameVariantArguments(AttentionOpInterface op, mlir::Region &region,
                          mlir::OpAsmSetValueNameFn setName);

} // namespace fovea::attn

#endif // FOVEA_LIB_DIALECT_ATTN_IR_VARIANTSYNTAX_H
