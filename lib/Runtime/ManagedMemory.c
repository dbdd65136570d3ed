/*===- ManagedMemory.c - Managed memory for host code -------------*- C -*-===*\
|*
|* Part of the Fovea project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
/**
 * The allocation functions that MLIR's finalize-memref-to-llvm calls with
 * use-generic-functions, on managed memory: kernels access the host code's
 * buffers in place, and launches need no copies.
 */
#include "fovea/Runtime/fovea_embedded.h"

#include <pthread.h>
#include <stdlib.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
/** The device of the first allocation; never closed. */
static fovea_device *device;

static void open_device(void) {
  fovea_embedded_check(fovea_device_open(FOVEA_CURRENT_DEVICE, &device));
}

FOVEA_API void *_mlir_memref_to_llvm_alloc(size_t bytes) {
  void *memory = NULL;
  pthread_once(&once, open_device);
  /* Allocates at least one byte, so that empty memory has an address as with
   * malloc. */
  if (device)
    fovea_embedded_check(
        fovea_memory_alloc_managed(device, bytes ? bytes : 1, &memory));
  return memory;
}

/** Managed memory is aligned to at least 256 bytes. */
FOVEA_API void *_mlir_memref_to_llvm_aligned_alloc(size_t alignment,
                                                   size_t bytes) {
  void *memory = _mlir_memref_to_llvm_alloc(bytes);
  if (((uintptr_t)memory & (alignment - 1)) != 0) {
    fovea_memory_free(device, (fovea_address)(uintptr_t)memory);
    return NULL;
  }
  return memory;
}

FOVEA_API void _mlir_memref_to_llvm_free(void *memory) {
  if (memory && device)
    fovea_embedded_check(
        fovea_memory_free(device, (fovea_address)(uintptr_t)memory));
}
