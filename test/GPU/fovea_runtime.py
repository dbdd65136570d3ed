"""libFoveaRuntime for Python: loads kernels, launches them on torch tensors.

    runtime = Runtime("build/lib/libFoveaRuntime.so")
    kernel = runtime.load("causal.ptx", "causal.json")
    kernel(q=q, k=k, v=v, o=o, lse=lse, scale=0.125)

Tensors are anything with `data_ptr()`, `shape`, `stride()` and `dtype`; keyword
arguments that are numbers are scalars.
"""

import ctypes
import json
import pathlib

DTYPES = {"float16": 0, "bfloat16": 1, "float32": 2, "bool": 3, "int8": 4, "int32": 5, "int64": 6, "int16": 7}

NO_DRIVER, NO_DEVICE = 2, 3


class FoveaError(RuntimeError):
    def __init__(self, status, name, message):
        super().__init__(f"{name}: {message}")
        self.status = status


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("data", ctypes.c_uint64),
        ("dtype", ctypes.c_int),
        ("rank", ctypes.c_int32),
        ("sizes", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
    ]


class _Scalar(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("floating", ctypes.c_double), ("integer", ctypes.c_int64)]


class _DeviceInfo(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char * 128)] + [
        (field, ctypes.c_int)
        for field in ("number", "multiprocessors", "major", "minor", "max_shared_memory", "driver_version")
    ]


class _KernelInfo(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p)] + [
        (field, ctypes.c_int)
        for field in ("registers", "local_memory", "threads", "shared_memory", "blocks_per_multiprocessor")
    ]


class Runtime:
    """The library, and the thread's current device."""

    def __init__(self, library, driver=None):
        """`driver` stands for the system's CUDA driver."""
        self.lib = ctypes.CDLL(str(pathlib.Path(library).resolve()))
        self.lib.fovea_status_name.restype = ctypes.c_char_p
        self.lib.fovea_last_error.restype = ctypes.c_char_p
        for free in ("fovea_kernel_unload", "fovea_launch_free", "fovea_device_close"):
            getattr(self.lib, free).restype = None
            getattr(self.lib, free).argtypes = [ctypes.c_void_p]
        if driver:
            self.call("fovea_use_driver", str(driver).encode())
        self.device = ctypes.c_void_p()
        self.call("fovea_device_open", ctypes.c_int(-1), ctypes.byref(self.device))

    def reopen(self):
        """For a device that has changed. No kernel may be loaded."""
        self.lib.fovea_device_close(self.device)
        self.call("fovea_device_open", ctypes.c_int(-1), ctypes.byref(self.device))

    def call(self, function, *arguments):
        status = getattr(self.lib, function)(*arguments)
        if status:
            raise FoveaError(
                status, self.lib.fovea_status_name(status).decode(), self.lib.fovea_last_error().decode(errors="replace")
            )

    def device_info(self):
        info = _DeviceInfo()
        self.call("fovea_device_get_info", self.device, ctypes.byref(info))
        return {name: getattr(info, name) for name, _ in info._fields_}

    def load(self, image, metadata):
        return Kernel(self, pathlib.Path(image).read_bytes(), pathlib.Path(metadata).read_bytes())


def pack(arguments):
    """Tensors and scalars as the library takes them: two lists with their lengths."""
    tensors = {name: value for name, value in arguments.items() if hasattr(value, "data_ptr")}
    scalars = {name: value for name, value in arguments.items() if name not in tensors}
    packed = (_Tensor * len(tensors))()
    for slot, (name, tensor) in zip(packed, tensors.items()):
        rank = len(tensor.shape)
        dtype = DTYPES[str(tensor.dtype).removeprefix("torch.")]
        shape = (ctypes.c_int64 * rank)(*tensor.shape)
        strides = (ctypes.c_int64 * rank)(*tensor.stride())
        slot.name, slot.data, slot.dtype, slot.rank = name.encode(), tensor.data_ptr(), dtype, rank
        slot.sizes = ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64))
        slot.strides = ctypes.cast(strides, ctypes.POINTER(ctypes.c_int64))
    values = (_Scalar * len(scalars))()
    for slot, (name, value) in zip(values, scalars.items()):
        slot.name, slot.floating, slot.integer = name.encode(), float(value), int(value)
    return packed, ctypes.c_size_t(len(tensors)), values, ctypes.c_size_t(len(scalars))


class Launch:
    """A prepared call. Keeps its tensors alive."""

    def __init__(self, kernel, arguments):
        self.kernel, self.arguments, self.handle = kernel, arguments, ctypes.c_void_p()
        kernel.runtime.call("fovea_launch_prepare", kernel.handle, *pack(arguments), ctypes.byref(self.handle))

    def run(self, stream=0):
        self.kernel.runtime.call("fovea_launch_run", self.handle, ctypes.c_void_p(stream))

    def __del__(self):
        if self.handle:
            self.kernel.runtime.lib.fovea_launch_free(self.handle)


class Kernel:
    """A loaded kernel."""

    def __init__(self, runtime, image, metadata):
        self.runtime, self.handle = runtime, ctypes.c_void_p()
        self.metadata = json.loads(metadata)
        runtime.call(
            "fovea_kernel_load", runtime.device, image, ctypes.c_size_t(len(image)), metadata,
            ctypes.c_size_t(len(metadata)), ctypes.byref(self.handle),
        )

    def info(self):
        info = _KernelInfo()
        self.runtime.call("fovea_kernel_get_info", self.handle, ctypes.byref(info))
        return {name: getattr(info, name) for name, _ in info._fields_}

    def prepare(self, **arguments):
        return Launch(self, arguments)

    def check(self, stream=0, **arguments):
        """Raises FoveaError if integers in tensors make no sense."""
        self.runtime.call("fovea_kernel_check", self.handle, ctypes.c_void_p(stream), *pack(arguments))

    def __call__(self, stream=0, **arguments):
        self.prepare(**arguments).run(stream)

    def __del__(self):
        if self.handle:
            self.runtime.lib.fovea_kernel_unload(self.handle)
