/*===- Contents.c - Checks the integers that tensors hold ---------*- C -*-===*\
|*
|* Part of the Fovea project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
/**
 * Implements fovea_kernel_check: copies integer tensors to the host and checks
 * lengths, offsets and block lists against the metadata.
 */
#include "Internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** A call whose tensor contents are checked. */
typedef struct call {
  const fovea_kernel *kernel;
  const fovea_metadata *metadata;
  const fovea_tensor *tensors;
  size_t num_tensors;
} call;

/** The integers of a tensor, copied to the host. */
typedef struct integers {
  const fovea_tensor *tensor;
  int32_t *values;
  int64_t count;
} integers;

static const fovea_tensor *find_tensor(const call *c, int index) {
  const char *name = c->metadata->tensors[index].name;
  for (size_t i = 0; i < c->num_tensors; ++i)
    if (strcmp(c->tensors[i].name, name) == 0)
      return &c->tensors[i];
  return NULL;
}

/** The value of a named size. A tensor has it: the call was checked before. */
static int64_t get_size(const call *c, int index) {
  const fovea_metadata *m = c->metadata;
  for (int i = 0; i < m->num_tensors; ++i)
    for (int d = 0; d < m->tensors[i].rank; ++d)
      if (m->tensors[i].sizes[d] == index)
        return find_tensor(c, i)->sizes[d];
  return 0;
}

/*===-- Reading -----------------------------------------------------------===*/

/** Elements from the first to the last one in memory; the check bounds them. */
static int64_t get_span(const fovea_tensor *tensor) {
  int64_t span = 1, contiguous = 1;
  for (int d = tensor->rank - 1; d >= 0; --d) {
    int64_t stride = tensor->strides ? tensor->strides[d] : contiguous;
    if (tensor->sizes[d] > 1)
      span += (tensor->sizes[d] - 1) * stride;
    contiguous *= tensor->sizes[d];
  }
  return span;
}

/** Offset in elements of element `index`, counted in row-major order. */
static int64_t get_offset(const fovea_tensor *tensor, int64_t index) {
  if (!tensor->strides)
    return index;
  int64_t offset = 0;
  for (int d = tensor->rank - 1; d >= 0; --d) {
    offset += index % tensor->sizes[d] * tensor->strides[d];
    index /= tensor->sizes[d];
  }
  return offset;
}

/** Reads the integers in row-major order. The caller frees the values. */
static fovea_status read_integers(const call *c, int index, integers *result) {
  result->tensor = find_tensor(c, index);
  result->count = 1;
  for (int d = 0; d < result->tensor->rank; ++d)
    result->count *= result->tensor->sizes[d];
  if (result->count == 0)
    return FOVEA_OK;
  size_t bytes = (size_t)get_span(result->tensor) * sizeof(int32_t);
  int32_t *memory = malloc(bytes);
  result->values = malloc((size_t)result->count * sizeof(int32_t));
  fovea_status status =
      memory && result->values
          ? fovea_memory_read(fovea_kernel_device(c->kernel), memory,
                              result->tensor->data, bytes)
          : fovea_fail(FOVEA_ERROR_OUT_OF_MEMORY, "out of host memory");
  if (status == FOVEA_OK)
    for (int64_t i = 0; i < result->count; ++i)
      result->values[i] = memory[get_offset(result->tensor, i)];
  free(memory);
  return status;
}

/*===-- Checking ----------------------------------------------------------===*/

/** Fails with the value at element `index` and the expected one. */
static fovea_status refuse(const integers *found, int64_t index,
                           const char *expected) {
  char place[FOVEA_MAX_RANK * 24] = "", number[24];
  int64_t indices[FOVEA_MAX_RANK], rest = index;
  for (int d = found->tensor->rank - 1; d >= 0; --d) {
    indices[d] = rest % found->tensor->sizes[d];
    rest /= found->tensor->sizes[d];
  }
  for (int d = 0; d < found->tensor->rank; ++d) {
    snprintf(number, sizeof number, "%s%lld", d ? ", " : "",
             (long long)indices[d]);
    strcat(place, number);
  }
  return fovea_fail(FOVEA_ERROR_CONSTRAINT,
                    "tensor '%s' holds %d at [%s], expected %s",
                    found->tensor->name, found->values[index], place, expected);
}

/**
 * Checks that all values are in [0, size], and that they ascend if required.
 */
static fovea_status check_range(const call *c, const fovea_contents *contents,
                                const integers *found) {
  int64_t size = get_size(c, contents->of) * contents->times;
  char expected[160], factor[40] = "";
  if (contents->times != 1)
    snprintf(factor, sizeof factor, "%lld times ", (long long)contents->times);
  for (int64_t i = 0; i < found->count; ++i) {
    if (found->values[i] < 0 || found->values[i] > size) {
      snprintf(expected, sizeof expected, "0 to %lld, which is %s'%.80s'",
               (long long)size, factor, c->metadata->sizes[contents->of].name);
      return refuse(found, i, expected);
    }
    if (contents->ascending && i > 0 &&
        found->values[i] < found->values[i - 1]) {
      snprintf(expected, sizeof expected,
               "no less than the %d before it: they must ascend",
               found->values[i - 1]);
      return refuse(found, i, expected);
    }
  }
  return FOVEA_OK;
}

/** Checks one block list: its first entries must be distinct block indices. */
static fovea_status check_list(const integers *found, int64_t first,
                               int64_t entries, int64_t blocks,
                               unsigned char *listed) {
  char expected[80];
  fovea_status status = FOVEA_OK;
  int64_t end = first;
  for (; status == FOVEA_OK && end < first + entries; ++end) {
    int32_t block = found->values[end];
    if (block < 0 || block >= blocks) {
      snprintf(expected, sizeof expected, "a block from 0 to %lld",
               (long long)blocks - 1);
      status = refuse(found, end, expected);
      break;
    }
    if (listed[block])
      status = refuse(found, end, "a block that the row does not have yet");
    listed[block] = 1;
  }
  for (int64_t i = first; i < end; ++i)
    listed[found->values[i]] = 0;
  return status;
}

static fovea_status check_lists(const call *c, const fovea_contents *contents,
                                const integers *found, const integers *counts) {
  int64_t size = get_size(c, contents->of) * contents->times;
  int64_t blocks = size / contents->block + (size % contents->block != 0);
  int64_t width = found->tensor->sizes[found->tensor->rank - 1];
  unsigned char *listed = calloc((size_t)blocks + 1, 1);
  if (!listed)
    return fovea_fail(FOVEA_ERROR_OUT_OF_MEMORY, "out of host memory");
  fovea_status status = FOVEA_OK;
  int64_t rows = width ? found->count / width : 0;
  for (int64_t row = 0; row < rows && row < counts->count; ++row) {
    int64_t entries = counts->values[row];
    entries = entries < 0 ? 0 : entries > width ? width : entries;
    status = check_list(found, row * width, entries, blocks, listed);
    if (status != FOVEA_OK)
      break;
  }
  free(listed);
  return status;
}

/** Checks the `pages` entries from `first` on: these pages must exist. */
static fovea_status check_table(const integers *found, int64_t first,
                                int64_t pages, int64_t size) {
  char expected[80];
  for (int64_t i = first; i < first + pages; ++i) {
    if (found->values[i] >= 0 && found->values[i] < size)
      continue;
    snprintf(expected, sizeof expected, "a page from 0 to %lld",
             (long long)size - 1);
    return refuse(found, i, expected);
  }
  return FOVEA_OK;
}

static int64_t count_pages(const fovea_contents *contents, int32_t keys) {
  int64_t count = keys < 0 ? 0 : keys;
  return count / contents->page + (count % contents->page != 0);
}

/** Checks page tables: the pages that hold keys must exist. */
static fovea_status check_pages(const call *c, const fovea_contents *contents,
                                const integers *found, const integers *keys) {
  int64_t size = get_size(c, contents->of) * contents->times;
  int64_t width = found->tensor->sizes[found->tensor->rank - 1];
  int64_t rows = width ? found->count / width : 0;
  for (int64_t row = 0; row < rows && row < keys->count; ++row) {
    int64_t pages = count_pages(contents, keys->values[row]);
    TRY(check_table(found, row * width, pages < width ? pages : width, size));
  }
  return FOVEA_OK;
}

/** The same for the tables in one list. Metadata may lack a check of offsets.
 */
static fovea_status check_listed_pages(const call *c,
                                       const fovea_contents *contents,
                                       const integers *found,
                                       const integers *keys,
                                       const integers *offsets) {
  int64_t size = get_size(c, contents->of) * contents->times;
  for (int64_t row = 0; row + 1 < offsets->count && row < keys->count; ++row) {
    int64_t pages = count_pages(contents, keys->values[row]);
    int64_t first = offsets->values[row],
            width = (int64_t)offsets->values[row + 1] - first;
    if (first < 0 || width < 0 || first + width > found->count) {
      char expected[80];
      snprintf(expected, sizeof expected, "offsets that ascend from 0 to %lld",
               (long long)found->count);
      return refuse(offsets, row, expected);
    }
    if (pages > width)
      return fovea_fail(FOVEA_ERROR_CONSTRAINT,
                        "tensor '%s' gives %lld pages to sequence %lld, "
                        "expected at least the %lld of its keys",
                        offsets->tensor->name, (long long)width, (long long)row,
                        (long long)pages);
    TRY(check_table(found, first, pages, size));
  }
  return FOVEA_OK;
}

static fovea_status check_contents(const call *c,
                                   const fovea_contents *contents) {
  integers found = {0}, counts = {0}, offsets = {0};
  fovea_status status = read_integers(c, contents->tensor, &found);
  if (status == FOVEA_OK && (contents->block || contents->page))
    status = read_integers(c, contents->entries, &counts);
  if (status == FOVEA_OK && contents->offsets >= 0)
    status = read_integers(c, contents->offsets, &offsets);
  if (status == FOVEA_OK)
    status = contents->block ? check_lists(c, contents, &found, &counts)
             : contents->offsets >= 0
                 ? check_listed_pages(c, contents, &found, &counts, &offsets)
             : contents->page ? check_pages(c, contents, &found, &counts)
                              : check_range(c, contents, &found);
  free(found.values);
  free(counts.values);
  free(offsets.values);
  return status;
}

fovea_status fovea_kernel_check(fovea_kernel *kernel, fovea_stream stream,
                                const fovea_tensor *tensors, size_t num_tensors,
                                const fovea_scalar *scalars,
                                size_t num_scalars) {
  fovea_launch *launch;
  TRY(fovea_launch_prepare(kernel, tensors, num_tensors, scalars, num_scalars,
                           &launch));
  fovea_launch_free(launch);
  const fovea_metadata *m = fovea_kernel_metadata(kernel);
  if (m->num_contents == 0)
    return FOVEA_OK;
  TRY(fovea_stream_wait(fovea_kernel_device(kernel), stream));
  call c = {kernel, m, tensors, num_tensors};
  for (int i = 0; i < m->num_contents; ++i)
    TRY(check_contents(&c, &m->contents[i]));
  return FOVEA_OK;
}
