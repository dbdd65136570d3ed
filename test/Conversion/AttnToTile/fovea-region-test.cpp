//===- fovea-region-test.cpp - What is known of regions ---------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads a program and says of each op in the regions of attn.forward, in a
// remark, what attn-to-tile knows of its result before it emits any: how it
// differs within a block, its range, the sum of coordinates that it is, and
// whether its last bit decides. Remarks are held to those that the program
// expects.
//
//===----------------------------------------------------------------------===//

#include "Conversion/AttnToTile/RegionAnalysis/CoordinateSum.h"
#include "Conversion/AttnToTile/RegionAnalysis/ExactFloats.h"

#include "fovea/Dialect/Attn/IR/Attn.h"
#include "fovea/InitAll.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace fovea;
namespace cl = llvm::cl;

static cl::opt<std::string> inputName(cl::Positional, cl::desc("<.mlir file>"),
                                      cl::Required);
static cl::opt<BlockRows> blockRows(
    "rows", cl::desc("What the rows of a block are:"),
    cl::init(BlockRows::Queries),
    cl::values(clEnumValN(BlockRows::Queries, "queries", "queries of a head"),
               clEnumValN(BlockRows::Heads, "heads", "heads, a query of each"),
               clEnumValN(BlockRows::QueriesOfHeads, "queries-of-heads",
                          "several queries of each of several heads")));

static void printDependence(llvm::raw_ostream &os,
                            const RegionDependences &dependences, Value value) {
  using Kind = RegionDependences;
  unsigned kind = dependences.of(value);
  if (dependences.isUniform(value))
    os << "uniform";
  else if (dependences.isByDistance(value))
    os << "by distance";
  else if (dependences.isByScore(value))
    os << "by score";
  else
    os << (kind & Kind::OnQuery ? "by row" : "by key");
  if (kind & Kind::Narrowed)
    os << ", narrowed";
  if (dependences.isShifted(value, Kind::OnQuery) ||
      dependences.isShifted(value, Kind::OnKey))
    os << ", shifted";
}

static void printSum(llvm::raw_ostream &os, const CoordinateSum &sum) {
  os << "; " << sum.row << " row + " << sum.key << " key + " << sum.constant;
  for (CoordinateSum::Scalar scalar : sum.scalars)
    os << (scalar.sign > 0 ? " + " : " - ") << "scalar";
}

static void describe(Region &region, unsigned captures) {
  if (region.empty())
    return;
  RegionDependences dependences(region, captures, blockRows);
  RegionRanges ranges(region, captures);
  CoordinateSums sums(region, dependences, ranges);
  llvm::DenseSet<Value> exact = findExactValues(region);
  for (Operation &op : region.front().without_terminator()) {
    Value value = op.getResult(0);
    std::string text;
    llvm::raw_string_ostream os(text);
    printDependence(os, dependences, value);
    if (value.getType().isIntOrIndex())
      os << "; " << ranges.getMin(value) << " to " << ranges.getMax(value);
    if (std::optional<CoordinateSum> sum = sums.find(value))
      printSum(os, *sum);
    if (exact.contains(value))
      os << "; exact";
    emitRemark(op.getLoc()) << text;
  }
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::ParseCommandLineOptions(argc, argv, "what is known of regions\n");
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry);
  // Ops are not printed behind remarks.
  context.printOpOnDiagnostic(false);
  std::string error;
  auto file = openInputFile(inputName, &error);
  if (!file) {
    llvm::errs() << error << "\n";
    return 1;
  }
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(file), llvm::SMLoc());
  SourceMgrDiagnosticVerifierHandler expected(sources, &context);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, &context);
  if (module)
    module->walk([](attn::ForwardOp op) {
      describe(op.getScoreMod(), op.getCaptures().size());
      describe(op.getMaskMod(), op.getCaptures().size());
    });
  return failed(expected.verify());
}
