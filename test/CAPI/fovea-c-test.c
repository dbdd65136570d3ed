/*===- fovea-c-test.c - Uses libFovea from C ----------------------*- C -*-===*\
|*
|* Part of the Fovea project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
/**
 * usage: fovea-c-test FILE [--target=NAME] [--schedule=TEXT]
 *          [--recurrence=NAME] [--kernel=NAME] [--accurate-tanh] [--line-info]
 *          COMMAND...
 *
 * Commands: version, targets, print, signature, verify, pass=PIPELINE,
 * emit=NUMBER, compile, assemble=PTXAS, run=LEVEL, exact, null, threads=N.
 * Prints what each gives and the diagnostics; the exit code is the number of
 * failures.
 */
#include "fovea-c/Fovea.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FoveaOptions options = {.size = sizeof(FoveaOptions)};
static char *text;
static size_t text_size;
static const char *file_name;
static int failures;
static int64_t trace_keys = 2;

static void print_diagnostics(const FoveaDiagnostic *list, size_t count,
                              int indent) {
  static const char *const names[] = {"error", "warning", "remark", "note"};
  for (size_t i = 0; i < count; ++i) {
    const FoveaDiagnostic *d = &list[i];
    printf("%*s%s:%u:%u: %s: %s\n", indent, "", d->file.data, d->line,
           d->column, names[d->severity], d->message.data);
    print_diagnostics(d->notes, d->num_notes, indent + 2);
  }
}

static void report(const FoveaContext *context, int ok) {
  size_t count;
  const FoveaDiagnostic *list = foveaContextDiagnostics(context, &count);
  print_diagnostics(list, count, 0);
  failures += !ok;
}

static void print_buffer(const FoveaContext *context, FoveaBuffer *buffer) {
  if (buffer)
    fwrite(foveaBufferString(buffer).data, 1, foveaBufferString(buffer).size,
           stdout);
  report(context, buffer != NULL);
  foveaBufferDestroy(buffer);
}

static void read_file(const char *name) {
  FILE *file = fopen(name, "rb");
  if (!file) {
    perror(name);
    exit(100);
  }
  fseek(file, 0, SEEK_END);
  text_size = (size_t)ftell(file);
  rewind(file);
  text = malloc(text_size + 1);
  text_size = fread(text, 1, text_size, file);
  fclose(file);
  const char *slash = strrchr(name, '/');
  file_name = slash ? slash + 1 : name;
}

static char *value_of(char *argument, const char *option) {
  size_t length = strlen(option);
  return strncmp(argument, option, length) == 0 ? argument + length : NULL;
}

static void run(FoveaContext *context, FoveaModule *module,
                FoveaRunOptions how) {
  /* Two keys, one query and one head of dim 16: q = 0, so the output is the
     mean of the values. */
  static uint16_t q[16], k[32], v[32];
  static const int64_t one[] = {1, 1, 1, 16}, two[] = {1, 1, 2, 16};
  for (int i = 0; i < 16; ++i) {
    v[i] = 0x3c00;      /* 1.0 */
    v[16 + i] = 0x4200; /* 3.0 */
  }
  FoveaTensor inputs[] = {{"q", "f16", q, 4, one},
                          {"k", "f16", k, 4, two},
                          {"v", "f16", v, 4, two}};
  FoveaTensors *outputs = foveaInterpret(module, &options, &how, inputs, 3);
  report(context, outputs != NULL);
  for (size_t i = 0; i < foveaTensorsCount(outputs); ++i) {
    FoveaTensor tensor;
    foveaTensorsGet(outputs, i, &tensor);
    printf("%s: %s of rank %zu", tensor.name, tensor.dtype, tensor.rank);
    if (strcmp(tensor.dtype, "f16") == 0)
      printf(", first element 0x%04x", *(uint16_t *)tensor.data);
    if (strcmp(tensor.dtype, "f64") == 0)
      printf(", first element %.12f", *(double *)tensor.data);
    printf("\n");
  }
  foveaTensorsDestroy(outputs);
}

/** The blocks of `rows` queries by 64 keys of 300 queries and keys. */
static void map_blocks(FoveaContext *context, FoveaModule *module,
                       int64_t rows) {
  FoveaBlockMapOptions map = {sizeof map, 1, 1, 300, 300, rows, 64, 0, 0};
  print_buffer(context, foveaBlockMap(module, &options, &map, NULL, 0));
  printf("\n");
}

/**
 * Two of five queries, from `first` on: visible keys, and the modified score of
 * 1.
 */
static void list_elements(FoveaContext *context, FoveaModule *module,
                          int64_t first) {
  const double score = 1;
  FoveaElementOptions wanted = {sizeof wanted, 1, 1,      5, 5, 0, 0,
                                first,         2, &score, 1};
  FoveaTensors *found = foveaElements(module, &options, &wanted, NULL, 0);
  report(context, found != NULL);
  for (size_t i = 0; i < foveaTensorsCount(found); ++i) {
    FoveaTensor tensor;
    foveaTensorsGet(found, i, &tensor);
    printf("%s:", tensor.name);
    for (int j = 0; j < 10; ++j)
      printf(" %g", strcmp(tensor.dtype, "f64") == 0
                        ? ((double *)tensor.data)[j]
                        : (double)((char *)tensor.data)[j]);
    printf("\n");
  }
  foveaTensorsDestroy(found);
}

/**
 * The trace of at most `events` events with one query and some keys, all zeros.
 */
static void trace(FoveaContext *context, FoveaModule *module, size_t events) {
  static const int64_t query[] = {1, 1, 1, 16};
  const int64_t keys[] = {1, 1, trace_keys, 16};
  uint16_t *zeros = calloc((size_t)trace_keys * 16, sizeof *zeros);
  FoveaTensor inputs[] = {{"q", "f16", zeros, 4, query},
                          {"k", "f16", zeros, 4, keys},
                          {"v", "f16", zeros, 4, keys}};
  print_buffer(context, foveaTrace(module, &options, inputs, 3, events));
  printf("\n");
  free(zeros);
}

/** Invalid inputs and options, each with its diagnostic. */
static void refuse_calls(FoveaContext *context, FoveaModule *module) {
  static uint16_t zeros[32];
  static const int64_t one[] = {1, 1, 1, 16}, pair[] = {2};
  static float scale = 1;
  const FoveaRunOptions attn = {sizeof attn, FOVEA_ARTIFACT_ATTN, 0, 0},
                        exact = {sizeof exact, FOVEA_ARTIFACT_TILE, 1, 0};
  FoveaTensor inputs[] = {{"q", "f16", zeros, 4, one},
                          {"k", "f16", zeros, 4, one},
                          {"v", "f16", zeros, 4, one},
                          {"scale", "f32", &scale, 0, NULL}};
  foveaTensorsDestroy(foveaInterpret(module, &options, &exact, inputs, 4));
  report(context, 0);
  inputs[0].sizes = NULL;
  foveaTensorsDestroy(foveaInterpret(module, &options, &attn, inputs, 4));
  report(context, 0);
  inputs[0].sizes = one;
  inputs[0].data = NULL;
  foveaTensorsDestroy(foveaInterpret(module, &options, &attn, inputs, 4));
  report(context, 0);
  inputs[0].data = zeros;
  inputs[3].rank = 1;
  inputs[3].sizes = pair;
  foveaTensorsDestroy(foveaInterpret(module, &options, &attn, inputs, 4));
  report(context, 0);
  FoveaBlockMapOptions map = {sizeof map, 1, 1, 1 << 20, 1 << 20, 1, 1, 0, 0};
  foveaBufferDestroy(foveaBlockMap(module, &options, &map, NULL, 0));
  report(context, 0);
  static const double scores[65];
  FoveaElementOptions wanted = {sizeof wanted, 1, 1, 5, 5, 0, 0, 0, 5,
                                scores,        65};
  foveaTensorsDestroy(foveaElements(module, &options, &wanted, NULL, 0));
  report(context, 0);
  wanted.num_scores = 64;
  wanted.rows = wanted.queries = wanted.keys = 1 << 20;
  foveaTensorsDestroy(foveaElements(module, &options, &wanted, NULL, 0));
  report(context, 0);
}

/** Nothing that is null may matter. */
static void pass_null(FoveaContext *context, FoveaModule *module) {
  size_t count = 1;
  int ok = foveaContextDiagnostics(NULL, &count) == NULL && count == 0 &&
           foveaModuleParse(NULL, "", 0, NULL) == NULL &&
           foveaModuleParse(context, NULL, 0, NULL) == NULL &&
           foveaModuleClone(NULL) == NULL &&
           foveaModuleVerify(NULL) == FOVEA_FAILURE &&
           foveaModuleRunPipeline(module, NULL) == FOVEA_FAILURE &&
           foveaModulePrint(NULL) == NULL && foveaCompile(NULL, NULL) == NULL &&
           foveaEmit(NULL, NULL, FOVEA_ARTIFACT_PTX) == NULL &&
           foveaAssemble(context, NULL, 0, "sm_80", "ptxas") == NULL &&
           foveaSmallerSchedules(context, NULL, 0) == NULL &&
           foveaModuleSignature(NULL, NULL) == NULL &&
           foveaInterpret(module, NULL, NULL, NULL, 1) == NULL &&
           foveaBlockMap(module, NULL, NULL, NULL, 0) == NULL &&
           foveaTrace(module, NULL, NULL, 1, 1) == NULL &&
           foveaElements(module, NULL, NULL, NULL, 0) == NULL &&
           foveaExplain(NULL, NULL) == NULL && foveaTensorsCount(NULL) == 0 &&
           foveaTensorsGet(NULL, 0, NULL) == FOVEA_FAILURE &&
           foveaKernelPTX(NULL).size == 0 && foveaBufferString(NULL).size == 0;
  foveaModuleDestroy(NULL);
  foveaContextDestroy(NULL);
  foveaKernelDestroy(NULL);
  foveaBufferDestroy(NULL);
  foveaTensorsDestroy(NULL);
  printf("null: %s\n", ok ? "refused" : "TAKEN");
  failures += !ok;
}

/** Compiles in a context of its own; the PTX. */
static void *compile_in_thread(void *unused) {
  FoveaContext *context = foveaContextCreate();
  FoveaModule *module = foveaModuleParse(context, text, text_size, file_name);
  FoveaKernel *kernel = foveaCompile(module, &options);
  char *ptx = kernel ? strdup(foveaKernelPTX(kernel).data) : NULL;
  foveaKernelDestroy(kernel);
  /* Errors of one thread are not those of another. */
  FoveaModule *wrong = foveaModuleParse(context, "func.func", 9, "wrong");
  size_t count;
  foveaContextDiagnostics(context, &count);
  if (wrong || count != 1) {
    free(ptx);
    ptx = NULL;
  }
  foveaModuleDestroy(module);
  foveaContextDestroy(context);
  return ptx;
}

static void compile_in_threads(int count) {
  enum { MOST = 16 };
  pthread_t threads[MOST];
  void *ptx[MOST];
  for (int i = 0; i < count && i < MOST; ++i)
    pthread_create(&threads[i], NULL, compile_in_thread, NULL);
  int same = 1;
  for (int i = 0; i < count && i < MOST; ++i) {
    pthread_join(threads[i], &ptx[i]);
    same = same && ptx[i] && strcmp(ptx[0], ptx[i]) == 0;
  }
  for (int i = 0; i < count && i < MOST; ++i)
    free(ptx[i]);
  printf("%d threads: %s PTX\n", count, same ? "the same" : "DIFFERENT");
  failures += !same;
}

static void execute(FoveaContext *context, FoveaModule *module, char *command) {
  char *value;
  if (strcmp(command, "version") == 0) {
    printf("version %s\n", foveaVersion());
  } else if (strcmp(command, "targets") == 0) {
    const char *name;
    for (size_t i = 0; (name = foveaTargetName(i)); ++i)
      printf("target %s\n", name);
  } else if (strcmp(command, "print") == 0) {
    print_buffer(context, foveaModulePrint(module));
  } else if (strcmp(command, "signature") == 0) {
    print_buffer(context, foveaModuleSignature(module, &options));
    printf("\n");
  } else if (strcmp(command, "verify") == 0) {
    FoveaModule *copy = foveaModuleClone(module);
    foveaModuleDestroy(module);
    FoveaResult result = foveaModuleVerify(copy);
    printf("verify: %d\n", result);
    report(context, result == FOVEA_SUCCESS);
    foveaModuleDestroy(copy);
    exit(failures);
  } else if ((value = value_of(command, "pass="))) {
    report(context, foveaModuleRunPipeline(module, value) == FOVEA_SUCCESS);
  } else if ((value = value_of(command, "emit="))) {
    print_buffer(context,
                 foveaEmit(module, &options, (FoveaArtifact)atoi(value)));
  } else if ((value = value_of(command, "map="))) {
    map_blocks(context, module, atoi(value));
  } else if ((value = value_of(command, "elements="))) {
    list_elements(context, module, atoi(value));
  } else if (strcmp(command, "explain") == 0) {
    print_buffer(context, foveaExplain(module, &options));
    printf("\n");
  } else if ((value = value_of(command, "trace="))) {
    trace(context, module, (size_t)atoi(value));
  } else if (strcmp(command, "compile") == 0) {
    FoveaKernel *kernel = foveaCompile(module, &options);
    report(context, kernel != NULL);
    if (kernel)
      printf("kernel %s\n%s\n%s\n", foveaKernelName(kernel).data,
             foveaKernelMetadata(kernel).data, foveaKernelPTX(kernel).data);
    foveaKernelDestroy(kernel);
  } else if ((value = value_of(command, "assemble="))) {
    FoveaKernel *kernel = foveaCompile(module, &options);
    FoveaString ptx = foveaKernelPTX(kernel);
    FoveaBuffer *cubin =
        foveaAssemble(context, ptx.data, ptx.size, options.target, value);
    report(context, cubin != NULL);
    if (cubin)
      printf("machine code: %.3s\n", foveaBufferString(cubin).data + 1);
    foveaBufferDestroy(cubin);
    foveaKernelDestroy(kernel);
  } else if (strcmp(command, "smaller") == 0) {
    FoveaKernel *kernel = foveaCompile(module, &options);
    FoveaString metadata = foveaKernelMetadata(kernel);
    report(context, kernel != NULL);
    FoveaBuffer *schedules =
        foveaSmallerSchedules(context, metadata.data, metadata.size);
    report(context, schedules != NULL);
    if (schedules)
      printf("%s", foveaBufferString(schedules).data);
    foveaBufferDestroy(schedules);
    report(context, foveaSmallerSchedules(context, "{}", 2) != NULL);
    foveaKernelDestroy(kernel);
  } else if ((value = value_of(command, "run="))) {
    FoveaRunOptions how = {sizeof how, (FoveaArtifact)atoi(value), 0, 7};
    run(context, module, how);
  } else if (strcmp(command, "exact") == 0) {
    FoveaRunOptions how = {sizeof how, FOVEA_ARTIFACT_ATTN, 1, 0};
    run(context, module, how);
  } else if (strcmp(command, "refused") == 0) {
    refuse_calls(context, module);
  } else if (strcmp(command, "null") == 0) {
    pass_null(context, module);
  } else if ((value = value_of(command, "threads="))) {
    compile_in_threads(atoi(value));
  } else {
    printf("unknown command %s\n", command);
    ++failures;
  }
}

int main(int argc, char **argv) {
  if (argc < 2)
    return 100;
  read_file(argv[1]);
  FoveaContext *context = foveaContextCreate();
  FoveaModule *module = foveaModuleParse(context, text, text_size, file_name);
  report(context, module != NULL);
  for (int i = 2; module && i < argc; ++i) {
    char *value;
    if ((value = value_of(argv[i], "--target=")))
      options.target = value;
    else if ((value = value_of(argv[i], "--schedule=")))
      options.schedule = value;
    else if ((value = value_of(argv[i], "--recurrence=")))
      options.recurrence = value;
    else if ((value = value_of(argv[i], "--schedule-table=")))
      options.schedule_table = value;
    else if ((value = value_of(argv[i], "--kernel=")))
      options.kernel = value;
    else if ((value = value_of(argv[i], "--keys=")))
      trace_keys = atoi(value);
    else if ((value = value_of(argv[i], "--size=")))
      options.size = (size_t)atoi(value);
    else if (strcmp(argv[i], "--accurate-tanh") == 0)
      options.accurate_tanh = 1;
    else if (strcmp(argv[i], "--line-info") == 0)
      options.line_info = 1;
    else
      execute(context, module, argv[i]);
  }
  foveaModuleDestroy(module);
  foveaContextDestroy(context);
  free(text);
  return failures;
}
