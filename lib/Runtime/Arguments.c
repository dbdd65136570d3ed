/*===- Arguments.c - Single arguments of launches -----------------*- C -*-===*\
|*
|* Part of the Fovea project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
/**
 * Checks addresses, and packs and unpacks scalars. Also computes the size of a
 * launch's grid.
 */
#include "Arguments.h"

#include "Internal.h"

#include <string.h>

#define VIOLATED(...) fovea_fail(FOVEA_ERROR_CONSTRAINT, __VA_ARGS__)

fovea_status fovea_check_address(const fovea_tensor_spec *spec,
                                 fovea_address address) {
  if (!address)
    return fovea_fail(FOVEA_ERROR_ARGUMENT,
                      "tensor '%s' has elements but no address", spec->name);
  if (address % (uint64_t)spec->alignment)
    return VIOLATED("tensor '%s' must lie at a multiple of %lld bytes, found "
                    "address 0x%llx",
                    spec->name, (long long)spec->alignment,
                    (unsigned long long)address);
  return FOVEA_OK;
}

fovea_status fovea_pack_integer(int64_t value, fovea_value_type type,
                                const char *what, const char *name,
                                uint64_t *slot) {
  if (type == FOVEA_VALUE_I64) {
    *slot = (uint64_t)value;
    return FOVEA_OK;
  }
  if (value < INT32_MIN || value > INT32_MAX)
    return VIOLATED("%s '%s' does not fit 32 bits: %lld", what, name,
                    (long long)value);
  int32_t narrow = (int32_t)value;
  memcpy(slot, &narrow, sizeof narrow);
  return FOVEA_OK;
}

fovea_status fovea_pack_scalar(fovea_value_type type,
                               const fovea_scalar *scalar, uint64_t *slot) {
  if (type != FOVEA_VALUE_F32)
    return fovea_pack_integer(scalar->integer, type, "scalar", scalar->name,
                              slot);
  float value = (float)scalar->floating;
  memcpy(slot, &value, sizeof value);
  return FOVEA_OK;
}

fovea_scalar fovea_scalar_of_word(const fovea_scalar_spec *spec, int64_t word) {
  fovea_scalar scalar = {spec->name, 0, word};
  if (spec->type == FOVEA_VALUE_F32)
    memcpy(&scalar.floating, &word, sizeof scalar.floating);
  return scalar;
}

int64_t fovea_launch_grid(const fovea_launch *launch) {
  return launch ? (int64_t)launch->grid[0] * launch->grid[1] * launch->grid[2]
                : 0;
}
