//===- BackwardSyntax.cpp - Syntax of attn.backward -----------------------===//
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

static constexpr StringLiteral kRegions[] = {
    kVariantRegions[0], kVariantRegions[1], kVariantRegions[2],
    kVariantRegions[3], "score_gradient",   "query_bounds"};

static SmallVector<StringRef> getRegionNames() {
  return SmallVector<StringRef>(std::begin(kRegions), std::end(kRegions));
}

/// The gradients of the `gradients` clause; `captures` is a list.
static constexpr StringLiteral kGradients[] = {"q",        "k",     "v",
                                               "captures", "sinks", "scale"};
static constexpr unsigned kCaptures = 3;

void BackwardOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  for (auto [index, result] : llvm::enumerate(getResults()))
    setName(result, getResultName(index));
}

void BackwardOp::getAsmBlockArgumentNames(Region &region,
                                          OpAsmSetValueNameFn setName) {
  if (nameVariantArguments(*this, region, setName))
    return;
  static constexpr StringRef kGradient[] = {"s", "ds", "b", "h", "i", "j"};
  static constexpr StringRef kBounds[] = {"b", "h", "j0", "j1"};
  bool isGradient = &region == &getScoreGradient();
  for (auto [name, argument] :
       llvm::zip(isGradient ? ArrayRef(kGradient) : ArrayRef(kBounds),
                 region.getArguments()))
    setName(argument, name);
}

static constexpr StringRef kDeterministic = "deterministic",
                           kQueryBlocks = "query_blocks";

namespace {
/// The clause that lists the computed gradients.
struct Gradients {
  /// The number of gradients of each kind.
  int32_t segments[std::size(kGradients)] = {1, 1, 1, 0, 0, 0};
  SmallVector<int64_t> captures;

  ParseResult parse(OpAsmParser &parser);
};
} // namespace

ParseResult Gradients::parse(OpAsmParser &parser) {
  llvm::fill(segments, 0);
  unsigned next = 0;
  auto parseOne = [&]() -> ParseResult {
    StringRef name;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&name))
      return failure();
    unsigned which = llvm::find(kGradients, name) - std::begin(kGradients);
    if (which == std::size(kGradients) || which < next)
      return parser.emitError(loc, "expected gradients among 'q', 'k', 'v', "
                                   "'captures', 'sinks', 'scale', in this "
                                   "order, found '")
             << name << "'";
    next = which + 1;
    segments[which] = 1;
    if (which != kCaptures)
      return success();
    if (parser.parseEqual() ||
        parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, [&] {
          return parser.parseInteger(captures.emplace_back());
        }))
      return failure();
    segments[which] = captures.size();
    return success();
  };
  return parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren,
                                        parseOne);
}

// attn.backward %q, %k, %v, %o, %lse, %do clause* attr-dict?
//   : q, k, v, o, lse, do -> gradients
ParseResult BackwardOp::parse(OpAsmParser &parser, OperationState &result) {
  constexpr int32_t kTensors = 6;
  SmallVector<OpAsmParser::UnresolvedOperand> tensors;
  SMLoc loc = parser.getCurrentLocation(), typesLoc;
  if (parser.parseOperandList(tensors, kTensors))
    return failure();
  Gradients gradients;
  TypedOperands lseGradient, queryBlocks;
  auto parseOwn = [&](StringRef keyword) -> ParseResult {
    if (keyword == "gradients")
      return gradients.parse(parser);
    if (keyword == kDeterministic) {
      result.addAttribute(kDeterministic, parser.getBuilder().getUnitAttr());
      return success();
    }
    TypedOperands &clause = keyword == kQueryBlocks ? queryBlocks : lseGradient;
    if (parser.parseLParen() || parseTypedOperands(parser, clause) ||
        parser.parseRParen())
      return failure();
    if (keyword == kQueryBlocks)
      return success();
    if (lseGradient.operands.size() != 1)
      return parser.emitError(lseGradient.loc,
                              "expected one gradient of lse, found ")
             << lseGradient.operands.size();
    return success();
  };
  SmallVector<StringRef> regions = getRegionNames();
  StringRef own[] = {"gradients", "lse_gradient", kDeterministic, kQueryBlocks};
  VariantClauses clauses(parser, result, regions, own, parseOwn);
  SmallVector<Type> types, results;
  if (clauses.parse() || parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColon() || parser.getCurrentLocation(&typesLoc) ||
      parser.parseTypeList(types) || parser.parseArrow() ||
      parser.parseTypeList(results))
    return failure();
  if (types.size() != kTensors)
    return parser.emitError(typesLoc, "expected the types of q, k, v, o, lse "
                                      "and do, found ")
           << types.size() << " types";
  int32_t numGradients = 0;
  for (int32_t segment : gradients.segments)
    numGradients += segment;
  if (int32_t(results.size()) != numGradients)
    return parser.emitError(typesLoc, "expected the types of ")
           << numGradients << " gradients, found " << results.size();
  result.addTypes(results);
  Builder &b = parser.getBuilder();
  result.addAttribute(getDifferentiatedAttrName(result.name),
                      b.getDenseI64ArrayAttr(gradients.captures));
  result.addAttribute(getResultSegmentSizeAttr(),
                      b.getDenseI32ArrayAttr(gradients.segments));
  if (parser.resolveOperands(tensors, types, loc, result.operands) ||
      parser.resolveOperands(lseGradient.operands, lseGradient.types,
                             lseGradient.loc, result.operands))
    return failure();
  return clauses.resolve(
      loc, {1, 1, 1, 1, 1, 1, int32_t(lseGradient.operands.size())},
      &queryBlocks);
}

/// Prints the computed gradients, unless they are those of q, k and v.
static void printGradients(OpAsmPrinter &p, BackwardOp op) {
  bool isComputed[] = {
      bool(op.getQueryGradient()), bool(op.getKeyGradient()),
      bool(op.getValueGradient()), !op.getDifferentiated().empty(),
      bool(op.getSinksGradient()), bool(op.getScaleGradient())};
  if (ArrayRef(isComputed) ==
      ArrayRef<bool>({true, true, true, false, false, false}))
    return;
  p << " gradients(";
  StringRef separator = "";
  for (auto [which, name] : llvm::enumerate(kGradients)) {
    if (!isComputed[which])
      continue;
    p << separator << name;
    separator = ", ";
    if (which != kCaptures)
      continue;
    p << " = [";
    llvm::interleaveComma(op.getDifferentiated(), p);
    p << ']';
  }
  p << ')';
}

void BackwardOp::print(OpAsmPrinter &p) {
  OperandRange tensors = getOperands().take_front(6);
  p << ' ' << tensors;
  if (Value lseGradient = getLseGradient())
    p << " lse_gradient(" << lseGradient << " : " << lseGradient.getType()
      << ')';
  printGradients(p, *this);
  if (getDeterministic())
    p << ' ' << kDeterministic;
  printVariantClauses(p, *this);
  if (hasQueryBlocks()) {
    printTypedOperands(p, kQueryBlocks, getQueryBlockLists());
    p << ')';
  }
  SmallVector<StringRef> regions = getRegionNames();
  printVariantRegions(p, *this, regions,
                      {getDifferentiatedAttrName(), getResultSegmentSizeAttr(),
                       getDeterministicAttrName()});
  p << tensors.getTypes() << " -> ";
  llvm::interleaveComma((*this)->getResultTypes(), p);
}
