"""Structs of the C interfaces of libFovea and libFoveaRuntime (fovea-c/Fovea.h, fovea_runtime.h)."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_double, c_float, c_int, c_int64, c_size_t, c_uint, c_uint64, c_void_p


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


__all__ = ["String", "CDiagnostic", "Options", "RunOptions", "BlockMapOptions", "ElementOptions", "Tensor", "DeviceInfo",
           "KernelInfo"]
