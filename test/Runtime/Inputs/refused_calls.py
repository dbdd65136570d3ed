"""Makes invalid calls to libFoveaRuntime and prints its answers.

    refused_calls.py RUNTIME INPUTS [PTX DRIVER]
"""

import copy
import ctypes
import json
import pathlib
import sys
from ctypes import POINTER, byref, c_char_p, c_double, c_float, c_int, c_int32, c_int64, c_size_t, c_uint64, c_void_p

library, inputs = sys.argv[1], pathlib.Path(sys.argv[2])
runtime = ctypes.CDLL(library)
runtime.fovea_last_error.restype = runtime.fovea_status_name.restype = c_char_p
IMAGE, METADATA = (inputs / "kernel.ptx").read_bytes(), json.loads((inputs / "kernel.json").read_text())
NULL, MANY = None, 1 << 62


class Tensor(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("data", c_uint64), ("dtype", c_int), ("rank", c_int32)]
    _fields_ += [("sizes", POINTER(c_int64)), ("strides", POINTER(c_int64))]


class Scalar(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("floating", c_double), ("integer", c_int64)]


class Embedded(ctypes.Structure):
    _fields_ = [("version", c_uint64), ("code", c_char_p), ("code_size", c_uint64)]
    _fields_ += [("metadata", c_char_p), ("metadata_size", c_uint64), ("state", c_void_p)]


def refused(name, *arguments):
    status = getattr(runtime, name)(*arguments)
    assert status, f"{name} succeeded"
    print(f"{name}: {runtime.fovea_status_name(status).decode()}: {runtime.fovea_last_error().decode()}")


def call(name, *arguments):
    status = getattr(runtime, name)(*arguments)
    assert status == 0, f"{name}: {runtime.fovea_last_error().decode()}"


def text(metadata):
    return metadata if isinstance(metadata, bytes) else json.dumps(metadata).encode()


def loading(metadata):
    """Arguments of fovea_kernel_load."""
    words = text(metadata)
    return device, IMAGE, c_size_t(len(IMAGE)), words, c_size_t(len(words)), byref(handle)


def edited(edit):
    metadata = copy.deepcopy(METADATA)
    edit(metadata)
    return metadata


def tensors(count=300, sizes=True, strides=None):
    """The tensors of the kernel, with `count` queries."""
    result = (Tensor * 5)()
    for slot, tensor in zip(result, METADATA["tensors"]):
        shape = [{"B": 2, "Hq": 8, "Hkv": 2, "Sq": count, "Skv": 128}.get(size, size) for size in tensor["shape"]]
        slot.name, slot.data, slot.rank = tensor["name"].encode(), 4096, len(shape)
        slot.dtype = {"bf16": 1, "f32": 2}[tensor["dtype"]]
        slot.sizes = (c_int64 * len(shape))(*shape) if sizes else None
        if strides and tensor["name"] == "q":
            slot.strides = (c_int64 * len(shape))(*strides)
    return result


def preparing(*names, **how):
    """The arguments of fovea_launch_prepare after the kernel."""
    scalars = (Scalar * len(names))(*((name, 1, 1) for name in names))
    return tensors(**how), c_size_t(5), scalars, c_size_t(len(names)), byref(launch)


def device_calls():
    refused("fovea_use_driver", NULL)
    refused("fovea_device_open", 0, NULL)
    refused("fovea_device_open", -7, byref(handle))
    refused("fovea_device_get_info", device, NULL)
    refused("fovea_memory_alloc", device, c_size_t(4), NULL)
    refused("fovea_memory_alloc_managed", device, c_size_t(4), NULL)
    refused("fovea_memory_alloc_managed", device, c_size_t(4), byref(handle))
    refused("fovea_memory_free", NULL, c_uint64(4096))
    refused("fovea_memory_write", device, c_uint64(0), b"text", c_size_t(4))
    refused("fovea_memory_read", device, NULL, c_uint64(4096), c_size_t(4))
    refused("fovea_memory_fill", device, c_uint64(0), 0, c_size_t(4))
    refused("fovea_stream_wait", NULL, NULL)
    refused("fovea_event_create", device, NULL)
    refused("fovea_event_record", NULL, NULL)
    refused("fovea_event_elapsed", NULL, NULL, byref(c_float()))


def metadata_edits():
    def tensor(**members):
        return lambda m: m["tensors"][0].update(members)

    def parameter(**members):
        return lambda m: m["parameters"][5].update(members)

    def grid(expression):
        return lambda m: m.update(grid=[expression, 1, 1])

    def scratches(m):
        m["parameters"] += [{"kind": "scratch", "name": f"s{n}", "bytes": 4} for n in range(33)]

    deep = "Sq"
    for _ in range(65):
        deep = ["+", deep, 1]
    helper = {"kernel": "p", "parameters": [], "grid": [1, 1, 1], "block": [1, 1, 1], "shared_memory": 0}
    return [
        b'{"version", "kernel"}',
        b'{"version": 1, "kernel": "\\u0041"}',
        edited(tensor(shape=["B", "Hq", "T", 64])),
        edited(tensor(shape=["B", "Hq", "Sq", 32])),
        edited(tensor(access="touch")),
        edited(lambda m: m["tensors"].append(3)),
        edited(lambda m: m["parameters"].append(3)),
        edited(lambda m: m["constraints"].append(3)),
        edited(lambda m: m.update(contents=[3])),
        edited(lambda m: m.update(prologue=[3])),
        edited(lambda m: m.update(prologue=[helper] * 33)),
        edited(parameter(type="i7")),
        edited(grid(deep)),
        edited(grid({})),
        edited(grid(["+", 1])),
        edited(scratches),
    ]


def kernel_calls():
    refused("fovea_kernel_load", NULL, *loading(METADATA)[1:])
    for metadata in metadata_edits():
        refused("fovea_kernel_load", *loading(metadata))
    call("fovea_kernel_load", *loading(METADATA))
    kernel = c_void_p(handle.value)
    refused("fovea_kernel_get_info", kernel, NULL)
    refused("fovea_launch_prepare", NULL, *preparing())
    refused("fovea_launch_prepare", kernel, *preparing(b"speed"))
    refused("fovea_launch_prepare", kernel, *preparing(b"scale", b"window", sizes=False))
    refused("fovea_launch_prepare", kernel, *preparing(b"scale", b"window", count=-3))
    refused("fovea_launch_run", NULL, NULL)
    refused("fovea_launch_run_at", NULL, NULL, NULL, c_size_t(0))
    refused("fovea_kernel_launch_packed", kernel, NULL, NULL, c_size_t(4))
    refused("fovea_kernel_prepare_packed", kernel, NULL, c_size_t(0), NULL)
    refused("fovea_embedded_call", NULL, NULL, c_uint64(0))
    embedded = Embedded(1, IMAGE, len(IMAGE), text(METADATA), len(text(METADATA)), None)
    refused("fovea_embedded_call", byref(embedded), NULL, c_uint64(len(words([0] * 5))))


def expressions():
    """Launches whose grid or sizes can't be computed from the sizes."""

    def grid(m):
        m["grid"][0] = ["floordiv", "B", ["floordiv", "Sq", 4096]]

    def scratch(m):
        m["parameters"].append({"kind": "scratch", "name": "s", "bytes": ["mod", "B", ["floordiv", "Sq", 4096]]})

    def stride(m):
        m["parameters"][7]["type"] = "i32"

    for edit, how in (grid, {}), (scratch, {}), (stride, {"strides": [2**41, 2**40, 64, 1]}):
        call("fovea_kernel_load", *loading(edited(edit)))
        refused("fovea_launch_prepare", c_void_p(handle.value), *preparing(b"scale", b"window", **how))


def words(addresses):
    """Packed arguments: of each tensor an address, far too many elements, strides of one; two scalars."""
    result = []
    for address, tensor in zip(addresses, METADATA["tensors"]):
        rank = len(tensor["shape"])
        result += [address, MANY // 2] + [1] * (rank - 1) + [1] * rank
    return (c_int64 * (len(result) + 2))(*result, 0, 0)


def staging(driver):
    """Tensors in host memory that are too large to be copied."""
    call("fovea_use_driver", driver.encode())
    declared = ", ".join(f".param .b{32 if one.get('type') in ('i32', 'f32') else 64} p{n}" for n, one in enumerate(METADATA["parameters"]))
    code = f".version 8.0 .target sm_80 .address_size 64 .visible .entry causal({declared}) {{ ret; }}".encode()
    embedded = Embedded(1, code, len(code), text(METADATA), len(text(METADATA)), None)
    given = words([ctypes.addressof(handle)] * 5)
    refused("fovea_embedded_call", byref(embedded), given, c_uint64(len(given)))


device, handle, launch = c_void_p(), c_void_p(), c_void_p()
if len(sys.argv) > 3:
    staging(sys.argv[3])
else:
    print(runtime.fovea_status_name(99).decode())
    call("fovea_device_open", 0, byref(device))
    device_calls()
    kernel_calls()
    expressions()
