"""libFovea, libFoveaRuntime and libFoveaPTXDriver through ctypes. Loaded at first use."""

from __future__ import annotations

import ctypes
import os
import pathlib
import threading
from ctypes import POINTER, c_char_p, c_double, c_float, c_int, c_int64, c_size_t, c_uint, c_uint64, c_void_p
from typing import Any, List, Optional, Tuple

from .errors import CompileError, Diagnostic, Error, LaunchError

SEVERITIES = ("error", "warning", "remark", "note")


class String(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("size", c_size_t)]

    def bytes(self) -> bytes:
        return ctypes.string_at(self.data, self.size) if self.size else b""

    def text(self) -> str:
        return self.bytes().decode(errors="replace")


class CDiagnostic(ctypes.Structure):
    pass


CDiagnostic._fields_ = [
    ("severity", c_int), ("message", String), ("file", String), ("line", c_uint), ("column", c_uint),
    ("notes", POINTER(CDiagnostic)), ("num_notes", c_size_t),
]


class Options(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t), ("target", c_char_p), ("schedule", c_char_p), ("recurrence", c_char_p),
        ("kernel", c_char_p), ("accurate_tanh", c_int), ("schedule_table", c_char_p), ("line_info", c_int),
    ]


class RunOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("level", c_int), ("exact", c_int), ("seed", c_uint64)]


class BlockMapOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t)] + [
        (field, c_int64) for field in ("batch", "heads", "queries", "keys", "rows", "columns")
    ] + [("classify", c_int), ("has_key_tiles", c_int64)]


class ElementOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t)] + [
        (field, c_int64) for field in ("batch", "heads", "queries", "keys", "entry", "head", "first", "rows")
    ] + [("scores", POINTER(c_double)), ("num_scores", c_size_t)]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p), ("dtype", c_char_p), ("data", c_void_p), ("rank", c_size_t),
        ("sizes", POINTER(c_int64)),
    ]


class DeviceInfo(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char * 128)] + [
        (field, c_int)
        for field in ("number", "multiprocessors", "major", "minor", "max_shared_memory", "driver_version")
    ]


class KernelInfo(ctypes.Structure):
    _fields_ = [("name", c_char_p)] + [
        (field, c_int)
        for field in ("registers", "local_memory", "threads", "shared_memory", "blocks_per_multiprocessor")
    ]


# Result and argument types; null pointers come back as None.
COMPILER_FUNCTIONS = {
    "foveaVersion": (c_char_p, []),
    "foveaTargetName": (c_char_p, [c_size_t]),
    "foveaContextCreate": (c_void_p, []),
    "foveaContextDestroy": (None, [c_void_p]),
    "foveaContextDiagnostics": (POINTER(CDiagnostic), [c_void_p, POINTER(c_size_t)]),
    "foveaModuleParse": (c_void_p, [c_void_p, c_char_p, c_size_t, c_char_p]),
    "foveaModuleDestroy": (None, [c_void_p]),
    "foveaModuleVerify": (c_int, [c_void_p]),
    "foveaModuleRunPipeline": (c_int, [c_void_p, c_char_p]),
    "foveaModulePrint": (c_void_p, [c_void_p]),
    "foveaBufferString": (String, [c_void_p]),
    "foveaBufferDestroy": (None, [c_void_p]),
    "foveaCompile": (c_void_p, [c_void_p, POINTER(Options)]),
    "foveaKernelDestroy": (None, [c_void_p]),
    "foveaKernelName": (String, [c_void_p]),
    "foveaKernelPTX": (String, [c_void_p]),
    "foveaKernelMetadata": (String, [c_void_p]),
    "foveaEmit": (c_void_p, [c_void_p, POINTER(Options), c_int]),
    "foveaAssemble": (c_void_p, [c_void_p, c_char_p, c_size_t, c_char_p, c_char_p]),
    "foveaSmallerSchedules": (c_void_p, [c_void_p, c_char_p, c_size_t]),
    "foveaModuleSignature": (c_void_p, [c_void_p, POINTER(Options)]),
    "foveaInterpret": (c_void_p, [c_void_p, POINTER(Options), POINTER(RunOptions), POINTER(Tensor), c_size_t]),
    "foveaBlockMap": (
        c_void_p, [c_void_p, POINTER(Options), POINTER(BlockMapOptions), POINTER(Tensor), c_size_t]
    ),
    "foveaExplain": (c_void_p, [c_void_p, POINTER(Options)]),
    "foveaElements": (
        c_void_p, [c_void_p, POINTER(Options), POINTER(ElementOptions), POINTER(Tensor), c_size_t]
    ),
    "foveaTrace": (c_void_p, [c_void_p, POINTER(Options), POINTER(Tensor), c_size_t, c_size_t]),
    "foveaTensorsCount": (c_size_t, [c_void_p]),
    "foveaTensorsGet": (c_int, [c_void_p, c_size_t, POINTER(Tensor)]),
    "foveaTensorsDestroy": (None, [c_void_p]),
}

RUNTIME_FUNCTIONS = {
    "fovea_status_name": (c_char_p, [c_int]),
    "fovea_last_error": (c_char_p, []),
    "fovea_device_open": (c_int, [c_int, POINTER(c_void_p)]),
    "fovea_device_open_on": (c_int, [c_char_p, c_int, POINTER(c_void_p)]),
    "fovea_device_close": (None, [c_void_p]),
    "fovea_device_get_info": (c_int, [c_void_p, POINTER(DeviceInfo)]),
    "fovea_kernel_load": (c_int, [c_void_p, c_char_p, c_size_t, c_char_p, c_size_t, POINTER(c_void_p)]),
    "fovea_kernel_unload": (None, [c_void_p]),
    "fovea_kernel_get_info": (c_int, [c_void_p, POINTER(KernelInfo)]),
    "fovea_kernel_tensor_name": (c_char_p, [c_void_p, c_int]),
    "fovea_kernel_scalar_name": (c_char_p, [c_void_p, c_int]),
    "fovea_kernel_launch_packed": (c_int, [c_void_p, c_void_p, c_char_p, c_size_t]),
    "fovea_kernel_prepare_packed": (c_int, [c_void_p, c_char_p, c_size_t, POINTER(c_void_p)]),
    "fovea_launch_run_at": (c_int, [c_void_p, c_void_p, c_char_p, c_size_t]),
    "fovea_launch_free": (None, [c_void_p]),
    "fovea_kernel_check_packed": (c_int, [c_void_p, c_void_p, c_char_p, c_size_t]),
    "fovea_stream_wait": (c_int, [c_void_p, c_void_p]),
    "fovea_memory_alloc": (c_int, [c_void_p, c_size_t, POINTER(c_uint64)]),
    "fovea_memory_free": (c_int, [c_void_p, c_uint64]),
    "fovea_memory_write": (c_int, [c_void_p, c_uint64, c_void_p, c_size_t]),
    "fovea_memory_read": (c_int, [c_void_p, c_void_p, c_uint64, c_size_t]),
    "fovea_event_create": (c_int, [c_void_p, POINTER(c_void_p)]),
    "fovea_event_free": (None, [c_void_p]),
    "fovea_event_record": (c_int, [c_void_p, c_void_p]),
    "fovea_event_elapsed": (c_int, [c_void_p, c_void_p, POINTER(c_float)]),
}

EMULATOR_FUNCTIONS = {"foveaPTXDriverSet": (c_int, [c_char_p, c_uint64])}

_lock = threading.Lock()
_loaded: dict = {}


def find(name: str) -> pathlib.Path:
    """Where a library is: in the installed package; in a source tree, in its
    build folder; FOVEA_LIBRARY_PATH, a folder, goes before both."""
    package = pathlib.Path(__file__).resolve().parent
    folders = [package / "lib", package.parents[1] / "build" / "lib", package.parents[1] / "build-portable" / "lib"]
    if os.environ.get("FOVEA_LIBRARY_PATH"):
        folders.insert(0, pathlib.Path(os.environ["FOVEA_LIBRARY_PATH"]))
    for folder in folders:
        if (folder / name).exists():
            return folder / name
    raise Error(f"{name} is in none of {', '.join(map(str, folders))}: 'make build' makes it in a source tree")


def _load(name: str, functions: dict) -> Any:
    with _lock:
        if name not in _loaded:
            library = ctypes.CDLL(str(find(name)))
            for function, (result, arguments) in functions.items():
                getattr(library, function).restype = result
                getattr(library, function).argtypes = arguments
            _loaded[name] = library
        return _loaded[name]


def compiler() -> Any:
    """libFovea."""
    return _loaded.get("libFovea.so") or _load("libFovea.so", COMPILER_FUNCTIONS)


def runtime() -> Any:
    """libFoveaRuntime."""
    return _loaded.get("libFoveaRuntime.so") or _load("libFoveaRuntime.so", RUNTIME_FUNCTIONS)


def emulator() -> Any:
    """libFoveaPTXDriver, for what it has beyond a driver's functions."""
    return _loaded.get("libFoveaPTXDriver.so") or _load("libFoveaPTXDriver.so", EMULATOR_FUNCTIONS)


def check(status: int) -> None:
    """Raises what a call of the runtime says is wrong."""
    if status:
        library = runtime()
        raise LaunchError(
            library.fovea_status_name(status).decode(), library.fovea_last_error().decode(errors="replace")
        )


def _diagnostic(source: CDiagnostic) -> Diagnostic:
    return Diagnostic(
        SEVERITIES[source.severity], source.message.text(), source.file.text(), source.line, source.column,
        tuple(_diagnostic(source.notes[i]) for i in range(source.num_notes)),
    )


class Context:
    """One call's worth of the compiler: a context, a module, what goes wrong.

    Contexts are cheap beside what happens in them, and one for each call makes
    every call thread-safe.
    """

    def __init__(self) -> None:
        self.lib = compiler()
        self.handle = self.lib.foveaContextCreate()
        if not self.handle:
            raise MemoryError("no memory for a compiler context")
        self.modules: List[int] = []

    def __enter__(self) -> "Context":
        return self

    def __exit__(self, *exception: Any) -> None:
        for module in self.modules:
            self.lib.foveaModuleDestroy(module)
        self.lib.foveaContextDestroy(self.handle)

    def diagnostics(self) -> Tuple[Diagnostic, ...]:
        count = c_size_t()
        array = self.lib.foveaContextDiagnostics(self.handle, ctypes.byref(count))
        return tuple(_diagnostic(array[i]) for i in range(count.value))

    def check(self, result: Any) -> Any:
        """`result`, unless it is the null of a call that failed."""
        if result is None:
            raise CompileError(self.diagnostics())
        return result

    def parse(self, text: str, name: str) -> int:
        source = text.encode()
        module = self.check(self.lib.foveaModuleParse(self.handle, source, len(source), name.encode()))
        self.modules.append(module)
        return module

    def take_tensors(self, tensors: Optional[int]) -> List[Tuple[str, Any]]:
        """Copies of tensors, with their names; the tensors are destroyed."""
        from ._arrays import from_tensor

        self.check(tensors)
        try:
            result: List[Tuple[str, Any]] = []
            for index in range(self.lib.foveaTensorsCount(tensors)):
                tensor = Tensor()
                self.lib.foveaTensorsGet(tensors, index, ctypes.byref(tensor))
                result.append((tensor.name.decode(), from_tensor(tensor)))
            return result
        finally:
            self.lib.foveaTensorsDestroy(tensors)

    def take(self, buffer: Optional[int]) -> bytes:
        """A buffer's contents; the buffer is destroyed."""
        self.check(buffer)
        try:
            return self.lib.foveaBufferString(buffer).bytes()
        finally:
            self.lib.foveaBufferDestroy(buffer)
