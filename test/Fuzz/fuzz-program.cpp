//===- fuzz-program.cpp - Fuzzes programs through the C API ---------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Uses the C API as a host with untrusted input would: parses the text, prints
// it and parses it again, then runs one path of the compiler, selected by the
// text. A failure must have a diagnostic, and no call may end early inside the
// compiler.
//
//===----------------------------------------------------------------------===//

#include "TextMutator.h"

#include "fovea-c/Fovea.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {
/// Replaced now and then, since a context keeps everything that it has parsed.
class Contexts {
public:
  FoveaContext *get() {
    if (used++ % 512 == 0) {
      foveaContextDestroy(context);
      context = foveaContextCreate();
    }
    return context;
  }
  ~Contexts() { foveaContextDestroy(context); }

private:
  FoveaContext *context = nullptr;
  unsigned used = 0;
};
} // namespace

[[noreturn]] static void give(const char *what) {
  fprintf(stderr, "find: %s\n", what);
  abort();
}

/// A failure has a reason that is the program's.
static void checkFailure(FoveaContext *context) {
  size_t count;
  const FoveaDiagnostic *list = foveaContextDiagnostics(context, &count);
  // At their beginning: a message may quote the program, which may say
  // anything.
  static const char *const ours[] = {
      "failure inside the compiler: ", "an earlier failure inside the compiler",
      "the compiler failed without a diagnostic"};
  bool hasReason = false;
  for (size_t i = 0; i < count; ++i) {
    for (const char *beginning : ours)
      if (strncmp(list[i].message.data, beginning, strlen(beginning)) == 0)
        give(list[i].message.data);
    hasReason |= list[i].severity == FOVEA_ERROR;
  }
  if (!hasReason)
    give("a failure without a reason");
}

static void emit(FoveaContext *context, FoveaModule *module, uint32_t choice) {
  static const char *const targets[] = {"sm_80", "sm_90a"};
  FoveaOptions options = {};
  options.size = sizeof options;
  options.target = targets[choice & 1];
  // The backend takes most of the time, and little of it is ours.
  FoveaArtifact artifact =
      choice / 2 % 16 ? FOVEA_ARTIFACT_NVVM : FOVEA_ARTIFACT_PTX;
  if (FoveaBuffer *text = foveaEmit(module, &options, artifact))
    foveaBufferDestroy(text);
  else
    checkFailure(context);
}

static void runPass(FoveaContext *context, FoveaModule *module,
                    uint32_t choice) {
  // All but warp-print-roles, which prints; test_passes.py finds those missing.
  static const char *const passes[] = {
      "builtin.module(canonicalize,cse)",
      "builtin.module(func.func(attn-raise-linalg))",
      "builtin.module(func.func(attn-differentiate))",
      "builtin.module(func.func(attn-analyze-mask))",
      "builtin.module(attn-make-gradient)",
      "builtin.module(attn-outline)",
      "builtin.module(attn-to-tile{target=sm_80})",
      "builtin.module(attn-to-tile{target=sm_90a})",
      "builtin.module(attn-outline,attn-to-tile{launch-calls})",
      "builtin.module(fovea-to-tile{target=sm_90a},canonicalize)",
      "builtin.module(gpu.module(gpu.func(tile-fuse-online-softmax)))",
      "builtin.module(gpu.module(gpu.func(tile-lower-blocks)))",
      "builtin.module(gpu.module(gpu.func(tile-stream-relative-positions)))",
      "builtin.module(gpu.module(gpu.func(tile-interleave-query-tiles)))",
      "builtin.module(gpu.module(gpu.func(tile-lower-shares)))",
      "builtin.module(gpu.module(gpu.func(tile-lower-work)))",
      "builtin.module(gpu.module(gpu.func(tile-to-warp)))",
      "builtin.module(gpu.module(gpu.func(tile-sink-coordinates)))",
      "builtin.module(gpu.module(gpu.func(warp-assign-ballot-layouts)))",
      ("builtin.module(gpu.module(gpu.func(warp-assign-relative-position-"
       "layouts)))"),
      "builtin.module(gpu.module(gpu.func(warp-distribute-work)))",
      "builtin.module(gpu.module(gpu.func(warp-insert-async-copies)))",
      "builtin.module(gpu.module(gpu.func(warp-insert-pipelines)))",
      "builtin.module(gpu.module(gpu.func(warp-schedule-loops)))",
      "builtin.module(gpu.module(gpu.func(warp-hold-across-waits)))",
      "builtin.module(gpu.module(gpu.func(warp-delay-atomic-adds)))",
      "builtin.module(gpu.module(gpu.func(warp-chain-tiles)))",
      "builtin.module(gpu.module(gpu.func(warp-assign-layouts)))",
      "builtin.module(gpu.module(gpu.func(warp-split-softmax)))",
      "builtin.module(gpu.module(gpu.func(warp-approximate-exp2{share=50})))",
      "builtin.module(gpu.module(gpu.func(warp-lower-ballots)))",
      "builtin.module(gpu.module(gpu.func(warp-ping-pong)))",
      "builtin.module(gpu.module(gpu.func(warp-split-semaphore-roles)))",
      "builtin.module(gpu.module(gpu.func(warp-insert-output-copies)))",
      "builtin.module(gpu.module(gpu.func(warp-specialize)))",
      "builtin.module(gpu.module(gpu.func(warp-split-columns)))",
      "builtin.module(gpu.module(gpu.func(warp-prefetch-scalars)))",
      "builtin.module(gpu.module(gpu.func(warp-split-masked-loops)))",
      "builtin.module(gpu.module(gpu.func(warp-hoist-vectors)))",
      "builtin.module(gpu.module(gpu.func(warp-allocate-shared-memory)))",
      "builtin.module(gpu.module(gpu.func(warp-sync-lanes)))",
      "builtin.module(gpu.module(gpu.func(warp-verify-pipelines)))",
      "builtin.module(gpu.module(warp-to-nvvm))",
      "builtin.module(fovea-warp-to-nvvm)",
      "builtin.module(fovea-to-host{bufferize=false})",
      "builtin.module(launch-serialize-kernels)",
      "builtin.module(launch-to-llvm)"};
  constexpr size_t count = sizeof passes / sizeof *passes;
  if (foveaModuleRunPipeline(module, passes[choice % count]) != FOVEA_SUCCESS)
    checkFailure(context);
  else if (foveaModuleVerify(module) != FOVEA_SUCCESS)
    give("a pass left an invalid program");
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static Contexts contexts;
  FoveaContext *context = contexts.get();
  FoveaModule *module = foveaModuleParse(
      context, reinterpret_cast<const char *>(data), size, "input.mlir");
  if (!module) {
    checkFailure(context);
    return 0;
  }
  FoveaBuffer *printed = foveaModulePrint(module);
  FoveaString text = foveaBufferString(printed);
  FoveaModule *again =
      foveaModuleParse(context, text.data, text.size, "printed.mlir");
  if (!again)
    give("what was printed is no program");
  foveaModuleDestroy(again);
  uint32_t choice = 2166136261u;
  for (size_t i = 0; i < size; ++i)
    choice = (choice ^ data[i]) * 16777619u;
  choice = choice >> 8;
  if (choice & 1)
    emit(context, module, choice >> 1);
  else
    runPass(context, module, choice >> 1);
  foveaBufferDestroy(printed);
  foveaModuleDestroy(module);
  return 0;
}
