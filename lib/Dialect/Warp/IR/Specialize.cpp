//===- Specialize.cpp - The op warp.specialize ------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parser, printer and verifier of `warp.specialize`, which runs roles on groups
// of warps.
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Warp/IR/Warp.h"
#include "fovea/Support/Warps.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

int64_t SpecializeOp::getFirstWarp(unsigned index) {
  int64_t first = 0;
  for (int64_t warps : getWarps().take_front(index))
    first += warps;
  return first;
}

int64_t SpecializeOp::getNumWarps() { return getFirstWarp(getRoles().size()); }

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

/// `(` name `(` integer `)`
static ParseResult parseCount(OpAsmParser &parser, StringRef name,
                              int64_t &count) {
  return failure(parser.parseKeyword(name) || parser.parseLParen() ||
                 parser.parseInteger(count) || parser.parseRParen());
}

ParseResult SpecializeOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &b = parser.getBuilder();
  SmallVector<OpAsmParser::UnresolvedOperand> captures;
  SmallVector<Type> types;
  SMLoc loc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword("captures"))) {
    if (parser.parseLParen() || parser.parseOperandList(captures) ||
        parser.parseColonTypeList(types) || parser.parseRParen())
      return failure();
  }
  if (parser.resolveOperands(captures, types, loc, result.operands))
    return failure();
  auto &properties = result.getOrAddProperties<Properties>();
  if (succeeded(parser.parseOptionalKeyword("cluster"))) {
    int64_t cluster;
    if (parser.parseLParen() || parser.parseInteger(cluster) ||
        parser.parseRParen())
      return failure();
    properties.cluster = b.getI64IntegerAttr(cluster);
  }
  SmallVector<Attribute> names;
  SmallVector<int64_t> warps, registers;
  while (succeeded(parser.parseOptionalKeyword("role"))) {
    StringAttr name;
    int64_t count, budget;
    if (parser.parseSymbolName(name) || parseCount(parser, "warps", count) ||
        parseCount(parser, "regs", budget) ||
        parser.parseRegion(*result.addRegion(), /*arguments=*/{},
                           /*enableNameShadowing=*/true))
      return failure();
    names.push_back(b.getStringAttr(name.getValue()));
    warps.push_back(count);
    registers.push_back(budget);
  }
  properties.names = b.getArrayAttr(names);
  properties.warps = b.getDenseI64ArrayAttr(warps);
  properties.registers = b.getDenseI64ArrayAttr(registers);
  return parser.parseOptionalAttrDict(result.attributes);
}

void SpecializeOp::print(OpAsmPrinter &p) {
  if (!getCaptures().empty()) {
    p << " captures(" << getCaptures() << " : ";
    llvm::interleaveComma(getCaptures().getTypes(), p);
    p << ')';
  }
  if (getCluster() != 1)
    p << " cluster(" << int64_t(getCluster()) << ')';
  p.increaseIndent();
  for (auto [region, name, warps, registers] :
       llvm::zip_equal(getRoles(), getNames(), getWarps(), getRegisters())) {
    p.printNewline();
    p << "role ";
    p.printSymbolName(cast<StringAttr>(name).getValue());
    p << " warps(" << warps << ") regs(" << registers << ") ";
    p.printRegion(region);
  }
  p.decreaseIndent();
  p.printOptionalAttrDict((*this)->getAttrs(),
                          {"names", "warps", "registers", "cluster"});
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

// Maximum number of CTAs in a cluster on any GPU.
static constexpr int64_t kMaxCluster = 16;

/// The register budget is set for four warps at a time, so roles that share
/// such a group must have the same budget.
static LogicalResult verifySharedGroups(SpecializeOp op) {
  for (unsigned index = 1; index < op.getRoles().size(); ++index) {
    int64_t first = op.getFirstWarp(index);
    if (first % kGroupWarps == 0)
      continue;
    if (op.getWarps()[index] > kGroupWarps - first % kGroupWarps)
      return op.emitOpError("role '")
             << cast<StringAttr>(op.getNames()[index]).getValue()
             << "' has warps in two groups of " << kGroupWarps
             << " and does not start one: it has " << op.getWarps()[index]
             << " warps from warp " << first << " on";
    if (op.getRegisters()[index] != op.getRegisters()[index - 1])
      return op.emitOpError("roles '")
             << cast<StringAttr>(op.getNames()[index - 1]).getValue()
             << "' and '" << cast<StringAttr>(op.getNames()[index]).getValue()
             << "' share a group of " << kGroupWarps
             << " warps and must have the same budget, found "
             << op.getRegisters()[index - 1] << " and "
             << op.getRegisters()[index];
  }
  return success();
}

LogicalResult SpecializeOp::verify() {
  size_t count = getRoles().size();
  if (count == 0)
    return emitOpError("needs at least one role");
  if (getNames().size() != count || getWarps().size() != count ||
      getRegisters().size() != count)
    return emitOpError("needs a name, a number of warps and a budget for each "
                       "of its ")
           << count << " roles";
  if (int64_t(getCluster()) < 1 || getCluster() > kMaxCluster)
    return emitOpError("cluster must be in [1, ")
           << kMaxCluster << "], found " << int64_t(getCluster());
  llvm::StringSet<> names;
  for (auto [name, warps, registers] :
       llvm::zip(getNames(), getWarps(), getRegisters())) {
    auto text = cast<StringAttr>(name).getValue();
    if (!names.insert(text).second)
      return emitOpError("two roles are named '") << text << "'";
    if (warps < 1 || warps > kMaxWarps)
      return emitOpError("role '") << text << "' must have 1 to " << kMaxWarps
                                   << " warps, found " << warps;
    if (registers < kLeastBudget || registers > kMostBudget ||
        registers % kBudgetStep != 0)
      return emitOpError("role '")
             << text << "' must have a multiple of " << kBudgetStep
             << " registers in [" << kLeastBudget << ", " << kMostBudget
             << "], found " << registers;
  }
  if (getNumWarps() > kMaxWarps || getNumWarps() % kGroupWarps != 0)
    return emitOpError("roles must have a multiple of ")
           << kGroupWarps << " warps in all, at most " << kMaxWarps
           << ", found " << getNumWarps();
  if (failed(verifySharedGroups(*this)))
    return failure();
  for (Value capture : getCaptures())
    if (isa<TensorType>(capture.getType()))
      return emitOpError("a register tile can't be captured, found ")
             << capture.getType();
  return success();
}

LogicalResult SpecializeOp::verifyRegions() {
  for (auto [region, name] : llvm::zip(getRoles(), getNames())) {
    if (region.getArgumentTypes() != getCaptures().getTypes())
      return emitOpError("role '")
             << cast<StringAttr>(name).getValue()
             << "' must have one argument for each capture, of its type";
    if (!isa<ReturnOp>(region.front().getTerminator()))
      return emitOpError("role '") << cast<StringAttr>(name).getValue()
                                   << "' must end with 'warp.return'";
  }
  return success();
}
