/*===- Internal.h - What the runtime's files share ----------------*- C -*-===*\
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

/**
 * Bytes behind each workspace and each scratch memory that no kernel may
 * access. None on a driver that can't forbid it: there they lie close together.
 */
static inline uint64_t fovea_red_zone(const fovea_driver *driver) {
  return driver->forbid ? 256 : 0;
}

/** Passes a failure on. */
#define TRY(call)                                                              \
  do {                                                                         \
    fovea_status tried = (call);                                               \
    if (tried != FOVEA_OK)                                                     \
      return tried;                                                            \
  } while (0)

struct fovea_device {
  const fovea_driver *driver;
  CUdevice device;
  CUcontext context;
  /** The context is the device's primary one, retained by us. */
  bool retained;
  /** Asked once: launches of persistent kernels need the first. */
  int multiprocessors, major, minor;
  /** Scratch memory of launches; null until a kernel needs some. */
  CUmemoryPool pool;
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

/**
 * Allocates memory that is zero once this returns, also while streams are being
 * captured. The device's context must be current. Free with the driver.
 */
fovea_status fovea_alloc_zeroed(const fovea_device *device, size_t bytes,
                                CUdeviceptr *address);

/*===-- Stream-ordered memory (Scratch.c)
 * --------------------------------------*/

/**
 * Makes sure that the device has a pool for scratch memory. `kernel` is the
 * name of what needs it.
 */
fovea_status fovea_scratch_open(fovea_device *device, const char *kernel);
/** Gives the pool back, if there is one. */
void fovea_scratch_close(fovea_device *device);

/**
 * Memory for what follows on the stream up to where it is freed. The device's
 * context must be current.
 */
fovea_status fovea_scratch_alloc(const fovea_device *device, int64_t bytes,
                                 CUstream stream, CUdeviceptr *address);
fovea_status fovea_scratch_free(const fovea_device *device, CUdeviceptr address,
                                CUstream stream);

/** What a loaded kernel's metadata says, and the device that it is on. */
const fovea_metadata *fovea_kernel_metadata(const fovea_kernel *kernel);
fovea_device *fovea_kernel_device(const fovea_kernel *kernel);

/*===-- Tensor maps (TensorMap.c) -----------------------------------------===*/

/** Bytes that the maps of tensors without elements point into. */
enum { FOVEA_NOTHING_BYTES = 512 };

/**
 * Encodes the map of one tensor. `strides` are its strides in elements;
 * `nothing` is where the map of a tensor without elements points, and holds
 * zeros. The device's context must be current.
 */
fovea_status fovea_tensor_map_encode(const fovea_driver *driver,
                                     const fovea_tensor_spec *spec,
                                     const fovea_map_spec *map,
                                     const fovea_tensor *tensor,
                                     const int64_t *strides,
                                     CUdeviceptr nothing, CUtensorMap *result);

/**
 * Lets the map of a tensor that has elements point elsewhere. The device's
 * context must be current.
 */
fovea_status fovea_tensor_map_move(const fovea_driver *driver,
                                   const fovea_tensor_spec *spec,
                                   fovea_address address, CUtensorMap *map);

/*===-- Workspaces (Workspace.c) ------------------------------------------===*/

/** Slots of zeroed device memory, one for each launch. */
typedef struct fovea_workspaces fovea_workspaces;

/** Both want the device's context current; null may be freed. */
fovea_status fovea_workspaces_create(const fovea_device *device, int64_t bytes,
                                     fovea_workspaces **result);
void fovea_workspaces_free(fovea_workspaces *workspaces);

/** The slot of a launch on a stream. The device's context must be current. */
fovea_status fovea_workspaces_take(fovea_workspaces *workspaces,
                                   CUstream stream, CUdeviceptr *slot);

/*===-- Kernels (Kernel.c, Launch.c)
 * -------------------------------------------*/

struct fovea_kernel {
  fovea_device *device;
  fovea_metadata metadata;
  CUmodule module;
  CUfunction function;
  /** The kernels that run before and after it. */
  CUfunction helpers[FOVEA_MAX_HELPERS];
  /** Null if the kernel needs none. */
  fovea_workspaces *workspaces;
  /** What maps of empty tensors point to; 0 if the kernel has no maps. */
  CUdeviceptr nothing;
};

/*===-- Launches (Launch.c prepares, Run.c runs, Packed.c unpacks)
 * --------------------------------------------------------*/

/**
 * A call that was checked. Arguments are packed in slots of 8 bytes, one each,
 * those of its helpers behind the kernel's; tensor maps have a place of their
 * own. Workspaces and scratch memory are taken when the launch runs.
 */
struct fovea_launch {
  fovea_kernel *kernel;
  unsigned grid[3];
  unsigned helper_grids[FOVEA_MAX_HELPERS][3];
  /** Where in the launch's memory each scratch begins and ends; bytes of all.
   */
  int64_t scratch_offsets[FOVEA_MAX_SCRATCH], scratch_ends[FOVEA_MAX_SCRATCH],
      scratch_bytes;
  uint64_t *values;
  CUtensorMap *maps;
  void **arguments;
  /** Which tensors have no elements. */
  bool *empty;
};

/** Checks the address of a tensor that has elements. */
fovea_status fovea_check_address(const fovea_tensor_spec *spec,
                                 fovea_address address);
/** Puts a scalar into its slot. */
fovea_status fovea_pack_scalar(fovea_value_type type,
                               const fovea_scalar *scalar, uint64_t *slot);

/** Words of a row of arguments (fovea_kernel_launch_packed). */
size_t fovea_count_words(const fovea_metadata *metadata);
/** A scalar of a row. */
fovea_scalar fovea_scalar_of_word(const fovea_scalar_spec *spec, int64_t word);

#endif /* FOVEA_LIB_RUNTIME_INTERNAL_H */
