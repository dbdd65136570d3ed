/*===- fovea-c/Fovea.h - The compiler, for any language -----------*- C -*-===*\
|*
|* Part of the Fovea project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
/**
 * @file
 * libFovea: parses attention programs, compiles them to PTX and launch metadata
 * (docs/ABI.md), gives the IR of every level, and runs programs on the CPU.
 * libFoveaRuntime (fovea/Runtime/fovea_runtime.h) launches what it compiles.
 *
 * Nothing here prints, exits or aborts. What is wrong with a program is told by
 * diagnostics, values that belong to the context: those of its last call. A
 * call that fails has at least one of severity FOVEA_ERROR.
 *
 * A context and all that was made with it serve one thread at a time; different
 * contexts may be used by different threads at once. Functions that destroy
 * take null.
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

/** How a call ended. The values are part of the ABI and do not change. */
typedef enum FoveaResult {
  FOVEA_SUCCESS = 0,
  /** Diagnostics say why, unless an argument was null. */
  FOVEA_FAILURE = 1
} FoveaResult;

/** Bytes of text or code that somebody else owns, a zero behind them. */
typedef struct FoveaString {
  const char *data;
  size_t size;
} FoveaString;

/** The library's version, for example "0.1.0". Never null. */
FOVEA_C_API const char *foveaVersion(void);

/**
 * Names of the targets that can be compiled for, for example "sm_90a"; null
 * from the end of the list on.
 */
FOVEA_C_API const char *foveaTargetName(size_t index);

/*===-- Contexts ----------------------------------------------------------===*/

/** Where programs live. */
typedef struct FoveaContext FoveaContext;

/** A new context, or null if there is no memory for one. */
FOVEA_C_API FoveaContext *foveaContextCreate(void);

/** Destroys a context. Its modules must have been destroyed before. */
FOVEA_C_API void foveaContextDestroy(FoveaContext *context);

typedef enum FoveaSeverity {
  FOVEA_ERROR = 0,
  FOVEA_WARNING = 1,
  FOVEA_REMARK = 2,
  FOVEA_NOTE = 3
} FoveaSeverity;

/** Something that the compiler says about a place in a program. */
typedef struct FoveaDiagnostic {
  FoveaSeverity severity;
  FoveaString message;
  /** Empty if the place is not known. Lines and columns count from 1. */
  FoveaString file;
  unsigned line, column;
  /** What explains it further. */
  const struct FoveaDiagnostic *notes;
  size_t num_notes;
} FoveaDiagnostic;

/**
 * What the last call with this context said, in order. The array and its
 * strings are valid until the next call.
 */
FOVEA_C_API const FoveaDiagnostic *
foveaContextDiagnostics(const FoveaContext *context, size_t *count);

/*===-- Modules -----------------------------------------------------------===*/

/** A program: functions with attention in them, or kernels of any level. */
typedef struct FoveaModule FoveaModule;

/**
 * Parses and verifies MLIR text. `name` is the file that diagnostics name; null
 * stands for "<input>". Null if the text is no program.
 */
FOVEA_C_API FoveaModule *foveaModuleParse(FoveaContext *context,
                                          const char *text, size_t size,
                                          const char *name);

FOVEA_C_API void foveaModuleDestroy(FoveaModule *module);

/** A copy, in the same context. */
FOVEA_C_API FoveaModule *foveaModuleClone(const FoveaModule *module);

/** Says whether the program is valid. */
FOVEA_C_API FoveaResult foveaModuleVerify(FoveaModule *module);

/**
 * Runs passes on the module, in the syntax of fovea-opt's --pass-pipeline, for
 * example "builtin.module(canonicalize,fovea-to-tile{target=sm_90a})". All
 * passes of docs/reference and upstream's general transformations are there.
 * After a failure the module may be anything that can be destroyed.
 */
FOVEA_C_API FoveaResult foveaModuleRunPipeline(FoveaModule *module,
                                               const char *pipeline);

/** Text that the caller owns. */
typedef struct FoveaBuffer FoveaBuffer;

/** What it holds; valid until it is destroyed. */
FOVEA_C_API FoveaString foveaBufferString(const FoveaBuffer *buffer);

FOVEA_C_API void foveaBufferDestroy(FoveaBuffer *buffer);

/** The module as MLIR text. */
FOVEA_C_API FoveaBuffer *foveaModulePrint(FoveaModule *module);

/*===-- Compiling ---------------------------------------------------------===*/

/** How to compile. Null strings and zeros are the defaults. */
typedef struct FoveaOptions {
  /** sizeof(FoveaOptions), so that the struct can grow. */
  size_t size;
  /** The chip: one of foveaTargetName. "sm_90a". */
  const char *target;
  /** "auto", or words of docs/Plan.md: "tile_n=32,stages=3". "auto". */
  const char *schedule;
  /** The softmax loop's algorithm, for example "deferred". The schedule's. */
  const char *recurrence;
  /** The kernel that is meant, by its function's name. The only one. */
  const char *kernel;
  /** Not 0: tanh within 1e-6, not by the chip's approximation (2^-16.5,
   * measured). */
  int accurate_tanh;
  /** A file of schedules that were measured (docs/Running.md). None. */
  const char *schedule_table;
  /** Not 0: PTX says of each instruction by which line of the program it was
   * made (.file, .loc), and foveaEmit prints MLIR with locations. */
  int line_info;
} FoveaOptions;

/** A compiled kernel. It does not need the context any more. */
typedef struct FoveaKernel FoveaKernel;

/**
 * Compiles the attention in a module to a kernel. The module stays as it is.
 * `options` may be null.
 */
FOVEA_C_API FoveaKernel *foveaCompile(FoveaModule *module,
                                      const FoveaOptions *options);

FOVEA_C_API void foveaKernelDestroy(FoveaKernel *kernel);

/** The entry's name, the PTX, and the launch metadata as JSON. */
FOVEA_C_API FoveaString foveaKernelName(const FoveaKernel *kernel);
FOVEA_C_API FoveaString foveaKernelPTX(const FoveaKernel *kernel);
FOVEA_C_API FoveaString foveaKernelMetadata(const FoveaKernel *kernel);

/** What a compilation can show. */
typedef enum FoveaArtifact {
  FOVEA_ARTIFACT_ATTN = 0, /**< the program itself */
  FOVEA_ARTIFACT_TILE = 1, /**< tile programs, softmax loops fused */
  FOVEA_ARTIFACT_WARP = 2, /**< warp programs, layouts assigned */
  FOVEA_ARTIFACT_NVVM = 3, /**< kernels in the NVVM dialect */
  FOVEA_ARTIFACT_LLVM = 4, /**< optimised LLVM IR */
  FOVEA_ARTIFACT_PTX = 5,
  FOVEA_ARTIFACT_METADATA = 6 /**< JSON, docs/ABI.md */
} FoveaArtifact;

/** Compiles as far as needed and gives the text. The module stays as it is. */
FOVEA_C_API FoveaBuffer *foveaEmit(FoveaModule *module,
                                   const FoveaOptions *options,
                                   FoveaArtifact artifact);

/**
 * Assembles PTX for a target by the program `ptxas`, a path. What ptxas says
 * (with -v: registers, spills) is the remark among the diagnostics, and the
 * note of the error if it fails. Registers that are spilled, and dots that wait
 * for each other, are warnings.
 */
FOVEA_C_API FoveaBuffer *foveaAssemble(FoveaContext *context, const char *ptx,
                                       size_t size, const char *target,
                                       const char *ptxas);

/**
 * Schedules that need fewer registers than the one in a kernel's launch
 * metadata, the fastest first: a line for each, as FoveaOptions.schedule has
 * it; no line if there are none. For kernels that foveaAssemble warns of.
 */
FOVEA_C_API FoveaBuffer *
foveaSmallerSchedules(FoveaContext *context, const char *metadata, size_t size);

/*===-- Running on the CPU ------------------------------------------------===*/

/** A dense, row-major tensor in host memory; a scalar has rank 0. */
typedef struct FoveaTensor {
  /** "q", "k", "v", "o", "lse", "scale", "lengths", "capture0" and so on. */
  const char *name;
  /** "f16", "bf16", "f32", "f64", "i1" (a byte), "i8", "i16", "i32", "i64". */
  const char *dtype;
  void *data;
  size_t rank;
  const int64_t *sizes;
} FoveaTensor;

/** Tensors that the caller owns. */
typedef struct FoveaTensors FoveaTensors;

FOVEA_C_API size_t foveaTensorsCount(const FoveaTensors *tensors);
/** The tensor's facts, valid until the tensors are destroyed. */
FOVEA_C_API FoveaResult foveaTensorsGet(const FoveaTensors *tensors,
                                        size_t index, FoveaTensor *tensor);
FOVEA_C_API void foveaTensorsDestroy(FoveaTensors *tensors);

/**
 * What the function `options->kernel`, or the only one, takes and gives, in
 * order, as JSON: {"inputs": [{"name": "q", "dtype": "bf16", "shape": [null, 8,
 * null, 64]}, ...], "outputs": [...]}; null is a size that only the call knows.
 */
FOVEA_C_API FoveaBuffer *foveaModuleSignature(FoveaModule *module,
                                              const FoveaOptions *options);

/** How to run. */
typedef struct FoveaRunOptions {
  /** sizeof(FoveaRunOptions), so that the struct can grow. */
  size_t size;
  /** The level to run at: attn, tile or warp. */
  FoveaArtifact level;
  /** Everything in f64: what the program means, without rounding. */
  int exact;
  /** Chooses among the orders in which roles and copies can happen. */
  uint64_t seed;
} FoveaRunOptions;

/**
 * Runs the function `options->kernel`, or the only one, in the interpreter, at
 * level attn as it is, at level tile or warp compiled that far. Inputs are
 * given by the names that kernels have for them; those that are not read may be
 * left out. Gives all outputs, in the program's order. `options` and `run` may
 * be null. Takes time: the interpreter is made to be right, not fast.
 */
FOVEA_C_API FoveaTensors *foveaInterpret(FoveaModule *module,
                                         const FoveaOptions *options,
                                         const FoveaRunOptions *run,
                                         const FoveaTensor *inputs,
                                         size_t num_inputs);

/*===-- Looking inside ----------------------------------------------------===*/

/** Of what a map is to be made. */
typedef struct FoveaBlockMapOptions {
  /** sizeof(FoveaBlockMapOptions), so that the struct can grow. */
  size_t size;
  int64_t batch, heads, queries, keys;
  /** Queries and keys of a block; a kernel's are in its schedule. */
  int64_t rows, columns;
  /** Not 0: the kernel asks about single blocks, as with `classify=1`. */
  int classify;
  /** Not 0: the tiles of a kernel of attn.backward are keys, which iterate over
      blocks of queries. */
  int64_t has_key_tiles;
} FoveaBlockMapOptions;

/**
 * What the mask of the function's one attention op leaves of each block, and
 * what a kernel does with it: {"maps": [{"entry": 0, "head": 0, "queries": 300,
 * "keys": 300, "visible_pairs": 45150, "rows": ["400", "740", "774"]}]}. A
 * block is a digit, t + 3 * v: of its pairs of query and key the mask shows
 * none (t = 0), some (1) or all (2); the kernel skips it (v = 0), visits it
 * with the mask's arithmetic (1), or without (2). One head stands for all where
 * the mask does not ask for the head, and one batch entry likewise. Inputs are
 * those beside q, k and v. An attn.backward has the mask of its forward.
 */
FOVEA_C_API FoveaBuffer *foveaBlockMap(FoveaModule *module,
                                       const FoveaOptions *options,
                                       const FoveaBlockMapOptions *map,
                                       const FoveaTensor *inputs,
                                       size_t num_inputs);

/** Of which pairs of a query and a key something is to be said. */
typedef struct FoveaElementOptions {
  /** sizeof(FoveaElementOptions), so that the struct can grow. */
  size_t size;
  int64_t batch, heads, queries, keys;
  /** The sequence and the head; the first query, and how many. */
  int64_t entry, head, first, rows;
  /** Scores that score_mod is tried on. */
  const double *scores;
  size_t num_scores;
} FoveaElementOptions;

/**
 * What the function's one attention op makes of single pairs: "visible", an i1
 * for each of the queries and each key of the sequence, which the mask, lengths
 * and lists decide; and, if there is a score_mod, "scores", an f64 for each of
 * the scores and each pair, what it makes of that score, without rounding; NaN
 * where the pair is hidden. Inputs are those beside q, k and v. An
 * attn.backward has the mask and the score_mod of its forward.
 */
FOVEA_C_API FoveaTensors *foveaElements(FoveaModule *module,
                                        const FoveaOptions *options,
                                        const FoveaElementOptions *elements,
                                        const FoveaTensor *inputs,
                                        size_t num_inputs);

/**
 * What the warps of the first CTA do, as the interpreter executes the warp
 * program, up to `max_events`: JSON, described in fovea/Interpreter/Trace.h.
 */
FOVEA_C_API FoveaBuffer *foveaTrace(FoveaModule *module,
                                    const FoveaOptions *options,
                                    const FoveaTensor *inputs,
                                    size_t num_inputs, size_t max_events);

/**
 * Compiles as far as to the NVVM dialect and says what passes remarked:
 * {"remarks":
 * [{"kind": "missed", "category": "mask", "name": "unknown", "kernel": "far",
 * "reason": "it compares floats, ...", "arguments": {"Op": "arith.cmpf"},
 * "file": "far.mlir", "line": 9, "column": 12}, ...]}. `kind` is "passed"
 * (done), "missed" (left out, or not known), "analysis" (found out or chosen)
 * or "failed"; file, line and column are absent where the place is not known.
 * docs/CAPI.md lists categories and names. Warnings are among the diagnostics.
 * The module stays as it is.
 */
FOVEA_C_API FoveaBuffer *foveaExplain(FoveaModule *module,
                                      const FoveaOptions *options);

#ifdef __cplusplus
}
#endif

#endif /* FOVEA_C_FOVEA_H */
