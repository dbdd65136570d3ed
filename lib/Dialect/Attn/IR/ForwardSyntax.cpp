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

static constexpr StringLiteral kValueColumns("value_columns"),
    kInvariant("invariant"), kScales("scales");

/// Parses `(first, count)`.
static ParseResult parseValueColumns(OpAsmParser &parser,
                                     OperationState &result) {
  SmallVector<int64_t, 2> columns(2);
  if (parser.parseLParen() || parser.parseInteger(columns[0]) ||
      parser.parseComma() || parser.parseInteger(columns[1]) ||
      parser.parseRParen())
    return failure();
  result.addAttribute(ForwardOp::getValueColumnsAttrName(result.name),
                      parser.getBuilder().getDenseI64ArrayAttr(columns));
  return success();
}

/// Parses `(%a, %b : t, u, names = ["q", "k"])`.
static ParseResult parseScales(OpAsmParser &parser, OperationState &result,
                               TypedOperands &scales) {
  SmallVector<std::string> names;
  if (parser.parseLParen() || parseTypedOperands(parser, scales) ||
      parser.parseComma() || parser.parseKeyword("names") ||
      parser.parseEqual() ||
      parser.parseCommaSeparatedList(
          OpAsmParser::Delimiter::Square,
          [&] { return parser.parseString(&names.emplace_back()); }) ||
      parser.parseRParen())
    return failure();
  result.addAttribute(ForwardOp::getScaleNamesAttrName(result.name),
                      parser.getBuilder().getStrArrayAttr(
                          llvm::to_vector_of<StringRef>(names)));
  return success();
}

// attn.forward %q, %k, %v clause* attr-dict? : q, k, v -> o, lse
// attn.forward %q, %k value_columns(0, 64) clause* attr-dict? : q, k -> o, lse
ParseResult ForwardOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::UnresolvedOperand> qkv;
  SMLoc loc = parser.getCurrentLocation(), typesLoc;
  if (parser.parseOperandList(qkv))
    return failure();
  if (qkv.size() != 2 && qkv.size() != 3)
    return parser.emitError(loc, "expected q, k and v, or q and k, found ")
           << qkv.size() << " operands";
  SmallVector<StringRef> regions(std::begin(kVariantRegions),
                                 std::end(kVariantRegions));
  TypedOperands scales;
  auto parseOwn = [&](StringRef keyword) -> ParseResult {
    if (keyword == kValueColumns)
      return parseValueColumns(parser, result);
    if (keyword == kScales)
      return parseScales(parser, result, scales);
    result.addAttribute(getInvariantAttrName(result.name),
                        parser.getBuilder().getUnitAttr());
    return success();
  };
  StringRef own[] = {kValueColumns, kInvariant, kScales};
  VariantClauses clauses(parser, result, regions, own, parseOwn);
  SmallVector<Type> types, results;
  if (clauses.parse() || parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColon() || parser.getCurrentLocation(&typesLoc) ||
      parser.parseTypeList(types) || parser.parseArrow() ||
      parser.parseTypeList(results))
    return failure();
  if (types.size() != qkv.size())
    return parser.emitError(typesLoc, "expected the types of q, k")
           << (qkv.size() == 3 ? " and v" : "") << ", found " << types.size()
           << " types";
  if (results.size() > 2)
    return parser.emitError(typesLoc, "expected one or two results, found ")
           << results.size();
  result.addTypes(results);
  return failure(parser.resolveOperands(qkv, types, loc, result.operands) ||
                 parser.resolveOperands(scales.operands, scales.types,
                                        scales.loc, result.operands) ||
                 clauses.resolve(loc, {1, 1, qkv.size() == 3,
                                       int32_t(scales.operands.size())}));
}

void ForwardOp::print(OpAsmPrinter &p) {
  OperandRange tensors = getOperands().take_front(getNumTensors());
  p << ' ' << tensors;
  if (std::optional<ArrayRef<int64_t>> columns = getValueColumns()) {
    p << ' ' << kValueColumns << '(';
    llvm::interleaveComma(*columns, p);
    p << ')';
  }
  if (std::optional<ArrayAttr> names = getScaleNames()) {
    printTypedOperands(p, kScales, getScales());
    p << ", names = " << *names << ')';
  }
  printVariantClauses(p, *this);
  if (getInvariant())
    p << ' ' << kInvariant;
  SmallVector<StringRef> regions(std::begin(kVariantRegions),
                                 std::end(kVariantRegions));
  StringRef own[] = {getValueColumnsAttrName(), getInvariantAttrName(),
                     getScaleNamesAttrName()};
  printVariantRegions(p, *this, regions, own);
  p << tensors.getTypes() << " -> ";
  llvm::interleaveComma((*this)->getResultTypes(), p);
}
