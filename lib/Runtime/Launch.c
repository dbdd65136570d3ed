/*===- Launch.c - Checks calls and packs their arguments ----------*- C -*-===*\
|*
|* Part of the Fovea project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
/**
 * Checks the tensors and scalars of a call against the metadata, computes sizes
 * and the grid, and packs the kernels' arguments.
 */
#include "Arguments.h"
#include "Internal.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/*===-- Checking a call ---------------------------------------------------===*/

/** A call during its check. */
typedef struct call {
  const fovea_kernel *kernel;
  const fovea_metadata *metadata;
  /** The argument for each tensor and scalar of the metadata, or null. */
  const fovea_tensor **tensors;
  const fovea_scalar **scalars;
  /** The value of each size, and the first tensor that determined it. */
  int64_t *sizes;
  const char **determined_by;
  /** The strides of each tensor, FOVEA_MAX_RANK entries per tensor. */
  int64_t *strides;
  /** The number of CTAs of the main kernel, along x. */
  int64_t ctas;
} call;

#define VIOLATED(...) fovea_fail(FOVEA_ERROR_CONSTRAINT, __VA_ARGS__)

static fovea_status match_names(call *c, const fovea_tensor *tensors,
                                size_t num_tensors, const fovea_scalar *scalars,
                                size_t num_scalars) {
  const fovea_metadata *m = c->metadata;
  for (size_t given = 0; given < num_tensors; ++given) {
    const char *name = tensors[given].name ? tensors[given].name : "(null)";
    int i = 0;
    while (i < m->num_tensors && strcmp(m->tensors[i].name, name) != 0)
      ++i;
    if (i == m->num_tensors)
      return fovea_fail(FOVEA_ERROR_ARGUMENT,
                        "kernel '%s' takes no tensor named '%s'", m->kernel,
                        name);
    if (c->tensors[i])
      return fovea_fail(FOVEA_ERROR_ARGUMENT, "tensor '%s' is given twice",
                        name);
    c->tensors[i] = &tensors[given];
  }
  for (int i = 0; i < m->num_tensors; ++i)
    if (!c->tensors[i])
      return fovea_fail(FOVEA_ERROR_ARGUMENT,
                        "kernel '%s' needs a tensor named '%s'", m->kernel,
                        m->tensors[i].name);
  for (size_t given = 0; given < num_scalars; ++given) {
    const char *name = scalars[given].name ? scalars[given].name : "(null)";
    int i = 0;
    while (i < m->num_scalars && strcmp(m->scalars[i].name, name) != 0)
      ++i;
    if (i == m->num_scalars)
      return fovea_fail(FOVEA_ERROR_ARGUMENT,
                        "kernel '%s' takes no scalar named '%s'", m->kernel,
                        name);
    if (c->scalars[i])
      return fovea_fail(FOVEA_ERROR_ARGUMENT, "scalar '%s' is given twice",
                        name);
    c->scalars[i] = &scalars[given];
  }
  for (int i = 0; i < m->num_scalars; ++i)
    if (!c->scalars[i])
      return fovea_fail(FOVEA_ERROR_ARGUMENT,
                        "kernel '%s' needs a scalar named '%s'", m->kernel,
                        m->scalars[i].name);
  return FOVEA_OK;
}

/** Derives the named sizes from the tensors' shapes. */
static fovea_status derive_sizes(call *c) {
  const fovea_metadata *m = c->metadata;
  for (int i = 0; i < m->num_tensors; ++i) {
    const fovea_tensor_spec *spec = &m->tensors[i];
    const fovea_tensor *tensor = c->tensors[i];
    if (tensor->dtype != spec->dtype)
      return fovea_fail(FOVEA_ERROR_ARGUMENT,
                        "tensor '%s' must be of %s, found %s", spec->name,
                        fovea_dtype_name(spec->dtype),
                        fovea_dtype_name(tensor->dtype));
    if (tensor->rank != spec->rank)
      return fovea_fail(FOVEA_ERROR_ARGUMENT,
                        "tensor '%s' must have rank %d, found %d", spec->name,
                        spec->rank, (int)tensor->rank);
    if (spec->rank && !tensor->sizes)
      return fovea_fail(FOVEA_ERROR_ARGUMENT, "sizes of tensor '%s' are null",
                        spec->name);
    for (int d = 0; d < spec->rank; ++d) {
      const fovea_size *size = &m->sizes[spec->sizes[d]];
      int64_t found = tensor->sizes[d], *known = &c->sizes[spec->sizes[d]];
      if (found < 0)
        return fovea_fail(FOVEA_ERROR_ARGUMENT,
                          "tensor '%s' must not have a negative size, found "
                          "%lld in dimension %d",
                          spec->name, (long long)found, d);
      if (size->value >= 0 && found != size->value)
        return VIOLATED("tensor '%s' must have %lld elements in dimension %d "
                        "('%s'), found %lld",
                        spec->name, (long long)size->value, d, size->name,
                        (long long)found);
      if (*known >= 0 && found != *known)
        return VIOLATED("size '%s' is %lld in tensor '%s', but %lld in tensor "
                        "'%s'",
                        size->name, (long long)*known,
                        c->determined_by[spec->sizes[d]], (long long)found,
                        spec->name);
      if (*known < 0)
        c->determined_by[spec->sizes[d]] = spec->name;
      *known = found;
    }
  }
  return FOVEA_OK;
}

/** Checks the address and strides of a tensor that has elements. */
static fovea_status check_layout(const fovea_tensor_spec *spec,
                                 const fovea_tensor *tensor,
                                 const int64_t *strides) {
  int64_t bytes = fovea_dtype_bytes(spec->dtype), last = 0;
  TRY(fovea_check_address(spec, tensor->data));
  for (int d = 0; d < spec->rank; ++d) {
    int64_t stride = strides[d], extent, byte_stride;
    if (tensor->sizes[d] == 1)
      continue;
    if (stride < 0)
      return VIOLATED("strides must not be negative, found %lld in dimension "
                      "%d of tensor '%s'",
                      (long long)stride, d, spec->name);
    if (stride == 0 && spec->written)
      return VIOLATED(
          "tensor '%s' is written, so its stride in dimension %d must not be 0",
          spec->name, d);
    if (__builtin_mul_overflow(stride, bytes, &byte_stride) ||
        __builtin_mul_overflow(byte_stride, tensor->sizes[d] - 1, &extent) ||
        __builtin_add_overflow(last, extent, &last))
      return VIOLATED("tensor '%s' does not fit 63 bits of address",
                      spec->name);
    if (spec->alignment <= bytes)
      continue;
    if (d == spec->rank - 1 && stride != 1)
      return VIOLATED("tensor '%s' must have stride 1 in its last dimension, "
                      "found %lld",
                      spec->name, (long long)stride);
    if (d != spec->rank - 1 && byte_stride % spec->alignment)
      return VIOLATED("tensor '%s' must have a stride that is a multiple of "
                      "%lld bytes in dimension %d, found %lld elements of "
                      "%lld bytes; a slice of longer rows has one",
                      spec->name, (long long)spec->alignment, d,
                      (long long)stride, (long long)bytes);
  }
  return FOVEA_OK;
}

static fovea_status check_layouts(call *c, fovea_launch *launch) {
  const fovea_metadata *m = c->metadata;
  for (int i = 0; i < m->num_tensors; ++i) {
    const fovea_tensor_spec *spec = &m->tensors[i];
    const fovea_tensor *tensor = c->tensors[i];
    int64_t *strides = c->strides + (size_t)i * FOVEA_MAX_RANK;
    int64_t contiguous = 1;
    bool empty = false;
    for (int d = spec->rank - 1; d >= 0; --d) {
      strides[d] = tensor->strides ? tensor->strides[d] : contiguous;
      empty |= tensor->sizes[d] == 0;
      if (!empty &&
          __builtin_mul_overflow(contiguous, tensor->sizes[d], &contiguous))
        return VIOLATED("tensor '%s' has more than 2^63 elements", spec->name);
    }
    launch->empty[i] = empty;
    if (!empty)
      TRY(check_layout(spec, tensor, strides));
  }
  return FOVEA_OK;
}

static fovea_status check_constraints(const call *c) {
  const fovea_metadata *m = c->metadata;
  for (int i = 0; i < m->num_constraints; ++i) {
    const fovea_constraint *constraint = &m->constraints[i];
    const char *name = m->sizes[constraint->size].name;
    int64_t size = c->sizes[constraint->size];
    switch (constraint->kind) {
    case FOVEA_CONSTRAINT_MULTIPLE: {
      int64_t of = c->sizes[constraint->of];
      if (of == 0 ? size != 0 : size % of != 0)
        return VIOLATED("'%s' must be a multiple of '%s', found %lld and %lld",
                        name, m->sizes[constraint->of].name, (long long)size,
                        (long long)of);
      break;
    }
    case FOVEA_CONSTRAINT_AT_MOST:
      if (size > constraint->limit)
        return VIOLATED("'%s' must be at most %lld, found %lld", name,
                        (long long)constraint->limit, (long long)size);
      break;
    case FOVEA_CONSTRAINT_AT_LEAST:
      if (size < constraint->limit)
        return VIOLATED("'%s' must be at least %lld, found %lld", name,
                        (long long)constraint->limit, (long long)size);
      break;
    case FOVEA_CONSTRAINT_ONE_MORE: {
      int64_t of = c->sizes[constraint->of];
      if (size != of + 1)
        return VIOLATED("'%s' must be one more than '%s', found %lld and %lld",
                        name, m->sizes[constraint->of].name, (long long)size,
                        (long long)of);
      break;
    }
    case FOVEA_CONSTRAINT_COVERS: {
      int64_t of = c->sizes[constraint->of], block = constraint->limit;
      int64_t least = of / block + (of % block != 0);
      if (size < least && block == 1)
        return VIOLATED("'%s' must be at least '%s', found %lld and %lld", name,
                        m->sizes[constraint->of].name, (long long)size,
                        (long long)of);
      if (size < least)
        return VIOLATED("'%s' must be at least %lld, the blocks of %lld in "
                        "'%s', found %lld",
                        name, (long long)least, (long long)block,
                        m->sizes[constraint->of].name, (long long)size);
      break;
    }
    }
  }
  return FOVEA_OK;
}

/*===-- Packing a call ----------------------------------------------------===*/

/**
 * Evaluates an expression. Returns false if a value exceeds 64 bits or a
 * divisor is not positive.
 */
static bool evaluate(const call *c, int root, int64_t *value) {
  const fovea_expr *expr = &c->metadata->exprs[root];
  if (expr->kind == FOVEA_EXPR_NUMBER) {
    *value = expr->value;
    return true;
  }
  if (expr->kind == FOVEA_EXPR_SIZE) {
    *value = c->sizes[expr->value];
    return true;
  }
  if (expr->kind == FOVEA_EXPR_CTAS) {
    *value = c->ctas;
    return true;
  }
  int64_t a, b;
  if (!evaluate(c, expr->lhs, &a) || !evaluate(c, expr->rhs, &b))
    return false;
  if (expr->kind == FOVEA_EXPR_ADD)
    return !__builtin_add_overflow(a, b, value);
  if (expr->kind == FOVEA_EXPR_MUL)
    return !__builtin_mul_overflow(a, b, value);
  if (b <= 0)
    return false;
  /* C division truncates. */
  int64_t quotient = a / b, rest = a % b;
  if (expr->kind == FOVEA_EXPR_FLOORDIV)
    *value = quotient - (rest < 0);
  else if (expr->kind == FOVEA_EXPR_CEILDIV)
    *value = quotient + (rest > 0);
  else
    *value = rest < 0 ? rest + b : rest;
  return true;
}

/**
 * The number of CTAs along x for `items` work items: a multiple of the cluster
 * size, and for a persistent kernel at most the number of resident CTAs.
 */
static unsigned count_ctas(const fovea_kernel *kernel, unsigned items) {
  const fovea_metadata *m = &kernel->metadata;
  unsigned clusters = items / m->cluster + (items % m->cluster != 0);
  unsigned most =
      m->persistent * (unsigned)kernel->device->multiprocessors / m->cluster;
  if (m->persistent && clusters > most)
    clusters = most ? most : 1;
  return clusters * m->cluster;
}

static fovea_status pack_grid(const call *c, const char *kernel,
                              const int roots[3], int64_t cluster,
                              unsigned grid[3]) {
  /* Along x the limit is rounded down to whole clusters. */
  const int64_t limits[3] = {INT_MAX / cluster * cluster, 65535, 65535};
  for (int i = 0; i < 3; ++i) {
    int64_t value;
    if (!evaluate(c, roots[i], &value) || value < 0)
      return VIOLATED("the grid of kernel '%s' can't be computed from these "
                      "sizes",
                      kernel);
    if (value > limits[i])
      return VIOLATED("the grid of kernel '%s' would have %lld CTAs, but at "
                      "most %lld are allowed",
                      kernel, (long long)value, (long long)limits[i]);
    grid[i] = (unsigned)value;
  }
  return FOVEA_OK;
}

static fovea_status pack_grids(const call *c, fovea_launch *launch) {
  const fovea_metadata *m = c->metadata;
  TRY(pack_grid(c, m->kernel, m->grid, m->cluster, launch->grid));
  launch->grid[0] = count_ctas(c->kernel, launch->grid[0]);
  for (int i = 0; i < m->num_helpers; ++i)
    TRY(pack_grid(c, m->helpers[i].name, m->helpers[i].grid, 1,
                  launch->helper_grids[i]));
  return FOVEA_OK;
}

/** Lays the scratch buffers out consecutively. */
static fovea_status pack_scratch(const call *c, fovea_launch *launch) {
  const fovea_metadata *m = c->metadata;
  for (int i = 0; i < m->num_scratch; ++i) {
    int64_t bytes;
    if (!evaluate(c, m->scratch[i].bytes, &bytes) || bytes < 0)
      return VIOLATED("the bytes of scratch memory '%s' can't be computed from "
                      "these sizes",
                      m->scratch[i].name);
    if (bytes > FOVEA_MAX_SCRATCH_BYTES)
      return VIOLATED("scratch memory '%s' would have %lld bytes, but at most "
                      "%lld are allowed",
                      m->scratch[i].name, (long long)bytes,
                      (long long)FOVEA_MAX_SCRATCH_BYTES);
    launch->scratch_offsets[i] = launch->scratch_bytes;
    launch->scratch_ends[i] = launch->scratch_bytes + bytes;
    bytes += (int64_t)fovea_red_zone(c->kernel->device->driver);
    launch->scratch_bytes +=
        (bytes + FOVEA_SCRATCH_ALIGNMENT - 1) & -FOVEA_SCRATCH_ALIGNMENT;
  }
  return FOVEA_OK;
}

static fovea_status pack_parameter(const call *c, const fovea_parameter *p,
                                   uint64_t *slot) {
  const fovea_metadata *m = c->metadata;
  switch (p->kind) {
  case FOVEA_PARAMETER_POINTER:
    *slot = c->tensors[p->index]->data;
    return FOVEA_OK;
  case FOVEA_PARAMETER_SIZE:
    return fovea_pack_integer(c->sizes[p->index], p->type, "size",
                              m->sizes[p->index].name, slot);
  case FOVEA_PARAMETER_STRIDE:
    return fovea_pack_integer(
        c->strides[(size_t)p->index * FOVEA_MAX_RANK + p->dim], p->type,
        "a stride of tensor", m->tensors[p->index].name, slot);
  case FOVEA_PARAMETER_SCALAR:
    return fovea_pack_scalar(p->type, c->scalars[p->index], slot);
  case FOVEA_PARAMETER_TENSOR_MAP:
  case FOVEA_PARAMETER_WORKSPACE:
  case FOVEA_PARAMETER_SCRATCH:
    break;
  }
  return FOVEA_OK;
}

static fovea_status pack_maps(const call *c, fovea_launch *launch) {
  const fovea_metadata *m = c->metadata;
  for (int i = 0; i < m->num_all_parameters; ++i) {
    const fovea_parameter *p = &m->parameters[i];
    if (p->kind != FOVEA_PARAMETER_TENSOR_MAP)
      continue;
    TRY(fovea_tensor_map_encode(
        c->kernel->device->driver, &m->tensors[p->index], &m->maps[p->map],
        c->tensors[p->index], c->strides + (size_t)p->index * FOVEA_MAX_RANK,
        c->kernel->nothing, &launch->maps[p->map]));
    launch->arguments[i] = &launch->maps[p->map];
  }
  return FOVEA_OK;
}

static fovea_status prepare(call *c, fovea_launch *launch,
                            const fovea_tensor *tensors, size_t num_tensors,
                            const fovea_scalar *scalars, size_t num_scalars) {
  for (int i = 0; i < c->metadata->num_sizes; ++i)
    c->sizes[i] = -1;
  TRY(match_names(c, tensors, num_tensors, scalars, num_scalars));
  TRY(derive_sizes(c));
  TRY(check_layouts(c, launch));
  TRY(check_constraints(c));
  TRY(pack_grids(c, launch));
  c->ctas = launch->grid[0];
  TRY(pack_scratch(c, launch));
  for (int i = 0; i < c->metadata->num_all_parameters; ++i) {
    TRY(pack_parameter(c, &c->metadata->parameters[i], &launch->values[i]));
    launch->arguments[i] = &launch->values[i];
  }
  if (c->metadata->num_maps == 0)
    return FOVEA_OK;
  /* The driver encodes maps in the current context. */
  TRY(fovea_enter(c->kernel->device));
  fovea_status status = pack_maps(c, launch);
  fovea_leave(c->kernel->device);
  return status;
}

fovea_status fovea_launch_prepare(fovea_kernel *kernel,
                                  const fovea_tensor *tensors,
                                  size_t num_tensors,
                                  const fovea_scalar *scalars,
                                  size_t num_scalars, fovea_launch **result) {
  if (!kernel || !result || (num_tensors && !tensors) ||
      (num_scalars && !scalars))
    return fovea_fail(FOVEA_ERROR_ARGUMENT,
                      "kernel, tensors, scalars or launch is null");
  *result = NULL;
  const fovea_metadata *m = &kernel->metadata;
  /* One more element than needed: an allocation of 0 bytes may be null. */
  call c = {.kernel = kernel,
            .metadata = m,
            .tensors = calloc((size_t)m->num_tensors + 1, sizeof *c.tensors),
            .scalars = calloc((size_t)m->num_scalars + 1, sizeof *c.scalars),
            .sizes = calloc((size_t)m->num_sizes + 1, sizeof *c.sizes),
            .determined_by =
                calloc((size_t)m->num_sizes + 1, sizeof *c.determined_by),
            .strides = calloc(((size_t)m->num_tensors + 1) * FOVEA_MAX_RANK,
                              sizeof *c.strides)};
  fovea_launch *launch = calloc(1, sizeof *launch);
  if (launch) {
    launch->kernel = kernel;
    launch->values =
        calloc((size_t)m->num_all_parameters + 1, sizeof *launch->values);
    launch->maps =
        aligned_alloc(_Alignof(CUtensorMap),
                      ((size_t)m->num_maps + 1) * sizeof *launch->maps);
    launch->arguments =
        calloc((size_t)m->num_all_parameters + 1, sizeof *launch->arguments);
    launch->empty = calloc((size_t)m->num_tensors + 1, sizeof *launch->empty);
  }
  fovea_status status =
      c.tensors && c.scalars && c.sizes && c.determined_by && c.strides &&
              launch && launch->values && launch->maps && launch->arguments &&
              launch->empty
          ? prepare(&c, launch, tensors, num_tensors, scalars, num_scalars)
          : fovea_fail(FOVEA_ERROR_OUT_OF_MEMORY, "out of host memory");
  free(c.tensors);
  free(c.scalars);
  free(c.sizes);
  free(c.determined_by);
  free(c.strides);
  if (status == FOVEA_OK)
    *result = launch;
  else
    fovea_launch_free(launch);
  return status;
}

void fovea_launch_free(fovea_launch *launch) {
  if (!launch)
    return;
  free(launch->values);
  free(launch->maps);
  free(launch->arguments);
  free(launch->empty);
  free(launch);
}

fovea_status fovea_kernel_launch(fovea_kernel *kernel, fovea_stream stream,
                                 const fovea_tensor *tensors,
                                 size_t num_tensors,
                                 const fovea_scalar *scalars,
                                 size_t num_scalars) {
  fovea_launch *launch;
  TRY(fovea_launch_prepare(kernel, tensors, num_tensors, scalars, num_scalars,
                           &launch));
  fovea_status status = fovea_launch_run(launch, stream);
  fovea_launch_free(launch);
  return status;
}
