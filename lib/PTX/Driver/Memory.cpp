//===- Memory.cpp - Device memory of the emulated driver ------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements allocations, copies, memory pools and tensor maps of the CUDA
// driver.
//
//===----------------------------------------------------------------------===//

#include "State.h"

#include "fovea/PTX/Units/TensorMap.h"

using namespace fovea::ptx;
using namespace fovea::ptx::driver;

static CUresult allocate(State &state, CUdeviceptr *address, size_t bytes) {
  if (bytes == 0)
    return fail(kInvalidValue,
                "an allocation must have at least 1 byte, found 0");
  llvm::Expected<uint64_t> made = state.device.allocate(bytes);
  if (!made)
    return fail(CUDA_ERROR_OUT_OF_MEMORY, made.takeError());
  *address = *made;
  return CUDA_SUCCESS;
}

/// Converts an error of the host to a driver status.
static CUresult finish(llvm::Error error) {
  return error ? fail(kInvalidValue, std::move(error)) : CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
  FOVEA_ENTER(state)
  return allocate(state, address, bytes);
}

CUresult cuMemAllocManaged(CUdeviceptr *address, size_t bytes, unsigned flags) {
  FOVEA_ENTER(state)
  if (bytes == 0 || flags != CU_MEM_ATTACH_GLOBAL)
    return fail(kInvalidValue, "managed memory needs a size above 0 and "
                               "CU_MEM_ATTACH_GLOBAL");
  llvm::Expected<uint64_t> made = state.device.allocateManaged(bytes);
  if (!made)
    return fail(CUDA_ERROR_OUT_OF_MEMORY, made.takeError());
  *address = *made;
  return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void *value, int attribute,
                               CUdeviceptr address) {
  FOVEA_ENTER(state)
  if (!value || attribute != CU_POINTER_ATTRIBUTE_DEVICE_POINTER)
    return fail(kInvalidValue, "pointer attribute " + llvm::Twine(attribute) +
                                   " is not modelled");
  if (!state.device.contains(address))
    return fail(kInvalidValue, "the address is not in device memory");
  memcpy(value, &address, sizeof(address));
  return CUDA_SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr address) {
  FOVEA_ENTER(state)
  return address ? finish(state.device.free(address)) : CUDA_SUCCESS;
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
  FOVEA_ENTER(state)
  return finish(state.device.write(to, from, bytes));
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
  FOVEA_ENTER(state)
  return finish(state.device.read(from, to, bytes));
}

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t bytes) {
  FOVEA_ENTER(state)
  return finish(state.device.fill(to, value, bytes));
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes,
                         CUstream stream) {
  FOVEA_ENTER(state)
  if (!state.isStream(stream))
    return fail(kInvalidHandle, "no such stream");
  return finish(state.device.fill(to, value, bytes));
}

int foveaPTXDriverForbid(uint64_t address, size_t bytes) {
  FOVEA_ENTER(state)
  return finish(state.device.forbid(address, bytes));
}

//===----------------------------------------------------------------------===//
// Pools
//===----------------------------------------------------------------------===//

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *properties) {
  State &state = State::get();
  std::lock_guard<std::mutex> guard(state.lock);
  if (properties->allocation_type != CU_MEM_ALLOCATION_TYPE_PINNED ||
      properties->location_type != CU_MEM_LOCATION_TYPE_DEVICE ||
      properties->location != 0)
    return fail(kInvalidValue, "expected a pool of pinned memory on device 0");
  *pool = new CUmemPoolHandle_st;
  state.pools.insert(*pool);
  return CUDA_SUCCESS;
}

CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  State &state = State::get();
  std::lock_guard<std::mutex> guard(state.lock);
  if (!state.pools.erase(pool))
    return fail(kInvalidHandle, "no such pool");
  delete pool;
  return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, int attribute, void *value) {
  State &state = State::get();
  std::lock_guard<std::mutex> guard(state.lock);
  if (!state.pools.contains(pool))
    return fail(kInvalidHandle, "no such pool");
  // Freed memory is released immediately, whatever the threshold is.
  if (attribute != CU_MEMPOOL_ATTR_RELEASE_THRESHOLD || !value)
    return fail(kInvalidValue, "pool attribute " + llvm::Twine(attribute) +
                                   " is not modelled");
  return CUDA_SUCCESS;
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t bytes,
                                 CUmemoryPool pool, CUstream stream) {
  FOVEA_ENTER(state)
  if (!state.pools.contains(pool) || !state.isStream(stream))
    return fail(kInvalidHandle, "no such pool or stream");
  return allocate(state, address, bytes);
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  FOVEA_ENTER(state)
  if (!state.isStream(stream))
    return fail(kInvalidHandle, "no such stream");
  return finish(state.device.free(address));
}

//===----------------------------------------------------------------------===//
// Tensor maps
//===----------------------------------------------------------------------===//

static_assert(sizeof(CUtensorMap) == kTensorMapBytes);

CUresult cuTensorMapEncodeTiled(CUtensorMap *result, int type, uint32_t rank,
                                void *address, const uint64_t *sizes,
                                const uint64_t *strides, const uint32_t *box,
                                const uint32_t *steps, int interleave,
                                int swizzle, int promotion, int fill) {
  FOVEA_ENTER(state)
  if (state.chip->capability < 90)
    return fail(kInvalidValue, "tensor maps need compute capability 9.0");
  auto map =
      makeTensorMap(unsigned(type), rank, reinterpret_cast<uintptr_t>(address),
                    sizes, strides, box, steps, unsigned(interleave),
                    unsigned(swizzle), unsigned(promotion), unsigned(fill));
  if (!map)
    return finish(map.takeError());
  return finish(encodeTensorMap(*map, result));
}

CUresult cuTensorMapReplaceAddress(CUtensorMap *map, void *address) {
  FOVEA_ENTER(state)
  return finish(
      replaceTensorMapAddress(map, reinterpret_cast<uintptr_t>(address)));
}
