/*===- Metadata.c - Reads launch metadata -------------------------*- C -*-===*\
|*
|* Part of the Fovea project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
/**
 * The members are specified in docs/Specification/ABI.md. Unknown members are
 * ignored. Unknown kinds of parameters and constraints are errors, since a
 * launch without them would be wrong.
 */
#include "Metadata.h"

#include "JSON.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char *name;
  int bytes;
} dtypes[] = {[FOVEA_F16] = {"f16", 2},
              [FOVEA_BF16] = {"bf16", 2},
              [FOVEA_F32] = {"f32", 4},
              [FOVEA_I1] = {"i1", 1},
              [FOVEA_I8] = {"i8", 1},
              [FOVEA_I32] = {"i32", 4},
              [FOVEA_I64] = {"i64", 8},
              [FOVEA_I16] = {"i16", 2},
              [FOVEA_F8E4M3FN] = {"f8E4M3FN", 1},
              [FOVEA_F8E5M2] = {"f8E5M2", 1}};
enum { NUM_DTYPES = sizeof dtypes / sizeof *dtypes };

const char *fovea_dtype_name(fovea_dtype dtype) {
  return (unsigned)dtype < NUM_DTYPES ? dtypes[dtype].name : "unknown";
}
int fovea_dtype_bytes(fovea_dtype dtype) { return dtypes[dtype].bytes; }

int fovea_metadata_version(void) { return FOVEA_METADATA_VERSION; }

typedef struct reader {
  fovea_json json;
  fovea_metadata *out;
  int64_t version;
} reader;

#define FAIL(...) fovea_fail(FOVEA_ERROR_METADATA, "metadata: " __VA_ARGS__)

/*===-- Names -------------------------------------------------------------===*/

static fovea_status tensor_member(const reader *r, int object,
                                  const char *member, int *index) {
  const char *name;
  TRY(fovea_json_string_member(&r->json, object, member, &name));
  for (int i = 0; i < r->out->num_tensors; ++i)
    if (strcmp(r->out->tensors[i].name, name) == 0) {
      *index = i;
      return FOVEA_OK;
    }
  return FAIL("no tensor is named '%s'", name);
}

static fovea_status find_tensor(const reader *r, int object, int *index) {
  return tensor_member(r, object, "tensor", index);
}

static fovea_status find_size(const reader *r, const char *name, int *index) {
  for (int i = 0; i < r->out->num_sizes; ++i)
    if (strcmp(r->out->sizes[i].name, name) == 0) {
      *index = i;
      return FOVEA_OK;
    }
  return FAIL("no dimension is named '%s'", name);
}

static fovea_status size_member(const reader *r, int object, const char *member,
                                int *index) {
  const char *name;
  TRY(fovea_json_string_member(&r->json, object, member, &name));
  return find_size(r, name, index);
}

/*===-- Parts -------------------------------------------------------------===*/

static fovea_status read_dtype(const char *name, fovea_dtype *dtype) {
  for (int i = 0; i < NUM_DTYPES; ++i)
    if (strcmp(dtypes[i].name, name) == 0) {
      *dtype = (fovea_dtype)i;
      return FOVEA_OK;
    }
  return FAIL("'dtype' is unknown: '%s'", name);
}

/**
 * Reads one dimension: its name in `dims`, and its size or that name in
 * `shape`.
 */
static fovea_status read_dim(reader *r, const char *name, int shape,
                             int *result) {
  fovea_metadata *out = r->out;
  int64_t value = -1;
  if (r->json.tokens[shape].type == JSMN_PRIMITIVE) {
    TRY(fovea_json_integer(&r->json, shape, "shape", &value));
    if (value < 0)
      return FAIL("'shape' must not be negative");
  } else {
    const char *dynamic;
    TRY(fovea_json_string(&r->json, shape, "shape", &dynamic));
    if (strcmp(dynamic, name) != 0)
      return FAIL("'shape' has '%s' where 'dims' has '%s'", dynamic, name);
  }
  int i = 0;
  while (i < out->num_sizes && strcmp(out->sizes[i].name, name) != 0)
    ++i;
  if (i == out->num_sizes) {
    out->sizes[out->num_sizes++] = (fovea_size){name, value};
  } else if (out->sizes[i].value < 0) {
    out->sizes[i].value = value;
  } else if (value >= 0 && out->sizes[i].value != value) {
    return FAIL("size '%s' has two values, %lld and %lld", name,
                (long long)out->sizes[i].value, (long long)value);
  }
  *result = i;
  return FOVEA_OK;
}

static fovea_status read_tensor(reader *r, int object) {
  fovea_tensor_spec *spec = &r->out->tensors[r->out->num_tensors];
  TRY(fovea_json_expect(&r->json, object, JSMN_OBJECT, "tensors",
                        "a list of objects"));
  TRY(fovea_json_string_member(&r->json, object, "name", &spec->name));
  for (int i = 0; i < r->out->num_tensors; ++i)
    if (strcmp(r->out->tensors[i].name, spec->name) == 0)
      return FAIL("two tensors are named '%s'", spec->name);
  const char *access, *dtype;
  TRY(fovea_json_string_member(&r->json, object, "access", &access));
  bool updated = strcmp(access, "update") == 0;
  spec->written = updated || strcmp(access, "write") == 0 ||
                  strcmp(access, "accumulate") == 0;
  if (!spec->written && strcmp(access, "read") != 0)
    return FAIL("'access' must be 'read', 'write', 'accumulate' or 'update', "
                "found '%s'",
                access);
  if (updated && r->version < 5)
    return FAIL("version %lld has no access 'update'", (long long)r->version);
  TRY(fovea_json_string_member(&r->json, object, "dtype", &dtype));
  TRY(read_dtype(dtype, &spec->dtype));
  TRY(fovea_json_integer(&r->json,
                         fovea_json_find(&r->json, object, "alignment"),
                         "alignment", &spec->alignment));
  if (spec->alignment <= 0 || (spec->alignment & (spec->alignment - 1)))
    return FAIL("'alignment' must be a power of two, found %lld",
                (long long)spec->alignment);
  int shape, dims;
  TRY(fovea_json_list_member(&r->json, object, "shape", &shape));
  TRY(fovea_json_list_member(&r->json, object, "dims", &dims));
  spec->rank = r->json.tokens[shape].size;
  if (spec->rank != r->json.tokens[dims].size || spec->rank > FOVEA_MAX_RANK)
    return FAIL(
        "'shape' and 'dims' of tensor '%s' must have the same length, at "
        "most %d",
        spec->name, FOVEA_MAX_RANK);
  ++shape, ++dims;
  for (int d = 0; d < spec->rank; ++d) {
    const char *name;
    TRY(fovea_json_string(&r->json, dims, "dims", &name));
    TRY(read_dim(r, name, shape, &spec->sizes[d]));
    shape = fovea_json_after(&r->json, shape),
    dims = fovea_json_after(&r->json, dims);
  }
  ++r->out->num_tensors;
  return FOVEA_OK;
}

static fovea_status read_type(const reader *r, int object, bool floats,
                              fovea_value_type *type) {
  const char *name;
  TRY(fovea_json_string_member(&r->json, object, "type", &name));
  if (strcmp(name, "i32") == 0)
    *type = FOVEA_VALUE_I32;
  else if (strcmp(name, "i64") == 0)
    *type = FOVEA_VALUE_I64;
  else if (floats && strcmp(name, "f32") == 0)
    *type = FOVEA_VALUE_F32;
  else
    return FAIL("'type' of a parameter is unknown: '%s'", name);
  return FOVEA_OK;
}

static fovea_status read_scalar(reader *r, int object, fovea_parameter *p) {
  fovea_metadata *out = r->out;
  const char *name;
  TRY(fovea_json_string_member(&r->json, object, "name", &name));
  TRY(read_type(r, object, true, &p->type));
  for (p->index = 0; p->index < out->num_scalars; ++p->index)
    if (strcmp(out->scalars[p->index].name, name) == 0)
      return FOVEA_OK;
  out->scalars[out->num_scalars++] = (fovea_scalar_spec){name, p->type};
  return FOVEA_OK;
}

/** Reads the dimensions of a map: a permutation of the tensor's dimensions. */
static fovea_status read_map_dims(const reader *r, int dims,
                                  const fovea_tensor_spec *spec,
                                  fovea_map_spec *map) {
  unsigned seen = 0;
  for (int d = 0; d < map->rank; ++d) {
    int64_t dim;
    TRY(fovea_json_integer(&r->json, dims, "dims", &dim));
    if (dim < 0 || dim >= map->rank || (seen >> dim & 1))
      return FAIL("'dims' of the tensor map of '%s' must list each of the "
                  "dimensions 0 to %d once",
                  spec->name, map->rank - 1);
    seen |= 1u << dim;
    map->dims[d] = (int)dim;
    dims = fovea_json_after(&r->json, dims);
  }
  return FOVEA_OK;
}

static fovea_status read_map(const reader *r, int object,
                             const fovea_tensor_spec *spec,
                             fovea_map_spec *map) {
  int dims, box;
  TRY(fovea_json_list_member(&r->json, object, "dims", &dims));
  TRY(fovea_json_list_member(&r->json, object, "box", &box));
  map->rank = r->json.tokens[dims].size;
  if (map->rank != spec->rank || map->rank != r->json.tokens[box].size)
    return FAIL("'dims' and 'box' of the tensor map of '%s' must have the "
                "tensor's %d dimensions, found %d and %d",
                spec->name, spec->rank, map->rank, r->json.tokens[box].size);
  if (map->rank < 1 || map->rank > FOVEA_MAX_MAP_RANK)
    return FAIL("the tensor map of '%s' must have 1 to %d dimensions, found %d",
                spec->name, FOVEA_MAX_MAP_RANK, map->rank);
  TRY(read_map_dims(r, dims + 1, spec, map));
  ++box;
  for (int d = 0; d < map->rank; ++d) {
    int64_t extent;
    TRY(fovea_json_integer(&r->json, box, "box", &extent));
    if (extent < 1 || extent > FOVEA_MAX_BOX_EXTENT)
      return FAIL("'box' of the tensor map of '%s' must be in [1, %d], found "
                  "%lld",
                  spec->name, FOVEA_MAX_BOX_EXTENT, (long long)extent);
    map->box[d] = (uint32_t)extent;
    box = fovea_json_after(&r->json, box);
  }
  int64_t swizzle;
  TRY(fovea_json_integer(&r->json, fovea_json_find(&r->json, object, "swizzle"),
                         "swizzle", &swizzle));
  if (swizzle != 0 && swizzle != 32 && swizzle != 64 && swizzle != 128)
    return FAIL("'swizzle' of the tensor map of '%s' must be 0, 32, 64 or 128, "
                "found %lld",
                spec->name, (long long)swizzle);
  map->swizzle = (int)swizzle;
  int bytes = (int)map->box[0] * fovea_dtype_bytes(spec->dtype);
  if (bytes % FOVEA_MAP_GRANULE || (swizzle && bytes > swizzle))
    return FAIL("'box' of the tensor map of '%s' must have rows of a multiple "
                "of %d bytes, at most 'swizzle', found %d",
                spec->name, FOVEA_MAP_GRANULE, bytes);
  return FOVEA_OK;
}

static fovea_status read_workspace(reader *r, int object, fovea_parameter *p) {
  fovea_metadata *out = r->out;
  int64_t bytes;
  TRY(fovea_json_integer(&r->json, fovea_json_find(&r->json, object, "bytes"),
                         "bytes", &bytes));
  if (bytes < 1 || bytes > FOVEA_MAX_WORKSPACE_BYTES)
    return FAIL("'bytes' of a workspace must be in [1, %d], found %lld",
                FOVEA_MAX_WORKSPACE_BYTES, (long long)bytes);
  p->offset = out->workspace_bytes;
  p->bytes = (int)bytes;
  out->workspace_bytes +=
      ((int)bytes + FOVEA_WORKSPACE_ALIGNMENT - 1) & -FOVEA_WORKSPACE_ALIGNMENT;
  if (out->workspace_bytes > FOVEA_MAX_WORKSPACE_BYTES ||
      ++out->num_workspaces > FOVEA_MAX_WORKSPACES)
    return FAIL("expected at most %d workspaces with at most %d bytes in all",
                FOVEA_MAX_WORKSPACES, FOVEA_MAX_WORKSPACE_BYTES);
  return FOVEA_OK;
}

/** Reads an expression in sizes; `what` is the name of the member. */
static fovea_status read_expr(reader *r, int token, const char *what, int depth,
                              int *root) {
  static const struct {
    const char *name;
    fovea_expr_kind kind;
  } operations[] = {{"+", FOVEA_EXPR_ADD},
                    {"*", FOVEA_EXPR_MUL},
                    {"floordiv", FOVEA_EXPR_FLOORDIV},
                    {"ceildiv", FOVEA_EXPR_CEILDIV},
                    {"mod", FOVEA_EXPR_MOD}};
  if (depth > 64)
    return FAIL("'%s' is nested too deeply", what);
  fovea_expr expr = {0};
  switch (r->json.tokens[token].type) {
  case JSMN_PRIMITIVE:
    expr.kind = FOVEA_EXPR_NUMBER;
    TRY(fovea_json_integer(&r->json, token, what, &expr.value));
    break;
  case JSMN_STRING: {
    int index;
    /* The grid itself can't depend on the number of CTAs. */
    if (strcmp(r->json.text + r->json.tokens[token].start, "ctas") == 0 &&
        strcmp(what, "bytes") == 0) {
      expr.kind = FOVEA_EXPR_CTAS;
      break;
    }
    expr.kind = FOVEA_EXPR_SIZE;
    TRY(find_size(r, r->json.text + r->json.tokens[token].start, &index));
    expr.value = index;
    break;
  }
  default: {
    TRY(fovea_json_expect(&r->json, token, JSMN_ARRAY, what,
                          "a list of expressions"));
    const char *name;
    if (r->json.tokens[token].size != 3)
      return FAIL("an operation in '%s' must be [name, a, b]", what);
    TRY(fovea_json_string(&r->json, token + 1, what, &name));
    size_t i = 0, count = sizeof operations / sizeof *operations;
    while (i < count && strcmp(operations[i].name, name) != 0)
      ++i;
    if (i == count)
      return FAIL("'%s' has the unknown operation '%s'", what, name);
    expr.kind = operations[i].kind;
    int lhs = fovea_json_after(&r->json, token + 1);
    TRY(read_expr(r, lhs, what, depth + 1, &expr.lhs));
    TRY(read_expr(r, fovea_json_after(&r->json, lhs), what, depth + 1,
                  &expr.rhs));
  }
  }
  *root = r->out->num_exprs++;
  r->out->exprs[*root] = expr;
  return FOVEA_OK;
}

/** True if two expressions are structurally equal. */
static bool is_same(const fovea_metadata *m, int a, int b) {
  const fovea_expr *x = &m->exprs[a], *y = &m->exprs[b];
  if (x->kind != y->kind)
    return false;
  if (x->kind == FOVEA_EXPR_CTAS)
    return true;
  if (x->kind == FOVEA_EXPR_NUMBER || x->kind == FOVEA_EXPR_SIZE)
    return x->value == y->value;
  return is_same(m, x->lhs, y->lhs) && is_same(m, x->rhs, y->rhs);
}

/** Reads a member that is 0 or 1; 0 if it is absent. */
static fovea_status read_flag(reader *r, int object, const char *name,
                              int *result) {
  int member = fovea_json_find(&r->json, object, name);
  *result = 0;
  if (member < 0)
    return FOVEA_OK;
  int64_t value;
  TRY(fovea_json_integer(&r->json, member, name, &value));
  if (value != 0 && value != 1)
    return FAIL("'%s' must be 0 or 1, found %lld", name, (long long)value);
  *result = (int)value;
  return FOVEA_OK;
}

/**
 * Reads a scratch buffer. Kernels of a launch that use the same name share it.
 */
static fovea_status read_scratch(reader *r, int object, fovea_parameter *p) {
  fovea_metadata *out = r->out;
  const char *name;
  int token = fovea_json_find(&r->json, object, "bytes"), bytes, zeroed;
  TRY(fovea_json_string_member(&r->json, object, "name", &name));
  TRY(read_flag(r, object, "zeroed", &zeroed));
  if (token < 0)
    return FAIL("'bytes' is missing");
  TRY(read_expr(r, token, "bytes", 0, &bytes));
  for (p->index = 0; p->index < out->num_scratch; ++p->index) {
    if (strcmp(out->scratch[p->index].name, name) != 0)
      continue;
    if (!is_same(out, out->scratch[p->index].bytes, bytes))
      return FAIL("scratch memory '%s' has two numbers of bytes", name);
    if (out->scratch[p->index].zeroed != zeroed)
      return FAIL("kernels disagree about whether scratch memory '%s' is zero",
                  name);
    return FOVEA_OK;
  }
  if (out->num_scratch == FOVEA_MAX_SCRATCH)
    return FAIL("expected at most %d scratch memories", FOVEA_MAX_SCRATCH);
  out->scratch[out->num_scratch++] = (fovea_scratch_spec){name, bytes, zeroed};
  return FOVEA_OK;
}

static fovea_status read_parameter(reader *r, int object) {
  if (r->out->num_all_parameters == FOVEA_MAX_PARAMETERS)
    return FAIL("expected at most %d parameters", FOVEA_MAX_PARAMETERS);
  fovea_parameter *p = &r->out->parameters[r->out->num_all_parameters++];
  const char *kind;
  TRY(fovea_json_expect(&r->json, object, JSMN_OBJECT, "parameters",
                        "a list of objects"));
  TRY(fovea_json_string_member(&r->json, object, "kind", &kind));
  if (strcmp(kind, "pointer") == 0) {
    p->kind = FOVEA_PARAMETER_POINTER;
    return find_tensor(r, object, &p->index);
  }
  if (strcmp(kind, "size") == 0) {
    p->kind = FOVEA_PARAMETER_SIZE;
    TRY(size_member(r, object, "size", &p->index));
    return read_type(r, object, false, &p->type);
  }
  if (strcmp(kind, "stride") == 0) {
    p->kind = FOVEA_PARAMETER_STRIDE;
    TRY(find_tensor(r, object, &p->index));
    int64_t dim;
    TRY(fovea_json_integer(&r->json, fovea_json_find(&r->json, object, "dim"),
                           "dim", &dim));
    if (dim < 0 || dim >= r->out->tensors[p->index].rank)
      return FAIL("tensor '%s' has no dimension %lld",
                  r->out->tensors[p->index].name, (long long)dim);
    p->dim = (int)dim;
    return read_type(r, object, false, &p->type);
  }
  if (strcmp(kind, "scalar") == 0) {
    p->kind = FOVEA_PARAMETER_SCALAR;
    return read_scalar(r, object, p);
  }
  if (strcmp(kind, "tensor_map") == 0) {
    p->kind = FOVEA_PARAMETER_TENSOR_MAP;
    TRY(find_tensor(r, object, &p->index));
    if (r->out->num_maps == FOVEA_MAX_MAPS)
      return FAIL("expected at most %d tensor maps", FOVEA_MAX_MAPS);
    p->map = r->out->num_maps++;
    return read_map(r, object, &r->out->tensors[p->index],
                    &r->out->maps[p->map]);
  }
  if (strcmp(kind, "workspace") == 0) {
    p->kind = FOVEA_PARAMETER_WORKSPACE;
    return read_workspace(r, object, p);
  }
  if (strcmp(kind, "scratch") == 0) {
    p->kind = FOVEA_PARAMETER_SCRATCH;
    return read_scratch(r, object, p);
  }
  return FAIL("a parameter has the unknown kind '%s'", kind);
}

static fovea_status read_constraint(reader *r, int object) {
  fovea_constraint *c = &r->out->constraints[r->out->num_constraints++];
  const char *kind;
  TRY(fovea_json_expect(&r->json, object, JSMN_OBJECT, "constraints",
                        "a list of objects"));
  TRY(fovea_json_string_member(&r->json, object, "kind", &kind));
  TRY(size_member(r, object, "size", &c->size));
  if (strcmp(kind, "multiple") == 0) {
    c->kind = FOVEA_CONSTRAINT_MULTIPLE;
    return size_member(r, object, "of", &c->of);
  }
  if (strcmp(kind, "one_more") == 0) {
    c->kind = FOVEA_CONSTRAINT_ONE_MORE;
    return size_member(r, object, "of", &c->of);
  }
  if (strcmp(kind, "at_most") == 0) {
    c->kind = FOVEA_CONSTRAINT_AT_MOST;
    return fovea_json_integer(&r->json,
                              fovea_json_find(&r->json, object, "limit"),
                              "limit", &c->limit);
  }
  if (strcmp(kind, "at_least") == 0) {
    c->kind = FOVEA_CONSTRAINT_AT_LEAST;
    return fovea_json_integer(&r->json,
                              fovea_json_find(&r->json, object, "limit"),
                              "limit", &c->limit);
  }
  if (strcmp(kind, "covers") == 0) {
    c->kind = FOVEA_CONSTRAINT_COVERS;
    TRY(size_member(r, object, "of", &c->of));
    TRY(fovea_json_integer(&r->json, fovea_json_find(&r->json, object, "block"),
                           "block", &c->limit));
    if (c->limit < 1)
      return FAIL("a constraint's 'block' must be positive, found %lld",
                  (long long)c->limit);
    return FOVEA_OK;
  }
  return FAIL("a constraint has the unknown kind '%s'", kind);
}

/** Checks that a tensor has integers, and the rank if it counts entries. */
static fovea_status check_integers(const reader *r, int index, int rank) {
  const fovea_tensor_spec *spec = &r->out->tensors[index];
  if (spec->dtype != FOVEA_I32 || spec->rank == 0)
    return FAIL("'contents' must be of i32 tensors, found '%s'", spec->name);
  if (rank >= 0 && spec->rank != rank)
    return FAIL("tensor '%s' must have rank %d to count entries, found %d",
                spec->name, rank, spec->rank);
  return FOVEA_OK;
}

/** Reads a positive integer; leaves `value` unchanged if it is absent. */
static fovea_status read_positive(reader *r, int object, const char *name,
                                  int64_t *value) {
  int token = fovea_json_find(&r->json, object, name);
  if (token < 0)
    return FOVEA_OK;
  TRY(fovea_json_integer(&r->json, token, name, value));
  if (*value < 1)
    return FAIL("'%s' must be positive, found %lld", name, (long long)*value);
  return FOVEA_OK;
}

static fovea_status read_contents(reader *r, int object) {
  fovea_contents *c = &r->out->contents[r->out->num_contents++];
  TRY(fovea_json_expect(&r->json, object, JSMN_OBJECT, "contents",
                        "a list of objects"));
  TRY(find_tensor(r, object, &c->tensor));
  TRY(check_integers(r, c->tensor, -1));
  TRY(size_member(r, object, "of", &c->of));
  int ascending = fovea_json_find(&r->json, object, "ascending");
  c->ascending =
      ascending >= 0 && r->json.text[r->json.tokens[ascending].start] == 't';
  c->times = 1;
  c->offsets = -1;
  TRY(read_positive(r, object, "times", &c->times));
  TRY(read_positive(r, object, "block", &c->block));
  TRY(read_positive(r, object, "page", &c->page));
  if (c->block == 0 && c->page == 0)
    return FOVEA_OK;
  TRY(tensor_member(r, object, "entries", &c->entries));
  if (c->page == 0 || fovea_json_find(&r->json, object, "offsets") < 0)
    return check_integers(r, c->entries, r->out->tensors[c->tensor].rank - 1);
  TRY(tensor_member(r, object, "offsets", &c->offsets));
  TRY(check_integers(r, c->entries, 1));
  return check_integers(r, c->offsets, 1);
}

static fovea_status read_list(reader *r, int object, const char *name,
                              fovea_status (*read)(reader *, int)) {
  int list;
  TRY(fovea_json_list_member(&r->json, object, name, &list));
  int element = list + 1;
  for (int i = 0; i < r->json.tokens[list].size; ++i) {
    TRY(read(r, element));
    element = fovea_json_after(&r->json, element);
  }
  return FOVEA_OK;
}

/**
 * Clusters extend along x. A kernel that is not persistent omits 'persistent'.
 */
static fovea_status read_cluster(reader *r) {
  enum { kMaxCluster = 16, kMaxPersistent = 32 };
  int list;
  int64_t ctas[3], persistent = 0;
  TRY(fovea_json_list_member(&r->json, 0, "cluster", &list));
  if (r->json.tokens[list].size != 3)
    return FAIL("'cluster' must have three entries");
  int entry = list + 1;
  for (int i = 0; i < 3; ++i, entry = fovea_json_after(&r->json, entry))
    TRY(fovea_json_integer(&r->json, entry, "cluster", &ctas[i]));
  if (ctas[0] < 1 || ctas[0] > kMaxCluster || ctas[1] != 1 || ctas[2] != 1)
    return FAIL("'cluster' must be 1 to %d CTAs along x, found "
                "[%lld,%lld,%lld]",
                kMaxCluster, (long long)ctas[0], (long long)ctas[1],
                (long long)ctas[2]);
  int token = fovea_json_find(&r->json, 0, "persistent");
  if (token >= 0) {
    TRY(fovea_json_integer(&r->json, token, "persistent", &persistent));
    if (persistent < 1 || persistent > kMaxPersistent)
      return FAIL("'persistent' must be in [1, %d], found %lld", kMaxPersistent,
                  (long long)persistent);
  }
  r->out->cluster = (unsigned)ctas[0];
  r->out->persistent = (unsigned)persistent;
  return FOVEA_OK;
}

/** sm_<number><suffix>; the number's last digit is the minor version. */
static fovea_status read_target(reader *r) {
  fovea_target *target = &r->out->target;
  TRY(fovea_json_string_member(&r->json, 0, "target", &target->name));
  const char *prefix = "sm_", *text = target->name;
  int chip = 0, digits = 0;
  if (strncmp(text, prefix, strlen(prefix)) == 0)
    for (text += strlen(prefix); *text >= '0' && *text <= '9' && digits < 4;
         ++digits)
      chip = 10 * chip + (*text++ - '0');
  if (*text == 'a' || *text == 'f')
    target->suffix = *text++;
  if (digits < 2 || *text)
    return FAIL("'target' must be a GPU such as 'sm_80' or 'sm_90a', found "
                "'%s'",
                target->name);
  target->major = chip / 10;
  target->minor = chip % 10;
  return FOVEA_OK;
}

/** Reads the grid, block and shared memory of one kernel. */
static fovea_status read_launch_shape(reader *r, int object, int grid[3],
                                      unsigned block[3],
                                      unsigned *shared_memory) {
  int items, threads;
  TRY(fovea_json_list_member(&r->json, object, "grid", &items));
  TRY(fovea_json_list_member(&r->json, object, "block", &threads));
  if (r->json.tokens[items].size != 3 || r->json.tokens[threads].size != 3)
    return FAIL("'grid' and 'block' must have three entries");
  ++items, ++threads;
  for (int i = 0; i < 3; ++i) {
    TRY(read_expr(r, items, "grid", 0, &grid[i]));
    int64_t count;
    TRY(fovea_json_integer(&r->json, threads, "block", &count));
    if (count < 1 || count > 1024)
      return FAIL("'block' must be in [1, 1024], found %lld", (long long)count);
    block[i] = (unsigned)count;
    items = fovea_json_after(&r->json, items),
    threads = fovea_json_after(&r->json, threads);
  }
  int64_t bytes;
  TRY(fovea_json_integer(&r->json,
                         fovea_json_find(&r->json, object, "shared_memory"),
                         "shared_memory", &bytes));
  if (bytes < 0 || bytes > INT_MAX)
    return FAIL("'shared_memory' must not be negative, found %lld",
                (long long)bytes);
  *shared_memory = (unsigned)bytes;
  return FOVEA_OK;
}

static fovea_status read_helper(reader *r, int object) {
  fovea_metadata *out = r->out;
  TRY(fovea_json_expect(&r->json, object, JSMN_OBJECT, "prologue and epilogue",
                        "lists of objects"));
  if (out->num_helpers == FOVEA_MAX_HELPERS)
    return FAIL("expected at most %d kernels in prologue and epilogue",
                FOVEA_MAX_HELPERS);
  fovea_helper_kernel *kernel = &out->helpers[out->num_helpers++];
  TRY(fovea_json_string_member(&r->json, object, "kernel", &kernel->name));
  kernel->first_parameter = out->num_all_parameters;
  TRY(read_list(r, object, "parameters", read_parameter));
  for (int i = kernel->first_parameter; i < out->num_all_parameters; ++i) {
    fovea_parameter_kind kind = out->parameters[i].kind;
    if (kind == FOVEA_PARAMETER_WORKSPACE)
      return FAIL("kernel '%s' of a prologue or epilogue must take no "
                  "workspace",
                  kernel->name);
    if (!out->helpers_write &&
        (kind == FOVEA_PARAMETER_SCALAR || kind == FOVEA_PARAMETER_TENSOR_MAP))
      return FAIL("kernel '%s' of the prologue takes scalars or tensor maps, "
                  "which need version 3 or later",
                  kernel->name);
  }
  TRY(read_flag(r, object, "overlapped", &kernel->overlapped));
  return read_launch_shape(r, object, kernel->grid, kernel->block,
                           &kernel->shared_memory);
}

/** Reads the prologue and epilogue kernels. */
static fovea_status read_helpers(reader *r, int64_t version) {
  fovea_metadata *out = r->out;
  out->helpers_write = version >= 3;
  if (fovea_json_find(&r->json, 0, "prologue") >= 0)
    TRY(read_list(r, 0, "prologue", read_helper));
  out->num_prologue = out->num_helpers;
  if (fovea_json_find(&r->json, 0, "epilogue") < 0)
    return FOVEA_OK;
  if (version < 4)
    return FAIL("version %lld has no 'epilogue'", (long long)version);
  return read_list(r, 0, "epilogue", read_helper);
}

static fovea_status read_all(reader *r, size_t size) {
  TRY(fovea_json_tokenize(&r->json, size));
  int64_t version;
  TRY(fovea_json_integer(&r->json, fovea_json_find(&r->json, 0, "version"),
                         "version", &version));
  r->version = version;
  if (version < 1 || version > FOVEA_METADATA_VERSION)
    return FAIL("version %lld is not known, expected 1 to %d",
                (long long)version, FOVEA_METADATA_VERSION);
  fovea_metadata *out = r->out;
  TRY(fovea_json_string_member(&r->json, 0, "kernel", &out->kernel));
  TRY(read_target(r));

  /* No list has more entries than the text has tokens. */
  size_t most = (size_t)r->json.num_tokens;
  out->sizes = calloc(most, sizeof *out->sizes);
  out->tensors = calloc(most, sizeof *out->tensors);
  out->parameters = calloc(most, sizeof *out->parameters);
  out->maps = calloc(most, sizeof *out->maps);
  out->scalars = calloc(most, sizeof *out->scalars);
  out->exprs = calloc(most, sizeof *out->exprs);
  out->constraints = calloc(most, sizeof *out->constraints);
  out->contents = calloc(most, sizeof *out->contents);
  if (!out->sizes || !out->tensors || !out->parameters || !out->maps ||
      !out->scalars || !out->exprs || !out->constraints || !out->contents)
    return fovea_fail(FOVEA_ERROR_OUT_OF_MEMORY, "out of host memory");

  TRY(read_list(r, 0, "tensors", read_tensor));
  TRY(read_list(r, 0, "parameters", read_parameter));
  out->num_parameters = out->num_all_parameters;
  TRY(read_helpers(r, version));
  TRY(read_flag(r, 0, "overlapped", &out->overlapped));
  TRY(read_list(r, 0, "constraints", read_constraint));
  if (fovea_json_find(&r->json, 0, "contents") >= 0)
    TRY(read_list(r, 0, "contents", read_contents));
  TRY(read_cluster(r));
  return read_launch_shape(r, 0, out->grid, out->block, &out->shared_memory);
}

fovea_status fovea_metadata_read(const char *text, size_t size,
                                 fovea_metadata *metadata) {
  memset(metadata, 0, sizeof *metadata);
  if (size > FOVEA_MAX_METADATA_BYTES)
    return FAIL("longer than %d bytes", FOVEA_MAX_METADATA_BYTES);
  metadata->text = malloc(size + 1);
  if (!metadata->text)
    return fovea_fail(FOVEA_ERROR_OUT_OF_MEMORY, "out of host memory");
  memcpy(metadata->text, text, size);
  metadata->text[size] = 0;
  reader r = {{metadata->text, NULL, 0}, metadata, 0};
  fovea_status status = read_all(&r, size);
  free(r.json.tokens);
  if (status != FOVEA_OK)
    fovea_metadata_free(metadata);
  return status;
}

void fovea_metadata_free(fovea_metadata *metadata) {
  free(metadata->text);
  free(metadata->sizes);
  free(metadata->tensors);
  free(metadata->parameters);
  free(metadata->maps);
  free(metadata->scalars);
  free(metadata->exprs);
  free(metadata->constraints);
  free(metadata->contents);
  memset(metadata, 0, sizeof *metadata);
}
