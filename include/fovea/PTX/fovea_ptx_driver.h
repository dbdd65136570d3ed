/*===- fovea_ptx_driver.h - Extensions of the emulated driver -----*- C -*-===*\
|*
|* Part of the Fovea project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
/**
 * @file
 * libFoveaPTXDriver implements the functions of the CUDA driver that Fovea's
 * runtime calls, and executes PTX on the CPU. This header declares its
 * additional functions. They return a CUresult, 0 for success.
 */
#ifndef FOVEA_PTX_FOVEA_PTX_DRIVER_H
#define FOVEA_PTX_FOVEA_PTX_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define FOVEA_PTX_DRIVER_API __attribute__((visibility("default")))
#else
#define FOVEA_PTX_DRIVER_API
#endif

/**
 * Sets a property of subsequent launches of all threads:
 *
 *   `capability`       compute capability, 80, 90, 100, ..., of the device
 *                      and of its modules (default 90)
 *   `multiprocessors`  SMs of the device; 0: as many as the GPU has
 *   `seed`             interleaving of warps and completion of copies
 *   `step_limit`       maximum instructions per warp; 0: no limit
 *   `host_threads`     0: one per core
 *   `races`            report unordered accesses (default 1)
 *   `global_races`     report unordered accesses to global memory (default 1)
 *   `uninitialized`    report reads of uninitialised memory (default 1)
 *   `equal_writes`     also report races between writes of equal values
 *   `perturb`          perturb approximate results within their error bounds
 *   `promised_tcgen05_order`
 *                      keep only the order of tcgen05 work that the ISA
 *                      promises, and not the order of issue
 *
 * An unknown name or an invalid value is CUDA_ERROR_INVALID_VALUE.
 */
FOVEA_PTX_DRIVER_API int foveaPTXDriverSet(const char *name, uint64_t value);

/**
 * The message of this thread's last failing call: for a launch, the kernel's
 * error and its location. Never null; empty if there is no message. Valid until
 * the thread's next failing call.
 */
FOVEA_PTX_DRIVER_API int foveaPTXDriverGetReport(const char **report);

/**
 * Writes a trace of subsequent launches to a file, in Chrome's trace format
 * (JSON). Null ends the trace.
 */
FOVEA_PTX_DRIVER_API int foveaPTXDriverTrace(const char *path);

/**
 * Forbids all kernels to access these bytes of an allocation, for gaps between
 * objects within it. Holds until the allocation is freed.
 */
FOVEA_PTX_DRIVER_API int foveaPTXDriverForbid(uint64_t address, size_t bytes);

/** Totals over all launches of the process. */
typedef struct fovea_ptx_driver_summary {
  uint64_t launches, ctas, warp_instructions, thread_instructions;
} fovea_ptx_driver_summary;
FOVEA_PTX_DRIVER_API int
foveaPTXDriverGetSummary(fovea_ptx_driver_summary *summary);

#ifdef __cplusplus
}
#endif

#endif /* FOVEA_PTX_FOVEA_PTX_DRIVER_H */
