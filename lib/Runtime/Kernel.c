/*===- Kernel.c - Loads kernels -----------------------------------*- C -*-===*\
|*
|* Part of the Fovea project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
/**
 * Loads an image into a device, checks it against its metadata, and allocates
 * the memory that its launches need.
 */
#include "Internal.h"

#include <stdlib.h>
#include <string.h>

/*===-- Loading -----------------------------------------------------------===*/

/**
 * Checks that the device can run code of the kernel's target: one GPU (suffix
 * a), a family (f), or that GPU and later ones.
 */
static fovea_status check_target(const fovea_kernel *kernel) {
  const fovea_metadata *m = &kernel->metadata;
  const fovea_device *device = kernel->device;
  const fovea_target *target = &m->target;
  int wanted = 10 * target->major + target->minor;
  int found = 10 * device->major + device->minor;
  bool runs = target->suffix == 'a' ? found == wanted
              : target->suffix == 'f'
                  ? found >= wanted && device->major == target->major
                  : found >= wanted;
  if (!runs)
    return fovea_fail(
        FOVEA_ERROR_LOAD,
        "kernel '%s' is compiled for %s, which needs a device of compute "
        "capability %d.%d%s, found %d.%d",
        m->kernel, target->name, target->major, target->minor,
        target->suffix == 'a'   ? " exactly"
        : target->suffix == 'f' ? " or a later one of its family"
                                : " or later",
        device->major, device->minor);
  const char *feature = m->cluster > 1    ? "clusters"
                        : m->num_maps > 0 ? "tensor maps"
                                          : NULL;
  if (feature && device->major < 9)
    return fovea_fail(FOVEA_ERROR_LOAD,
                      "kernel '%s' uses %s, which need a device of compute "
                      "capability 9.0 or later, found %d.%d",
                      m->kernel, feature, device->major, device->minor);
  if (m->num_maps > 0 && (!device->driver->tensor_map_encode ||
                          !device->driver->tensor_map_replace))
    return fovea_fail(FOVEA_ERROR_LOAD,
                      "kernel '%s' uses tensor maps, for which the CUDA driver "
                      "is too old: it has no cuTensorMapEncodeTiled",
                      m->kernel);
  return FOVEA_OK;
}

/** Allocates the device memory that launches of the kernel need. */
static fovea_status make_memory(fovea_kernel *kernel) {
  const fovea_metadata *m = &kernel->metadata;
  if (m->num_maps > 0)
    TRY(fovea_alloc_zeroed(kernel->device, FOVEA_NOTHING_BYTES,
                           &kernel->nothing));
  if (m->num_workspaces > 0)
    TRY(fovea_workspaces_create(
        kernel->device,
        m->workspace_bytes +
            m->num_workspaces * (int64_t)fovea_red_zone(kernel->device->driver),
        &kernel->workspaces));
  if (m->num_scratch > 0)
    TRY(fovea_scratch_open(kernel->device, m->kernel));
  return FOVEA_OK;
}

/** Allows clusters of more than 8 CTAs, which not every GPU supports. */
static fovea_status allow_cluster(const fovea_kernel *kernel) {
  enum { kPortableCluster = 8 };
  const fovea_driver *driver = kernel->device->driver;
  if (kernel->metadata.cluster <= kPortableCluster)
    return FOVEA_OK;
  return fovea_check(driver,
                     driver->func_set_attribute(
                         kernel->function,
                         CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
                         1),
                     "cuFuncSetAttribute");
}

static size_t parameter_bytes(const fovea_parameter *p) {
  switch (p->kind) {
  case FOVEA_PARAMETER_TENSOR_MAP:
    return sizeof(CUtensorMap);
  case FOVEA_PARAMETER_SIZE:
  case FOVEA_PARAMETER_STRIDE:
  case FOVEA_PARAMETER_SCALAR:
    return p->type == FOVEA_VALUE_I64 ? 8 : 4;
  case FOVEA_PARAMETER_POINTER:
  case FOVEA_PARAMETER_WORKSPACE:
  case FOVEA_PARAMETER_SCRATCH:
    break;
  }
  return sizeof(CUdeviceptr);
}

/**
 * Checks the entry's parameters against those from `first` to `end` of the
 * metadata, if the driver can report them: with the metadata of another kernel,
 * launches would read beyond the arguments.
 */
static fovea_status check_parameters(const fovea_kernel *kernel,
                                     const char *name, CUfunction function,
                                     int first, int end) {
  const fovea_driver *driver = kernel->device->driver;
  if (!driver->func_get_param_info)
    return FOVEA_OK;
  size_t offset, bytes;
  for (int i = first; i < end; ++i) {
    size_t wanted = parameter_bytes(&kernel->metadata.parameters[i]);
    if (driver->func_get_param_info(function, (size_t)(i - first), &offset,
                                    &bytes) != CUDA_SUCCESS)
      return fovea_fail(
          FOVEA_ERROR_LOAD,
          "the metadata gives kernel '%s' %d parameters, but the image has %d",
          name, end - first, i - first);
    if (bytes != wanted)
      return fovea_fail(FOVEA_ERROR_LOAD,
                        "parameter %d of kernel '%s' has %zu bytes in the "
                        "metadata, but %zu in the image",
                        i - first, name, wanted, bytes);
  }
  if (driver->func_get_param_info(function, (size_t)(end - first), &offset,
                                  &bytes) == CUDA_SUCCESS)
    return fovea_fail(
        FOVEA_ERROR_LOAD,
        "the metadata gives kernel '%s' %d parameters, but the image has more",
        name, end - first);
  return FOVEA_OK;
}

/**
 * Finds an entry of the module, checks its parameters from `first` to `end`,
 * and allows it to use `shared_memory` bytes.
 */
static fovea_status get_entry(const fovea_kernel *kernel, const char *name,
                              unsigned shared_memory, int first, int end,
                              CUfunction *function) {
  const fovea_driver *driver = kernel->device->driver;
  if (driver->module_get_function(function, kernel->module, name) !=
      CUDA_SUCCESS)
    return fovea_fail(FOVEA_ERROR_LOAD,
                      "the image has no kernel named '%s', which the metadata "
                      "is for",
                      name);
  TRY(check_parameters(kernel, name, *function, first, end));
  int bytes = (int)shared_memory, most;
  TRY(fovea_check(driver,
                  driver->device_get_attribute(
                      &most,
                      CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
                      kernel->device->device),
                  "cuDeviceGetAttribute"));
  if (bytes > most)
    return fovea_fail(
        FOVEA_ERROR_LOAD,
        "kernel '%s' needs %d bytes of shared memory, but the device has %d",
        name, bytes, most);
  /* Up to 48 KiB need no attribute. */
  if (bytes <= 48 * 1024)
    return FOVEA_OK;
  return fovea_check(
      driver,
      driver->func_set_attribute(
          *function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes),
      "cuFuncSetAttribute");
}

static fovea_status load_module(fovea_kernel *kernel, const void *image) {
  const fovea_driver *driver = kernel->device->driver;
  char log[2048] = "";
  int options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, (void *)(uintptr_t)(sizeof log - 1)};
  CUresult result =
      driver->module_load(&kernel->module, image, 2, options, values);
  if (result == CUDA_ERROR_OUT_OF_MEMORY)
    return fovea_check(driver, result, "cuModuleLoadDataEx");
  if (result != CUDA_SUCCESS) {
    const char *name = NULL;
    driver->get_error_name(result, &name);
    return fovea_fail(FOVEA_ERROR_LOAD,
                      "kernel '%s' can't be loaded: %s (%d)%s%s",
                      kernel->metadata.kernel, name ? name : "unknown error",
                      result, *log ? "\n" : "", log);
  }
  const fovea_metadata *m = &kernel->metadata;
  for (int i = 0; i < m->num_helpers; ++i)
    TRY(get_entry(kernel, m->helpers[i].name, m->helpers[i].shared_memory,
                  m->helpers[i].first_parameter,
                  i + 1 < m->num_helpers ? m->helpers[i + 1].first_parameter
                                         : m->num_all_parameters,
                  &kernel->helpers[i]));
  return get_entry(kernel, m->kernel, m->shared_memory, 0, m->num_parameters,
                   &kernel->function);
}

fovea_status fovea_kernel_load(fovea_device *device, const void *image,
                               size_t image_size, const char *metadata,
                               size_t metadata_size, fovea_kernel **result) {
  if (!device || !image || !metadata || !result)
    return fovea_fail(FOVEA_ERROR_ARGUMENT,
                      "device, image, metadata or kernel is null");
  *result = NULL;
  fovea_kernel *kernel = calloc(1, sizeof *kernel);
  /* The driver expects PTX with a terminating zero. */
  char *copy = malloc(image_size + 1);
  fovea_status status =
      kernel && copy
          ? fovea_metadata_read(metadata, metadata_size, &kernel->metadata)
          : fovea_fail(FOVEA_ERROR_OUT_OF_MEMORY, "out of host memory");
  if (status == FOVEA_OK) {
    kernel->device = device;
    memcpy(copy, image, image_size);
    copy[image_size] = 0;
    status = fovea_enter(device);
    if (status == FOVEA_OK) {
      status = check_target(kernel);
      if (status == FOVEA_OK)
        status = load_module(kernel, copy);
      if (status == FOVEA_OK)
        status = allow_cluster(kernel);
      if (status == FOVEA_OK)
        status = make_memory(kernel);
      fovea_leave(device);
    }
    if (status != FOVEA_OK) {
      fovea_kernel_unload(kernel);
      kernel = NULL;
    }
  } else {
    free(kernel);
  }
  free(copy);
  if (status == FOVEA_OK)
    *result = kernel;
  return status;
}

void fovea_kernel_unload(fovea_kernel *kernel) {
  if (!kernel)
    return;
  if (kernel->module && fovea_enter(kernel->device) == FOVEA_OK) {
    fovea_workspaces_free(kernel->workspaces);
    if (kernel->nothing)
      kernel->device->driver->mem_free(kernel->nothing);
    kernel->device->driver->module_unload(kernel->module);
    fovea_leave(kernel->device);
  }
  fovea_metadata_free(&kernel->metadata);
  free(kernel);
}

static fovea_status get_info(fovea_kernel *kernel, fovea_kernel_info *info) {
  const fovea_driver *driver = kernel->device->driver;
  TRY(fovea_check(driver,
                  driver->func_get_attribute(&info->registers,
                                             CU_FUNC_ATTRIBUTE_NUM_REGS,
                                             kernel->function),
                  "cuFuncGetAttribute"));
  TRY(fovea_check(driver,
                  driver->func_get_attribute(&info->local_memory,
                                             CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
                                             kernel->function),
                  "cuFuncGetAttribute"));
  return fovea_check(driver,
                     driver->occupancy(&info->blocks_per_multiprocessor,
                                       kernel->function, info->threads,
                                       kernel->metadata.shared_memory),
                     "cuOccupancyMaxActiveBlocksPerMultiprocessor");
}

fovea_status fovea_kernel_get_info(fovea_kernel *kernel,
                                   fovea_kernel_info *info) {
  if (!kernel || !info)
    return fovea_fail(FOVEA_ERROR_ARGUMENT, "kernel or info is null");
  const fovea_metadata *metadata = &kernel->metadata;
  memset(info, 0, sizeof *info);
  info->name = metadata->kernel;
  info->threads =
      (int)(metadata->block[0] * metadata->block[1] * metadata->block[2]);
  info->shared_memory = (int)metadata->shared_memory;
  TRY(fovea_enter(kernel->device));
  fovea_status status = get_info(kernel, info);
  fovea_leave(kernel->device);
  return status;
}

const fovea_metadata *fovea_kernel_metadata(const fovea_kernel *kernel) {
  return &kernel->metadata;
}

fovea_device *fovea_kernel_device(const fovea_kernel *kernel) {
  return kernel->device;
}

const char *fovea_kernel_tensor_name(const fovea_kernel *kernel, int index) {
  if (!kernel || index < 0 || index >= kernel->metadata.num_tensors)
    return NULL;
  return kernel->metadata.tensors[index].name;
}

const char *fovea_kernel_scalar_name(const fovea_kernel *kernel, int index) {
  if (!kernel || index < 0 || index >= kernel->metadata.num_scalars)
    return NULL;
  return kernel->metadata.scalars[index].name;
}
