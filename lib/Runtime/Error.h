/*===- Error.h - Failures of the runtime --------------------------*- C -*-===*\
|*
|* Part of the Fovea project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
/** How functions of the runtime fail: a status and a message. */
#ifndef FOVEA_LIB_RUNTIME_ERROR_H
#define FOVEA_LIB_RUNTIME_ERROR_H

#include "fovea/Runtime/fovea_runtime.h"

/** Stores the message for fovea_last_error and returns `status`. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
fovea_status fovea_fail(fovea_status status, const char *format, ...);

/** Returns from the function if `call` fails. */
#define TRY(call)                                                              \
  do {                                                                         \
    fovea_status tried = (call);                                               \
    if (tried != FOVEA_OK)                                                     \
      return tried;                                                            \
  } while (0)

#endif /* FOVEA_LIB_RUNTIME_ERROR_H */
