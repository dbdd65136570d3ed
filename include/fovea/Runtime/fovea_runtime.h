/*===- fovea_runtime.h - Launches Fovea's kernels -----------------*- C -*-===*\
|*
|* Part of the Fovea project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
/**
 * @file
 * C API of the runtime (libFoveaRuntime). It loads the kernels that
 * fovea-compile writes (PTX or cubin, and launch metadata;
 * docs/Specification/ABI.md) and launches them on tensors owned by the caller.
 * The library is plain C, contains no compiler, and finds the CUDA driver at
 * run time: a program linked with it starts on a machine without a driver.
 *
 * Every function that can fail returns a fovea_status; fovea_last_error() then
 * returns a message for the calling thread. No function prints, exits or
 * aborts.
 *
 * All functions may be called from several threads concurrently, including with
 * the same device or kernel. The caller must not close or unload an object
 * while another call uses it. No function changes the calling thread's current
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

/** Status of a call. The values are part of the ABI and do not change. */
typedef enum fovea_status {
  FOVEA_OK = 0,
  /**
   * A null pointer, an unknown name, or a tensor that the kernel does not take.
   */
  FOVEA_ERROR_ARGUMENT = 1,
  /** No CUDA driver is installed. */
  FOVEA_ERROR_NO_DRIVER = 2,
  /** There is a driver, but no device with the requested number. */
  FOVEA_ERROR_NO_DEVICE = 3,
  /** The launch metadata is malformed or of an unknown version. */
  FOVEA_ERROR_METADATA = 4,
  /** Sizes, strides or addresses violate a constraint of the kernel. */
  FOVEA_ERROR_CONSTRAINT = 5,
  /** The driver can't load the kernel; the message contains its log. */
  FOVEA_ERROR_LOAD = 6,
  /** Host or device memory is exhausted. */
  FOVEA_ERROR_OUT_OF_MEMORY = 7,
  /** Another driver call failed; the message names it. */
  FOVEA_ERROR_DRIVER = 8
} fovea_status;

/** The name of a status, for example "FOVEA_ERROR_NO_DRIVER". Never null. */
FOVEA_API const char *fovea_status_name(fovea_status status);

/**
 * The message of this thread's last failed call. Never null; valid until the
 * thread's next failing call.
 */
FOVEA_API const char *fovea_last_error(void);

/** The latest version of launch metadata that this library supports. */
FOVEA_API int fovea_metadata_version(void);

/*===-- Devices -----------------------------------------------------------===*/

/**
 * Selects the driver: a library with the CUDA driver's functions, given by its
 * path or by a name that the loader finds, in place of the system's
 * libcuda.so.1. Call it before the first device is opened. libFoveaPTXDriver.so
 * executes PTX on the CPU (lib/PTX/README.md); a launch then reports the errors
 * of the kernel in fovea_last_error(). Returns FOVEA_ERROR_NO_DRIVER if the
 * library can't be loaded, after which another one may be selected, and
 * FOVEA_ERROR_ARGUMENT if a different driver is already in use.
 */
FOVEA_API fovea_status fovea_use_driver(const char *path);

/** A CUDA device and the context of its kernels. */
typedef struct fovea_device fovea_device;

/** A CUstream (a cudaStream_t works too); null is the default stream. */
typedef void *fovea_stream;

/** An address in device memory (CUdeviceptr). */
typedef uint64_t fovea_address;

/** Makes fovea_device_open use the calling thread's current context. */
#define FOVEA_CURRENT_DEVICE (-1)

/**
 * Opens a device. FOVEA_CURRENT_DEVICE selects the calling thread's current
 * context, so that tensors of a framework in the same process can be used;
 * without a current context it selects device 0. A number selects that device's
 * primary context. Close with fovea_device_close.
 */
FOVEA_API fovea_status fovea_device_open(int number, fovea_device **device);

/**
 * Opens a device on its own driver, independently of the driver that
 * fovea_use_driver selected. `driver` is a path as in fovea_use_driver; null
 * means the selected driver.
 */
FOVEA_API fovea_status fovea_device_open_on(const char *driver, int number,
                                            fovea_device **device);

/** Closes a device; null is allowed. Unload its kernels first. */
FOVEA_API void fovea_device_close(fovea_device *device);

/** Properties of a device. */
typedef struct fovea_device_info {
  char name[128];
  int number;
  int multiprocessors;
  /** Compute capability, for example 9 and 0. */
  int major, minor;
  /** Maximum shared memory of one CTA in bytes. */
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
 * Loads a kernel. `image` is PTX text (a terminating zero is not needed) or a
 * cubin; `metadata` is its launch metadata as JSON. The driver compiles PTX; if
 * that fails, the message contains the driver's log. Returns FOVEA_ERROR_LOAD
 * also if the kernel was compiled for another device.
 *
 * A kernel with workspaces or tensor maps owns device memory (one megabyte,
 * more if its workspaces are large) until it is unloaded. Scratch memory stays
 * in a pool until the device is closed. Unload with fovea_kernel_unload when no
 * launch is running and no graph with a launch will run again.
 */
FOVEA_API fovea_status fovea_kernel_load(fovea_device *device,
                                         const void *image, size_t image_size,
                                         const char *metadata,
                                         size_t metadata_size,
                                         fovea_kernel **kernel);

/** Unloads a kernel; null is allowed. */
FOVEA_API void fovea_kernel_unload(fovea_kernel *kernel);

/** Properties of a loaded kernel. */
typedef struct fovea_kernel_info {
  /** The kernel's name; valid while the kernel is loaded. */
  const char *name;
  /**
   * Registers per thread, and bytes of local memory per thread (spills, vectors
   * at a tensor's end).
   */
  int registers, local_memory;
  /** Threads per CTA, and bytes of dynamic shared memory per CTA. */
  int threads, shared_memory;
  /** Maximum resident CTAs per SM. */
  int blocks_per_multiprocessor;
} fovea_kernel_info;

FOVEA_API fovea_status fovea_kernel_get_info(fovea_kernel *kernel,
                                             fovea_kernel_info *info);

/**
 * The names of the tensors and scalars that fovea_launch_prepare expects, by
 * index; null past the last one. Valid while the kernel is loaded.
 */
FOVEA_API const char *fovea_kernel_tensor_name(const fovea_kernel *kernel,
                                               int index);
FOVEA_API const char *fovea_kernel_scalar_name(const fovea_kernel *kernel,
                                               int index);

/** The element type of a tensor. */
typedef enum fovea_dtype {
  FOVEA_F16 = 0,
  FOVEA_BF16 = 1,
  FOVEA_F32 = 2,
  FOVEA_I1 = 3, /**< one byte per element, 0 or 1 */
  FOVEA_I8 = 4,
  FOVEA_I32 = 5,
  FOVEA_I64 = 6,
  FOVEA_I16 = 7,
  FOVEA_F8E4M3FN = 8,
  FOVEA_F8E5M2 = 9
} fovea_dtype;

/** A tensor in device memory, identified by its name in the kernel. */
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

/** A scalar, identified by its name in the kernel. */
typedef struct fovea_scalar {
  const char *name;
  /** The value of an f32 parameter. */
  double floating;
  /** The value of an integer parameter. */
  int64_t integer;
} fovea_scalar;

/** A checked call of a kernel with packed arguments. */
typedef struct fovea_launch fovea_launch;

/**
 * Checks a call and packs its arguments. All tensors and scalars of the
 * kernel's metadata must be given, in any order, and no others. Sizes are
 * derived from the tensors' shapes. The function does not access the tensors'
 * memory; the arrays may be freed afterwards. Free the launch with
 * fovea_launch_free.
 */
FOVEA_API fovea_status fovea_launch_prepare(
    fovea_kernel *kernel, const fovea_tensor *tensors, size_t num_tensors,
    const fovea_scalar *scalars, size_t num_scalars, fovea_launch **launch);

/**
 * Enqueues the call on a stream. A launch may be run any number of times, by
 * several threads concurrently, and during stream capture. Each run gets zeroed
 * workspaces, if the kernel has any, that no other run uses at the same time.
 * At least 1024 runs of a kernel can be pending. A run captured into a graph
 * owns its workspaces permanently, so two instances of one graph must not run
 * concurrently.
 */
FOVEA_API fovea_status fovea_launch_run(fovea_launch *launch,
                                        fovea_stream stream);

/**
 * The number of CTAs of the call: a multiple of the cluster size, and for a
 * persistent kernel at most the number of CTAs that the device's SMs can hold.
 */
FOVEA_API int64_t fovea_launch_grid(const fovea_launch *launch);

/**
 * Frees a launch; null is allowed. The launch may still be running on the
 * device.
 */
FOVEA_API void fovea_launch_free(fovea_launch *launch);

/** Prepares, runs and frees a launch. */
FOVEA_API fovea_status fovea_kernel_launch(
    fovea_kernel *kernel, fovea_stream stream, const fovea_tensor *tensors,
    size_t num_tensors, const fovea_scalar *scalars, size_t num_scalars);

/**
 * Checks a call and the integers stored in its tensors without launching it.
 * Finds lengths and offsets beyond the buffers, and block lists with
 * nonexistent or duplicate blocks. Kernels never access memory outside of
 * tensors, whatever the integers are, but invalid integers give meaningless
 * outputs. The function synchronises the stream and copies the integers to the
 * host, so it is too slow for every launch. Returns FOVEA_ERROR_CONSTRAINT for
 * invalid contents.
 */
FOVEA_API fovea_status fovea_kernel_check(
    fovea_kernel *kernel, fovea_stream stream, const fovea_tensor *tensors,
    size_t num_tensors, const fovea_scalar *scalars, size_t num_scalars);

/**
 * fovea_kernel_launch with the arguments as an array of 64-bit words, for
 * frequent launches: no names to look up and no structs to fill. The array
 * contains, for each tensor in the order of fovea_kernel_tensor_name, its
 * address, its sizes, and its strides in elements; then for each scalar in the
 * order of fovea_kernel_scalar_name its value, a double for an f32 parameter
 * and an integer otherwise. `count` is the number of words. The element types
 * are not checked: they must be those of the kernel.
 */
FOVEA_API fovea_status fovea_kernel_launch_packed(fovea_kernel *kernel,
                                                  fovea_stream stream,
                                                  const int64_t *words,
                                                  size_t count);
/** fovea_launch_prepare with packed arguments. */
FOVEA_API fovea_status fovea_kernel_prepare_packed(fovea_kernel *kernel,
                                                   const int64_t *words,
                                                   size_t count,
                                                   fovea_launch **launch);
/**
 * fovea_launch_run with other tensor addresses and scalars, to repeat a call
 * with the same shapes. `words` contains the address of each tensor of
 * fovea_kernel_tensor_name, then the scalars, encoded as above. Sizes and
 * strides are those of `launch`, which is not modified. Addresses are checked
 * as in fovea_launch_prepare.
 */
FOVEA_API fovea_status fovea_launch_run_at(const fovea_launch *launch,
                                           fovea_stream stream,
                                           const int64_t *words, size_t count);
/**
 * The bytes of scratch memory that a run of the launch needs: 0 if its kernels
 * need none. The number depends on the sizes and on the GPU, not on the
 * contents of tensors.
 */
FOVEA_API size_t fovea_launch_scratch_bytes(const fovea_launch *launch);
/**
 * fovea_launch_run_at with scratch memory of the caller, which saves an
 * allocation and a release in the stream, also in each replay of a graph.
 * `scratch` is the address, a multiple of 256, of at least
 * fovea_launch_scratch_bytes bytes that nothing else uses until the kernels of
 * this run have ended.
 */
FOVEA_API fovea_status fovea_launch_run_with(const fovea_launch *launch,
                                             fovea_stream stream,
                                             const int64_t *words, size_t count,
                                             fovea_address scratch);
/** fovea_kernel_check with packed arguments. */
FOVEA_API fovea_status fovea_kernel_check_packed(fovea_kernel *kernel,
                                                 fovea_stream stream,
                                                 const int64_t *words,
                                                 size_t count);

/*===-- Memory, streams and events for small tools ------------------------===*/

/** Allocates device memory; address 0 for 0 bytes. */
FOVEA_API fovea_status fovea_memory_alloc(fovea_device *device, size_t bytes,
                                          fovea_address *address);
/**
 * Allocates managed memory, which the host and the device access at the same
 * address. It is not zeroed; the driver migrates it on access. Returns null for
 * 0 bytes. The host must not access it while a kernel that uses it may be
 * running. Free with fovea_memory_free.
 */
FOVEA_API fovea_status fovea_memory_alloc_managed(fovea_device *device,
                                                  size_t bytes, void **address);
/** Frees device memory; address 0 is allowed. */
FOVEA_API fovea_status fovea_memory_free(fovea_device *device,
                                         fovea_address address);
/**
 * Copies host memory to the device; the host memory may be reused on return.
 */
FOVEA_API fovea_status fovea_memory_write(fovea_device *device,
                                          fovea_address to, const void *from,
                                          size_t bytes);
/** Copies device memory to the host after all work on the default stream. */
FOVEA_API fovea_status fovea_memory_read(fovea_device *device, void *to,
                                         fovea_address from, size_t bytes);
/** Sets bytes of device memory. */
FOVEA_API fovea_status fovea_memory_fill(fovea_device *device,
                                         fovea_address address, uint8_t value,
                                         size_t bytes);

/** Waits for all work on a stream; errors of kernels are reported here. */
FOVEA_API fovea_status fovea_stream_wait(fovea_device *device,
                                         fovea_stream stream);

/** A timestamp in a stream. */
typedef struct fovea_event fovea_event;

FOVEA_API fovea_status fovea_event_create(fovea_device *device,
                                          fovea_event **event);
FOVEA_API void fovea_event_free(fovea_event *event);
/** Records the event on a stream. */
FOVEA_API fovea_status fovea_event_record(fovea_event *event,
                                          fovea_stream stream);
/** Waits for both events and returns the time between them. */
FOVEA_API fovea_status fovea_event_elapsed(fovea_event *start, fovea_event *end,
                                           float *milliseconds);

#ifdef __cplusplus
}
#endif

#endif /* FOVEA_RUNTIME_FOVEA_RUNTIME_H */
