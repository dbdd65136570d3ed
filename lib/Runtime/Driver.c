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

static pthread_once_t once = PTHREAD_ONCE_INIT;
static fovea_driver driver;
static fovea_status outcome;
static char message[512];

/** The library is never closed: other code in the process may use it too. */
static void load_driver(void) {
  outcome = FOVEA_ERROR_NO_DRIVER;
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = dlerror();
    snprintf(message, sizeof message, "no CUDA driver: %s",
             reason ? reason : "libcuda.so.1 can't be loaded");
    return;
  }
  /* POSIX lets an object pointer from dlsym hold a function's address, ISO C
     has no cast for it: hence the copy. */
#define FOVEA_LOAD(member, symbol, parameters)                                 \
  {                                                                            \
    void *address = dlsym(library, #symbol);                                   \
    if (!address) {                                                            \
      snprintf(message, sizeof message,                                        \
               "the CUDA driver is too old: it has no %s", #symbol);           \
      return;                                                                  \
    }                                                                          \
    memcpy(&driver.member, &address, sizeof address);                          \
  }
  FOVEA_DRIVER_FUNCTIONS(FOVEA_LOAD)
#undef FOVEA_LOAD
#define FOVEA_LOAD_OPTIONAL(member, symbol, parameters)                        \
  {                                                                            \
    void *address = dlsym(library, #symbol);                                   \
    memcpy(&driver.member, &address, sizeof address);                          \
  }
  FOVEA_OPTIONAL_DRIVER_FUNCTIONS(FOVEA_LOAD_OPTIONAL)
#undef FOVEA_LOAD_OPTIONAL

  CUresult result = driver.init(0);
  if (result == CUDA_SUCCESS) {
    outcome = FOVEA_OK;
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
  pthread_once(&once, load_driver);
  *result = &driver;
  return outcome == FOVEA_OK ? FOVEA_OK : fovea_fail(outcome, "%s", message);
}
