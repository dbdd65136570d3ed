/*===- Driver.c - Loads the CUDA driver ---------------------------*- C -*-===*\
|*
|* Part of the Fovea project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
/**
 * Finds the CUDA driver or the selected replacement at run time, resolves its
 * functions, and reports their failures.
 */
#include "Driver.h"

#include "Error.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/**
 * A driver library and the result of loading it. It is never freed and the
 * library is never closed, since other code in the process may use the library
 * too.
 */
typedef struct loaded {
  struct loaded *next;
  char *path;
  fovea_driver driver;
  fovea_status outcome;
  char message[512];
} loaded;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static loaded *all;
/** The library of devices that do not specify one. */
static loaded *chosen;

static fovea_status find_functions(loaded *l) {
  void *library = dlopen(l->path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    snprintf(l->message, sizeof l->message, "no CUDA driver: %s", dlerror());
    return FOVEA_ERROR_NO_DRIVER;
  }
  /* ISO C has no cast from an object pointer to a function pointer; POSIX
   * guarantees that the representations agree, hence the copy. */
#define FOVEA_LOAD_OPTIONAL(member, symbol, parameters)                        \
  {                                                                            \
    void *address = dlsym(library, #symbol);                                   \
    memcpy(&l->driver.member, &address, sizeof address);                       \
  }
#define FOVEA_LOAD(member, symbol, parameters)                                 \
  FOVEA_LOAD_OPTIONAL(member, symbol, parameters)                              \
  if (!l->driver.member) {                                                     \
    snprintf(l->message, sizeof l->message,                                    \
             "the CUDA driver is too old: it has no %s", #symbol);             \
    return FOVEA_ERROR_NO_DRIVER;                                              \
  }
  FOVEA_DRIVER_FUNCTIONS(FOVEA_LOAD)
  FOVEA_OPTIONAL_DRIVER_FUNCTIONS(FOVEA_LOAD_OPTIONAL)
  FOVEA_DRIVER_EXTENSIONS(FOVEA_LOAD_OPTIONAL)
#undef FOVEA_LOAD
#undef FOVEA_LOAD_OPTIONAL
  return FOVEA_OK;
}

static fovea_status start(loaded *l) {
  TRY(find_functions(l));
  CUresult result = l->driver.init(0);
  if (result == CUDA_SUCCESS)
    return FOVEA_OK;
  const char *name = NULL;
  l->driver.get_error_name(result, &name);
  snprintf(l->message, sizeof l->message,
           "the CUDA driver doesn't start: %s (%d)",
           name ? name : "unknown error", result);
  return result == CUDA_ERROR_NO_DEVICE ? FOVEA_ERROR_NO_DEVICE
                                        : FOVEA_ERROR_NO_DRIVER;
}

/**
 * The library at `path`, loaded once; null if host memory is exhausted. The
 * caller holds the lock.
 */
static loaded *load(const char *path) {
  for (loaded *l = all; l; l = l->next)
    if (strcmp(l->path, path) == 0)
      return l;
  loaded *l = calloc(1, sizeof *l);
  char *copy = malloc(strlen(path) + 1);
  if (!l || !copy) {
    free(l);
    free(copy);
    return NULL;
  }
  l->path = strcpy(copy, path);
  l->outcome = start(l);
  l->next = all;
  return all = l;
}

/** Reports the result of loading to the calling thread. */
static fovea_status report_outcome(const loaded *l) {
  if (!l)
    return fovea_fail(FOVEA_ERROR_OUT_OF_MEMORY, "out of host memory");
  return l->outcome == FOVEA_OK ? FOVEA_OK
                                : fovea_fail(l->outcome, "%s", l->message);
}

fovea_status fovea_driver_get(const char *path, const fovea_driver **result) {
  pthread_mutex_lock(&lock);
  if (!path && !chosen)
    chosen = load("libcuda.so.1");
  const loaded *l = path ? load(path) : chosen;
  fovea_status status = report_outcome(l);
  pthread_mutex_unlock(&lock);
  *result = l ? &l->driver : NULL;
  return status;
}

fovea_status fovea_use_driver(const char *path) {
  if (!path || !*path)
    return fovea_fail(FOVEA_ERROR_ARGUMENT,
                      "the driver's path is null or empty");
  pthread_mutex_lock(&lock);
  fovea_status status = FOVEA_OK;
  if (chosen && chosen->outcome == FOVEA_OK) {
    if (strcmp(path, chosen->path) != 0)
      status = fovea_fail(FOVEA_ERROR_ARGUMENT,
                          "the driver '%s' is in use already, '%s' can't "
                          "take its place",
                          chosen->path, path);
  } else {
    loaded *l = load(path);
    status = report_outcome(l);
    if (status == FOVEA_OK)
      chosen = l;
  }
  pthread_mutex_unlock(&lock);
  return status;
}

fovea_status fovea_check(const fovea_driver *driver, CUresult result,
                         const char *call) {
  if (result == CUDA_SUCCESS)
    return FOVEA_OK;
  const char *name = NULL, *text = NULL, *report = "";
  driver->get_error_name(result, &name);
  driver->get_error_string(result, &text);
  if (driver->get_report)
    driver->get_report(&report);
  return fovea_fail(
      result == CUDA_ERROR_OUT_OF_MEMORY ? FOVEA_ERROR_OUT_OF_MEMORY
                                         : FOVEA_ERROR_DRIVER,
      "%s: %s (%d): %s%s%s", call, name ? name : "unknown error", result,
      text ? text : "no description", *report ? "\n" : "", report);
}
