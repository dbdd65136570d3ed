/*===- Metadata.h - Parsed launch metadata ------------------------*- C -*-===*\
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
  /** The latest version; earlier versions are subsets. */
  FOVEA_METADATA_VERSION = 6,
  FOVEA_MAX_RANK = 8,
  /** Parameters of all kernels of a launch. One kernel may have 32764 bytes. */
  FOVEA_MAX_PARAMETERS = 4096,
  /* Far more than any kernel has. */
  FOVEA_MAX_METADATA_BYTES = 1 << 20,
  /** Prologue and epilogue kernels. */
  FOVEA_MAX_HELPERS = 32,
  /** Limits of the driver. */
  FOVEA_MAX_MAP_RANK = 5,
  FOVEA_MAX_BOX_EXTENT = 256,
  /** Required alignment in bytes of addresses and strides of mapped tensors. */
  FOVEA_MAP_GRANULE = 16,
  /** Tensor maps per kernel. */
  FOVEA_MAX_MAPS = 32,
  /** Workspaces per kernel, and their total size in bytes. */
  FOVEA_MAX_WORKSPACES = 8,
  FOVEA_MAX_WORKSPACE_BYTES = 65536,
  /** Alignment of workspaces in bytes. */
  FOVEA_WORKSPACE_ALIGNMENT = 32,
  /** Scratch buffers per launch, and their alignment in bytes. */
  FOVEA_MAX_SCRATCH = 32,
  FOVEA_SCRATCH_ALIGNMENT = 256
};

/** Maximum size of a scratch buffer, far more than any device has. */
#define FOVEA_MAX_SCRATCH_BYTES (INT64_C(1) << 40)

/** A named size; several dimensions may share it. */
typedef struct fovea_size {
  const char *name;
  /** -1 for a dynamic size. */
  int64_t value;
} fovea_size;

typedef struct fovea_tensor_spec {
  const char *name;
  bool written;
  fovea_dtype dtype;
  int rank;
  /** Index of the size of each dimension. */
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
   * Index of the tensor (of a pointer, stride or map), size, scalar or scratch
   * buffer.
   */
  int index;
  int dim;
  /** Index of the tensor map. */
  int map;
  /** Offset of a workspace in its launch's slot, and its size. */
  int offset, bytes;
} fovea_parameter;

/** The dimensions of a tensor map, as tensor dimensions, innermost first. */
typedef struct fovea_map_spec {
  int rank;
  int dims[FOVEA_MAX_MAP_RANK];
  uint32_t box[FOVEA_MAX_MAP_RANK];
  /** In bytes; 0 means no swizzle. */
  int swizzle;
} fovea_map_spec;

/** The target of a kernel: sm_<major><minor><suffix>. */
typedef struct fovea_target {
  const char *name;
  int major, minor;
  /** 'a': only this GPU; 'f': its family; 0: this GPU and later ones. */
  char suffix;
} fovea_target;

typedef struct fovea_scalar_spec {
  const char *name;
  fovea_value_type type;
} fovea_scalar_spec;

typedef enum fovea_expr_kind {
  FOVEA_EXPR_NUMBER,
  FOVEA_EXPR_SIZE,
  /** The number of CTAs of the main kernel, along x. */
  FOVEA_EXPR_CTAS,
  FOVEA_EXPR_ADD,
  FOVEA_EXPR_MUL,
  FOVEA_EXPR_FLOORDIV,
  FOVEA_EXPR_CEILDIV,
  FOVEA_EXPR_MOD
} fovea_expr_kind;

/**
 * A node of an expression: a constant, the index of a size, or two operands.
 */
typedef struct fovea_expr {
  fovea_expr_kind kind;
  int64_t value;
  int lhs, rhs;
} fovea_expr;

typedef enum fovea_constraint_kind {
  FOVEA_CONSTRAINT_MULTIPLE,
  FOVEA_CONSTRAINT_AT_MOST,
  FOVEA_CONSTRAINT_AT_LEAST,
  FOVEA_CONSTRAINT_ONE_MORE,
  FOVEA_CONSTRAINT_COVERS
} fovea_constraint_kind;

typedef struct fovea_constraint {
  fovea_constraint_kind kind;
  int size, of;
  int64_t limit;
} fovea_constraint;

/** Device memory that one launch owns. */
typedef struct fovea_scratch_spec {
  const char *name;
  /** Index of the root expression. */
  int bytes;
  /**
   * Nonzero if the memory is zero when the first kernel of the launch starts.
   */
  int zeroed;
} fovea_scratch_spec;

/** A prologue or epilogue kernel. */
typedef struct fovea_helper_kernel {
  const char *name;
  /** Index of its first parameter. */
  int first_parameter;
  int grid[3];
  unsigned block[3];
  unsigned shared_memory;
  /**
   * Nonzero if the kernel itself waits for the preceding kernel, so that it may
   * be launched before that one ends (programmatic dependent launch).
   */
  int overlapped;
} fovea_helper_kernel;

/**
 * The expected contents of an integer tensor: values from 0 to a size. For
 * block lists, the first entries of each row are distinct block indices. For
 * page tables, the values of pages that hold keys are below the size.
 */
typedef struct fovea_contents {
  /** Indices of the tensor and the size. */
  int tensor, of;
  /** The factor of the size. */
  int64_t times;
  bool ascending;
  /** Block size; 0 if the tensor has no block lists. */
  int64_t block;
  /** Rows of a page; 0 if the tensor has no page tables. */
  int64_t page;
  /** Index of the tensor with the number of entries or keys. */
  int entries;
  /** Index of the tensor with the starts of page tables in one list, or -1. */
  int offsets;
} fovea_contents;

typedef struct fovea_metadata {
  /** The JSON text; the names point into it. */
  char *text;
  const char *kernel;
  fovea_target target;
  fovea_size *sizes;
  fovea_tensor_spec *tensors;
  /**
   * Parameters of the kernel, followed by those of its prologue and epilogue.
   */
  fovea_parameter *parameters;
  fovea_map_spec *maps;
  fovea_scalar_spec *scalars;
  fovea_expr *exprs;
  fovea_constraint *constraints;
  fovea_contents *contents;
  int num_sizes, num_tensors, num_parameters, num_scalars, num_exprs,
      num_constraints, num_contents, num_maps, num_workspaces,
      num_all_parameters, num_prologue, num_helpers, num_scratch;
  /** Prologue kernels, followed by epilogue kernels. */
  fovea_helper_kernel helpers[FOVEA_MAX_HELPERS];
  fovea_scratch_spec scratch[FOVEA_MAX_SCRATCH];
  /** Indices of root expressions. */
  int grid[3];
  unsigned block[3];
  /** CTAs per cluster, along x. */
  unsigned cluster;
  /**
   * Nonzero if helpers write tensors: they then run even if the kernel has no
   * CTAs.
   */
  int helpers_write;
  /**
   * Nonzero if the kernel itself waits for its prologue, so that it may be
   * launched before the prologue ends.
   */
  int overlapped;
  /** CTAs per SM of a persistent kernel, otherwise 0. */
  unsigned persistent;
  unsigned shared_memory;
  /** Total size of all workspaces, each rounded up to the alignment. */
  int workspace_bytes;
} fovea_metadata;

/** Parses and checks metadata. On failure nothing remains allocated. */
fovea_status fovea_metadata_read(const char *text, size_t size,
                                 fovea_metadata *metadata);
void fovea_metadata_free(fovea_metadata *metadata);

const char *fovea_dtype_name(fovea_dtype dtype);
int fovea_dtype_bytes(fovea_dtype dtype);

#endif /* FOVEA_LIB_RUNTIME_METADATA_H */
