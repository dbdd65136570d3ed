/*===- Embedded.c - Kernels embedded in host code -----------------*- C -*-===*\
|*
|* Part of the Fovea project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
/**
 * Implements fovea_embedded.h: loads an embedded kernel once per context and
 * launches it, with staging for tensors in host memory.
 */
#include "fovea/Runtime/fovea_embedded.h"

#include "Internal.h"
#include "Staging.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/** A kernel loaded in one context. */
typedef struct loaded {
  struct loaded *next;
  /**
   * The current context at the call; null if there was none, which means device
   * 0.
   */
  CUcontext current;
  fovea_device *device;
  fovea_kernel *kernel;
} loaded;

typedef struct state {
  /**
   * Guards the list. It is held while a kernel is loaded, so that concurrent
   * calls wait for it.
   */
  pthread_mutex_t lock;
  loaded *all;
} state;

/** Returns the kernel's state; the first caller creates it. */
static state *get_state(fovea_embedded *kernel) {
  state *found = __atomic_load_n((state **)&kernel->state, __ATOMIC_ACQUIRE);
  if (found)
    return found;
  state *made = calloc(1, sizeof *made);
  if (!made)
    return NULL;
  pthread_mutex_init(&made->lock, NULL);
  if (__atomic_compare_exchange_n((state **)&kernel->state, &found, made, false,
                                  __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    return made;
  pthread_mutex_destroy(&made->lock);
  free(made);
  return found;
}

/** Opens the device of the current context and loads the kernel there. */
static fovea_status load(const fovea_embedded *kernel, loaded *entry) {
  TRY(fovea_device_open(FOVEA_CURRENT_DEVICE, &entry->device));
  fovea_status status = fovea_kernel_load(
      entry->device, kernel->code, kernel->code_size, kernel->metadata,
      kernel->metadata_size, &entry->kernel);
  if (status != FOVEA_OK)
    fovea_device_close(entry->device);
  return status;
}

/**
 * Returns the kernel of the current context. The next call retries a failed
 * load.
 */
static fovea_status find_or_load(const fovea_embedded *kernel, state *in,
                                 CUcontext current, fovea_kernel **result) {
  for (loaded *l = in->all; l; l = l->next)
    if (l->current == current) {
      *result = l->kernel;
      return FOVEA_OK;
    }
  loaded *entry = calloc(1, sizeof *entry);
  if (!entry)
    return fovea_fail(FOVEA_ERROR_OUT_OF_MEMORY, "out of host memory");
  entry->current = current;
  fovea_status status = load(kernel, entry);
  if (status != FOVEA_OK) {
    free(entry);
    return status;
  }
  entry->next = in->all;
  in->all = entry;
  *result = entry->kernel;
  return FOVEA_OK;
}

static fovea_status get_kernel(fovea_embedded *kernel, fovea_kernel **result) {
  if (!kernel || !kernel->code || !kernel->metadata)
    return fovea_fail(FOVEA_ERROR_ARGUMENT,
                      "the embedded kernel, its code or metadata is null");
  if (kernel->version != FOVEA_EMBEDDED_VERSION)
    return fovea_fail(FOVEA_ERROR_ARGUMENT,
                      "the embedded kernel has version %llu, expected %d",
                      (unsigned long long)kernel->version,
                      FOVEA_EMBEDDED_VERSION);
  const fovea_driver *driver;
  TRY(fovea_driver_get(NULL, &driver));
  CUcontext current;
  TRY(fovea_check(driver, driver->ctx_get_current(&current),
                  "cuCtxGetCurrent"));
  state *in = get_state(kernel);
  if (!in)
    return fovea_fail(FOVEA_ERROR_OUT_OF_MEMORY, "out of host memory");
  pthread_mutex_lock(&in->lock);
  fovea_status status = find_or_load(kernel, in, current, result);
  pthread_mutex_unlock(&in->lock);
  return status;
}

fovea_status fovea_embedded_call(fovea_embedded *embedded, const int64_t *words,
                                 uint64_t count) {
  fovea_kernel *kernel;
  TRY(get_kernel(embedded, &kernel));
  fovea_staging staging;
  TRY(fovea_staging_begin(kernel, words, count, &staging));
  fovea_status status = fovea_kernel_launch_packed(
      kernel, NULL, staging.words ? staging.words : words, count);
  if (status == FOVEA_OK)
    status = fovea_stream_wait(fovea_kernel_device(kernel), NULL);
  return fovea_staging_end(kernel, words, &staging, status);
}

fovea_status fovea_embedded_call_async(fovea_embedded *embedded,
                                       fovea_stream stream,
                                       const int64_t *words, uint64_t count) {
  fovea_kernel *kernel;
  TRY(get_kernel(embedded, &kernel));
  TRY(fovea_staging_needs_none(kernel, words, count));
  return fovea_kernel_launch_packed(kernel, stream, words, count);
}

void fovea_embedded_unload(fovea_embedded *kernel) {
  state *in = kernel ? kernel->state : NULL;
  if (!in)
    return;
  for (loaded *l = in->all, *next; l; l = next) {
    next = l->next;
    fovea_kernel_unload(l->kernel);
    fovea_device_close(l->device);
    free(l);
  }
  pthread_mutex_destroy(&in->lock);
  free(in);
  kernel->state = NULL;
}

/*===-- Failures ----------------------------------------------------------===*/

static pthread_mutex_t handler_lock = PTHREAD_MUTEX_INITIALIZER;
static fovea_embedded_handler handler;
static void *handler_data;

void fovea_embedded_on_failure(fovea_embedded_handler set, void *data) {
  pthread_mutex_lock(&handler_lock);
  handler = set;
  handler_data = data;
  pthread_mutex_unlock(&handler_lock);
}

void fovea_embedded_check(fovea_status status) {
  if (status == FOVEA_OK)
    return;
  pthread_mutex_lock(&handler_lock);
  fovea_embedded_handler call = handler;
  void *data = handler_data;
  pthread_mutex_unlock(&handler_lock);
  if (call) {
    call(status, fovea_last_error(), data);
    return;
  }
  fprintf(stderr, "%s: %s\n", fovea_status_name(status), fovea_last_error());
  /* Not abort: in a JIT it would print the JIT's own stack trace. */
  exit(EXIT_FAILURE);
}
