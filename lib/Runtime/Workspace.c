/*===- Workspace.c - Zeroed memory for launches -------------------*- C -*-===*\
|*
|* Part of the Fovea project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
/**
 * Workspaces of launches that run concurrently must be disjoint, and a launch
 * must only increment a counter: no allocation, memset or wait.
 *
 * An ordinary launch takes the next slot of a ring. When the ring wraps around,
 * the last launch of the slot has ended, because the driver blocks a stream
 * that has about a thousand pending launches. A launch captured into a graph
 * may run at any later time, so its slot is never reused. Kernels leave their
 * slots zero.
 */
#include "Internal.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
  /** Size of the ring in bytes if that is enough, and bounds of its slots. */
  kRingBytes = 1 << 20,
  kMostSlots = 16384,
  kLeastSlots = 1024,
  /** Slots for captured launches are allocated in chunks of this size. */
  kChunkSlots = 1024
};

typedef struct chunk {
  struct chunk *next;
  CUdeviceptr base;
} chunk;

struct fovea_workspaces {
  const fovea_device *device;
  uint64_t slot_bytes;
  CUdeviceptr ring;
  /** Number of slots of the ring, a power of two. */
  uint64_t slots;
  atomic_uint_least64_t next;
  /** Guards the fields that follow. */
  pthread_mutex_t lock;
  chunk *chunks;
  /** Used slots of the first chunk. */
  uint64_t used;
};

static fovea_status zero(const fovea_device *device, CUdeviceptr address,
                         size_t bytes) {
  const fovea_driver *driver = device->driver;
  /* A separate stream, since the default stream may wait for captured ones. */
  CUstream stream;
  TRY(fovea_check(driver,
                  driver->stream_create(&stream, CU_STREAM_NON_BLOCKING),
                  "cuStreamCreate"));
  fovea_status status =
      fovea_check(driver, driver->memset_bytes_async(address, 0, bytes, stream),
                  "cuMemsetD8Async");
  if (status == FOVEA_OK)
    status = fovea_check(driver, driver->stream_synchronize(stream),
                         "cuStreamSynchronize");
  driver->stream_destroy(stream);
  return status;
}

fovea_status fovea_alloc_zeroed(const fovea_device *device, size_t bytes,
                                CUdeviceptr *address) {
  const fovea_driver *driver = device->driver;
  *address = 0;
  /* During stream capture the driver rejects allocations unless the thread
   * selects the relaxed mode. */
  int mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  TRY(fovea_check(driver, driver->exchange_capture_mode(&mode),
                  "cuThreadExchangeStreamCaptureMode"));
  fovea_status status =
      fovea_check(driver, driver->mem_alloc(address, bytes), "cuMemAlloc");
  if (status == FOVEA_OK) {
    status = zero(device, *address, bytes);
    if (status != FOVEA_OK) {
      driver->mem_free(*address);
      *address = 0;
    }
  }
  driver->exchange_capture_mode(&mode);
  return status;
}

fovea_status fovea_workspaces_create(const fovea_device *device, int64_t bytes,
                                     fovea_workspaces **result) {
  *result = NULL;
  fovea_workspaces *made = calloc(1, sizeof *made);
  if (!made)
    return fovea_fail(FOVEA_ERROR_OUT_OF_MEMORY, "out of host memory");
  made->device = device;
  made->slot_bytes = (uint64_t)bytes;
  made->slots = kMostSlots;
  while (made->slots > kLeastSlots &&
         made->slots * made->slot_bytes > kRingBytes)
    made->slots /= 2;
  fovea_status status =
      fovea_alloc_zeroed(device, made->slots * made->slot_bytes, &made->ring);
  if (status != FOVEA_OK) {
    free(made);
    return status;
  }
  pthread_mutex_init(&made->lock, NULL);
  *result = made;
  return FOVEA_OK;
}

void fovea_workspaces_free(fovea_workspaces *workspaces) {
  if (!workspaces)
    return;
  const fovea_driver *driver = workspaces->device->driver;
  while (workspaces->chunks) {
    chunk *first = workspaces->chunks;
    workspaces->chunks = first->next;
    driver->mem_free(first->base);
    free(first);
  }
  driver->mem_free(workspaces->ring);
  pthread_mutex_destroy(&workspaces->lock);
  free(workspaces);
}

static fovea_status add_chunk(fovea_workspaces *w) {
  chunk *added = calloc(1, sizeof *added);
  if (!added)
    return fovea_fail(FOVEA_ERROR_OUT_OF_MEMORY, "out of host memory");
  fovea_status status =
      fovea_alloc_zeroed(w->device, kChunkSlots * w->slot_bytes, &added->base);
  if (status != FOVEA_OK) {
    free(added);
    return status;
  }
  added->next = w->chunks;
  w->chunks = added;
  w->used = 0;
  return FOVEA_OK;
}

static fovea_status take_for_good(fovea_workspaces *w, CUdeviceptr *slot) {
  fovea_status status = FOVEA_OK;
  pthread_mutex_lock(&w->lock);
  if (!w->chunks || w->used == kChunkSlots)
    status = add_chunk(w);
  if (status == FOVEA_OK)
    *slot = w->chunks->base + w->used++ * w->slot_bytes;
  pthread_mutex_unlock(&w->lock);
  return status;
}

fovea_status fovea_workspaces_take(fovea_workspaces *w, CUstream stream,
                                   CUdeviceptr *slot) {
  const fovea_driver *driver = w->device->driver;
  int capturing = CU_STREAM_CAPTURE_STATUS_NONE;
  TRY(fovea_check(driver, driver->stream_is_capturing(stream, &capturing),
                  "cuStreamIsCapturing"));
  if (capturing != CU_STREAM_CAPTURE_STATUS_NONE)
    return take_for_good(w, slot);
  uint64_t turn = atomic_fetch_add_explicit(&w->next, 1, memory_order_relaxed);
  *slot = w->ring + (turn & (w->slots - 1)) * w->slot_bytes;
  return FOVEA_OK;
}
