/*===- TensorMap.c - Encodes tensor maps --------------------------*- C -*-===*\
|*
|* Part of the Fovea project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
/**
 * Encodes TMA descriptors with the driver and checks the tensors against the
 * hardware's constraints.
 */
#include "Internal.h"

#define VIOLATED(...) fovea_fail(FOVEA_ERROR_CONSTRAINT, __VA_ARGS__)

/** The parameters of the driver's encode function. */
typedef struct view {
  CUdeviceptr base;
  uint64_t sizes[FOVEA_MAX_MAP_RANK];
  /** In bytes, from the second dimension on. */
  uint64_t strides[FOVEA_MAX_MAP_RANK];
} view;

static int data_type(fovea_dtype dtype) {
  switch (dtype) {
  case FOVEA_F16:
    return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  case FOVEA_BF16:
    return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  case FOVEA_F32:
    return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  case FOVEA_I1:
  case FOVEA_I8:
  case FOVEA_F8E4M3FN:
  case FOVEA_F8E5M2:
    return CU_TENSOR_MAP_DATA_TYPE_UINT8;
  case FOVEA_I16:
    return CU_TENSOR_MAP_DATA_TYPE_UINT16;
  case FOVEA_I32:
    return CU_TENSOR_MAP_DATA_TYPE_INT32;
  case FOVEA_I64:
    return CU_TENSOR_MAP_DATA_TYPE_INT64;
  }
  return CU_TENSOR_MAP_DATA_TYPE_UINT8;
}

static int swizzle_mode(int bytes) {
  return bytes == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
         : bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
         : bytes == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                       : CU_TENSOR_MAP_SWIZZLE_NONE;
}

static bool is_empty(const fovea_tensor *tensor) {
  for (int d = 0; d < tensor->rank; ++d)
    if (tensor->sizes[d] == 0)
      return true;
  return false;
}

/**
 * The driver does not accept empty tensors. The map has one zero element
 * instead: loads return zero, from that element or out of bounds. Stores use a
 * separate element, so that the loaded one stays zero.
 */
static view view_nothing(const fovea_tensor_spec *spec,
                         const fovea_map_spec *map, CUdeviceptr nothing) {
  view result = {
      nothing + (spec->written ? FOVEA_NOTHING_BYTES / 2 : 0), {0}, {0}};
  for (int d = 0; d < map->rank; ++d) {
    result.sizes[d] = 1;
    result.strides[d] = FOVEA_MAP_GRANULE;
  }
  return result;
}

static fovea_status check_stride(const fovea_tensor_spec *spec, int dim,
                                 int64_t stride, uint64_t *bytes) {
  /* Checked before: strides are not negative, and the bytes fit 63 bits. */
  static const int64_t limit = INT64_C(1) << 40;
  int64_t element = fovea_dtype_bytes(spec->dtype), found = stride * element;
  if (found % FOVEA_MAP_GRANULE || found >= limit)
    return VIOLATED("tensor '%s' must have a stride that is a multiple of %d "
                    "bytes, below 2^40, in dimension %d, found %lld elements "
                    "of %lld bytes; a slice of longer rows has one",
                    spec->name, FOVEA_MAP_GRANULE, dim, (long long)stride,
                    (long long)element);
  *bytes = (uint64_t)found;
  return FOVEA_OK;
}

static fovea_status check_granule(const fovea_tensor_spec *spec,
                                  fovea_address address) {
  if (address % FOVEA_MAP_GRANULE)
    return VIOLATED("tensor '%s' must lie at a multiple of %d bytes, found "
                    "address 0x%llx",
                    spec->name, FOVEA_MAP_GRANULE, (unsigned long long)address);
  return FOVEA_OK;
}

static fovea_status view_tensor(const fovea_tensor_spec *spec,
                                const fovea_map_spec *map,
                                const fovea_tensor *tensor,
                                const int64_t *strides, view *result) {
  TRY(check_granule(spec, tensor->data));
  result->base = tensor->data;
  for (int d = 0; d < map->rank; ++d) {
    int dim = map->dims[d];
    int64_t size = tensor->sizes[dim];
    if (size > UINT32_MAX)
      return VIOLATED("tensor '%s' must have fewer than 2^32 elements in "
                      "dimension %d, found %lld",
                      spec->name, dim, (long long)size);
    result->sizes[d] = (uint64_t)size;
    /* TMA writes the last granule of a row entirely. */
    if (d == 0 && spec->written &&
        size * fovea_dtype_bytes(spec->dtype) % FOVEA_MAP_GRANULE)
      return VIOLATED("tensor '%s' must have a multiple of %d bytes in "
                      "dimension %d, as TMA writes no less, found "
                      "%lld elements of %d bytes",
                      spec->name, FOVEA_MAP_GRANULE, dim, (long long)size,
                      (int)fovea_dtype_bytes(spec->dtype));
    if (size == 1)
      /* Never used; the tensor's own stride may be invalid. */
      result->strides[d] = FOVEA_MAP_GRANULE;
    else if (d > 0)
      TRY(check_stride(spec, dim, strides[dim], &result->strides[d]));
    else if (strides[dim] != 1)
      return VIOLATED("tensor '%s' must have stride 1 in dimension %d, found "
                      "%lld",
                      spec->name, dim, (long long)strides[dim]);
  }
  return FOVEA_OK;
}

fovea_status fovea_tensor_map_encode(const fovea_driver *driver,
                                     const fovea_tensor_spec *spec,
                                     const fovea_map_spec *map,
                                     const fovea_tensor *tensor,
                                     const int64_t *strides,
                                     CUdeviceptr nothing, CUtensorMap *result) {
  static const uint32_t steps[FOVEA_MAX_MAP_RANK] = {1, 1, 1, 1, 1};
  view shown;
  if (is_empty(tensor))
    shown = view_nothing(spec, map, nothing);
  else
    TRY(view_tensor(spec, map, tensor, strides, &shown));
  return fovea_check(
      driver,
      driver->tensor_map_encode(
          result, data_type(spec->dtype), (uint32_t)map->rank,
          (void *)(uintptr_t)shown.base, shown.sizes, shown.strides + 1,
          map->box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
          swizzle_mode(map->swizzle), CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
          CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
      "cuTensorMapEncodeTiled");
}

fovea_status fovea_tensor_map_move(const fovea_driver *driver,
                                   const fovea_tensor_spec *spec,
                                   fovea_address address, CUtensorMap *map) {
  TRY(check_granule(spec, address));
  return fovea_check(
      driver, driver->tensor_map_replace(map, (void *)(uintptr_t)address),
      "cuTensorMapReplaceAddress");
}
