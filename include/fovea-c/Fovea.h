/*===- fovea-c/Fovea.h - The compiler, for any language -----------*- C -*-===*\
|*
|* Part of the Fovea project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
/**
 * @file
 * C API of the compiler (libFovea). It parses attention programs, compiles them
 * to PTX and launch metadata (docs/Specification/ABI.md), prints the IR of
 * every level, and runs programs on the CPU. libFoveaRuntime
 * (fovea/Runtime/fovea_runtime.h) launches the compiled kernels.
 *
 * No function prints, exits or aborts. Errors are reported as diagnostics,
 * which belong to the context and describe its last call. A failing call leaves
 * at least one diagnostic of severity FOVEA_ERROR.
 *
 * A context and the objects created with it must be used by one thread at a
 * time; different threads may use different contexts concurrently. Functions
 * that destroy an object accept null.
 */
#ifndef FOVEA_C_FOVEA_H
#define FOVEA_C_FOVEA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define FOVEA_C_API __attribute__((visibility("default")))
#else
#define FOVEA_C_API
#endif

/** Result of a call. The values are part of the ABI and do not change. */
typedef enum FoveaResult {
  FOVEA_SUCCESS = 0,
  /** The diagnostics give the reason, unless an argument was null. */
  FOVEA_FAILURE = 1
} FoveaResult;

/** A byte range owned by the library or the caller, followed by a zero byte. */
typedef struct FoveaString {
  const char *data;
  size_t size;
} FoveaString;

/** The library's version, for example "0.1.0". Never null. */
FOVEA_C_API const char *foveaVersion(void);

/**
 * The name of the supported target at `index`, for example "sm_90a"; null if
 * `index` is past the last target.
 */
FOVEA_C_API const char *foveaTargetName(size_t index);

/*===-- Contexts ----------------------------------------------------------===*/

/** Owns programs and the diagnostics of the last call. */
typedef struct FoveaContext FoveaContext;

/** Creates a context. Returns null if host memory is exhausted. */
FOVEA_C_API FoveaContext *foveaContextCreate(void);

/** Destroys a context. Destroy its modules first. */
FOVEA_C_API void foveaContextDestroy(FoveaContext *context);

typedef enum FoveaSeverity {
  FOVEA_ERROR = 0,
  FOVEA_WARNING = 1,
  FOVEA_REMARK = 2,
  FOVEA_NOTE = 3
} FoveaSeverity;

/** A message about a location in a program. */
typedef struct FoveaDiagnostic {
  FoveaSeverity severity;
  FoveaString message;
  /** Empty if the location is unknown. Lines and columns count from 1. */
  FoveaString file;
  unsigned line, column;
  /** Attached notes. */
  const struct FoveaDiagnostic *notes;
  size_t num_notes;
} FoveaDiagnostic;

/**
 * The diagnostics of the last call with this context, in order of emission. The
 * array and its strings are valid until the next call.
 */
FOVEA_C_API const FoveaDiagnostic *
foveaContextDiagnostics(const FoveaContext *context, size_t *count);

/*===-- Modules -----------------------------------------------------------===*/

/** A program: functions with attention ops, or kernels at any level. */
typedef struct FoveaModule FoveaModule;

/**
 * Parses and verifies MLIR text. `name` is the file name in diagnostics; null
 * means "<input>". Returns null if the text is not a valid program.
 */
FOVEA_C_API FoveaModule *foveaModuleParse(FoveaContext *context,
                                          const char *text, size_t size,
                                          const char *name);

FOVEA_C_API void foveaModuleDestroy(FoveaModule *module);

/** Copies a module within its context. */
FOVEA_C_API FoveaModule *foveaModuleClone(const FoveaModule *module);

/** Verifies the module. */
FOVEA_C_API FoveaResult foveaModuleVerify(FoveaModule *module);

/**
 * Runs passes on the module, in the syntax of fovea-opt's --pass-pipeline, for
 * example "builtin.module(canonicalize,fovea-to-tile{target=sm_90a})". All
 * passes of docs/reference and MLIR's general transformations are registered.
 * After a failure the state of the module is unspecified; it can only be
 * destroyed.
 */
FOVEA_C_API FoveaResult foveaModuleRunPipeline(FoveaModule *module,
                                               const char *pipeline);

/** Text owned by the caller. */
typedef struct FoveaBuffer FoveaBuffer;

/** The text of a buffer, valid until the buffer is destroyed. */
FOVEA_C_API FoveaString foveaBufferString(const FoveaBuffer *buffer);

FOVEA_C_API void foveaBufferDestroy(FoveaBuffer *buffer);

/** Prints the module as MLIR text. */
FOVEA_C_API FoveaBuffer *foveaModulePrint(FoveaModule *module);

/*===-- Compiling ---------------------------------------------------------===*/

/** Compilation options. Null strings and zeros select the defaults. */
typedef struct FoveaOptions {
  /** sizeof(FoveaOptions); allows later versions to append fields. */
  size_t size;
  /** The target GPU, one of foveaTargetName. Default: "sm_90a". */
  const char *target;
  /**
   * "auto", or options of docs/Dialects/Plan.md such as "tile_n=32,stages=3".
   * Default: "auto".
   */
  const char *schedule;
  /**
   * The algorithm of the softmax loop, for example "deferred". Default: the one
   * that the schedule selects.
   */
  const char *recurrence;
  /** The function to compile, by name. Default: the only one in the module. */
  const char *kernel;
  /**
   * Nonzero: compute tanh within 1e-6. Zero: use the GPU's approximation, whose
   * measured error is 2^-16.5.
   */
  int accurate_tanh;
  /** A file of measured schedules (docs/Guides/Debugging.md). Default: none. */
  const char *schedule_table;
  /**
   * Nonzero: the PTX maps each instruction to a line of the program (.file,
   * .loc), and foveaEmit prints MLIR with locations.
   */
  int line_info;
} FoveaOptions;

/** A compiled kernel. It is independent of the context. */
typedef struct FoveaKernel FoveaKernel;

/**
 * Compiles the attention op of a module to a kernel. The module is not
 * modified. `options` may be null.
 */
FOVEA_C_API FoveaKernel *foveaCompile(FoveaModule *module,
                                      const FoveaOptions *options);

FOVEA_C_API void foveaKernelDestroy(FoveaKernel *kernel);

/** The name of the entry, the PTX, and the launch metadata as JSON. */
FOVEA_C_API FoveaString foveaKernelName(const FoveaKernel *kernel);
FOVEA_C_API FoveaString foveaKernelPTX(const FoveaKernel *kernel);
FOVEA_C_API FoveaString foveaKernelMetadata(const FoveaKernel *kernel);

/** The outputs of foveaEmit, in order of lowering. */
typedef enum FoveaArtifact {
  FOVEA_ARTIFACT_ATTN = 0, /**< the input program */
  FOVEA_ARTIFACT_TILE = 1, /**< tile programs with fused softmax loops */
  FOVEA_ARTIFACT_WARP = 2, /**< warp programs with assigned layouts */
  FOVEA_ARTIFACT_NVVM = 3, /**< kernels in the NVVM dialect */
  FOVEA_ARTIFACT_LLVM = 4, /**< optimised LLVM IR */
  FOVEA_ARTIFACT_PTX = 5,
  FOVEA_ARTIFACT_METADATA = 6 /**< JSON, docs/Specification/ABI.md */
} FoveaArtifact;

/**
 * Compiles up to `artifact` and returns its text. The module is not modified.
 */
FOVEA_C_API FoveaBuffer *foveaEmit(FoveaModule *module,
                                   const FoveaOptions *options,
                                   FoveaArtifact artifact);

/**
 * Assembles PTX for a target with the program `ptxas`, given by its path. The
 * output of `ptxas -v` (registers, spills) is attached as a remark, or as a
 * note of the error if ptxas fails. Register spills and serialised wgmma
 * instructions are reported as warnings.
 */
FOVEA_C_API FoveaBuffer *foveaAssemble(FoveaContext *context, const char *ptx,
                                       size_t size, const char *target,
                                       const char *ptxas);

/**
 * Schedules that need fewer registers than the one in a kernel's launch
 * metadata, the fastest first, one per line, in the syntax of
 * FoveaOptions.schedule. Empty if there are none. Intended for kernels with
 * warnings from foveaAssemble.
 */
FOVEA_C_API FoveaBuffer *
foveaSmallerSchedules(FoveaContext *context, const char *metadata, size_t size);

/*===-- Running on the CPU ------------------------------------------------===*/

/** A dense, row-major tensor in host memory. A scalar has rank 0. */
typedef struct FoveaTensor {
  /** "q", "k", "v", "o", "lse", "scale", "lengths", "capture0" and so on. */
  const char *name;
  /** "f16", "bf16", "f32", "f64", "i1" (a byte), "i8", "i16", "i32", "i64". */
  const char *dtype;
  void *data;
  size_t rank;
  const int64_t *sizes;
} FoveaTensor;

/** Tensors owned by the caller. */
typedef struct FoveaTensors FoveaTensors;

FOVEA_C_API size_t foveaTensorsCount(const FoveaTensors *tensors);
/** Describes the tensor at `index`; valid until the tensors are destroyed. */
FOVEA_C_API FoveaResult foveaTensorsGet(const FoveaTensors *tensors,
                                        size_t index, FoveaTensor *tensor);
FOVEA_C_API void foveaTensorsDestroy(FoveaTensors *tensors);

/**
 * The inputs and outputs of the function `options->kernel`, or of the only
 * function, in order, as JSON: {"inputs": [{"name": "q", "dtype": "bf16",
 * "shape": [null, 8, null, 64]}, ...], "outputs": [...]}. A dynamic size is
 * null.
 */
FOVEA_C_API FoveaBuffer *foveaModuleSignature(FoveaModule *module,
                                              const FoveaOptions *options);

/** Options of foveaInterpret. */
typedef struct FoveaRunOptions {
  /** sizeof(FoveaRunOptions); allows later versions to append fields. */
  size_t size;
  /** The level to run at: attn, tile or warp. */
  FoveaArtifact level;
  /** Nonzero: compute in f64 without rounding to the program's types. */
  int exact;
  /**
   * Seed that selects one of the possible interleavings of roles and copies.
   */
  uint64_t seed;
} FoveaRunOptions;

/**
 * Runs the function `options->kernel`, or the only function, in the
 * interpreter. At level attn it runs unchanged; at levels tile and warp it is
 * compiled to that level first. Inputs are identified by their names in
 * kernels; unused inputs may be omitted. Returns all outputs in the program's
 * order. `options` and `run` may be null. The interpreter favours correctness
 * over speed.
 */
FOVEA_C_API FoveaTensors *foveaInterpret(FoveaModule *module,
                                         const FoveaOptions *options,
                                         const FoveaRunOptions *run,
                                         const FoveaTensor *inputs,
                                         size_t num_inputs);

/*===-- Looking inside ----------------------------------------------------===*/

/** The problem and the block sizes of a block map. */
typedef struct FoveaBlockMapOptions {
  /** sizeof(FoveaBlockMapOptions); allows later versions to append fields. */
  size_t size;
  int64_t batch, heads, queries, keys;
  /**
   * Queries and keys per block. The block sizes of a kernel are in its
   * schedule.
   */
  int64_t rows, columns;
  /**
   * Nonzero: the kernel evaluates the mask's block predicate at run time, as
   * with `classify=1`.
   */
  int classify;
  /**
   * Nonzero: the map of an attn.backward kernel whose tiles are keys and whose
   * loop iterates over blocks of queries.
   */
  int64_t has_key_tiles;
} FoveaBlockMapOptions;

/**
 * The block map of the function's only attention op: how much of each block is
 * visible, and how the kernel treats the block. For example {"maps": [{"entry":
 * 0, "head": 0, "queries": 300, "keys": 300, "visible_pairs": 45150, "rows":
 * ["400", "740", "774"]}]}. A block is the digit t + 3 * v. The mask shows none
 * (t = 0), some (1) or all (2) of its pairs of query and key; the kernel skips
 * it (v = 0), processes it with the mask's arithmetic (1), or processes it
 * without (2). If the mask does not depend on the head, one map covers all
 * heads; the same holds for batch entries. Inputs are all inputs except q, k
 * and v. An attn.backward has the mask of its forward op.
 */
FOVEA_C_API FoveaBuffer *foveaBlockMap(FoveaModule *module,
                                       const FoveaOptions *options,
                                       const FoveaBlockMapOptions *map,
                                       const FoveaTensor *inputs,
                                       size_t num_inputs);

/** The pairs of query and key that foveaElements evaluates. */
typedef struct FoveaElementOptions {
  /** sizeof(FoveaElementOptions); allows later versions to append fields. */
  size_t size;
  int64_t batch, heads, queries, keys;
  /**
   * The batch entry and the head; the first query and the number of queries.
   */
  int64_t entry, head, first, rows;
  /** Scores to which score_mod is applied. */
  const double *scores;
  size_t num_scores;
} FoveaElementOptions;

/**
 * Evaluates the mask and score_mod of the function's only attention op for
 * single pairs. "visible" has an i1 for each query and each key of the
 * sequence; mask, lengths and block lists determine it. If there is a
 * score_mod, "scores" has an f64 for each given score and each pair: the
 * modified score, unrounded, or NaN where the pair is hidden. Inputs are all
 * inputs except q, k and v. An attn.backward has the mask and the score_mod of
 * its forward op.
 */
FOVEA_C_API FoveaTensors *foveaElements(FoveaModule *module,
                                        const FoveaOptions *options,
                                        const FoveaElementOptions *elements,
                                        const FoveaTensor *inputs,
                                        size_t num_inputs);

/**
 * Traces the warps of the first CTA while the interpreter executes the warp
 * program, up to `max_events`. The JSON is described in
 * fovea/Interpreter/Trace.h.
 */
FOVEA_C_API FoveaBuffer *foveaTrace(FoveaModule *module,
                                    const FoveaOptions *options,
                                    const FoveaTensor *inputs,
                                    size_t num_inputs, size_t max_events);

/**
 * Compiles to the NVVM dialect and returns the remarks of the passes:
 * {"remarks": [{"kind": "missed", "category": "mask", "name": "unknown",
 * "kernel": "far", "reason": "it compares floats, ...", "arguments": {"Op":
 * "arith.cmpf"}, "file": "far.mlir", "line": 9, "column": 12}, ...]}. `kind` is
 * "passed" (applied), "missed" (not applied, or unknown), "analysis" (derived
 * or chosen) or "failed". The members file, line and column are absent if the
 * location is unknown. docs/Guides/CAPI.md lists categories and names. Warnings
 * are reported as diagnostics. The module is not modified.
 */
FOVEA_C_API FoveaBuffer *foveaExplain(FoveaModule *module,
                                      const FoveaOptions *options);

#ifdef __cplusplus
}
#endif

#endif /* FOVEA_C_FOVEA_H */
