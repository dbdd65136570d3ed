/*===- Staging.c - Tensors in host memory -------------------------*- C -*-===*\
|*
|* Part of the Fovea project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
/**
 * Copies the bytes between the first and the last element of a tensor, so that
 * its strides remain valid. All copies of a launch share one allocation.
 */
#include "Staging.h"

#include <stdlib.h>
#include <string.h>

enum { kAlignment = 256 };

static int64_t element_bytes(fovea_dtype dtype) {
  switch (dtype) {
  case FOVEA_I1:
  case FOVEA_I8:
  case FOVEA_F8E4M3FN:
  case FOVEA_F8E5M2:
    return 1;
  case FOVEA_F16:
  case FOVEA_BF16:
  case FOVEA_I16:
    return 2;
  case FOVEA_F32:
  case FOVEA_I32:
    return 4;
  case FOVEA_I64:
    return 8;
  }
  return 0;
}

/**
 * Computes the bytes from the first element to the end of the last one; 0 if
 * there are none. `words` are the tensor's packed arguments. Returns false if
 * they are invalid.
 */
static bool get_span(const fovea_tensor_spec *spec, const int64_t *words,
                     int64_t *bytes) {
  const int64_t *sizes = words + 1, *strides = words + 1 + spec->rank;
  int64_t last = 0, extent;
  *bytes = 0;
  for (int d = 0; d < spec->rank; ++d)
    if (sizes[d] == 0)
      return true;
  for (int d = 0; d < spec->rank; ++d)
    if (sizes[d] < 0 || strides[d] < 0 ||
        __builtin_mul_overflow(sizes[d] - 1, strides[d], &extent) ||
        __builtin_add_overflow(last, extent, &last))
      return false;
  return !__builtin_add_overflow(last, 1, &last) &&
         !__builtin_mul_overflow(last, element_bytes(spec->dtype), bytes);
}

/** True if kernels of the current context may access the address. */
static bool is_reached(const fovea_driver *driver, int64_t address) {
  CUdeviceptr seen;
  /* If the driver can't tell, the address is assumed to be accessible. */
  return !driver->pointer_get_attribute ||
         driver->pointer_get_attribute(&seen,
                                       CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                                       (CUdeviceptr)address) == CUDA_SUCCESS;
}

struct fovea_staged {
  const fovea_tensor_spec *spec;
  /** Index of its first packed argument. */
  size_t first;
  int64_t bytes;
  /** True if it must be copied, and the copy's offset within the allocation. */
  bool copied;
  int64_t offset;
};

/**
 * Determines whether one tensor, whose packed arguments start at `first`, must
 * be copied.
 */
static void plan_copy(const fovea_driver *driver, const int64_t *words,
                      fovea_staged *t) {
  /* Invalid arguments are not copied: the launch reports them more precisely.
   */
  t->copied = get_span(t->spec, words + t->first, &t->bytes) && t->bytes > 0 &&
              words[t->first] != 0 && !is_reached(driver, words[t->first]);
}

/**
 * Determines which tensors must be copied and the offset of each copy. The
 * device's context must be current.
 */
static fovea_status plan_copies(const fovea_kernel *kernel,
                                const int64_t *words, fovea_staged *tensors,
                                int64_t *bytes) {
  const fovea_metadata *m = &kernel->metadata;
  size_t first = 0;
  *bytes = 0;
  for (int i = 0; i < m->num_tensors; ++i) {
    fovea_staged *t = &tensors[i];
    t->spec = &m->tensors[i];
    t->first = first;
    first += 1 + 2 * (size_t)t->spec->rank;
    plan_copy(kernel->device->driver, words, t);
    if (!t->copied)
      continue;
    t->offset = *bytes;
    if (t->bytes > INT64_MAX - kAlignment - *bytes)
      return fovea_fail(FOVEA_ERROR_OUT_OF_MEMORY,
                        "the tensors of kernel '%s' are too large", m->kernel);
    *bytes += (t->bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  return FOVEA_OK;
}

static fovea_status check_count(const fovea_kernel *kernel,
                                const int64_t *words, size_t count) {
  size_t wanted = fovea_count_words(&kernel->metadata);
  if (count != wanted)
    return fovea_fail(FOVEA_ERROR_ARGUMENT,
                      "kernel '%s' takes %zu words of arguments, found %zu",
                      kernel->metadata.kernel, wanted, count);
  if (count && !words)
    return fovea_fail(FOVEA_ERROR_ARGUMENT, "kernel or words is null");
  return FOVEA_OK;
}

/**
 * Copies tensors to the device, including written ones: a kernel may leave rows
 * unwritten, and strides may leave gaps.
 */
static fovea_status copy_in(const fovea_kernel *kernel, const int64_t *words,
                            size_t count, int64_t bytes,
                            fovea_staging *staging) {
  const fovea_driver *driver = kernel->device->driver;
  staging->words = malloc(count * sizeof *words);
  if (!staging->words)
    return fovea_fail(FOVEA_ERROR_OUT_OF_MEMORY, "out of host memory");
  memcpy(staging->words, words, count * sizeof *words);
  TRY(fovea_check(driver, driver->mem_alloc(&staging->memory, (size_t)bytes),
                  "cuMemAlloc"));
  for (int i = 0; i < kernel->metadata.num_tensors; ++i) {
    const fovea_staged *t = &staging->tensors[i];
    if (!t->copied)
      continue;
    CUdeviceptr to = staging->memory + (uint64_t)t->offset;
    staging->words[t->first] = (int64_t)to;
    TRY(fovea_check(
        driver,
        driver->copy_to_device(to, (const void *)(uintptr_t)words[t->first],
                               (size_t)t->bytes),
        "cuMemcpyHtoD"));
  }
  return FOVEA_OK;
}

static fovea_status copy_back(const fovea_kernel *kernel, const int64_t *words,
                              const fovea_staging *staging) {
  const fovea_driver *driver = kernel->device->driver;
  for (int i = 0; i < kernel->metadata.num_tensors; ++i) {
    const fovea_staged *t = &staging->tensors[i];
    if (t->copied && t->spec->written)
      TRY(fovea_check(
          driver,
          driver->copy_to_host((void *)(uintptr_t)words[t->first],
                               staging->memory + (uint64_t)t->offset,
                               (size_t)t->bytes),
          "cuMemcpyDtoH"));
  }
  return FOVEA_OK;
}

/** Begins staging; the device's context is current. */
static fovea_status begin(fovea_kernel *kernel, const int64_t *words,
                          size_t count, fovea_staging *staging) {
  int64_t bytes;
  TRY(check_count(kernel, words, count));
  /* One more than needed: an allocation of nothing may be null. */
  staging->tensors = calloc((size_t)kernel->metadata.num_tensors + 1,
                            sizeof *staging->tensors);
  if (!staging->tensors)
    return fovea_fail(FOVEA_ERROR_OUT_OF_MEMORY, "out of host memory");
  TRY(plan_copies(kernel, words, staging->tensors, &bytes));
  return bytes ? copy_in(kernel, words, count, bytes, staging) : FOVEA_OK;
}

/** Frees the staging memory. */
static void release(fovea_kernel *kernel, fovea_staging *staging) {
  if (staging->memory)
    kernel->device->driver->mem_free(staging->memory);
  free(staging->words);
  free(staging->tensors);
}

fovea_status fovea_staging_begin(fovea_kernel *kernel, const int64_t *words,
                                 size_t count, fovea_staging *staging) {
  memset(staging, 0, sizeof *staging);
  TRY(fovea_enter(kernel->device));
  fovea_status status = begin(kernel, words, count, staging);
  if (status != FOVEA_OK)
    release(kernel, staging);
  fovea_leave(kernel->device);
  return status;
}

fovea_status fovea_staging_end(fovea_kernel *kernel, const int64_t *words,
                               fovea_staging *staging, fovea_status status) {
  if (!staging->words) {
    free(staging->tensors);
    return status;
  }
  fovea_status entered = fovea_enter(kernel->device);
  if (entered != FOVEA_OK) {
    free(staging->words);
    free(staging->tensors);
    return status != FOVEA_OK ? status : entered;
  }
  if (status == FOVEA_OK)
    status = copy_back(kernel, words, staging);
  release(kernel, staging);
  fovea_leave(kernel->device);
  return status;
}

fovea_status fovea_staging_needs_none(fovea_kernel *kernel,
                                      const int64_t *words, size_t count) {
  TRY(check_count(kernel, words, count));
  TRY(fovea_enter(kernel->device));
  const fovea_metadata *m = &kernel->metadata;
  fovea_staged tensor = {0};
  for (int i = 0; i < m->num_tensors && !tensor.copied; ++i) {
    tensor.spec = &m->tensors[i];
    plan_copy(kernel->device->driver, words, &tensor);
    tensor.first += 1 + 2 * (size_t)tensor.spec->rank;
  }
  fovea_leave(kernel->device);
  return tensor.copied
             ? fovea_fail(FOVEA_ERROR_ARGUMENT,
                          "tensor '%s' of kernel '%s' is in memory that the "
                          "device can't access: an asynchronous launch needs "
                          "device, managed or pinned memory",
                          tensor.spec->name, m->kernel)
             : FOVEA_OK;
}
