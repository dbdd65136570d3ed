/*===- fovea_runtime.h - Launches Fovea's kernels -----------------*- C -*-===*\
|*
|* Part of the Fovea project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
/**
 * @file
 * libFoveaRuntime loads the kernels that fovea-compile writes (PTX or cubin,
 * and launch metadata, see docs/ABI.md) and launches them on tensors that the
 * caller owns. It is plain C, holds no compiler, and finds the CUDA driver at
 * run time: a program linked with it starts on a machine without one.
 *
 * Every function that can fail returns a fovea_status; fovea_last_error() then
 * says what was wrong, in words, for the calling thread. Nothing here prints,
 * exits or aborts.
 *
 * All functions may be called from several threads at once, also with the same
 * device or kernel; closing or unloading an object while another call uses it
 * is the caller's mistake. No function changes the calling thread's current
 * CUDA context.
 */
#ifndef FOVEA_RUNTIME_FOVEA_RUNTIME_H
#define FOVEA_RUNTIME_FOVEA_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define FOVEA_API __attribute__((visibility("default")))
#else
#define FOVEA_API
#endif

/** What went wrong. The values are part of the ABI and do not change. */
typedef enum fovea_status {
  FOVEA_OK = 0,
  /** A null pointer, an unknown name, a tensor that the kernel doesn't take. */
  FOVEA_ERROR_ARGUMENT = 1,
  /** There is no CUDA driver on this machine. */
  FOVEA_ERROR_NO_DRIVER = 2,
  /** There is a driver, but no device with the asked number. */
  FOVEA_ERROR_NO_DEVICE = 3,
  /** The launch metadata is malformed or of an unknown version. */
  FOVEA_ERROR_METADATA = 4,
  /** Sizes, strides or addresses break what the kernel takes for granted. */
  FOVEA_ERROR_CONSTRAINT = 5,
  /** The driver can't load the kernel; the message holds its log. */
  FOVEA_ERROR_LOAD = 6,
  /** Host or device memory is exhausted. */
  FOVEA_ERROR_OUT_OF_MEMORY = 7,
  /** Another call of the driver failed; the message names it. */
  FOVEA_ERROR_DRIVER = 8
} fovea_status;

/** The name of a status, for example "FOVEA_ERROR_NO_DRIVER". Never null. */
FOVEA_API const char *fovea_status_name(fovea_status status);

/**
 * What was wrong with this thread's last call that failed. Never null; valid
 * until the thread's next failing call.
 */
FOVEA_API const char *fovea_last_error(void);

/** The version of the launch metadata that this library understands. */
FOVEA_API int fovea_metadata_version(void);

/*===-- Devices -----------------------------------------------------------===*/

/**
 * Chooses the driver: a library with the CUDA driver's functions, by its path
 * or a name that the loader finds, instead of the system's libcuda.so.1. To be
 * called before the first device is opened. libFoveaPTXDriver.so executes PTX
 * on the CPU (see docs/PTX.md); what a kernel does wrong there is in
 * fovea_last_error() of the launch. FOVEA_ERROR_NO_DRIVER if it can't be
 * loaded, after which another may be chosen; FOVEA_ERROR_ARGUMENT if another
 * driver is in use already.
 */
FOVEA_API fovea_status fovea_use_driver(const char *path);

/** A CUDA device and the context that its kernels live in. */
typedef struct fovea_device fovea_device;

/** A CUstream (a cudaStream_t works too); null is the default stream. */
typedef void *fovea_stream;

/** An address in device memory, a CUdeviceptr. */
typedef uint64_t fovea_address;

/** Asks fovea_device_open for the calling thread's current context. */
#define FOVEA_CURRENT_DEVICE (-1)

/**
 * Opens a device. With FOVEA_CURRENT_DEVICE it is the calling thread's current
 * context, so that tensors of a framework that runs in the same process can be
 * used; if there is none, device 0. With a number, that device's primary
 * context. Close with fovea_device_close.
 */
FOVEA_API fovea_status fovea_device_open(int number, fovea_device **device);

/**
 * The same on a driver of its own, beside the one that other devices have:
 * `driver` is what fovea_use_driver takes, null for that one.
 */
FOVEA_API fovea_status fovea_device_open_on(const char *driver, int number,
                                            fovea_device **device);

/** Gives the device back; null is allowed. Kernels must be unloaded before. */
FOVEA_API void fovea_device_close(fovea_device *device);

/** Facts about a device. */
typedef struct fovea_device_info {
  char name[128];
  int number;
  int multiprocessors;
  /** Compute capability, for example 9 and 0. */
  int major, minor;
  /** Bytes of shared memory that one CTA can be given. */
  int max_shared_memory;
  /** The driver's CUDA version, for example 13000. */
  int driver_version;
} fovea_device_info;

FOVEA_API fovea_status fovea_device_get_info(fovea_device *device,
                                             fovea_device_info *info);

/*===-- Kernels -----------------------------------------------------------===*/

/** A loaded kernel. */
typedef struct fovea_kernel fovea_kernel;

/**
 * Loads a kernel. `image` is PTX text (needs no terminating zero) or a cubin,
 * `metadata` the JSON text beside it. PTX is compiled by the driver; where that
 * fails the driver's log is the message; a device that the kernel was not
 * compiled for is FOVEA_ERROR_LOAD too. A kernel with workspaces or tensor maps
 * holds device memory of its own (a megabyte, more if its workspaces are
 * large) until it is unloaded; what kernels need as scratch memory stays in a
 * pool until the device is closed. Unload with fovea_kernel_unload, when no
 * launch is running and no graph that holds one will run again.
 */
FOVEA_API fovea_status fovea_kernel_load(fovea_device *device,
                                         const void *image, size_t image_size,
                                         const char *metadata,
                                         size_t metadata_size,
                                         fovea_kernel **kernel);

/** Unloads a kernel; null is allowed. */
FOVEA_API void fovea_kernel_unload(fovea_kernel *kernel);

/** Facts about a loaded kernel. */
typedef struct fovea_kernel_info {
  /** The kernel's name; valid while it is loaded. */
  const char *name;
  /** Registers of a thread, bytes of local memory of a thread (spills, vectors
   *  at a tensor's end). */
  int registers, local_memory;
  /** Threads of a CTA, bytes of its dynamic shared memory. */
  int threads, shared_memory;
  /** CTAs that fit on one multiprocessor at once. */
  int blocks_per_multiprocessor;
} fovea_kernel_info;

FOVEA_API fovea_status fovea_kernel_get_info(fovea_kernel *kernel,
                                             fovea_kernel_info *info);

/**
 * Names of the tensors and of the scalars that the kernel takes, which are the
 * ones that fovea_launch_prepare wants; null from the end of the list on.
 * Valid while the kernel is loaded.
 */
FOVEA_API const char *fovea_kernel_tensor_name(const fovea_kernel *kernel,
                                               int index);
FOVEA_API const char *fovea_kernel_scalar_name(const fovea_kernel *kernel,
                                               int index);

/** The type of a tensor's elements. */
typedef enum fovea_dtype {
  FOVEA_F16 = 0,
  FOVEA_BF16 = 1,
  FOVEA_F32 = 2,
  FOVEA_I1 = 3, /**< one byte an element, 0 or 1 */
  FOVEA_I8 = 4,
  FOVEA_I32 = 5,
  FOVEA_I64 = 6,
  FOVEA_I16 = 7
} fovea_dtype;

/** A tensor in device memory, by the name that the kernel knows it by. */
typedef struct fovea_tensor {
  const char *name;
  /** The address of element 0; may be 0 if the tensor has no elements. */
  fovea_address data;
  fovea_dtype dtype;
  int32_t rank;
  const int64_t *sizes;
  /** In elements; null for a contiguous tensor. */
  const int64_t *strides;
} fovea_tensor;

/** A scalar by the name that the kernel knows it by. */
typedef struct fovea_scalar {
  const char *name;
  /** For f32 parameters. */
  double floating;
  /** For integer parameters. */
  int64_t integer;
} fovea_scalar;

/** A checked, packed call of a kernel. */
typedef struct fovea_launch fovea_launch;

/**
 * Checks a call and packs its arguments. Every tensor and scalar that the
 * kernel's metadata lists must be given, in any order, and none that it does
 * not list. Sizes are derived from the tensors' shapes. The tensors' memory is
 * not touched, the arrays may be freed afterwards. Free with
 * fovea_launch_free.
 */
FOVEA_API fovea_status fovea_launch_prepare(
    fovea_kernel *kernel, const fovea_tensor *tensors, size_t num_tensors,
    const fovea_scalar *scalars, size_t num_scalars, fovea_launch **launch);

/**
 * Puts the call on a stream; may be done any number of times, by several
 * threads at once, and while the stream is captured into a graph. Each time
 * the kernel gets zeroed workspaces, if it has any, that no other launch has
 * while this one runs. At least 1024 launches of a kernel can be waiting at
 * once; a launch that is recorded into a graph has its workspaces for good, so
 * two instances of one recording must not run at the same time.
 */
FOVEA_API fovea_status fovea_launch_run(fovea_launch *launch,
                                        fovea_stream stream);

/**
 * The number of CTAs that the call runs: whole clusters, and of a persistent
 * kernel no more than the device's multiprocessors hold.
 */
FOVEA_API int64_t fovea_launch_grid(const fovea_launch *launch);

/** Frees a call; null is allowed. It may still be running on the device. */
FOVEA_API void fovea_launch_free(fovea_launch *launch);

/** Prepares, runs and frees in one. */
FOVEA_API fovea_status fovea_kernel_launch(
    fovea_kernel *kernel, fovea_stream stream, const fovea_tensor *tensors,
    size_t num_tensors, const fovea_scalar *scalars, size_t num_scalars);

/**
 * Checks a call and the integers in its tensors, and launches nothing: lengths
 * and offsets beyond the buffers, lists with blocks that don't exist or stand
 * there twice. Kernels read nothing outside of tensors, whatever those hold;
 * but what they make of it is of no use. Waits for the stream and copies the
 * integers, so not for every launch. FOVEA_ERROR_CONSTRAINT if something is
 * wrong.
 */
FOVEA_API fovea_status fovea_kernel_check(
    fovea_kernel *kernel, fovea_stream stream, const fovea_tensor *tensors,
    size_t num_tensors, const fovea_scalar *scalars, size_t num_scalars);

/**
 * fovea_kernel_launch with the arguments as one row of 64-bit words, for front
 * ends that launch often: no names to find, no structs to fill. For each tensor
 * of fovea_kernel_tensor_name, in that order: its address, its sizes, its
 * strides in elements; then for each scalar of fovea_kernel_scalar_name its
 * value, a double for an f32 parameter, an integer otherwise. `count` is the
 * number of words. The tensors' element types are the kernel's: the caller has
 * checked.
 */
FOVEA_API fovea_status fovea_kernel_launch_packed(fovea_kernel *kernel,
                                                  fovea_stream stream,
                                                  const int64_t *words,
                                                  size_t count);
/** fovea_launch_prepare with arguments of that form. */
FOVEA_API fovea_status fovea_kernel_prepare_packed(fovea_kernel *kernel,
                                                   const int64_t *words,
                                                   size_t count,
                                                   fovea_launch **launch);
/**
 * fovea_launch_run with tensors elsewhere and other scalars: all that changes
 * where the same call is made again. `words` are the address of each tensor of
 * fovea_kernel_tensor_name, then the scalars, as above; sizes and strides are
 * the launch's, which stays as it is. Addresses are checked as ever.
 */
FOVEA_API fovea_status fovea_launch_run_at(const fovea_launch *launch,
                                           fovea_stream stream,
                                           const int64_t *words, size_t count);
/** fovea_kernel_check with arguments of that form. */
FOVEA_API fovea_status fovea_kernel_check_packed(fovea_kernel *kernel,
                                                 fovea_stream stream,
                                                 const int64_t *words,
                                                 size_t count);

/*===-- Memory, streams, events: what a small tool needs ------------------===*/

/** Allocates device memory; 0 bytes give address 0. */
FOVEA_API fovea_status fovea_memory_alloc(fovea_device *device, size_t bytes,
                                          fovea_address *address);
/**
 * Allocates memory that the host and the device reach at one address, zeroed
 * by nobody: the driver moves it to whoever uses it. 0 bytes give null. The
 * host must not touch it while a kernel that uses it may be running. Free with
 * fovea_memory_free.
 */
FOVEA_API fovea_status fovea_memory_alloc_managed(fovea_device *device,
                                                  size_t bytes, void **address);
/** Frees device memory; address 0 is allowed. */
FOVEA_API fovea_status fovea_memory_free(fovea_device *device,
                                         fovea_address address);
/** Copies host memory to the device; the host memory is free on return. */
FOVEA_API fovea_status fovea_memory_write(fovea_device *device,
                                          fovea_address to, const void *from,
                                          size_t bytes);
/** Copies device memory to the host, after all work on the default stream. */
FOVEA_API fovea_status fovea_memory_read(fovea_device *device, void *to,
                                         fovea_address from, size_t bytes);
/** Sets bytes of device memory. */
FOVEA_API fovea_status fovea_memory_fill(fovea_device *device,
                                         fovea_address address, uint8_t value,
                                         size_t bytes);

/** Waits for all work on a stream; errors of kernels appear here. */
FOVEA_API fovea_status fovea_stream_wait(fovea_device *device,
                                         fovea_stream stream);

/** A point in a stream's work, with a time. */
typedef struct fovea_event fovea_event;

FOVEA_API fovea_status fovea_event_create(fovea_device *device,
                                          fovea_event **event);
FOVEA_API void fovea_event_free(fovea_event *event);
/** Puts the event on a stream. */
FOVEA_API fovea_status fovea_event_record(fovea_event *event,
                                          fovea_stream stream);
/** Waits for both events and gives the time between them. */
FOVEA_API fovea_status fovea_event_elapsed(fovea_event *start, fovea_event *end,
                                           float *milliseconds);

#ifdef __cplusplus
}
#endif

#endif /* FOVEA_RUNTIME_FOVEA_RUNTIME_H */
