/*===- Driver.h - The CUDA driver, loaded at run time -------------*- C -*-===*\
|*
|* Part of the Fovea project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
/**
 * The part of the CUDA driver API that the runtime uses, declared here because
 * the runtime builds without CUDA headers. Names, values and signatures are
 * those of the driver's stable ABI.
 */
#ifndef FOVEA_LIB_RUNTIME_DRIVER_H
#define FOVEA_LIB_RUNTIME_DRIVER_H

#include "fovea/Runtime/fovea_runtime.h"

#include <stddef.h>
#include <stdint.h>

typedef int CUresult;
typedef int CUdevice;
typedef uint64_t CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUmemPoolHandle_st *CUmemoryPool;

/** Properties of a memory pool. */
typedef struct CUmemPoolProps_st {
  int allocation_type, handle_types, location_type, location;
  void *security_attributes;
  uint64_t most_bytes;
  unsigned char reserved[56];
} CUmemPoolProps;

/** A launch attribute; the value has 64 bytes. */
typedef struct CUlaunchAttribute_st {
  int id;
  int padding;
  union {
    char bytes[64];
    int programmatic_stream_serialization;
  } value;
} CUlaunchAttribute;
typedef struct CUlaunchConfig_st {
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_memory;
  CUstream stream;
  CUlaunchAttribute *attributes;
  unsigned num_attributes;
} CUlaunchConfig;

/** An opaque TMA descriptor of a tensor (sm_90 and later). */
typedef struct CUtensorMap_st {
  uint64_t opaque[16] __attribute__((aligned(64))); // C++ has no _Alignas
} CUtensorMap;

enum {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_INVALID_DEVICE = 101
};
enum {
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
  CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115
};
enum { CU_MEM_ALLOCATION_TYPE_PINNED = 1, CU_MEM_LOCATION_TYPE_DEVICE = 1 };
enum { CU_MEMPOOL_ATTR_RELEASE_THRESHOLD = 4 };
enum {
  CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
  CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
  CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14
};
enum { CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6 };
enum { CU_POINTER_ATTRIBUTE_DEVICE_POINTER = 3 };
enum { CU_MEM_ATTACH_GLOBAL = 1 };
enum { CU_STREAM_NON_BLOCKING = 1 };
enum { CU_STREAM_CAPTURE_MODE_RELAXED = 2 };
enum { CU_STREAM_CAPTURE_STATUS_NONE = 0, CU_STREAM_CAPTURE_STATUS_ACTIVE = 1 };
enum {
  CU_TENSOR_MAP_DATA_TYPE_UINT8 = 0,
  CU_TENSOR_MAP_DATA_TYPE_UINT16 = 1,
  CU_TENSOR_MAP_DATA_TYPE_INT32 = 3,
  CU_TENSOR_MAP_DATA_TYPE_INT64 = 5,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT16 = 6,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT32 = 7,
  CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 = 9
};
enum {
  CU_TENSOR_MAP_INTERLEAVE_NONE = 0,
  CU_TENSOR_MAP_SWIZZLE_NONE = 0,
  CU_TENSOR_MAP_SWIZZLE_32B = 1,
  CU_TENSOR_MAP_SWIZZLE_64B = 2,
  CU_TENSOR_MAP_SWIZZLE_128B = 3,
  CU_TENSOR_MAP_L2_PROMOTION_L2_128B = 2,
  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE = 0
};
enum {
  CU_JIT_INFO_LOG_BUFFER = 3,
  CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4,
  CU_JIT_ERROR_LOG_BUFFER = 5,
  CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6
};

/** X(member, symbol, parameters) for each required driver function. */
#define FOVEA_DRIVER_FUNCTIONS(X)                                              \
  X(init, cuInit, (unsigned))                                                  \
  X(driver_get_version, cuDriverGetVersion, (int *))                           \
  X(get_error_name, cuGetErrorName, (CUresult, const char **))                 \
  X(get_error_string, cuGetErrorString, (CUresult, const char **))             \
  X(device_get_count, cuDeviceGetCount, (int *))                               \
  X(device_get, cuDeviceGet, (CUdevice *, int))                                \
  X(device_get_name, cuDeviceGetName, (char *, int, CUdevice))                 \
  X(device_get_attribute, cuDeviceGetAttribute, (int *, int, CUdevice))        \
  X(primary_retain, cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice))         \
  X(primary_release, cuDevicePrimaryCtxRelease_v2, (CUdevice))                 \
  X(ctx_get_current, cuCtxGetCurrent, (CUcontext *))                           \
  X(ctx_get_device, cuCtxGetDevice, (CUdevice *))                              \
  X(ctx_push, cuCtxPushCurrent_v2, (CUcontext))                                \
  X(ctx_pop, cuCtxPopCurrent_v2, (CUcontext *))                                \
  X(module_load, cuModuleLoadDataEx,                                           \
    (CUmodule *, const void *, unsigned, int *, void **))                      \
  X(module_unload, cuModuleUnload, (CUmodule))                                 \
  X(module_get_function, cuModuleGetFunction,                                  \
    (CUfunction *, CUmodule, const char *))                                    \
  X(func_set_attribute, cuFuncSetAttribute, (CUfunction, int, int))            \
  X(func_get_attribute, cuFuncGetAttribute, (int *, int, CUfunction))          \
  X(occupancy, cuOccupancyMaxActiveBlocksPerMultiprocessor,                    \
    (int *, CUfunction, int, size_t))                                          \
  X(launch, cuLaunchKernel,                                                    \
    (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,   \
     unsigned, CUstream, void **, void **))                                    \
  X(mem_alloc, cuMemAlloc_v2, (CUdeviceptr *, size_t))                         \
  X(mem_free, cuMemFree_v2, (CUdeviceptr))                                     \
  X(copy_to_device, cuMemcpyHtoD_v2, (CUdeviceptr, const void *, size_t))      \
  X(copy_to_host, cuMemcpyDtoH_v2, (void *, CUdeviceptr, size_t))              \
  X(memset_bytes, cuMemsetD8_v2, (CUdeviceptr, unsigned char, size_t))         \
  X(memset_bytes_async, cuMemsetD8Async,                                       \
    (CUdeviceptr, unsigned char, size_t, CUstream))                            \
  X(stream_create, cuStreamCreate, (CUstream *, unsigned))                     \
  X(stream_destroy, cuStreamDestroy_v2, (CUstream))                            \
  X(stream_synchronize, cuStreamSynchronize, (CUstream))                       \
  X(stream_is_capturing, cuStreamIsCapturing, (CUstream, int *))               \
  X(exchange_capture_mode, cuThreadExchangeStreamCaptureMode, (int *))         \
  X(event_create, cuEventCreate, (CUevent *, unsigned))                        \
  X(event_destroy, cuEventDestroy_v2, (CUevent))                               \
  X(event_record, cuEventRecord, (CUevent, CUstream))                          \
  X(event_synchronize, cuEventSynchronize, (CUevent))                          \
  X(event_elapsed, cuEventElapsedTime, (float *, CUevent, CUevent))

/**
 * Driver functions that older drivers lack; the member is null there. Tensor
 * maps need CUDA 12, launch attributes 11.8, memory pools 11.2, parameter
 * information 12.4.
 */
#define FOVEA_OPTIONAL_DRIVER_FUNCTIONS(X)                                     \
  X(tensor_map_encode, cuTensorMapEncodeTiled,                                 \
    (CUtensorMap *, int, uint32_t, void *, const uint64_t *, const uint64_t *, \
     const uint32_t *, const uint32_t *, int, int, int, int))                  \
  X(launch_ex, cuLaunchKernelEx,                                               \
    (const CUlaunchConfig *, CUfunction, void **, void **))                    \
  X(tensor_map_replace, cuTensorMapReplaceAddress, (CUtensorMap *, void *))    \
  X(mem_pool_create, cuMemPoolCreate,                                          \
    (CUmemoryPool *, const CUmemPoolProps *))                                  \
  X(mem_pool_destroy, cuMemPoolDestroy, (CUmemoryPool))                        \
  X(mem_pool_set_attribute, cuMemPoolSetAttribute,                             \
    (CUmemoryPool, int, void *))                                               \
  X(mem_alloc_from_pool, cuMemAllocFromPoolAsync,                              \
    (CUdeviceptr *, size_t, CUmemoryPool, CUstream))                           \
  X(mem_free_async, cuMemFreeAsync, (CUdeviceptr, CUstream))                   \
  X(func_get_param_info, cuFuncGetParamInfo,                                   \
    (CUfunction, size_t, size_t *, size_t *))                                  \
  X(pointer_get_attribute, cuPointerGetAttribute, (void *, int, CUdeviceptr))  \
  X(mem_alloc_managed, cuMemAllocManaged, (CUdeviceptr *, size_t, unsigned))

/** Functions that only libFoveaPTXDriver has; null for other drivers. */
#define FOVEA_DRIVER_EXTENSIONS(X)                                             \
  X(get_report, foveaPTXDriverGetReport, (const char **))                      \
  X(forbid, foveaPTXDriverForbid, (CUdeviceptr, size_t))

typedef struct fovea_driver {
#define FOVEA_MEMBER(member, symbol, parameters) CUresult(*member) parameters;
  FOVEA_DRIVER_FUNCTIONS(FOVEA_MEMBER)
  FOVEA_OPTIONAL_DRIVER_FUNCTIONS(FOVEA_MEMBER)
  FOVEA_DRIVER_EXTENSIONS(FOVEA_MEMBER)
#undef FOVEA_MEMBER
} fovea_driver;

/**
 * Loads and initialises the library on the first call and caches the result. A
 * null path means the library that fovea_use_driver selected, or else the
 * system's.
 */
fovea_status fovea_driver_get(const char *path, const fovea_driver **driver);

/**
 * Reports a failed driver call with its name and the driver's message. Returns
 * FOVEA_OK if `result` is success.
 */
fovea_status fovea_check(const fovea_driver *driver, CUresult result,
                         const char *call);

#endif /* FOVEA_LIB_RUNTIME_DRIVER_H */
