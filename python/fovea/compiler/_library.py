"""ctypes bindings of libFovea, libFoveaRuntime and libFoveaPTXDriver, loaded at first use."""

from __future__ import annotations

import ctypes
import os
import pathlib
import threading
from ctypes import POINTER, c_char_p, c_float, c_int, c_size_t, c_uint64, c_void_p
from typing import Any, List, Optional, Tuple

from .._files import PACKAGE
from ..errors import CompileError, Diagnostic, Error, LaunchError
from ..runtime._arrays import from_tensor
from ._structs import (
    BlockMapOptions, CDiagnostic, DeviceInfo, ElementOptions, KernelInfo, Options, RunOptions, String, Tensor,
)

SEVERITIES = ("error", "warning", "remark", "note")


# Result and argument types. ctypes returns null pointers as None.
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
    "fovea_launch_scratch_bytes": (c_size_t, [c_void_p]),
    "fovea_launch_run_with": (c_int, [c_void_p, c_void_p, c_char_p, c_size_t, c_uint64]),
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
    """The path of a library: in the folder FOVEA_LIBRARY_PATH, in the installed package, or in
    the build folder of a source tree."""
    package = pathlib.Path(PACKAGE).resolve()
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
    """libFoveaPTXDriver, for its functions that the CUDA driver does not have."""
    return _loaded.get("libFoveaPTXDriver.so") or _load("libFoveaPTXDriver.so", EMULATOR_FUNCTIONS)


def check(status: int) -> None:
    """Raises LaunchError for an error status of the runtime."""
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
    """A context of the compiler with its modules and diagnostics, for one call.

    Creating a context is cheap compared with compiling, and a context per call makes calls
    thread-safe.
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
        """Returns `result`; raises CompileError if it is null."""
        if result is None:
            raise CompileError(self.diagnostics())
        return result

    def parse(self, text: str, name: str) -> int:
        source = text.encode()
        module = self.check(self.lib.foveaModuleParse(self.handle, source, len(source), name.encode()))
        self.modules.append(module)
        return module

    def take_tensors(self, tensors: Optional[int]) -> List[Tuple[str, Any]]:
        """Copies tensors with their names, and destroys the originals."""
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
        """Copies a buffer's contents, and destroys the buffer."""
        self.check(buffer)
        try:
            return self.lib.foveaBufferString(buffer).bytes()
        finally:
            self.lib.foveaBufferDestroy(buffer)
