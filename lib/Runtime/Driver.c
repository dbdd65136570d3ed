/*===- Driver.c - Finds the CUDA driver ----------------------------*- C
-*-===*\
|*
|* Part of the Fovea project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/

#include "Internal.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static fovea_driver driver;
/** Whether a driver was looked for, what came of it, and which it is. */
static bool tried;
static fovea_status outcome;
static char message[512];
static char loaded_from[4096];

/** Fills `driver`; the library is never closed: other code in the process may
 * use it too. */
static fovea_status find_functions(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = dlerror();
    snprintf(message, sizeof message, "no CUDA driver: %s",
             reason ? reason : "it can't be loaded");
    return FOVEA_ERROR_NO_DRIVER;
  }
  /* POSIX lets an object pointer from dlsym hold a function's address, ISO C
     has no cast for it: hence the copy. */
#define FOVEA_LOAD_OPTIONAL(member, symbol, parameters)                        \
  {                                                                            \
    void *address = dlsym(library, #symbol);                                   \
    memcpy(&driver.member, &address, sizeof address);                          \
  }
#define FOVEA_LOAD(member, symbol, parameters)                                 \
  FOVEA_LOAD_OPTIONAL(member, symbol, parameters)                              \
  if (!driver.member) {                                                        \
    snprintf(message, sizeof message,                                          \
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

/** Remembers what came of it. The lock is held. */
static void load_driver(const char *path) {
  tried = true;
  outcome = find_functions(path);
  if (outcome != FOVEA_OK)
    return;
  CUresult result = driver.init(0);
  if (result == CUDA_SUCCESS) {
    snprintf(loaded_from, sizeof loaded_from, "%s", path);
    return;
  }
  const char *name = NULL;
  driver.get_error_name(result, &name);
  outcome = result == CUDA_ERROR_NO_DEVICE ? FOVEA_ERROR_NO_DEVICE
                                           : FOVEA_ERROR_NO_DRIVER;
  snprintf(message, sizeof message, "the CUDA driver doesn't start: %s (%d)",
           name ? name : "unknown error", result);
}

fovea_status fovea_driver_get(const fovea_driver **result) {
  pthread_mutex_lock(&lock);
  if (!tried)
    load_driver("libcuda.so.1");
  fovea_status status =
      outcome == FOVEA_OK ? FOVEA_OK : fovea_fail(outcome, "%s", message);
  pthread_mutex_unlock(&lock);
  *result = &driver;
  return status;
}

fovea_status fovea_use_driver(const char *path) {
  if (!path || !*path || strlen(path) >= sizeof loaded_from)
    return fovea_fail(FOVEA_ERROR_ARGUMENT,
                      "the driver's path is null, empty or too long");
  pthread_mutex_lock(&lock);
  fovea_status status = FOVEA_OK;
  if (*loaded_from) {
    if (strcmp(path, loaded_from) != 0)
      status = fovea_fail(FOVEA_ERROR_ARGUMENT,
                          "the driver '%s' is in use already, '%s' can't "
                          "take its place",
                          loaded_from, path);
  } else {
    load_driver(path);
    if (outcome != FOVEA_OK)
      status = fovea_fail(outcome, "%s", message);
  }
  pthread_mutex_unlock(&lock);
  return status;
}
