"""Makes invalid calls to the PTX driver and prints its answers.

    driver_errors.py DRIVER
"""

import ctypes
import sys
from ctypes import byref, c_int, c_size_t, c_uint, c_uint64, c_void_p

driver = ctypes.CDLL(sys.argv[1])
NOTHING, LEGACY, UNKNOWN = c_void_p(), c_void_p(1), c_void_p(12345)
PTX = b".version 8.0 .target sm_90 .address_size 64 .visible .entry f(.param .u32 n) { ret; }"


class Config(ctypes.Structure):
    _fields_ = [(name, c_uint) for name in ("gx", "gy", "gz", "bx", "by", "bz", "shared")]
    _fields_ += [("stream", c_void_p), ("attributes", c_void_p), ("count", c_uint)]


class Pool(ctypes.Structure):
    _fields_ = [(name, c_int) for name in ("kind", "handles", "location_type", "location")]
    _fields_ += [("rest", ctypes.c_ubyte * 72)]


def report():
    text = ctypes.c_char_p()
    driver.foveaPTXDriverGetReport(byref(text))
    return text.value.decode()


def refused(name, *arguments):
    result, words = getattr(driver, name)(*arguments), ctypes.c_char_p()
    driver.cuGetErrorString(result, byref(words))
    assert result, f"{name} succeeded"
    print(f"{name}: {words.value.decode()}: {report()}")


def call(name, *arguments):
    result = getattr(driver, name)(*arguments)
    assert result == 0, f"{name}: {report()}"


address, number, size, handle = c_uint64(), c_int(), c_size_t(), c_void_p()
bytes4 = (ctypes.c_ubyte * 4)()

refused("foveaPTXDriverSet", None, c_uint64(1))
refused("foveaPTXDriverSet", b"frob", c_uint64(1))
refused("foveaPTXDriverSet", b"races", c_uint64(2))
refused("foveaPTXDriverSet", b"promised_tcgen05_order", c_uint64(2))
call("foveaPTXDriverSet", b"promised_tcgen05_order", c_uint64(1))
call("foveaPTXDriverSet", b"promised_tcgen05_order", c_uint64(0))
refused("foveaPTXDriverTrace", b"/no/such/folder/trace")
refused("cuInit", 1)
refused("cuDeviceGet", byref(number), 3)
refused("cuDeviceGetAttribute", byref(number), 9999, 0)
refused("cuCtxGetDevice", byref(number))
refused("cuCtxPopCurrent_v2", byref(handle))
refused("cuMemAlloc_v2", byref(address), c_size_t(4))
refused("cuCtxPushCurrent_v2", UNKNOWN)
context = c_void_p()
call("cuDevicePrimaryCtxRetain", byref(context), 0)
call("cuCtxPushCurrent_v2", context)

refused("cuMemAlloc_v2", byref(address), c_size_t(0))
refused("cuMemAlloc_v2", byref(address), c_size_t(2**41))
refused("cuMemAllocManaged", byref(address), c_size_t(4), 7)
refused("cuPointerGetAttribute", byref(address), 9999, c_uint64(0))
refused("cuPointerGetAttribute", byref(address), 3, c_uint64(12345))
refused("cuMemFree_v2", c_uint64(12345))
refused("cuMemcpyHtoD_v2", c_uint64(12345), bytes4, c_size_t(4))
refused("cuMemsetD8Async", c_uint64(0), 0, c_size_t(4), UNKNOWN)
refused("cuMemFreeAsync", c_uint64(0), UNKNOWN)
refused("cuMemPoolCreate", byref(handle), byref(Pool(1, 0, 1, 5)))
refused("cuMemPoolDestroy", UNKNOWN)
refused("cuMemPoolSetAttribute", UNKNOWN, 4, byref(address))
pool = c_void_p()
call("cuMemPoolCreate", byref(pool), byref(Pool(1, 0, 1, 0)))
refused("cuMemPoolSetAttribute", pool, 9999, byref(address))
refused("cuMemAllocFromPoolAsync", byref(address), c_size_t(4), UNKNOWN, NOTHING)

refused("cuStreamCreate", byref(handle), 9)
refused("cuStreamSynchronize", UNKNOWN)
refused("cuEventSynchronize", UNKNOWN)
refused("cuEventRecord", UNKNOWN, NOTHING)
event = c_void_p()
call("cuEventCreate", byref(event), 0)
refused("cuEventElapsedTime", byref(ctypes.c_float()), event, event)

refused("cuModuleLoadDataEx", byref(handle), b"\x7fELF", 0, None, None)
refused("cuModuleLoadDataEx", byref(handle), b".version 8.0 .target sm_90 frob", 0, None, None)
refused("cuModuleUnload", UNKNOWN)
refused("cuModuleGetFunction", byref(handle), UNKNOWN, b"f")
module, function = c_void_p(), c_void_p()
call("cuModuleLoadDataEx", byref(module), PTX, 0, None, None)
refused("cuModuleGetFunction", byref(handle), module, b"g")
call("cuModuleGetFunction", byref(function), module, b"f")
refused("cuFuncSetAttribute", UNKNOWN, 8, 0)
refused("cuFuncSetAttribute", function, 9999, 0)
refused("cuFuncSetAttribute", function, 8, 1 << 20)
refused("cuFuncGetAttribute", byref(number), 0, UNKNOWN)
refused("cuFuncGetAttribute", byref(number), 9999, function)
refused("cuFuncGetParamInfo", UNKNOWN, c_size_t(0), byref(size), None)
refused("cuFuncGetParamInfo", function, c_size_t(1), byref(size), None)
refused("cuOccupancyMaxActiveBlocksPerMultiprocessor", byref(number), function, 0, c_size_t(0))


def launch(kernel, arguments, extra=None, shared=0, attribute=None, stream=NOTHING):
    config = Config(1, 1, 1, 32, 1, 1, shared, stream)
    if attribute:
        config.attributes, config.count = ctypes.addressof(attribute), 1
    refused("cuLaunchKernelEx", byref(config), kernel, arguments, extra)


given = (c_void_p * 1)(ctypes.addressof(number))
launch(UNKNOWN, given)
launch(function, given, stream=UNKNOWN)
launch(function, None)
launch(function, given, extra=given)
launch(function, given, shared=65536)
# An attribute is its number and, 8 bytes on, 64 bytes.
launch(function, given, attribute=(c_uint * 18)(9999))
launch(function, given, attribute=(c_uint * 18)(4, 0, 16, 1, 1))

call("foveaPTXDriverSet", b"capability", c_uint64(80))
tensor_map = (ctypes.c_ubyte * 192)()
at = (ctypes.addressof(tensor_map) + 63) // 64 * 64
refused("cuTensorMapEncodeTiled", c_void_p(at), 0, 1, None, None, None, None, None, 0, 0, 0, 0)
