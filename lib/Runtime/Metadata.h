/*===- Metadata.h - Launch metadata, read -------------------------*- C -*-===*\
|*
|* Part of the Fovea project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
#ifndef FOVEA_LIB_RUNTIME_METADATA_H
#define FOVEA_LIB_RUNTIME_METADATA_H

#include "fovea/Runtime/fovea_runtime.h"

#include <stdbool.h>

enum {
  /** The latest one; earlier ones say less. */
  FOVEA_METADATA_VERSION = 4,
  FOVEA_MAX_RANK = 8,
  /** Of all kernels of a launch together. One kernel may have 32764 bytes. */
  FOVEA_MAX_PARAMETERS = 4096,
  /* Far more than any kernel has. */
  FOVEA_MAX_METADATA_BYTES = 1 << 20,
  /** Kernels that run before or after the one that the metadata is of. */
  FOVEA_MAX_HELPERS = 32,
  /** What the driver allows. */
  FOVEA_MAX_MAP_RANK = 5,
  FOVEA_MAX_BOX_EXTENT = 256,
  /** Bytes that addresses and strides of mapped tensors are a multiple of. */
  FOVEA_MAP_GRANULE = 16,
  /** Tensor maps of one kernel. */
  FOVEA_MAX_MAPS = 32,
  /** Workspaces of one kernel, bytes of all together. */
  FOVEA_MAX_WORKSPACES = 8,
  FOVEA_MAX_WORKSPACE_BYTES = 65536,
  /** Bytes that the address of a workspace is a multiple of. */
  FOVEA_WORKSPACE_ALIGNMENT = 32,
  /** Scratch memories of a launch; what the address of each is a multiple of.
   */
  FOVEA_MAX_SCRATCH = 32,
  FOVEA_SCRATCH_ALIGNMENT = 256
};

/** Bytes of one scratch memory: far above what a device has. */
#define FOVEA_MAX_SCRATCH_BYTES (INT64_C(1) << 40)

/** A named size; several dimensions may share it. */
typedef struct fovea_size {
  const char *name;
  /** -1 if only the call knows it. */
  int64_t value;
} fovea_size;

typedef struct fovea_tensor_spec {
  const char *name;
  bool written;
  fovea_dtype dtype;
  int rank;
  /** Index of each dimension's size. */
  int sizes[FOVEA_MAX_RANK];
  int64_t alignment;
} fovea_tensor_spec;

typedef enum fovea_parameter_kind {
  FOVEA_PARAMETER_POINTER,
  FOVEA_PARAMETER_SIZE,
  FOVEA_PARAMETER_STRIDE,
  FOVEA_PARAMETER_SCALAR,
  FOVEA_PARAMETER_TENSOR_MAP,
  FOVEA_PARAMETER_WORKSPACE,
  FOVEA_PARAMETER_SCRATCH
} fovea_parameter_kind;

typedef enum fovea_value_type {
  FOVEA_VALUE_I32,
  FOVEA_VALUE_I64,
  FOVEA_VALUE_F32
} fovea_value_type;

typedef struct fovea_parameter {
  fovea_parameter_kind kind;
  fovea_value_type type;
  /**
   * The index of the tensor (of a pointer, stride or map), size, scalar or
   * scratch memory.
   */
  int index;
  int dim;
  /** The index of a tensor map. */
  int map;
  /** Where in its launch's slot a workspace begins, and how large it is. */
  int offset, bytes;
} fovea_parameter;

/** How a tensor map shows its tensor: host dimensions, innermost first. */
typedef struct fovea_map_spec {
  int rank;
  int dims[FOVEA_MAX_MAP_RANK];
  uint32_t box[FOVEA_MAX_MAP_RANK];
  /** In bytes, 0 for none. */
  int swizzle;
} fovea_map_spec;

/** What a kernel was compiled for: sm_<major><minor><suffix>. */
typedef struct fovea_target {
  const char *name;
  int major, minor;
  /** 'a': that chip alone; 'f': its family; 0: that and later chips. */
  char suffix;
} fovea_target;

typedef struct fovea_scalar_spec {
  const char *name;
  fovea_value_type type;
} fovea_scalar_spec;

typedef enum fovea_expr_kind {
  FOVEA_EXPR_NUMBER,
  FOVEA_EXPR_SIZE,
  FOVEA_EXPR_ADD,
  FOVEA_EXPR_MUL,
  FOVEA_EXPR_FLOORDIV,
  FOVEA_EXPR_CEILDIV,
  FOVEA_EXPR_MOD
} fovea_expr_kind;

/** A node of an expression: a number, a size's index, two nodes' indices. */
typedef struct fovea_expr {
  fovea_expr_kind kind;
  int64_t value;
  int lhs, rhs;
} fovea_expr;

typedef enum fovea_constraint_kind {
  FOVEA_CONSTRAINT_MULTIPLE,
  FOVEA_CONSTRAINT_AT_MOST,
  FOVEA_CONSTRAINT_AT_LEAST,
  FOVEA_CONSTRAINT_COVERS
} fovea_constraint_kind;

typedef struct fovea_constraint {
  fovea_constraint_kind kind;
  int size, of;
  int64_t limit;
} fovea_constraint;

/** Memory that one launch has for itself. */
typedef struct fovea_scratch_spec {
  const char *name;
  /** A root among the expressions. */
  int bytes;
  /** It is zero when the first kernel of the launch starts. */
  int zeroed;
} fovea_scratch_spec;

/** A kernel that runs before or after the one that the metadata is of. */
typedef struct fovea_helper_kernel {
  const char *name;
  /** Where its parameters begin, among all. */
  int first_parameter;
  int grid[3];
  unsigned block[3];
  unsigned shared_memory;
  /** It waits for the kernel before it itself, and may start before. */
  int overlapped;
} fovea_helper_kernel;

/**
 * What the integers of a tensor should be: from 0 to a size. Where they are
 * lists, so many first entries of each row are different blocks of a size.
 */
typedef struct fovea_contents {
  /** Indices of the tensor and the size. */
  int tensor, of;
  bool ascending;
  /** 0 where they are no lists. */
  int64_t block;
  /** The index of the tensor that counts entries. */
  int entries;
} fovea_contents;

typedef struct fovea_metadata {
  /** The JSON text; the names point into it. */
  char *text;
  const char *kernel;
  fovea_target target;
  fovea_size *sizes;
  fovea_tensor_spec *tensors;
  /** The kernel's, behind them those of its prologue and epilogue. */
  fovea_parameter *parameters;
  fovea_map_spec *maps;
  fovea_scalar_spec *scalars;
  fovea_expr *exprs;
  fovea_constraint *constraints;
  fovea_contents *contents;
  int num_sizes, num_tensors, num_parameters, num_scalars, num_exprs,
      num_constraints, num_contents, num_maps, num_workspaces,
      num_all_parameters, num_prologue, num_helpers, num_scratch;
  /** The prologue's, behind them the epilogue's. */
  fovea_helper_kernel helpers[FOVEA_MAX_HELPERS];
  fovea_scratch_spec scratch[FOVEA_MAX_SCRATCH];
  /** Roots among `exprs`. */
  int grid[3];
  unsigned block[3];
  /** CTAs of a cluster, along x. */
  unsigned cluster;
  /** Helpers may write tensors: they run even if the kernel itself has no
   * CTAs. */
  int helpers_write;
  /** The kernel waits for its prologue itself, and may start before. */
  int overlapped;
  /** CTAs on one multiprocessor of a persistent kernel, otherwise 0. */
  unsigned persistent;
  unsigned shared_memory;
  /** Bytes of all workspaces together, each one's a multiple of alignment. */
  int workspace_bytes;
} fovea_metadata;

/** Reads and checks metadata; frees what it made when it fails. */
fovea_status fovea_metadata_read(const char *text, size_t size,
                                 fovea_metadata *metadata);
void fovea_metadata_free(fovea_metadata *metadata);

const char *fovea_dtype_name(fovea_dtype dtype);
int fovea_dtype_bytes(fovea_dtype dtype);

#endif /* FOVEA_LIB_RUNTIME_METADATA_H */
