/*===- FakeDriver.c - A CUDA driver that only tells ---------------*- C -*-===*\
|*
|* Part of the Fovea project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/
/**
 * Stands in for libcuda.so.1 in tests: prints the calls that matter to stdout,
 * keeps "device memory" in host memory. A line `// arguments: pointer i32 ...`
 * in the image tells it how to print a launch's arguments, one that begins with
 * `// arguments of NAME:` those of one entry.
 *
 * FAKE_CUDA_DEVICES is the number of devices (default 1); FAKE_CUDA_CONTEXT=1
 * makes a context current beforehand; FAKE_CUDA_FAIL names a call that fails;
 * FAKE_CUDA_CAPABILITY is the devices' compute capability (default 90);
 * FAKE_CUDA_NAMELESS=1: no error has a name.
 * FAKE_CUDA_CAPTURING=N: the first N launches are recorded, the rest are not.
 * Nothing ends before its stream is waited for, and what is recorded never
 * does: a launch whose workspace another one has, or that isn't zero, is told.
 */
#include "Driver.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))

struct CUmod_st {
  char image[4096];
};
struct CUfunc_st {
  CUmodule module;
  char name[64];
};
struct CUmemPoolHandle_st {
  int device;
};
struct CUevent_st {
  int unused;
};
struct CUstream_st {
  unsigned flags;
};
/** The contents of a CUtensorMap in this driver. */
typedef struct map {
  uint64_t address;
  uint32_t sizes[5], strides[5];
  uint16_t box[5];
  uint8_t type, rank, swizzle, is_map;
} map;
_Static_assert(sizeof(map) <= sizeof(CUtensorMap), "must fit");

static _Thread_local CUcontext stack[16];
static _Thread_local int depth;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int fails(const char *call) {
  const char *name = getenv("FAKE_CUDA_FAIL");
  return name && strcmp(name, call) == 0;
}
/** The real driver's error without a current context. */
static int has_no_context(void) { return depth == 0; }
enum {
  INVALID_VALUE = 1,
  NO_CONTEXT = 201,
  INVALID_PTX = 218,
  NOT_FOUND = 500,
  CAPTURE_UNSUPPORTED = 900,
  UNKNOWN = 999
};

/** Launches so far, and addresses of workspaces that launches still have. */
static int launches;
static uint64_t in_use[65536];
static size_t num_in_use, num_recorded;
/** All allocations, including freed ones. */
static struct {
  uint64_t start, end;
} allocations[64];
static size_t num_allocations;
static _Thread_local int capture_mode;
/** The pool memory of the last launch; 0 once it is freed. */
static uint64_t pooled, pooled_bytes;

static int is_capturing(void) {
  const char *count = getenv("FAKE_CUDA_CAPTURING");
  return count && launches < atoi(count);
}
/** Calls that are forbidden during stream capture, except in relaxed mode. */
static int is_unsafe(void) {
  return is_capturing() && capture_mode != CU_STREAM_CAPTURE_MODE_RELAXED;
}

API CUresult cuInit(unsigned flags) {
  if (getenv("FAKE_CUDA_CONTEXT"))
    stack[depth++] = (CUcontext)0x77;
  return fails("cuInit") ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}
API CUresult cuDriverGetVersion(int *version) {
  const char *asked = getenv("FAKE_CUDA_VERSION");
  *version = asked ? atoi(asked) : 13000;
  return CUDA_SUCCESS;
}
/** True for a driver that is older than the error code. */
static int has_no_names(void) { return getenv("FAKE_CUDA_NAMELESS") != NULL; }
API CUresult cuGetErrorName(CUresult error, const char **name) {
  *name = NULL;
  if (has_no_names())
    return INVALID_VALUE;
  *name = error == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
          : error == CUDA_ERROR_NO_DEVICE   ? "CUDA_ERROR_NO_DEVICE"
          : error == INVALID_PTX            ? "CUDA_ERROR_INVALID_PTX"
          : error == INVALID_VALUE          ? "CUDA_ERROR_INVALID_VALUE"
          : error == CAPTURE_UNSUPPORTED
              ? "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"
          : error == NO_CONTEXT ? "CUDA_ERROR_INVALID_CONTEXT"
                                : "CUDA_ERROR_UNKNOWN";
  return CUDA_SUCCESS;
}
API CUresult cuGetErrorString(CUresult error, const char **text) {
  *text = has_no_names() ? NULL : "the fake driver says so";
  return *text ? CUDA_SUCCESS : INVALID_VALUE;
}
API CUresult cuDeviceGetCount(int *count) {
  const char *devices = getenv("FAKE_CUDA_DEVICES");
  *count = devices ? atoi(devices) : 1;
  return CUDA_SUCCESS;
}
API CUresult cuDeviceGet(CUdevice *device, int number) {
  *device = number;
  return CUDA_SUCCESS;
}
API CUresult cuDeviceGetName(char *name, int size, CUdevice device) {
  snprintf(name, (size_t)size, "Fake %d", device);
  return CUDA_SUCCESS;
}
API CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device) {
  const char *set = getenv("FAKE_CUDA_CAPABILITY");
  int capability = set ? atoi(set) : 90;
  if (fails("cuDeviceGetAttribute"))
    return UNKNOWN;
  *value = attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT ? 132
           : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
               ? capability / 10
           : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR
               ? capability % 10
           : attribute == CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED
               ? !fails("pools")
               : 232448;
  return CUDA_SUCCESS;
}
API CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  printf("retain %d\n", device);
  *context = (CUcontext)0x11;
  return CUDA_SUCCESS;
}
API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  printf("release %d\n", device);
  return CUDA_SUCCESS;
}
API CUresult cuCtxGetCurrent(CUcontext *context) {
  *context = depth ? stack[depth - 1] : NULL;
  return CUDA_SUCCESS;
}
API CUresult cuCtxGetDevice(CUdevice *device) {
  *device = 0;
  return depth ? CUDA_SUCCESS : NO_CONTEXT;
}
API CUresult cuCtxPushCurrent_v2(CUcontext context) {
  stack[depth++] = context;
  return CUDA_SUCCESS;
}
API CUresult cuCtxPopCurrent_v2(CUcontext *context) {
  if (has_no_context())
    return NO_CONTEXT;
  *context = stack[--depth];
  return CUDA_SUCCESS;
}

API CUresult cuModuleLoadDataEx(CUmodule *module, const void *image,
                                unsigned num_options, int *options,
                                void **values) {
  if (has_no_context())
    return NO_CONTEXT;
  if (fails("cuModuleLoadDataEx")) {
    for (unsigned i = 0; i < num_options; ++i)
      if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
        strcpy(values[i], "ptxas fatal : Unresolved extern function 'f'");
    return INVALID_PTX;
  }
  *module = calloc(1, sizeof **module);
  snprintf((*module)->image, sizeof(*module)->image, "%s", (const char *)image);
  return CUDA_SUCCESS;
}
API CUresult cuModuleUnload(CUmodule module) {
  printf("unload\n");
  free(module);
  return has_no_context() ? NO_CONTEXT : CUDA_SUCCESS;
}
API CUresult cuModuleGetFunction(CUfunction *function, CUmodule module,
                                 const char *name) {
  static struct CUfunc_st functions[64];
  static int used;
  if (!strstr(module->image, name))
    return NOT_FOUND;
  pthread_mutex_lock(&lock);
  *function = &functions[used++ % 64];
  pthread_mutex_unlock(&lock);
  (*function)->module = module;
  snprintf((*function)->name, sizeof(*function)->name, "%s", name);
  return CUDA_SUCCESS;
}
API CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value) {
  printf("set attribute %d to %d\n", attribute, value);
  return has_no_context() ? NO_CONTEXT : CUDA_SUCCESS;
}
API CUresult cuFuncGetAttribute(int *value, int attribute,
                                CUfunction function) {
  *value = attribute == CU_FUNC_ATTRIBUTE_NUM_REGS ? 168 : 0;
  return CUDA_SUCCESS;
}
API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks,
                                                         CUfunction function,
                                                         int threads,
                                                         size_t bytes) {
  *blocks = 2;
  return CUDA_SUCCESS;
}

static void print_map(const map *map) {
  static const char *const types[] = {"u8",  "u16", "u32", "i32", "u64",
                                      "i64", "f16", "f32", "f64", "bf16"};
  static const int swizzles[] = {0, 32, 64, 128};
  if ((uintptr_t)map % 64 || map->is_map != 1) {
    printf(" no map");
    return;
  }
  printf(" map(%s 0x%llx", types[map->type], (unsigned long long)map->address);
  for (int d = 0; d < map->rank; ++d)
    printf("%s%u", d ? "x" : " ", map->sizes[d]);
  for (int d = 1; d < map->rank; ++d)
    printf("%s%u", d > 1 ? "x" : " strides ", map->strides[d]);
  for (int d = 0; d < map->rank; ++d)
    printf("%s%u", d ? "x" : " box ", map->box[d]);
  printf(" swizzle %d)", swizzles[map->swizzle]);
}

static void print_workspace(uint64_t address) {
  printf(" workspace");
  for (size_t i = 0; i < num_in_use; ++i)
    if (in_use[i] == address)
      printf(" in use");
  if (address % 32)
    printf(" misaligned");
  size_t inside = 0;
  while (inside < num_allocations && (address < allocations[inside].start ||
                                      address + 4 > allocations[inside].end))
    ++inside;
  if (inside == num_allocations) {
    printf(" outside");
    return;
  }
  for (int byte = 0; byte < 4; ++byte)
    if (((const char *)(uintptr_t)address)[byte])
      printf(" not zero");
  in_use[num_in_use++ % (sizeof in_use / sizeof *in_use)] = address;
}

/** Prints the scratch buffer of the launch's allocation at the address. */
static void print_scratch(uint64_t address) {
  if (address < pooled || address >= pooled + pooled_bytes)
    printf(" outside");
  else
    printf(" scratch+%llu", (unsigned long long)(address - pooled));
}

static void print_argument(const char *type, size_t length, const void *value) {
  if (strncmp(type, "map", length) == 0)
    print_map(value);
  else if (strncmp(type, "workspace", length) == 0)
    print_workspace(*(const uint64_t *)value);
  else if (strncmp(type, "scratch", length) == 0)
    print_scratch(*(const uint64_t *)value);
  else if (strncmp(type, "pointer", length) == 0)
    printf(" 0x%llx", *(const unsigned long long *)value);
  else if (strncmp(type, "i64", length) == 0)
    printf(" %lld", *(const long long *)value);
  else if (strncmp(type, "i32", length) == 0)
    printf(" %d", *(const int *)value);
  else
    printf(" %g", (double)*(const float *)value);
}

static CUresult launch(CUfunction function, unsigned gx, unsigned gy,
                       unsigned gz, unsigned bx, unsigned by, unsigned bz,
                       unsigned shared, CUstream stream, void **arguments,
                       const char *how) {
  /* An entry's own line has its name. */
  char own[96];
  snprintf(own, sizeof own, "// arguments of %s:", function->name);
  const char *mark = own, *image = function->module->image;
  if (!strstr(image, mark))
    mark = "// arguments:";
  pthread_mutex_lock(&lock);
  printf("launch grid %u %u %u block %u %u %u shared %u stream %p%s\n", gx, gy,
         gz, bx, by, bz, shared, (void *)stream, how);
  const char *type = strstr(image, mark);
  printf("arguments:");
  for (type = type ? type + strlen(mark) : ""; *type == ' '; ++arguments) {
    size_t length = strcspn(++type, " \n");
    print_argument(type, length, *arguments);
    type += length;
  }
  printf("\n");
  if (is_capturing())
    num_recorded = num_in_use;
  ++launches;
  pthread_mutex_unlock(&lock);
  return CUDA_SUCCESS;
}

API CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy,
                            unsigned gz, unsigned bx, unsigned by, unsigned bz,
                            unsigned shared, CUstream stream, void **arguments,
                            void **extra) {
  if (has_no_context())
    return NO_CONTEXT;
  if (fails("cuLaunchKernel"))
    return UNKNOWN;
  return launch(function, gx, gy, gz, bx, by, bz, shared, stream, arguments,
                "");
}

#ifndef FAKE_OLD_DRIVER
API CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function,
                              void **arguments, void **extra) {
  if (has_no_context())
    return NO_CONTEXT;
  if (fails("cuLaunchKernelEx"))
    return UNKNOWN;
  const CUlaunchAttribute *attribute = config->attributes;
  if (config->num_attributes != 1 ||
      attribute->id != CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION ||
      attribute->value.programmatic_stream_serialization != 1)
    return UNKNOWN;
  return launch(function, config->grid_x, config->grid_y, config->grid_z,
                config->block_x, config->block_y, config->block_z,
                config->shared_memory, config->stream, arguments,
                " overlapped");
}

API CUresult cuTensorMapEncodeTiled(CUtensorMap *result, int type,
                                    uint32_t rank, void *address,
                                    const uint64_t *sizes,
                                    const uint64_t *strides,
                                    const uint32_t *box, const uint32_t *steps,
                                    int interleave, int swizzle, int promotion,
                                    int fill) {
  static const int bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2};
  map *out = (map *)result;
  if (has_no_context())
    return NO_CONTEXT;
  if (fails("cuTensorMapEncodeTiled") || (uintptr_t)result % 64 || type < 0 ||
      type >= (int)(sizeof bytes / sizeof *bytes) || rank < 1 || rank > 5 ||
      (uintptr_t)address % 16 || interleave != 0 || swizzle < 0 ||
      swizzle > 3 || promotion != CU_TENSOR_MAP_L2_PROMOTION_L2_128B ||
      fill != 0)
    return INVALID_VALUE;
  uint32_t row = box[0] * (uint32_t)bytes[type];
  if (row % 16 || (swizzle && row > 16u << swizzle))
    return INVALID_VALUE;
  memset(out, 0, sizeof *out);
  for (uint32_t d = 0; d < rank; ++d) {
    if (sizes[d] < 1 || sizes[d] > UINT64_C(1) << 32 || box[d] < 1 ||
        box[d] > 256 || steps[d] != 1)
      return INVALID_VALUE;
    out->sizes[d] = (uint32_t)sizes[d];
    out->box[d] = (uint16_t)box[d];
    if (d == 0)
      continue;
    if (strides[d - 1] % 16 || strides[d - 1] >= UINT64_C(1) << 40)
      return INVALID_VALUE;
    out->strides[d] = (uint32_t)strides[d - 1];
  }
  out->address = (uintptr_t)address;
  out->type = (uint8_t)type;
  out->rank = (uint8_t)rank;
  out->swizzle = (uint8_t)swizzle;
  out->is_map = 1;
  return CUDA_SUCCESS;
}

API CUresult cuTensorMapReplaceAddress(CUtensorMap *result, void *address) {
  map *out = (map *)result;
  if (has_no_context())
    return NO_CONTEXT;
  if (fails("cuTensorMapReplaceAddress") || (uintptr_t)result % 64 ||
      (uintptr_t)address % 16 || !out->is_map)
    return INVALID_VALUE;
  out->address = (uintptr_t)address;
  return CUDA_SUCCESS;
}

API CUresult cuMemPoolCreate(CUmemoryPool *pool,
                             const CUmemPoolProps *properties) {
  if (fails("cuMemPoolCreate"))
    return CUDA_ERROR_OUT_OF_MEMORY;
  if (properties->allocation_type != CU_MEM_ALLOCATION_TYPE_PINNED ||
      properties->location_type != CU_MEM_LOCATION_TYPE_DEVICE)
    return INVALID_VALUE;
  *pool = calloc(1, sizeof **pool);
  (*pool)->device = properties->location;
  printf("create pool of device %d\n", (*pool)->device);
  return CUDA_SUCCESS;
}
API CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  printf("destroy pool\n");
  free(pool);
  return CUDA_SUCCESS;
}
API CUresult cuMemPoolSetAttribute(CUmemoryPool pool, int attribute,
                                   void *value) {
  if (attribute != CU_MEMPOOL_ATTR_RELEASE_THRESHOLD ||
      *(uint64_t *)value != UINT64_MAX)
    return INVALID_VALUE;
  return CUDA_SUCCESS;
}
API CUresult cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t bytes,
                                     CUmemoryPool pool, CUstream stream) {
  if (has_no_context())
    return NO_CONTEXT;
  if (fails("cuMemAllocFromPoolAsync"))
    return CUDA_ERROR_OUT_OF_MEMORY;
  if (bytes == 0 || !pool)
    return INVALID_VALUE;
  pthread_mutex_lock(&lock);
  /* Never touched here: launches don't run. */
  *address = pooled = 0x7000000;
  pooled_bytes = bytes;
  printf("allocate %zu bytes, stream %p\n", bytes, (void *)stream);
  pthread_mutex_unlock(&lock);
  return CUDA_SUCCESS;
}
API CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  if (has_no_context())
    return NO_CONTEXT;
  pthread_mutex_lock(&lock);
  printf("free%s\n", address == pooled ? "" : " something else");
  pooled = pooled_bytes = 0;
  pthread_mutex_unlock(&lock);
  return CUDA_SUCCESS;
}
#endif

API CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
  if (has_no_context())
    return NO_CONTEXT;
  if (fails("cuMemAlloc"))
    return CUDA_ERROR_OUT_OF_MEMORY;
  if (is_unsafe())
    return CAPTURE_UNSUPPORTED;
  void *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
  /* Uninitialised, as from a real driver. */
  memset(memory, 0xaa, bytes);
  *address = (CUdeviceptr)(uintptr_t)memory;
  pthread_mutex_lock(&lock);
  size_t entry = num_allocations < 64 ? num_allocations++ : 0;
  allocations[entry].start = *address;
  allocations[entry].end = *address + bytes;
  pthread_mutex_unlock(&lock);
  return CUDA_SUCCESS;
}
API CUresult cuMemFree_v2(CUdeviceptr address) {
  free((void *)(uintptr_t)address);
  return CUDA_SUCCESS;
}
API CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
  memcpy((void *)(uintptr_t)to, from, bytes);
  return has_no_context() ? NO_CONTEXT : CUDA_SUCCESS;
}
API CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
  memcpy(to, (void *)(uintptr_t)from, bytes);
  return has_no_context() ? NO_CONTEXT : CUDA_SUCCESS;
}
API CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t bytes) {
  memset((void *)(uintptr_t)to, value, bytes);
  return has_no_context() ? NO_CONTEXT : CUDA_SUCCESS;
}
API CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes,
                             CUstream stream) {
  if (has_no_context())
    return NO_CONTEXT;
  if (pooled_bytes && to >= pooled && to < pooled + pooled_bytes) {
    /* For a launch, on its stream: captured like kernels. */
    if (fails("cuMemsetD8Async"))
      return UNKNOWN;
    printf("set %zu bytes at", bytes);
    print_scratch(to);
    printf(" to %d, stream %p\n", value, (void *)stream);
    return CUDA_SUCCESS;
  }
  if (!stream || stream->flags != CU_STREAM_NON_BLOCKING)
    return CAPTURE_UNSUPPORTED;
  if (fails("cuMemsetD8Async"))
    return UNKNOWN;
  memset((void *)(uintptr_t)to, value, bytes);
  return CUDA_SUCCESS;
}
API CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
  *stream = calloc(1, sizeof **stream);
  (*stream)->flags = flags;
  return has_no_context() ? NO_CONTEXT : CUDA_SUCCESS;
}
API CUresult cuStreamDestroy_v2(CUstream stream) {
  free(stream);
  return has_no_context() ? NO_CONTEXT : CUDA_SUCCESS;
}
API CUresult cuStreamIsCapturing(CUstream stream, int *status) {
  if (fails("cuStreamIsCapturing"))
    return CAPTURE_UNSUPPORTED;
  pthread_mutex_lock(&lock);
  *status = is_capturing() ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                           : CU_STREAM_CAPTURE_STATUS_NONE;
  pthread_mutex_unlock(&lock);
  return has_no_context() ? NO_CONTEXT : CUDA_SUCCESS;
}
API CUresult cuThreadExchangeStreamCaptureMode(int *mode) {
  int before = capture_mode;
  capture_mode = *mode;
  *mode = before;
  return CUDA_SUCCESS;
}
API CUresult cuStreamSynchronize(CUstream stream) {
  if (!stream)
    num_in_use = num_recorded;
  return has_no_context() ? NO_CONTEXT : CUDA_SUCCESS;
}
API CUresult cuEventCreate(CUevent *event, unsigned flags) {
  *event = calloc(1, sizeof **event);
  return has_no_context() ? NO_CONTEXT : CUDA_SUCCESS;
}
API CUresult cuEventDestroy_v2(CUevent event) {
  free(event);
  return CUDA_SUCCESS;
}
API CUresult cuEventRecord(CUevent event, CUstream stream) {
  return has_no_context() ? NO_CONTEXT : CUDA_SUCCESS;
}
API CUresult cuEventSynchronize(CUevent event) { return CUDA_SUCCESS; }
API CUresult cuEventElapsedTime(float *milliseconds, CUevent start,
                                CUevent end) {
  *milliseconds = 0.5f;
  return CUDA_SUCCESS;
}
