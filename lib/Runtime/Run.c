/*===- Run.c - Enqueues prepared calls ----------------------------*- C -*-===*\
|*
|* Part of the Fovea project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
/**
 * Submits the kernels of a prepared launch to a stream, with their workspaces
 * and scratch memory.
 */
#include "Arguments.h"
#include "Internal.h"

/** The first driver version that can also capture overlapped launches. */
static const int kOverlapVersion = 12030;

/** True if the driver supports programmatic dependent launch. */
static int can_overlap(const fovea_driver *driver) {
  int version = 0;
  return driver->launch_ex &&
         driver->driver_get_version(&version) == CUDA_SUCCESS &&
         version >= kOverlapVersion;
}

/** The launch configuration of one kernel. */
typedef struct submission {
  CUfunction function;
  const unsigned *grid, *block;
  unsigned shared_memory;
  void **arguments;
} submission;

/**
 * Enqueues a kernel; the device's context is current. With `overlaps` the
 * kernel may start before the preceding kernel of the stream has ended.
 */
static fovea_status submit(const fovea_driver *driver, const submission *s,
                           CUstream stream, int overlaps) {
  if (overlaps && can_overlap(driver)) {
    CUlaunchAttribute attribute = {
        .id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
        .value.programmatic_stream_serialization = 1};
    CUlaunchConfig config = {
        s->grid[0],  s->grid[1],       s->grid[2], s->block[0], s->block[1],
        s->block[2], s->shared_memory, stream,     &attribute,  /*count*/ 1};
    return fovea_check(
        driver, driver->launch_ex(&config, s->function, s->arguments, NULL),
        "cuLaunchKernelEx");
  }
  return fovea_check(driver,
                     driver->launch(s->function, s->grid[0], s->grid[1],
                                    s->grid[2], s->block[0], s->block[1],
                                    s->block[2], s->shared_memory, stream,
                                    s->arguments, NULL),
                     "cuLaunchKernel");
}

static int has_ctas(const unsigned grid[3]) {
  return grid[0] != 0 && grid[1] != 0 && grid[2] != 0;
}

/** Enqueues the launch's main kernel. */
static fovea_status submit_main(const fovea_launch *launch, CUstream stream,
                                void **arguments, int overlaps) {
  const fovea_kernel *kernel = launch->kernel;
  submission s = {kernel->function, launch->grid, kernel->metadata.block,
                  kernel->metadata.shared_memory, arguments};
  return submit(kernel->device->driver, &s, stream, overlaps);
}

/**
 * Enqueues the helper kernels from `first` to `end` that have CTAs. `count` is
 * the number of kernels of the launch enqueued so far.
 */
static fovea_status submit_helpers(const fovea_launch *launch, int first,
                                   int end, CUstream stream, void **arguments,
                                   int *count) {
  const fovea_kernel *kernel = launch->kernel;
  for (int i = first; i < end; ++i) {
    const fovea_helper_kernel *helper = &kernel->metadata.helpers[i];
    submission s = {kernel->helpers[i], launch->helper_grids[i], helper->block,
                    helper->shared_memory, arguments + helper->first_parameter};
    if (!has_ctas(s.grid))
      continue;
    TRY(submit(kernel->device->driver, &s, stream,
               helper->overlapped && *count > 0));
    ++*count;
  }
  return FOVEA_OK;
}

/**
 * Enqueues all kernels of a launch. A kernel may overlap only with a kernel of
 * its own launch: an unrelated kernel could trigger its dependents before its
 * last writes.
 */
static fovea_status submit_all(const fovea_launch *launch, CUstream stream,
                               void **arguments) {
  const fovea_metadata *m = &launch->kernel->metadata;
  int count = 0;
  TRY(submit_helpers(launch, 0, m->num_prologue, stream, arguments, &count));
  if (has_ctas(launch->grid)) {
    TRY(submit_main(launch, stream, arguments, m->overlapped && count > 0));
    ++count;
  }
  return submit_helpers(launch, m->num_prologue, m->num_helpers, stream,
                        arguments, &count);
}

/** Forbids kernels to access the bytes from `begin` to `end`. */
static fovea_status forbid(const fovea_driver *driver, CUdeviceptr begin,
                           CUdeviceptr end) {
  return driver->forbid
             ? fovea_check(driver, driver->forbid(begin, end - begin),
                           "foveaPTXDriverForbid")
             : FOVEA_OK;
}

/**
 * The address of the kernel's workspace with index `number` in the launch's
 * slot.
 */
static fovea_status place_workspace(const fovea_kernel *kernel,
                                    const fovea_parameter *p, int number,
                                    CUdeviceptr slot, CUdeviceptr *result) {
  const fovea_driver *driver = kernel->device->driver;
  const CUdeviceptr mask = FOVEA_WORKSPACE_ALIGNMENT - 1;
  uint64_t zone = fovea_red_zone(driver);
  *result = slot + (unsigned)p->offset + (unsigned)number * zone;
  CUdeviceptr end = *result + (unsigned)p->bytes;
  return forbid(driver, end, ((end + mask) & ~mask) + zone);
}

/** The addresses of the scratch buffers within the launch's allocation. */
static fovea_status place_scratch(const fovea_launch *launch, CUdeviceptr base,
                                  CUdeviceptr *result) {
  const fovea_kernel *kernel = launch->kernel;
  int count = kernel->metadata.num_scratch;
  for (int i = 0; i < count; ++i) {
    int64_t next =
        i + 1 < count ? launch->scratch_offsets[i + 1] : launch->scratch_bytes;
    result[i] = base + (CUdeviceptr)launch->scratch_offsets[i];
    TRY(forbid(kernel->device->driver,
               base + (CUdeviceptr)launch->scratch_ends[i],
               base + (CUdeviceptr)next));
  }
  return FOVEA_OK;
}

/** Zeroes the scratch buffers that kernels accumulate into. */
static fovea_status clear_scratch(const fovea_launch *launch,
                                  const CUdeviceptr *scratch, CUstream stream) {
  const fovea_kernel *kernel = launch->kernel;
  const fovea_driver *driver = kernel->device->driver;
  for (int i = 0; i < kernel->metadata.num_scratch; ++i) {
    int64_t bytes = launch->scratch_ends[i] - launch->scratch_offsets[i];
    if (kernel->metadata.scratch[i].zeroed && bytes > 0)
      TRY(fovea_check(
          driver,
          driver->memset_bytes_async(scratch[i], 0, (size_t)bytes, stream),
          "cuMemsetD8Async"));
  }
  return FOVEA_OK;
}

/**
 * Enqueues the launch with memory of this run. The launch is not modified,
 * since other threads may run it concurrently. Scratch memory is at `own`, or
 * is allocated if that is 0.
 */
static fovea_status submit_with_memory(const fovea_launch *launch,
                                       CUstream stream, void **given,
                                       CUdeviceptr own) {
  const fovea_kernel *kernel = launch->kernel;
  const fovea_metadata *m = &kernel->metadata;
  void *arguments[FOVEA_MAX_PARAMETERS];
  CUdeviceptr slot = 0, base = own, workspaces[FOVEA_MAX_WORKSPACES],
              scratch[FOVEA_MAX_SCRATCH];
  if (kernel->workspaces)
    TRY(fovea_workspaces_take(kernel->workspaces, stream, &slot));
  bool allocates = m->num_scratch > 0 && !own;
  if (allocates)
    TRY(fovea_scratch_alloc(kernel->device, launch->scratch_bytes, stream,
                            &base));
  fovea_status status = place_scratch(launch, base, scratch);
  for (int i = 0, workspace = 0; i < m->num_all_parameters; ++i) {
    const fovea_parameter *p = &m->parameters[i];
    arguments[i] = given[i];
    if (p->kind == FOVEA_PARAMETER_SCRATCH) {
      arguments[i] = &scratch[p->index];
    } else if (p->kind == FOVEA_PARAMETER_WORKSPACE) {
      arguments[i] = &workspaces[workspace];
      if (status == FOVEA_OK)
        status =
            place_workspace(kernel, p, workspace, slot, &workspaces[workspace]);
      ++workspace;
    }
  }
  if (status == FOVEA_OK)
    status = clear_scratch(launch, scratch, stream);
  if (status == FOVEA_OK)
    status = submit_all(launch, stream, arguments);
  if (!allocates)
    return status;
  fovea_status freed = fovea_scratch_free(kernel->device, base, stream);
  return status == FOVEA_OK ? freed : status;
}

/**
 * Enqueues the launch with these arguments; the device's context is current.
 */
static fovea_status run(const fovea_launch *launch, CUstream stream,
                        void **arguments, CUdeviceptr scratch) {
  const fovea_kernel *kernel = launch->kernel;
  const fovea_metadata *m = &kernel->metadata;
  bool needs_memory = kernel->workspaces || m->num_scratch > 0;
  return needs_memory || m->num_helpers > 0
             ? submit_with_memory(launch, stream, arguments, scratch)
             : submit_main(launch, stream, arguments, /*overlaps=*/0);
}

/** True if nothing is written. The driver rejects empty grids. */
static bool is_empty(const fovea_launch *launch) {
  const fovea_metadata *m = &launch->kernel->metadata;
  if (fovea_launch_grid(launch) != 0)
    return false;
  for (int i = 0; i < m->num_helpers && m->helpers_write; ++i)
    if (has_ctas(launch->helper_grids[i]))
      return false;
  return true;
}

fovea_status fovea_launch_run(fovea_launch *launch, fovea_stream stream) {
  if (!launch)
    return fovea_fail(FOVEA_ERROR_ARGUMENT, "launch is null");
  if (is_empty(launch))
    return FOVEA_OK;
  TRY(fovea_enter(launch->kernel->device));
  fovea_status status = run(launch, stream, launch->arguments, /*scratch=*/0);
  fovea_leave(launch->kernel->device);
  return status;
}

/*===-- Running at other addresses ----------------------------------------===*/

/**
 * The arguments of one run. The launch is not modified, since other threads may
 * run it concurrently.
 */
typedef struct moved {
  uint64_t values[FOVEA_MAX_PARAMETERS];
  CUtensorMap maps[FOVEA_MAX_MAPS];
  void *arguments[FOVEA_MAX_PARAMETERS];
} moved;

static fovea_status check_addresses(const fovea_launch *launch,
                                    const int64_t *addresses) {
  const fovea_metadata *m = &launch->kernel->metadata;
  for (int i = 0; i < m->num_tensors; ++i)
    if (!launch->empty[i])
      TRY(fovea_check_address(&m->tensors[i], (fovea_address)addresses[i]));
  return FOVEA_OK;
}

/**
 * Fills `result` with the launch's arguments, addresses and scalars replaced.
 */
static fovea_status move(const fovea_launch *launch, const int64_t *words,
                         moved *result) {
  const fovea_metadata *m = &launch->kernel->metadata;
  TRY(check_addresses(launch, words));
  for (int i = 0; i < m->num_all_parameters; ++i) {
    const fovea_parameter *p = &m->parameters[i];
    result->arguments[i] = &result->values[i];
    switch (p->kind) {
    case FOVEA_PARAMETER_POINTER:
      result->values[i] = (uint64_t)words[p->index];
      break;
    case FOVEA_PARAMETER_SCALAR: {
      fovea_scalar scalar = fovea_scalar_of_word(
          &m->scalars[p->index], words[m->num_tensors + p->index]);
      TRY(fovea_pack_scalar(p->type, &scalar, &result->values[i]));
      break;
    }
    case FOVEA_PARAMETER_TENSOR_MAP: {
      CUtensorMap *map = &result->maps[p->map];
      result->arguments[i] = map;
      *map = launch->maps[p->map];
      if (!launch->empty[p->index])
        TRY(fovea_tensor_map_move(launch->kernel->device->driver,
                                  &m->tensors[p->index],
                                  (fovea_address)words[p->index], map));
      break;
    }
    default:
      result->arguments[i] = launch->arguments[i];
    }
  }
  return FOVEA_OK;
}

static fovea_status run_at(const fovea_launch *launch, fovea_stream stream,
                           const int64_t *words, size_t count,
                           CUdeviceptr scratch) {
  if (!launch || (count && !words))
    return fovea_fail(FOVEA_ERROR_ARGUMENT, "launch or words is null");
  const fovea_metadata *m = &launch->kernel->metadata;
  size_t wanted = (size_t)m->num_tensors + (size_t)m->num_scalars;
  if (count != wanted)
    return fovea_fail(FOVEA_ERROR_ARGUMENT,
                      "a launch of kernel '%s' takes %zu addresses and "
                      "scalars, found %zu",
                      m->kernel, wanted, count);
  if (is_empty(launch))
    return FOVEA_OK;
  moved here;
  TRY(fovea_enter(launch->kernel->device));
  fovea_status status = move(launch, words, &here);
  if (status == FOVEA_OK)
    status = run(launch, stream, here.arguments, scratch);
  fovea_leave(launch->kernel->device);
  return status;
}

fovea_status fovea_launch_run_at(const fovea_launch *launch,
                                 fovea_stream stream, const int64_t *words,
                                 size_t count) {
  return run_at(launch, stream, words, count, /*scratch=*/0);
}

size_t fovea_launch_scratch_bytes(const fovea_launch *launch) {
  return launch ? (size_t)launch->scratch_bytes : 0;
}

fovea_status fovea_launch_run_with(const fovea_launch *launch,
                                   fovea_stream stream, const int64_t *words,
                                   size_t count, fovea_address scratch) {
  if (scratch == 0 || scratch % FOVEA_SCRATCH_ALIGNMENT)
    return fovea_fail(FOVEA_ERROR_ARGUMENT,
                      "scratch memory must be at a multiple of %d, found %llu",
                      FOVEA_SCRATCH_ALIGNMENT, (unsigned long long)scratch);
  return run_at(launch, stream, words, count, scratch);
}
