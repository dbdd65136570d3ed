/*===- Scratch.c - Stream-ordered scratch memory ------------------*- C -*-===*\
|*
|* Part of the Fovea project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
/**
 * Scratch memory is allocated and freed in stream order from a memory pool of
 * the driver, which also works during stream capture. The device's default pool
 * releases memory to the system on every synchronisation, which slows down the
 * next launch; the runtime therefore creates its own pool with an unlimited
 * release threshold.
 */
#include "Internal.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static fovea_status create_pool(fovea_device *device) {
  const fovea_driver *driver = device->driver;
  const CUmemPoolProps properties = {
      .allocation_type = CU_MEM_ALLOCATION_TYPE_PINNED,
      .location_type = CU_MEM_LOCATION_TYPE_DEVICE,
      .location = device->device};
  CUmemoryPool pool;
  TRY(fovea_check(driver, driver->mem_pool_create(&pool, &properties),
                  "cuMemPoolCreate"));
  uint64_t everything = UINT64_MAX;
  fovea_status status =
      fovea_check(driver,
                  driver->mem_pool_set_attribute(
                      pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &everything),
                  "cuMemPoolSetAttribute");
  if (status == FOVEA_OK)
    device->pool = pool;
  else
    driver->mem_pool_destroy(pool);
  return status;
}

fovea_status fovea_scratch_open(fovea_device *device, const char *kernel) {
  const fovea_driver *driver = device->driver;
  int supported = 0;
  if (driver->mem_pool_create && driver->mem_pool_destroy &&
      driver->mem_pool_set_attribute && driver->mem_alloc_from_pool &&
      driver->mem_free_async)
    TRY(fovea_check(driver,
                    driver->device_get_attribute(
                        &supported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED,
                        device->device),
                    "cuDeviceGetAttribute"));
  if (!supported)
    return fovea_fail(FOVEA_ERROR_LOAD,
                      "kernel '%s' needs scratch memory, which comes from "
                      "memory pools: the device or its driver has none",
                      kernel);
  pthread_mutex_lock(&lock);
  fovea_status status = device->pool ? FOVEA_OK : create_pool(device);
  pthread_mutex_unlock(&lock);
  return status;
}

void fovea_scratch_close(fovea_device *device) {
  if (device->pool)
    device->driver->mem_pool_destroy(device->pool);
}

fovea_status fovea_scratch_alloc(const fovea_device *device, int64_t bytes,
                                 CUstream stream, CUdeviceptr *address) {
  /* A buffer of 0 bytes still needs an address. */
  size_t most = bytes > 0 ? (size_t)bytes : FOVEA_SCRATCH_ALIGNMENT;
  return fovea_check(
      device->driver,
      device->driver->mem_alloc_from_pool(address, most, device->pool, stream),
      "cuMemAllocFromPoolAsync");
}

fovea_status fovea_scratch_free(const fovea_device *device, CUdeviceptr address,
                                CUstream stream) {
  return fovea_check(device->driver,
                     device->driver->mem_free_async(address, stream),
                     "cuMemFreeAsync");
}
