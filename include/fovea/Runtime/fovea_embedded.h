/*===- fovea_embedded.h - Kernels inside a host's code ------------*- C -*-===*\
|*
|* Part of the Fovea project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
/**
 * @file
 * What host code calls that has its kernels within: the code that
 * `fovea-to-host` leaves, or any program that holds PTX and launch metadata as
 * constants. A kernel is loaded when it is first launched, once for each CUDA
 * context, and stays.
 *
 * A part of libFoveaRuntime. All functions may be called from several threads
 * at once, also the first time. Nothing here prints or ends the program, but
 * for fovea_embedded_check.
 */
#ifndef FOVEA_RUNTIME_FOVEA_EMBEDDED_H
#define FOVEA_RUNTIME_FOVEA_EMBEDDED_H

#include "fovea/Runtime/fovea_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The version of struct fovea_embedded, which this library wants. */
#define FOVEA_EMBEDDED_VERSION 1

/**
 * A kernel in a host's code. To be a static object, zero but for what is
 * said here.
 */
typedef struct fovea_embedded {
  /** FOVEA_EMBEDDED_VERSION. */
  uint64_t version;
  /** PTX or a cubin, and the metadata beside it, as fovea_kernel_load takes
   *  them. */
  const void *code;
  uint64_t code_size;
  const char *metadata;
  uint64_t metadata_size;
  /** The library's: what it has loaded. Null at the start. */
  void *state;
} fovea_embedded;

/**
 * Launches the kernel on the thread's current CUDA context (or, if there is
 * none, on device 0) and waits for it. The arguments are those of
 * fovea_kernel_launch_packed: of each tensor its address, sizes and strides,
 * then the scalars.
 *
 * Tensors may lie where the device reaches them (device memory, managed memory,
 * pinned host memory), and are used there; or in other host memory: then they
 * are copied to the device, and those that the kernel writes back. A tensor
 * must not be written while another thread does either.
 */
FOVEA_API fovea_status fovea_embedded_call(fovea_embedded *kernel,
                                           const int64_t *words,
                                           uint64_t count);

/**
 * The same on a stream, without waiting. All tensors must lie where the device
 * reaches them; FOVEA_ERROR_ARGUMENT if one does not.
 */
FOVEA_API fovea_status fovea_embedded_call_async(fovea_embedded *kernel,
                                                 fovea_stream stream,
                                                 const int64_t *words,
                                                 uint64_t count);

/**
 * Unloads the kernel in all contexts, for programs that destroy a context or
 * unload the library that holds the kernel. No call of it may be running. The
 * next call loads it again.
 */
FOVEA_API void fovea_embedded_unload(fovea_embedded *kernel);

/** What is called for a launch that failed, with fovea_last_error(). */
typedef void (*fovea_embedded_handler)(fovea_status status, const char *message,
                                       void *data);

/**
 * What host code does with a status that it has no place for: nothing if it is
 * FOVEA_OK. Otherwise calls the handler that was set; without one writes the
 * message to stderr and exits with EXIT_FAILURE, as results that are not there
 * must not be read.
 */
FOVEA_API void fovea_embedded_check(fovea_status status);

/**
 * Sets the handler of fovea_embedded_check, for the process; null for none. If
 * it returns the host's code goes on, with outputs that hold anything.
 */
FOVEA_API void fovea_embedded_on_failure(fovea_embedded_handler handler,
                                         void *data);

#ifdef __cplusplus
}
#endif

#endif /* FOVEA_RUNTIME_FOVEA_EMBEDDED_H */
