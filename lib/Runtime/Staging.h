/*===- Staging.h - Tensors in host memory -------------------------*- C -*-===*\
|*
|* Part of the Fovea project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
#ifndef FOVEA_LIB_RUNTIME_STAGING_H
#define FOVEA_LIB_RUNTIME_STAGING_H

#include "Internal.h"

/** A tensor among the arguments. */
typedef struct fovea_staged fovea_staged;

/** Device copies of tensors that the device can't access in place. */
typedef struct fovea_staging {
  /** The arguments with the copies' addresses; null if there are no copies. */
  int64_t *words;
  CUdeviceptr memory;
  fovea_staged *tensors;
} fovea_staging;

/**
 * Copies tensors in host memory to the device. A success requires a
 * fovea_staging_end.
 */
fovea_status fovea_staging_begin(fovea_kernel *kernel, const int64_t *words,
                                 size_t count, fovea_staging *staging);

/**
 * Copies written tensors back if `status` is success, and frees the copies.
 * Returns `status` if it is a failure, otherwise the first failure here.
 */
fovea_status fovea_staging_end(fovea_kernel *kernel, const int64_t *words,
                               fovea_staging *staging, fovea_status status);

/** Fails if a tensor is in memory that the device can't access. */
fovea_status fovea_staging_needs_none(fovea_kernel *kernel,
                                      const int64_t *words, size_t count);

#endif /* FOVEA_LIB_RUNTIME_STAGING_H */
