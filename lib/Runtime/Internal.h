/*===- Internal.h - Declarations shared by the runtime's files ----*- C -*-===*\
|*
|* Part of the Fovea project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
#ifndef FOVEA_LIB_RUNTIME_INTERNAL_H
#define FOVEA_LIB_RUNTIME_INTERNAL_H

#include "Driver.h"
#include "Error.h"
#include "Metadata.h"
#include "fovea/Runtime/fovea_runtime.h"

#include <stdbool.h>

/**
 * Size in bytes of the guard region after each workspace and scratch buffer,
 * which kernels must not access. It is 0 for drivers that can't forbid
 * accesses; buffers are then adjacent.
 */
static inline uint64_t fovea_red_zone(const fovea_driver *driver) {
  return driver->forbid ? 256 : 0;
}

struct fovea_device {
  const fovea_driver *driver;
  CUdevice device;
  CUcontext context;
  /**
   * True if `context` is the device's primary context, retained by the runtime.
   */
  bool retained;
  /** Cached attributes; launches of persistent kernels need the first one. */
  int multiprocessors, major, minor;
  /** Pool of the launches' scratch memory; null until a kernel needs it. */
  CUmemoryPool pool;
};

/** Makes the device's context current. Each success requires a fovea_leave. */
fovea_status fovea_enter(const fovea_device *device);
void fovea_leave(const fovea_device *device);

/**
 * Allocates memory that is zero on return; allowed during stream capture. The
 * device's context must be current. Free the memory with the driver.
 */
fovea_status fovea_alloc_zeroed(const fovea_device *device, size_t bytes,
                                CUdeviceptr *address);

/*===-- Stream-ordered memory (Scratch.c)
 * --------------------------------------*/

/**
 * Creates the device's pool for scratch memory if it does not exist. `kernel`
 * is a kernel name for the error message.
 */
fovea_status fovea_scratch_open(fovea_device *device, const char *kernel);
/** Destroys the pool, if there is one. */
void fovea_scratch_close(fovea_device *device);

/**
 * Allocates memory in stream order: it is valid for later work on the stream
 * until it is freed. The device's context must be current.
 */
fovea_status fovea_scratch_alloc(const fovea_device *device, int64_t bytes,
                                 CUstream stream, CUdeviceptr *address);
fovea_status fovea_scratch_free(const fovea_device *device, CUdeviceptr address,
                                CUstream stream);

/** The metadata of a loaded kernel, and its device. */
const fovea_metadata *fovea_kernel_metadata(const fovea_kernel *kernel);
fovea_device *fovea_kernel_device(const fovea_kernel *kernel);

/*===-- Tensor maps (TensorMap.c) -----------------------------------------===*/

/** Size of the buffer that maps of tensors without elements refer to. */
enum { FOVEA_NOTHING_BYTES = 512 };

/**
 * Encodes the map of one tensor. `strides` are the tensor's strides in
 * elements. `nothing` is a zeroed buffer, to which the map of a tensor without
 * elements refers. The device's context must be current.
 */
fovea_status fovea_tensor_map_encode(const fovea_driver *driver,
                                     const fovea_tensor_spec *spec,
                                     const fovea_map_spec *map,
                                     const fovea_tensor *tensor,
                                     const int64_t *strides,
                                     CUdeviceptr nothing, CUtensorMap *result);

/**
 * Changes the address in the map of a tensor that has elements. The device's
 * context must be current.
 */
fovea_status fovea_tensor_map_move(const fovea_driver *driver,
                                   const fovea_tensor_spec *spec,
                                   fovea_address address, CUtensorMap *map);

/*===-- Workspaces (Workspace.c) ------------------------------------------===*/

/** Slots of zeroed device memory, one per launch. */
typedef struct fovea_workspaces fovea_workspaces;

/** The device's context must be current in both; null may be freed. */
fovea_status fovea_workspaces_create(const fovea_device *device, int64_t bytes,
                                     fovea_workspaces **result);
void fovea_workspaces_free(fovea_workspaces *workspaces);

/**
 * Takes the slot of a launch on a stream. The device's context must be current.
 */
fovea_status fovea_workspaces_take(fovea_workspaces *workspaces,
                                   CUstream stream, CUdeviceptr *slot);

/*===-- Kernels (Kernel.c, Launch.c)
 * -------------------------------------------*/

struct fovea_kernel {
  fovea_device *device;
  fovea_metadata metadata;
  CUmodule module;
  CUfunction function;
  /** The prologue and epilogue kernels. */
  CUfunction helpers[FOVEA_MAX_HELPERS];
  /** Null if the kernel needs none. */
  fovea_workspaces *workspaces;
  /**
   * The buffer that maps of empty tensors refer to; 0 if the kernel has no
   * maps.
   */
  CUdeviceptr nothing;
};

/*===-- Launches (Launch.c prepares, Run.c runs, Packed.c unpacks)
 * --------------------------------------------------------*/

/**
 * A checked call. Arguments are packed into slots of 8 bytes, one per
 * parameter; those of the helper kernels follow those of the kernel. Tensor
 * maps are stored separately. Workspaces and scratch memory are allocated when
 * the launch runs.
 */
struct fovea_launch {
  fovea_kernel *kernel;
  unsigned grid[3];
  unsigned helper_grids[FOVEA_MAX_HELPERS][3];
  /**
   * The begin and end of each scratch buffer within the launch's allocation,
   * and the size of the allocation.
   */
  int64_t scratch_offsets[FOVEA_MAX_SCRATCH], scratch_ends[FOVEA_MAX_SCRATCH],
      scratch_bytes;
  uint64_t *values;
  CUtensorMap *maps;
  void **arguments;
  /** True for tensors without elements. */
  bool *empty;
};

/** The number of words of packed arguments (fovea_kernel_launch_packed). */
size_t fovea_count_words(const fovea_metadata *metadata);

#endif /* FOVEA_LIB_RUNTIME_INTERNAL_H */
