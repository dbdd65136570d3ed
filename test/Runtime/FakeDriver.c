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
 * in the image tells it how to print a launch's arguments.
 *
 * FAKE_CUDA_DEVICES is the number of devices (default 1); FAKE_CUDA_CONTEXT=1
 * makes a context current beforehand; FAKE_CUDA_FAIL names a call that fails.
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
};
struct CUevent_st {
  int unused;
};

static _Thread_local CUcontext stack[16];
static _Thread_local int depth;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int fails(const char *call) {
  const char *name = getenv("FAKE_CUDA_FAIL");
  return name && strcmp(name, call) == 0;
}
/** What a real driver answers when no context is current. */
static int homeless(void) { return depth == 0; }
enum { NO_CONTEXT = 201, INVALID_PTX = 218, NOT_FOUND = 500, UNKNOWN = 999 };

API CUresult cuInit(unsigned flags) {
  if (getenv("FAKE_CUDA_CONTEXT"))
    stack[depth++] = (CUcontext)0x77;
  return fails("cuInit") ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}
API CUresult cuDriverGetVersion(int *version) {
  *version = 13000;
  return CUDA_SUCCESS;
}
API CUresult cuGetErrorName(CUresult error, const char **name) {
  *name = error == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
          : error == CUDA_ERROR_NO_DEVICE   ? "CUDA_ERROR_NO_DEVICE"
          : error == INVALID_PTX            ? "CUDA_ERROR_INVALID_PTX"
          : error == NO_CONTEXT             ? "CUDA_ERROR_INVALID_CONTEXT"
                                            : "CUDA_ERROR_UNKNOWN";
  return CUDA_SUCCESS;
}
API CUresult cuGetErrorString(CUresult error, const char **text) {
  *text = "the fake driver says so";
  return CUDA_SUCCESS;
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
  *value = attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT       ? 132
           : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 9
           : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? 0
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
  if (homeless())
    return NO_CONTEXT;
  *context = stack[--depth];
  return CUDA_SUCCESS;
}

API CUresult cuModuleLoadDataEx(CUmodule *module, const void *image,
                                unsigned num_options, int *options,
                                void **values) {
  if (homeless())
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
  return homeless() ? NO_CONTEXT : CUDA_SUCCESS;
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
  return CUDA_SUCCESS;
}
API CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value) {
  printf("set attribute %d to %d\n", attribute, value);
  return homeless() ? NO_CONTEXT : CUDA_SUCCESS;
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

static void print_argument(const char *type, size_t length, const void *value) {
  if (strncmp(type, "pointer", length) == 0)
    printf(" 0x%llx", *(const unsigned long long *)value);
  else if (strncmp(type, "i64", length) == 0)
    printf(" %lld", *(const long long *)value);
  else if (strncmp(type, "i32", length) == 0)
    printf(" %d", *(const int *)value);
  else
    printf(" %g", (double)*(const float *)value);
}

API CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy,
                            unsigned gz, unsigned bx, unsigned by, unsigned bz,
                            unsigned shared, CUstream stream, void **arguments,
                            void **extra) {
  if (homeless())
    return NO_CONTEXT;
  if (fails("cuLaunchKernel"))
    return UNKNOWN;
  static const char kMark[] = "// arguments:";
  pthread_mutex_lock(&lock);
  printf("launch grid %u %u %u block %u %u %u shared %u stream %p\n", gx, gy,
         gz, bx, by, bz, shared, (void *)stream);
  const char *type = strstr(function->module->image, kMark);
  printf("arguments:");
  for (type = type ? type + strlen(kMark) : ""; *type == ' '; ++arguments) {
    size_t length = strcspn(++type, " \n");
    print_argument(type, length, *arguments);
    type += length;
  }
  printf("\n");
  pthread_mutex_unlock(&lock);
  return CUDA_SUCCESS;
}

API CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
  if (homeless())
    return NO_CONTEXT;
  if (fails("cuMemAlloc"))
    return CUDA_ERROR_OUT_OF_MEMORY;
  *address = (CUdeviceptr)(uintptr_t)malloc(bytes);
  return CUDA_SUCCESS;
}
API CUresult cuMemFree_v2(CUdeviceptr address) {
  free((void *)(uintptr_t)address);
  return CUDA_SUCCESS;
}
API CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
  memcpy((void *)(uintptr_t)to, from, bytes);
  return homeless() ? NO_CONTEXT : CUDA_SUCCESS;
}
API CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
  memcpy(to, (void *)(uintptr_t)from, bytes);
  return homeless() ? NO_CONTEXT : CUDA_SUCCESS;
}
API CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t bytes) {
  memset((void *)(uintptr_t)to, value, bytes);
  return homeless() ? NO_CONTEXT : CUDA_SUCCESS;
}
API CUresult cuStreamSynchronize(CUstream stream) {
  return homeless() ? NO_CONTEXT : CUDA_SUCCESS;
}
API CUresult cuEventCreate(CUevent *event, unsigned flags) {
  *event = calloc(1, sizeof **event);
  return homeless() ? NO_CONTEXT : CUDA_SUCCESS;
}
API CUresult cuEventDestroy_v2(CUevent event) {
  free(event);
  return CUDA_SUCCESS;
}
API CUresult cuEventRecord(CUevent event, CUstream stream) {
  return homeless() ? NO_CONTEXT : CUDA_SUCCESS;
}
API CUresult cuEventSynchronize(CUevent event) { return CUDA_SUCCESS; }
API CUresult cuEventElapsedTime(float *milliseconds, CUevent start,
                                CUevent end) {
  *milliseconds = 0.5f;
  return CUDA_SUCCESS;
}
