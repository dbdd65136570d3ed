/*===- Arguments.h - Single arguments of launches -----------------*- C -*-===*\
|*
|* Part of the Fovea project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
/** Checks and packing of one argument, shared by the ways to launch a kernel.
 */
#ifndef FOVEA_LIB_RUNTIME_ARGUMENTS_H
#define FOVEA_LIB_RUNTIME_ARGUMENTS_H

#include "Metadata.h"

/** Checks the address of a tensor that has elements. */
fovea_status fovea_check_address(const fovea_tensor_spec *spec,
                                 fovea_address address);

/**
 * Stores an integer into its slot. `what` and `name` describe it in the error
 * message.
 */
fovea_status fovea_pack_integer(int64_t value, fovea_value_type type,
                                const char *what, const char *name,
                                uint64_t *slot);
/** Stores a scalar into its slot. */
fovea_status fovea_pack_scalar(fovea_value_type type,
                               const fovea_scalar *scalar, uint64_t *slot);
/** Decodes a scalar of packed arguments. */
fovea_scalar fovea_scalar_of_word(const fovea_scalar_spec *spec, int64_t word);

#endif /* FOVEA_LIB_RUNTIME_ARGUMENTS_H */
