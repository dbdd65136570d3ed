//===- Explain.cpp - Remarks of a compilation as JSON ---------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements foveaExplain: runs the pipelines with a remark streamer and
// converts the remarks to JSON.
//
//===----------------------------------------------------------------------===//

#include "Internal.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace fovea;

static StringRef getKind(const remark::detail::Remark &remark) {
  switch (remark.getRemarkType()) {
  case llvm::remarks::Type::Passed:
    return "passed";
  case llvm::remarks::Type::Missed:
    return "missed";
  case llvm::remarks::Type::Failure:
    return "failed";
  default:
    return "analysis";
  }
}

/// Copies the strings, whose storage ends with the pass pipeline.
static llvm::json::Object toJSON(const remark::detail::Remark &remark) {
  llvm::json::Object arguments;
  std::string reason;
  for (const remark::detail::Remark::Arg &argument : remark.getArgs()) {
    if (argument.key == "Reason" || argument.key == "Remark")
      reason += (reason.empty() ? "" : " ") + argument.val;
    else
      arguments[argument.key] = argument.val;
  }
  llvm::json::Object result{
      {"kind", getKind(remark)},
      {"category", remark.getCombinedCategoryName().str()},
      {"name", remark.getRemarkName().str()},
      {"kernel", remark.getFunction().str()},
      {"reason", std::move(reason)},
      {"arguments", std::move(arguments)}};
  if (auto place = remark.getLocation()->findInstanceOf<FileLineColLoc>()) {
    result["file"] = place.getFilename().str();
    result["line"] = place.getLine();
    result["column"] = place.getColumn();
  }
  return result;
}

namespace {
/// Collects remarks in order of emission.
class RemarkList : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit RemarkList(llvm::json::Array &list) : list(list) {}
  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    list.push_back(toJSON(remark));
  }

private:
  llvm::json::Array &list;
};
} // namespace

static LogicalResult explain(FoveaModule *module, const FoveaOptions *options,
                             std::string &text) {
  FoveaContext *context = module->context;
  MLIRContext *mlir = context->mlir.get();
  CompileOptions compileOptions;
  std::string name;
  if (failed(readOptions(context, options, compileOptions, name)))
    return failure();
  llvm::json::Array remarks;
  std::string any = ".*";
  remark::RemarkCategories all{any, any, any, any, any};
  if (failed(remark::enableOptimizationRemarks(
          *mlir, std::make_unique<RemarkList>(remarks),
          std::make_unique<remark::RemarkEmittingPolicyAll>(), all)))
    return context->error("remarks are not available");
  llvm::scope_exit end([&] { mlir->setRemarkEngine(nullptr); });
  OwningOpRef<ModuleOp> copy = module->op->clone();
  TimingScope timing;
  if (failed(emitArtifact(*copy, Artifact::NVVM, compileOptions, name, timing)))
    return failure();
  llvm::raw_string_ostream(text)
      << llvm::json::Value(llvm::json::Object{{"remarks", std::move(remarks)}});
  return success();
}

FoveaBuffer *foveaExplain(FoveaModule *module, const FoveaOptions *options) {
  if (!module)
    return nullptr;
  std::string text;
  bool done =
      module->context->call([&] { return explain(module, options, text); });
  return done ? new FoveaBuffer{std::move(text)} : nullptr;
}
