"""numpy arrays in device memory, for fovea_runtime."""

import ctypes

import numpy as np

NAMES = {
    np.dtype(np.uint16): "bfloat16",
    np.dtype(np.float16): "float16",
    np.dtype(np.float32): "float32",
    np.dtype(np.bool_): "bool",
    np.dtype(np.int32): "int32",
    np.dtype(np.int64): "int64",
}


def to_bf16(values):
    """Rounded to nearest, as bits."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def from_bf16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


class Tensor:
    """An array in device memory; uint16 holds the bits of bf16. Memory that is not `written` is
    uninitialised.
    """

    def __init__(self, runtime, array, written=True):
        self.runtime, self.array, self.address = runtime, np.ascontiguousarray(array), ctypes.c_uint64()
        self.shape, self.dtype = self.array.shape, NAMES[self.array.dtype]
        size = ctypes.c_size_t(max(self.array.nbytes, 1))
        runtime.call("fovea_memory_alloc", runtime.device, size, ctypes.byref(self.address))
        if written and self.array.nbytes:
            runtime.call("fovea_memory_write", runtime.device, self.address, *self.host())

    def host(self):
        return ctypes.c_void_p(self.array.ctypes.data), ctypes.c_size_t(self.array.nbytes)

    def data_ptr(self):
        return self.address.value

    def stride(self):
        return tuple(step // self.array.itemsize for step in self.array.strides)

    def read(self):
        pointer, size = self.host()
        self.runtime.call("fovea_memory_read", self.runtime.device, pointer, self.address, size)
        return self.array

    def __del__(self):
        self.runtime.lib.fovea_memory_free(self.runtime.device, self.address)
