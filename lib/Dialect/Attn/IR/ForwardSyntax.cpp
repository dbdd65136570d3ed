//===- ForwardSyntax.cpp - Syntax of attn.forward -------------------------===//
//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VariantSyntax.h"

using namespace mlir;
using namespace fovea::attn;

void ForwardOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getOutput(), "o");
  if (getLse())
    setName(getLse(), "lse");
}

void ForwardOp::getAsmBlockArgumentNames(Region &region,
                                         OpAsmSetValueNameFn setName) {
  (void)nameVariantArguments(*this, region, setName);
}

// attn.forward %q, %k, %v clause* attr-dict? : q, k, v -> o, lse
ParseResult ForwardOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::UnresolvedOperand> qkv;
  SMLoc loc = parser.getCurrentLocation(), typesLoc;
  if (parser.parseOperandList(qkv, 3))
    return failure();
  SmallVector<StringRef> regions(std::begin(kVariantRegions),
                                 std::end(kVariantRegions));
  VariantClauses clauses(parser, result, regions);
  SmallVector<Type> types, results;
  if (clauses.parse() || parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColon() || parser.getCurrentLocation(&typesLoc) ||
      parser.parseTypeList(types) || parser.parseArrow() ||
      parser.parseTypeList(results))
    return failure();
  if (types.size() != 3)
    return parser.emitError(typesLoc,
                            "expected the types of q, k and v, found ")
           << types.size() << " types";
  if (results.size() > 2)
    return parser.emitError(typesLoc, "expected one or two results, found ")
           << results.size();
  result.addTypes(results);
  return failure(parser.resolveOperands(qkv, types, loc, result.operands) ||
                 clauses.resolve(loc, {1, 1, 1}));
}

void ForwardOp::print(OpAsmPrinter &p) {
  p << ' ' << getQuery() << ", " << getKey() << ", " << getValue();
  printVariantClauses(p, *this);
  SmallVector<StringRef> regions(std::begin(kVariantRegions),
                                 std::end(kVariantRegions));
  printVariantRegions(p, *this, regions);
  p << getQuery().getType() << ", " << getKey().getType() << ", "
    << getValue().getType() << " -> ";
  llvm::interleaveComma((*this)->getResultTypes(), p);
}
