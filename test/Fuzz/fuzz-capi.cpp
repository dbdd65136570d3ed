//===- fuzz-capi.cpp - Fuzzes calls of the C API --------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bytes select calls and their arguments: options, pipelines, artifacts,
// tensors with inconsistent fields. Pointers are null or valid, since no
// library can detect others.
//
//===----------------------------------------------------------------------===//

#include "fovea-c/Fovea.h"

#include <fuzzer/FuzzedDataProvider.h>

#include <list>

#include <cstdio>
#include <cstdlib>
#include <cstring>

static const char program[] =
    "func.func @f(%q: tensor<1x2x?x16xf16>, %k: tensor<1x1x?x16xf16>,\n"
    "    %v: tensor<1x1x?x16xf16>, %w: tensor<?xf32>) -> "
    "(tensor<1x2x?x16xf16>, tensor<1x2x?xf32>) {\n"
    "  %o, %l = attn.forward %q, %k, %v captures(%w : tensor<?xf32>)\n"
    "    mask_mod(%b: index, %h: index, %i: index, %j: index, %c: "
    "tensor<?xf32>) {\n"
    "      %m = arith.cmpi sge, %i, %j : index\n"
    "      attn.yield %m : i1\n"
    "    } : tensor<1x2x?x16xf16>, tensor<1x1x?x16xf16>, "
    "tensor<1x1x?x16xf16> -> tensor<1x2x?x16xf16>, tensor<1x2x?xf32>\n"
    "  return %o, %l : tensor<1x2x?x16xf16>, tensor<1x2x?xf32>\n"
    "}\n";

namespace {
/// Arguments made of bytes. What is made lives as long as this does.
class Arguments {
public:
  Arguments(const uint8_t *data, size_t size) : bytes(data, size) {}

  bool more() { return bytes.remaining_bytes() > 0; }
  unsigned pick(unsigned count) {
    return bytes.ConsumeIntegralInRange<unsigned>(0, count - 1);
  }

  /// Null, one of those that mean something, or any.
  const char *string(std::initializer_list<const char *> known) {
    unsigned choice = pick(known.size() + 2);
    if (choice < known.size())
      return known.begin()[choice];
    if (choice == known.size())
      return nullptr;
    strings.push_back(bytes.ConsumeRandomLengthString(64));
    return strings.back().c_str();
  }

  FoveaOptions options() {
    FoveaOptions result = {};
    result.size = pick(4) ? sizeof result : pick(2 * sizeof result);
    result.target = string({"sm_80", "sm_90a", "sm_90", ""});
    result.schedule =
        string({"auto", "tile_n=32", "warps=8,stages=3", "tile_m=0", ","});
    result.recurrence = string({"auto", "lazy", "three-pass", "deferred"});
    result.kernel = string({"f", "g"});
    result.accurate_tanh = pick(2);
    result.schedule_table = string({"/", "/dev/null", "/nowhere"});
    // Memory beyond the size belongs to no object.
    return result;
  }

  FoveaArtifact artifact() { return FoveaArtifact(int(pick(10)) - 1); }

  std::vector<FoveaTensor> tensors() {
    std::vector<FoveaTensor> result(pick(7));
    for (FoveaTensor &tensor : result) {
      tensor.name = string({"q", "k", "v", "capture0", "w", "scale"});
      tensor.dtype = string({"f16", "f32", "bf16", "i1", "i64"});
      sizes.emplace_back();
      for (unsigned rank = pick(8); rank > 0; --rank) {
        static const int64_t extents[] = {1, 2, 4, 16, 8, 0, -1, INT64_MAX};
        sizes.back().push_back(extents[pick(6 + 2 * (pick(8) == 0))]);
      }
      tensor.rank = sizes.back().size();
      tensor.sizes = pick(20) ? sizes.back().data() : nullptr;
      // Large enough for every shape that is not absurd.
      static char memory[1 << 21];
      tensor.data = pick(20) ? memory : nullptr;
    }
    return result;
  }

private:
  FuzzedDataProvider bytes;
  std::list<std::string> strings;
  std::list<std::vector<int64_t>> sizes;
};
} // namespace

static void checkDiagnostics(FoveaContext *context) {
  constexpr const char *kInside = "failure inside the compiler";
  size_t count;
  const FoveaDiagnostic *list = foveaContextDiagnostics(context, &count);
  for (size_t i = 0; i < count; ++i)
    // Only a prefix counts: names may contain any text.
    if (strncmp(list[i].message.data, kInside, strlen(kInside)) == 0) {
      fprintf(stderr, "%s\n", list[i].message.data);
      abort();
    }
}

static void call(Arguments &arguments, FoveaContext *context,
                 FoveaModule *module) {
  FoveaOptions options = arguments.options();
  const FoveaOptions *given = arguments.pick(10) ? &options : nullptr;
  FoveaBuffer *buffer = nullptr;
  switch (arguments.pick(11)) {
  case 0:
    foveaKernelDestroy(foveaCompile(module, given));
    break;
  case 1:
    buffer = foveaEmit(module, given, arguments.artifact());
    break;
  case 2: {
    FoveaModule *copy = foveaModuleClone(module);
    foveaModuleRunPipeline(
        copy, arguments.string({"builtin.module(canonicalize)",
                                "builtin.module(fovea-to-tile{target=sm_90a})",
                                "any(cse)", "builtin.module(any(any(", ")"}));
    foveaModuleDestroy(copy);
    break;
  }
  case 3: {
    const char *text = arguments.string({"{}", "{\"schedule\": {}}", "[[["});
    buffer = foveaSmallerSchedules(context, text, text ? strlen(text) : 0);
    break;
  }
  case 4: {
    FoveaRunOptions run = {};
    run.size = arguments.pick(2 * sizeof run);
    run.level = arguments.artifact();
    run.exact = arguments.pick(2);
    std::vector<FoveaTensor> inputs = arguments.tensors();
    foveaTensorsDestroy(
        foveaInterpret(module, given, &run, inputs.data(), inputs.size()));
    break;
  }
  case 5: {
    FoveaBlockMapOptions map = {};
    map.size = arguments.pick(4) ? sizeof map : arguments.pick(sizeof map);
    int64_t *fields[] = {&map.batch, &map.heads, &map.queries,
                         &map.keys,  &map.rows,  &map.columns};
    static const int64_t values[] = {1, 2, 16, 64, 100, 0, -1, INT64_MAX};
    for (int64_t *field : fields)
      *field = values[arguments.pick(arguments.pick(8) ? 5 : 8)];
    std::vector<FoveaTensor> inputs = arguments.tensors();
    buffer = foveaBlockMap(module, given, &map, inputs.data(), inputs.size());
    break;
  }
  case 6: {
    std::vector<FoveaTensor> inputs = arguments.tensors();
    buffer = foveaTrace(module, given, inputs.data(), inputs.size(),
                        arguments.pick(1000));
    break;
  }
  case 7:
    buffer = foveaModuleSignature(module, given);
    break;
  case 8:
    buffer = foveaExplain(module, given);
    break;
  case 9: {
    FoveaElementOptions wanted = {};
    wanted.size =
        arguments.pick(4) ? sizeof wanted : arguments.pick(sizeof wanted);
    int64_t *fields[] = {&wanted.batch, &wanted.heads, &wanted.queries,
                         &wanted.keys,  &wanted.rows,  &wanted.entry,
                         &wanted.head,  &wanted.first};
    static const int64_t values[] = {1, 2, 16, 64, 100, 0, -1, INT64_MAX};
    for (int64_t *field : fields)
      *field = values[arguments.pick(arguments.pick(8) ? 6 : 8)];
    static const double scores[] = {0, -1e300};
    wanted.scores = arguments.pick(4) ? scores : nullptr;
    wanted.num_scores = arguments.pick(3);
    std::vector<FoveaTensor> inputs = arguments.tensors();
    foveaTensorsDestroy(
        foveaElements(module, given, &wanted, inputs.data(), inputs.size()));
    break;
  }
  default: {
    const char *text = arguments.string({program, "module {", "array<index"});
    foveaModuleDestroy(foveaModuleParse(context, text, text ? strlen(text) : 0,
                                        arguments.string({"f.mlir", ""})));
  }
  }
  foveaBufferDestroy(buffer);
  checkDiagnostics(context);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static FoveaContext *context = nullptr;
  static FoveaModule *module = nullptr;
  static unsigned used = 0;
  if (used++ % 512 == 0) {
    foveaModuleDestroy(module);
    foveaContextDestroy(context);
    context = foveaContextCreate();
    module = foveaModuleParse(context, program, strlen(program), "program");
    if (!module)
      abort();
  }
  Arguments arguments(data, size);
  for (int calls = 0; calls < 4 && arguments.more(); ++calls)
    call(arguments, arguments.pick(40) ? context : nullptr,
         arguments.pick(40) ? module : nullptr);
  return 0;
}
