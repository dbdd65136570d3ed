/*===- Error.c - Status codes and error messages ------------------*- C -*-===*\
|*
|* Part of the Fovea project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
/**
 * Stores the message of the last failure per thread.
 */
#include "Error.h"

#include <stdarg.h>
#include <stdio.h>

/** Large enough for the beginning of a ptxas log. */
static _Thread_local char last_error[4096];

fovea_status fovea_fail(fovea_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(last_error, sizeof last_error, format, arguments);
  va_end(arguments);
  return status;
}

const char *fovea_last_error(void) { return last_error; }

const char *fovea_status_name(fovea_status status) {
  switch (status) {
  case FOVEA_OK:
    return "FOVEA_OK";
  case FOVEA_ERROR_ARGUMENT:
    return "FOVEA_ERROR_ARGUMENT";
  case FOVEA_ERROR_NO_DRIVER:
    return "FOVEA_ERROR_NO_DRIVER";
  case FOVEA_ERROR_NO_DEVICE:
    return "FOVEA_ERROR_NO_DEVICE";
  case FOVEA_ERROR_METADATA:
    return "FOVEA_ERROR_METADATA";
  case FOVEA_ERROR_CONSTRAINT:
    return "FOVEA_ERROR_CONSTRAINT";
  case FOVEA_ERROR_LOAD:
    return "FOVEA_ERROR_LOAD";
  case FOVEA_ERROR_OUT_OF_MEMORY:
    return "FOVEA_ERROR_OUT_OF_MEMORY";
  case FOVEA_ERROR_DRIVER:
    return "FOVEA_ERROR_DRIVER";
  }
  return "unknown status";
}
