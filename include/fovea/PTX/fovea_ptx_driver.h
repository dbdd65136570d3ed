/*===- fovea_ptx_driver.h - What the emulated driver adds ---------*- C -*-===*\
|*
|* Part of the Fovea project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
/**
 * @file
 * libFoveaPTXDriver has the functions of the CUDA driver that Fovea's runtime
 * calls, and executes PTX on the CPU. These functions come on top. They return
 * a CUresult: 0, or what was wrong.
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
 * Sets what the launches that follow, of all threads, are run with:
 *
 *   capability         the chip, 80, 90, 100, ...: what devices and modules
 *                      are asked after; 90 unless set
 *   multiprocessors    of the chip; 0: as many as it has
 *   seed               which interleaving runs, and when copies end
 *   step_limit         instructions of one warp; 0: no limit
 *   host_threads       0: one for each core
 *   races              report unordered accesses (1 unless set)
 *   global_races       report those to global memory, too (1 unless set)
 *   uninitialized      report reads of what was never written (1 unless set)
 *   equal_writes       report writes of the value that is there already, too
 *   perturb            move approximate results within their bounds
 *
 * An unknown name or a value that makes no sense is CUDA_ERROR_INVALID_VALUE.
 */
FOVEA_PTX_DRIVER_API int foveaPTXDriverSet(const char *name, uint64_t value);

/**
 * What this thread's last failing call has to say in words: for a launch, what
 * the kernel did wrong and where. Never null; empty if there is nothing to say.
 * Valid until the thread's next failing call.
 */
FOVEA_PTX_DRIVER_API int foveaPTXDriverGetReport(const char **report);

/**
 * Writes who does what when in launches that follow to a file, in the JSON
 * format of Chrome's traces. Null ends the file.
 */
FOVEA_PTX_DRIVER_API int foveaPTXDriverTrace(const char *path);

/**
 * Lets no kernel access these bytes of an allocation: what lies before and
 * behind them are objects of their own. Holds until the allocation is freed.
 */
FOVEA_PTX_DRIVER_API int foveaPTXDriverForbid(uint64_t address, size_t bytes);

/** What all launches of the process so far were. */
typedef struct fovea_ptx_driver_summary {
  uint64_t launches, ctas, warp_instructions, thread_instructions;
} fovea_ptx_driver_summary;
FOVEA_PTX_DRIVER_API int
foveaPTXDriverGetSummary(fovea_ptx_driver_summary *summary);

#ifdef __cplusplus
}
#endif

#endif /* FOVEA_PTX_FOVEA_PTX_DRIVER_H */
