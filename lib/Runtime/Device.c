/*===- Device.c - Devices, memory, events -------------------------*- C -*-===*\
|*
|* Part of the Fovea project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
/**
 * Implements devices, and the memory, stream and event functions for small
 * tools.
 */
#include "Internal.h"

#include <stdlib.h>
#include <string.h>

struct fovea_event {
  const fovea_device *device;
  CUevent event;
};

fovea_status fovea_enter(const fovea_device *device) {
  return fovea_check(device->driver, device->driver->ctx_push(device->context),
                     "cuCtxPushCurrent");
}

void fovea_leave(const fovea_device *device) {
  CUcontext popped;
  device->driver->ctx_pop(&popped);
}

/** Calls a driver function in the device's context. */
#define IN_CONTEXT(device, name, call)                                         \
  do {                                                                         \
    fovea_status entered = fovea_enter(device);                                \
    if (entered != FOVEA_OK)                                                   \
      return entered;                                                          \
    CUresult result = (device)->driver->call;                                  \
    fovea_leave(device);                                                       \
    return fovea_check((device)->driver, result, name);                        \
  } while (0)

static fovea_status open_primary(fovea_device *device, int number) {
  const fovea_driver *driver = device->driver;
  int count = 0;
  CUresult result = driver->device_get_count(&count);
  if (result != CUDA_SUCCESS && result != CUDA_ERROR_NO_DEVICE)
    return fovea_check(driver, result, "cuDeviceGetCount");
  if (count == 0)
    return fovea_fail(FOVEA_ERROR_NO_DEVICE, "there is no CUDA device");
  if (number >= count)
    return fovea_fail(FOVEA_ERROR_NO_DEVICE,
                      "there is no CUDA device %d; there are %d", number,
                      count);
  result = driver->device_get(&device->device, number);
  if (result != CUDA_SUCCESS)
    return fovea_check(driver, result, "cuDeviceGet");
  result = driver->primary_retain(&device->context, device->device);
  device->retained = result == CUDA_SUCCESS;
  return fovea_check(driver, result, "cuDevicePrimaryCtxRetain");
}

/** Caches the device attributes that loading and launching kernels need. */
static fovea_status get_facts(fovea_device *device) {
  const struct {
    int attribute;
    int *value;
  } attributes[] = {
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &device->multiprocessors},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &device->major},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &device->minor}};
  for (size_t i = 0; i < sizeof attributes / sizeof *attributes; ++i)
    TRY(fovea_check(
        device->driver,
        device->driver->device_get_attribute(
            attributes[i].value, attributes[i].attribute, device->device),
        "cuDeviceGetAttribute"));
  return FOVEA_OK;
}

fovea_status fovea_device_open(int number, fovea_device **result) {
  return fovea_device_open_on(NULL, number, result);
}

fovea_status fovea_device_open_on(const char *path, int number,
                                  fovea_device **result) {
  if (!result)
    return fovea_fail(FOVEA_ERROR_ARGUMENT, "device is null");
  *result = NULL;
  if (number < FOVEA_CURRENT_DEVICE)
    return fovea_fail(FOVEA_ERROR_ARGUMENT,
                      "device numbers start at 0, found %d", number);
  const fovea_driver *driver;
  fovea_status status = fovea_driver_get(path, &driver);
  if (status != FOVEA_OK)
    return status;
  fovea_device *device = calloc(1, sizeof *device);
  if (!device)
    return fovea_fail(FOVEA_ERROR_OUT_OF_MEMORY, "out of host memory");
  device->driver = driver;

  if (number == FOVEA_CURRENT_DEVICE) {
    status = fovea_check(driver, driver->ctx_get_current(&device->context),
                         "cuCtxGetCurrent");
    if (status == FOVEA_OK && device->context)
      status = fovea_check(driver, driver->ctx_get_device(&device->device),
                           "cuCtxGetDevice");
    else if (status == FOVEA_OK)
      status = open_primary(device, 0);
  } else {
    status = open_primary(device, number);
  }
  if (status == FOVEA_OK)
    status = get_facts(device);
  if (status != FOVEA_OK) {
    fovea_device_close(device);
    return status;
  }
  *result = device;
  return FOVEA_OK;
}

void fovea_device_close(fovea_device *device) {
  if (!device)
    return;
  fovea_scratch_close(device);
  if (device->retained)
    device->driver->primary_release(device->device);
  free(device);
}

fovea_status fovea_device_get_info(fovea_device *device,
                                   fovea_device_info *info) {
  if (!device || !info)
    return fovea_fail(FOVEA_ERROR_ARGUMENT, "device or info is null");
  const fovea_driver *driver = device->driver;
  memset(info, 0, sizeof *info);
  info->number = device->device;
  fovea_status status =
      fovea_check(driver,
                  driver->device_get_name(info->name, sizeof info->name - 1,
                                          device->device),
                  "cuDeviceGetName");
  if (status != FOVEA_OK)
    return status;
  info->multiprocessors = device->multiprocessors;
  info->major = device->major;
  info->minor = device->minor;
  TRY(fovea_check(driver,
                  driver->device_get_attribute(
                      &info->max_shared_memory,
                      CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
                      device->device),
                  "cuDeviceGetAttribute"));
  return fovea_check(driver, driver->driver_get_version(&info->driver_version),
                     "cuDriverGetVersion");
}

/*===-- Memory ------------------------------------------------------------===*/

fovea_status fovea_memory_alloc(fovea_device *device, size_t bytes,
                                fovea_address *address) {
  if (!device || !address)
    return fovea_fail(FOVEA_ERROR_ARGUMENT, "device or address is null");
  *address = 0;
  if (bytes == 0)
    return FOVEA_OK;
  IN_CONTEXT(device, "cuMemAlloc", mem_alloc(address, bytes));
}

fovea_status fovea_memory_alloc_managed(fovea_device *device, size_t bytes,
                                        void **result) {
  if (!device || !result)
    return fovea_fail(FOVEA_ERROR_ARGUMENT, "device or address is null");
  *result = NULL;
  if (bytes == 0)
    return FOVEA_OK;
  const fovea_driver *driver = device->driver;
  if (!driver->mem_alloc_managed)
    return fovea_fail(FOVEA_ERROR_NO_DRIVER,
                      "the CUDA driver has no managed memory");
  CUdeviceptr address = 0;
  TRY(fovea_enter(device));
  CUresult made =
      driver->mem_alloc_managed(&address, bytes, CU_MEM_ATTACH_GLOBAL);
  fovea_leave(device);
  *result = (void *)(uintptr_t)address;
  return fovea_check(driver, made, "cuMemAllocManaged");
}

fovea_status fovea_memory_free(fovea_device *device, fovea_address address) {
  if (!device)
    return fovea_fail(FOVEA_ERROR_ARGUMENT, "device is null");
  if (!address)
    return FOVEA_OK;
  IN_CONTEXT(device, "cuMemFree", mem_free(address));
}

fovea_status fovea_memory_write(fovea_device *device, fovea_address to,
                                const void *from, size_t bytes) {
  if (!device || (bytes && (!to || !from)))
    return fovea_fail(FOVEA_ERROR_ARGUMENT, "device or address is null");
  if (!bytes)
    return FOVEA_OK;
  IN_CONTEXT(device, "cuMemcpyHtoD", copy_to_device(to, from, bytes));
}

fovea_status fovea_memory_read(fovea_device *device, void *to,
                               fovea_address from, size_t bytes) {
  if (!device || (bytes && (!to || !from)))
    return fovea_fail(FOVEA_ERROR_ARGUMENT, "device or address is null");
  if (!bytes)
    return FOVEA_OK;
  IN_CONTEXT(device, "cuMemcpyDtoH", copy_to_host(to, from, bytes));
}

fovea_status fovea_memory_fill(fovea_device *device, fovea_address address,
                               uint8_t value, size_t bytes) {
  if (!device || (bytes && !address))
    return fovea_fail(FOVEA_ERROR_ARGUMENT, "device or address is null");
  if (!bytes)
    return FOVEA_OK;
  IN_CONTEXT(device, "cuMemsetD8", memset_bytes(address, value, bytes));
}

/*===-- Streams and events ------------------------------------------------===*/

fovea_status fovea_stream_wait(fovea_device *device, fovea_stream stream) {
  if (!device)
    return fovea_fail(FOVEA_ERROR_ARGUMENT, "device is null");
  IN_CONTEXT(device, "cuStreamSynchronize", stream_synchronize(stream));
}

fovea_status fovea_event_create(fovea_device *device, fovea_event **result) {
  if (!device || !result)
    return fovea_fail(FOVEA_ERROR_ARGUMENT, "device or event is null");
  *result = NULL;
  fovea_status status = fovea_enter(device);
  if (status != FOVEA_OK)
    return status;
  fovea_event *event = calloc(1, sizeof *event);
  if (event) {
    event->device = device;
    status = fovea_check(device->driver,
                         device->driver->event_create(&event->event, 0),
                         "cuEventCreate");
  } else {
    status = fovea_fail(FOVEA_ERROR_OUT_OF_MEMORY, "out of host memory");
  }
  fovea_leave(device);
  if (status != FOVEA_OK)
    free(event);
  else
    *result = event;
  return status;
}

void fovea_event_free(fovea_event *event) {
  if (!event)
    return;
  if (fovea_enter(event->device) == FOVEA_OK) {
    event->device->driver->event_destroy(event->event);
    fovea_leave(event->device);
  }
  free(event);
}

fovea_status fovea_event_record(fovea_event *event, fovea_stream stream) {
  if (!event)
    return fovea_fail(FOVEA_ERROR_ARGUMENT, "event is null");
  IN_CONTEXT(event->device, "cuEventRecord",
             event_record(event->event, stream));
}

fovea_status fovea_event_elapsed(fovea_event *start, fovea_event *end,
                                 float *milliseconds) {
  if (!start || !end || !milliseconds)
    return fovea_fail(FOVEA_ERROR_ARGUMENT, "event or milliseconds is null");
  const fovea_driver *driver = end->device->driver;
  fovea_status status = fovea_enter(end->device);
  if (status != FOVEA_OK)
    return status;
  status = fovea_check(driver, driver->event_synchronize(end->event),
                       "cuEventSynchronize");
  if (status == FOVEA_OK)
    status = fovea_check(
        driver, driver->event_elapsed(milliseconds, start->event, end->event),
        "cuEventElapsedTime");
  fovea_leave(end->device);
  return status;
}
