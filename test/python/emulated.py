"""A runtime for test/GPU on the PTX emulator (lib/PTX/README.md), for PyTorch tensors in host memory: their
storage is copied to the emulated device and back."""

import ctypes
import json
import pathlib
import re

import numpy

from fovea.runtime import _emulator, _launch
from fovea.runtime._memory import DeviceMemory


def storage(tensor):
    """All bytes of a tensor's storage, without a copy."""
    whole = tensor.untyped_storage()
    bytes_of = (ctypes.c_uint8 * max(whole.nbytes(), 1)).from_address(whole.data_ptr() or ctypes.addressof(ctypes.c_uint8()))
    return numpy.frombuffer(bytes_of, numpy.uint8)[:whole.nbytes()]


class Kernel:
    def __init__(self, ptx, metadata):
        self.ptx, self.metadata_bytes, self.metadata = ptx, metadata, json.loads(metadata)
        self.types = {tensor["name"]: tensor["dtype"] for tensor in self.metadata["tensors"]}

    def __call__(self, stream, **arguments):
        device = _emulator._open(int(re.match(r"sm_(\d+)", self.metadata["target"])[1]))
        kernel = _launch.LoadedKernel(self.ptx, self.metadata_bytes, self.metadata, 0, device)
        with DeviceMemory(device) as memory:
            given, kept = dict(arguments), []
            for name, tensor in arguments.items():
                if name in self.types:
                    whole = storage(tensor)
                    there = memory.allocate(whole, "i8")
                    memory.write(there, whole)
                    address = there.address + tensor.storage_offset() * tensor.element_size()
                    given[name] = _launch.DeviceTensor(address, tuple(tensor.shape), self.types[name], tensor.stride())
                    kept.append((there, whole))
            kernel.launch_named(0, given)
            for there, whole in kept:
                memory.read(there, whole)


class Runtime:
    def load(self, image, metadata):
        return Kernel(pathlib.Path(image).read_bytes(), pathlib.Path(metadata).read_bytes())
