/*===- Internal.h - What the runtime's files share -----------------*- C
-*-===*\
|*
|* Part of the Fovea project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
#ifndef FOVEA_LIB_RUNTIME_INTERNAL_H
#define FOVEA_LIB_RUNTIME_INTERNAL_H

#include "Driver.h"
#include "Metadata.h"
#include "fovea/Runtime/fovea_runtime.h"

#include <stdbool.h>

/** Remembers the message for fovea_last_error, returns `status`. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
fovea_status fovea_fail(fovea_status status, const char *format, ...);

struct fovea_device {
  const fovea_driver *driver;
  CUdevice device;
  CUcontext context;
  /** The context is the device's primary one, retained by us. */
  bool retained;
};

/**
 * Reports a call of the driver that failed: its name, the driver's words.
 * FOVEA_OK if `result` is success.
 */
fovea_status fovea_check(const fovea_driver *driver, CUresult result,
                         const char *call);

/** Makes the device's context current; each success needs a fovea_leave. */
fovea_status fovea_enter(const fovea_device *device);
void fovea_leave(const fovea_device *device);

#endif /* FOVEA_LIB_RUNTIME_INTERNAL_H */
