/*===- Packed.c - Launches with packed arguments ------------------*- C -*-===*\
|*
|* Part of the Fovea project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
/**
 * Implements the functions that take arguments as 64-bit words.
 */
#include "Arguments.h"
#include "Internal.h"

#include <stdlib.h>

size_t fovea_count_words(const fovea_metadata *m) {
  size_t count = (size_t)m->num_scalars;
  for (int i = 0; i < m->num_tensors; ++i)
    count += 1 + 2 * (size_t)m->tensors[i].rank;
  return count;
}

/** Makes the structs point into the packed arguments. */
static void unpack(const fovea_metadata *m, const int64_t *words,
                   fovea_tensor *tensors, fovea_scalar *scalars) {
  for (int i = 0; i < m->num_tensors; ++i) {
    const fovea_tensor_spec *spec = &m->tensors[i];
    tensors[i].name = spec->name;
    tensors[i].dtype = spec->dtype;
    tensors[i].rank = spec->rank;
    tensors[i].data = (fovea_address)words[0];
    tensors[i].sizes = words + 1;
    tensors[i].strides = words + 1 + spec->rank;
    words += 1 + 2 * spec->rank;
  }
  for (int i = 0; i < m->num_scalars; ++i)
    scalars[i] = fovea_scalar_of_word(&m->scalars[i], words[i]);
}

/** The action for unpacked arguments. */
typedef struct purpose {
  fovea_stream stream;
  /** Receives a prepared launch, if not null. */
  fovea_launch **launch;
  /** Otherwise this function is called. */
  fovea_status (*function)(fovea_kernel *, fovea_stream, const fovea_tensor *,
                           size_t, const fovea_scalar *, size_t);
} purpose;

static fovea_status with_arguments(fovea_kernel *kernel, const int64_t *words,
                                   size_t count, const purpose *what) {
  if (!kernel || (count && !words))
    return fovea_fail(FOVEA_ERROR_ARGUMENT, "kernel or words is null");
  const fovea_metadata *m = fovea_kernel_metadata(kernel);
  size_t wanted = fovea_count_words(m);
  if (count != wanted)
    return fovea_fail(FOVEA_ERROR_ARGUMENT,
                      "kernel '%s' takes %zu words of arguments, found %zu",
                      m->kernel, wanted, count);
  size_t num_tensors = (size_t)m->num_tensors,
         num_scalars = (size_t)m->num_scalars;
  /* One more element than needed: an allocation of 0 bytes may be null. */
  fovea_tensor *tensors = calloc(num_tensors + 1, sizeof *tensors);
  fovea_scalar *scalars = calloc(num_scalars + 1, sizeof *scalars);
  fovea_status status;
  if (!tensors || !scalars) {
    status = fovea_fail(FOVEA_ERROR_OUT_OF_MEMORY, "out of host memory");
  } else {
    unpack(m, words, tensors, scalars);
    status = what->launch
                 ? fovea_launch_prepare(kernel, tensors, num_tensors, scalars,
                                        num_scalars, what->launch)
                 : what->function(kernel, what->stream, tensors, num_tensors,
                                  scalars, num_scalars);
  }
  free(tensors);
  free(scalars);
  return status;
}

fovea_status fovea_kernel_launch_packed(fovea_kernel *kernel,
                                        fovea_stream stream,
                                        const int64_t *words, size_t count) {
  const purpose what = {stream, NULL, fovea_kernel_launch};
  return with_arguments(kernel, words, count, &what);
}

fovea_status fovea_kernel_check_packed(fovea_kernel *kernel,
                                       fovea_stream stream,
                                       const int64_t *words, size_t count) {
  const purpose what = {stream, NULL, fovea_kernel_check};
  return with_arguments(kernel, words, count, &what);
}

fovea_status fovea_kernel_prepare_packed(fovea_kernel *kernel,
                                         const int64_t *words, size_t count,
                                         fovea_launch **launch) {
  if (!launch)
    return fovea_fail(FOVEA_ERROR_ARGUMENT, "launch is null");
  *launch = NULL;
  const purpose what = {NULL, launch, NULL};
  return with_arguments(kernel, words, count, &what);
}
