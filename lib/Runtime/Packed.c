/*===- Packed.c - Launches with arguments in a row -----------------*- C
-*-===*\
|*
|* Part of the Fovea project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/

#include "Internal.h"

#include <stdlib.h>
#include <string.h>

static size_t count_words(const fovea_metadata *m) {
  size_t count = (size_t)m->num_scalars;
  for (int i = 0; i < m->num_tensors; ++i)
    count += 1 + 2 * (size_t)m->tensors[i].rank;
  return count;
}

/** Lets the structs point into the row. */
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
  for (int i = 0; i < m->num_scalars; ++i) {
    scalars[i].name = m->scalars[i].name;
    scalars[i].integer = words[i];
    scalars[i].floating = 0;
    if (m->scalars[i].type == FOVEA_VALUE_F32)
      memcpy(&scalars[i].floating, &words[i], sizeof scalars[i].floating);
  }
}

/** Calls `function` with the arguments as structs. */
static fovea_status call_unpacked(
    fovea_status (*function)(fovea_kernel *, fovea_stream, const fovea_tensor *,
                             size_t, const fovea_scalar *, size_t),
    fovea_kernel *kernel, fovea_stream stream, const int64_t *words,
    size_t count) {
  if (!kernel || (count && !words))
    return fovea_fail(FOVEA_ERROR_ARGUMENT, "kernel or words is null");
  const fovea_metadata *m = fovea_kernel_metadata(kernel);
  size_t wanted = count_words(m);
  if (count != wanted)
    return fovea_fail(FOVEA_ERROR_ARGUMENT,
                      "kernel '%s' takes %zu words of arguments, found %zu",
                      m->kernel, wanted, count);
  /* One more than needed: an allocation of nothing may be null. */
  fovea_tensor *tensors = calloc((size_t)m->num_tensors + 1, sizeof *tensors);
  fovea_scalar *scalars = calloc((size_t)m->num_scalars + 1, sizeof *scalars);
  fovea_status status;
  if (tensors && scalars) {
    unpack(m, words, tensors, scalars);
    status = function(kernel, stream, tensors, (size_t)m->num_tensors, scalars,
                      (size_t)m->num_scalars);
  } else {
    status = fovea_fail(FOVEA_ERROR_OUT_OF_MEMORY, "out of host memory");
  }
  free(tensors);
  free(scalars);
  return status;
}

fovea_status fovea_kernel_launch_packed(fovea_kernel *kernel,
                                        fovea_stream stream,
                                        const int64_t *words, size_t count) {
  return call_unpacked(fovea_kernel_launch, kernel, stream, words, count);
}

fovea_status fovea_kernel_check_packed(fovea_kernel *kernel,
                                       fovea_stream stream,
                                       const int64_t *words, size_t count) {
  return call_unpacked(fovea_kernel_check, kernel, stream, words, count);
}
