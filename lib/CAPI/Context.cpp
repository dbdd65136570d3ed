//===- Context.cpp - Contexts, diagnostics, modules -----------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements contexts, the collection of diagnostics per call, and parsing,
// printing and transforming modules.
//
//===----------------------------------------------------------------------===//

#include "Guard.h"
#include "Internal.h"

#include "fovea/InitAll.h"
#include "fovea/Support/Target.h"
#include "fovea/Support/Untrusted.h"
#include "fovea/Target/PTX.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

#include <mutex>

using namespace mlir;
using namespace fovea;

//===----------------------------------------------------------------------===//
// Diagnostics
//===----------------------------------------------------------------------===//

void DiagnosticList::clear() {
  list.clear();
  notes.clear();
  strings.clear();
}

FoveaString DiagnosticList::keep(std::string text) {
  return toC(strings.emplace_back(std::move(text)));
}

static FoveaSeverity getSeverity(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Error:
    return FOVEA_ERROR;
  case DiagnosticSeverity::Warning:
    return FOVEA_WARNING;
  case DiagnosticSeverity::Remark:
    return FOVEA_REMARK;
  case DiagnosticSeverity::Note:
    return FOVEA_NOTE;
  }
  return FOVEA_ERROR;
}

FoveaDiagnostic DiagnosticList::convert(Diagnostic &diagnostic) {
  FoveaDiagnostic result = {};
  result.severity = getSeverity(diagnostic.getSeverity());
  result.message = keep(diagnostic.str());
  result.file = keep("");
  Location location = diagnostic.getLocation();
  if (auto place = location->findInstanceOf<FileLineColLoc>()) {
    result.file = keep(place.getFilename().str());
    result.line = place.getLine();
    result.column = place.getColumn();
  }
  std::vector<FoveaDiagnostic> converted;
  for (Diagnostic &note : diagnostic.getNotes())
    converted.push_back(convert(note));
  result.num_notes = converted.size();
  result.notes = notes.emplace_back(std::move(converted)).data();
  return result;
}

void DiagnosticList::add(Diagnostic &diagnostic) {
  list.push_back(convert(diagnostic));
}

void DiagnosticList::add(FoveaSeverity severity, std::string message,
                         std::string note) {
  FoveaDiagnostic result = {};
  result.severity = severity;
  result.message = keep(std::move(message));
  result.file = keep("");
  if (!note.empty()) {
    FoveaDiagnostic detail = {};
    detail.severity = FOVEA_NOTE;
    detail.message = keep(std::move(note));
    detail.file = keep("");
    result.notes = notes.emplace_back(1, detail).data();
    result.num_notes = 1;
  }
  list.push_back(result);
}

bool DiagnosticList::hasErrors() const {
  return llvm::any_of(list, [](const FoveaDiagnostic &diagnostic) {
    return diagnostic.severity == FOVEA_ERROR;
  });
}

const FoveaDiagnostic *foveaContextDiagnostics(const FoveaContext *context,
                                               size_t *count) {
  if (count)
    *count = context ? context->diagnostics.get().size() : 0;
  return context ? context->diagnostics.get().data() : nullptr;
}

//===----------------------------------------------------------------------===//
// Contexts
//===----------------------------------------------------------------------===//

static void registerOnce() {
  static std::once_flag registered;
  std::call_once(registered, [] {
    fovea::registerPasses();
    mlir::registerTransformsPasses();
  });
}

FoveaContext::FoveaContext() {
  registerOnce();
  DialectRegistry registry;
  registerDialects(registry);
  registerTranslations(registry);
  // Single-threaded: the host has threads of its own, and a thread pool per
  // context would not survive a fork.
  mlir =
      std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  // Diagnostics must not contain the whole op.
  mlir->printOpOnDiagnostic(false);
}

bool FoveaContext::call(llvm::function_ref<LogicalResult()> body) {
  diagnostics.clear();
  if (!mlir) {
    diagnostics.add(FOVEA_ERROR, "an earlier failure inside the compiler left "
                                 "this context unusable: " +
                                     broken);
    return false;
  }
  LogicalResult result = failure();
  std::string reason;
  bool ended = runGuarded(
      [&] {
        ScopedDiagnosticHandler handler(mlir.get(),
                                        [&](Diagnostic &diagnostic) {
                                          diagnostics.add(diagnostic);
                                          return success();
                                        });
        result = body();
      },
      reason);
  if (!ended) {
    (void)mlir.release();
    broken = reason;
    diagnostics.add(FOVEA_ERROR, "failure inside the compiler: " + reason);
    return false;
  }
  if (failed(result) && !diagnostics.hasErrors())
    diagnostics.add(FOVEA_ERROR, "the compiler failed without a diagnostic");
  return succeeded(result);
}

LogicalResult FoveaContext::error(const Twine &message) {
  diagnostics.add(FOVEA_ERROR, message.str());
  return failure();
}

FoveaContext *foveaContextCreate(void) {
  FoveaContext *result = nullptr;
  std::string reason;
  runGuarded([&] { result = new FoveaContext(); }, reason);
  return result;
}

void foveaContextDestroy(FoveaContext *context) { delete context; }

const char *foveaVersion(void) { return FOVEA_VERSION; }

const char *foveaTargetName(size_t index) {
  // Target names are string literals, so they have a terminating zero.
  ArrayRef<TargetInfo> targets = getTargets();
  return index < targets.size() ? targets[index].name.data() : nullptr;
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

FoveaModule *foveaModuleParse(FoveaContext *context, const char *text,
                              size_t size, const char *name) {
  if (!context || !text)
    return nullptr;
  FoveaModule *result = nullptr;
  context->call([&]() -> LogicalResult {
    // The parser requires a terminating zero.
    std::string source(text, size);
    StringRef file = name ? name : "<input>";
    MLIRContext *mlir = context->mlir.get();
    if (StringRef(source).starts_with("ML\xefR"))
      return emitError(FileLineColLoc::get(mlir, file, 1, 1),
                       "expected MLIR text, found bytecode");
    if (failed(checkProgramText(mlir, source, file)))
      return failure();
    auto module = parseSourceString<ModuleOp>(source, ParserConfig(mlir), file);
    if (!module)
      return failure();
    result = new FoveaModule{context, std::move(module)};
    return success();
  });
  return result;
}

void foveaModuleDestroy(FoveaModule *module) {
  // Leaks the op if a call failed inside LLVM: it may be in an invalid state.
  if (module && !module->context->mlir)
    (void)module->op.release();
  delete module;
}

FoveaModule *foveaModuleClone(const FoveaModule *module) {
  if (!module)
    return nullptr;
  FoveaModule *result = nullptr;
  FoveaContext *context = module->context;
  context->call([&] {
    OwningOpRef<ModuleOp> copy = ModuleOp(*module->op).clone();
    result = new FoveaModule{context, std::move(copy)};
    return success();
  });
  return result;
}

FoveaResult foveaModuleVerify(FoveaModule *module) {
  bool valid = module &&
               module->context->call([&] { return mlir::verify(*module->op); });
  return valid ? FOVEA_SUCCESS : FOVEA_FAILURE;
}

FoveaResult foveaModuleRunPipeline(FoveaModule *module, const char *pipeline) {
  if (!module || !pipeline)
    return FOVEA_FAILURE;
  FoveaContext *context = module->context;
  bool done = context->call([&]() -> LogicalResult {
    std::string message = checkPipelineText(pipeline);
    if (!message.empty())
      return context->error(message);
    llvm::raw_string_ostream stream(message);
    FailureOr<OpPassManager> parsed = parsePassPipeline(pipeline, stream);
    if (failed(parsed))
      return context->error(StringRef(message).trim());
    if (parsed->getOpAnchorName() != ModuleOp::getOperationName())
      return context->error("expected a pipeline of 'builtin.module', found "
                            "one of '" +
                            parsed->getOpAnchorName() + "'");
    PassManager passes(context->mlir.get());
    static_cast<OpPassManager &>(passes) = std::move(*parsed);
    return passes.run(*module->op);
  });
  return done ? FOVEA_SUCCESS : FOVEA_FAILURE;
}

FoveaString foveaBufferString(const FoveaBuffer *buffer) {
  return buffer ? toC(buffer->text) : FoveaString{"", 0};
}

void foveaBufferDestroy(FoveaBuffer *buffer) { delete buffer; }

FoveaBuffer *foveaModulePrint(FoveaModule *module) {
  if (!module)
    return nullptr;
  FoveaBuffer *result = nullptr;
  module->context->call([&] {
    std::string text;
    llvm::raw_string_ostream stream(text);
    module->op->print(stream);
    stream << "\n";
    result = new FoveaBuffer{std::move(text)};
    return success();
  });
  return result;
}
