/*===- fovea_embedded.h - Kernels embedded in host code -----------*- C -*-===*\
|*
|* Part of the Fovea project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
/**
 * @file
 * Launches kernels that are constants of the host program: PTX and launch
 * metadata embedded by `fovea-to-host` or by any other program. A kernel is
 * loaded at its first launch, once per CUDA context, and stays loaded.
 *
 * Part of libFoveaRuntime. All functions may be called from several threads
 * concurrently, including the first call. No function prints or exits, except
 * fovea_embedded_check.
 */
#ifndef FOVEA_RUNTIME_FOVEA_EMBEDDED_H
#define FOVEA_RUNTIME_FOVEA_EMBEDDED_H

#include "fovea/Runtime/fovea_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The version of struct fovea_embedded that this library supports. */
#define FOVEA_EMBEDDED_VERSION 1

/**
 * A kernel in host code. It must be a static object; all fields are zero except
 * those described here.
 */
typedef struct fovea_embedded {
  /** FOVEA_EMBEDDED_VERSION. */
  uint64_t version;
  /**
   * PTX or a cubin, and its launch metadata, as fovea_kernel_load takes them.
   */
  const void *code;
  uint64_t code_size;
  const char *metadata;
  uint64_t metadata_size;
  /** Owned by the library: the loaded kernels. Initially null. */
  void *state;
} fovea_embedded;

/**
 * Launches the kernel on the thread's current CUDA context (device 0 if there
 * is none) and waits for it. The arguments are those of
 * fovea_kernel_launch_packed: the address, sizes and strides of each tensor,
 * then the scalars.
 *
 * Tensors in memory that the device can access (device memory, managed memory,
 * pinned host memory) are used in place. Tensors in other host memory are
 * copied to the device, and written tensors are copied back. No other thread
 * may write a tensor during the call.
 */
FOVEA_API fovea_status fovea_embedded_call(fovea_embedded *kernel,
                                           const int64_t *words,
                                           uint64_t count);

/**
 * Launches on a stream without waiting. The device must be able to access all
 * tensors; otherwise the result is FOVEA_ERROR_ARGUMENT.
 */
FOVEA_API fovea_status fovea_embedded_call_async(fovea_embedded *kernel,
                                                 fovea_stream stream,
                                                 const int64_t *words,
                                                 uint64_t count);

/**
 * Unloads the kernel in all contexts, for programs that destroy a context or
 * unload the library that contains the kernel. No call of the kernel may be
 * running. The next call loads it again.
 */
FOVEA_API void fovea_embedded_unload(fovea_embedded *kernel);

/** Called with fovea_last_error() for a failed launch. */
typedef void (*fovea_embedded_handler)(fovea_status status, const char *message,
                                       void *data);

/**
 * Handles a status in host code that can't return it. FOVEA_OK has no effect.
 * Otherwise calls the handler; without a handler, writes the message to stderr
 * and exits with EXIT_FAILURE, since the outputs are undefined.
 */
FOVEA_API void fovea_embedded_check(fovea_status status);

/**
 * Sets the process-wide handler of fovea_embedded_check; null removes it. If
 * the handler returns, the host code continues with undefined outputs.
 */
FOVEA_API void fovea_embedded_on_failure(fovea_embedded_handler handler,
                                         void *data);

#ifdef __cplusplus
}
#endif

#endif /* FOVEA_RUNTIME_FOVEA_EMBEDDED_H */
