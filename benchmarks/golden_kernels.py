"""Launches external kernels, for example hand-written ones for sm_90a, to compare them with the
compiler's: ``benchmarks/forward.py --golden FOLDER``. The repository contains none.

A folder has NAME.cubin and NAME.json for each kernel. They are forward kernels in bf16 with equal
head dims, without grouped heads, full or causal (aligned to the bottom right). Parameters, in
order: tensor maps of Q, K and V; pointers to O, LSE and two zeroed words (the work counter, which a
launch leaves at zero); scale * log2(e); the sizes Sq, Skv, H, B; the number of tiles and of heads
in an L2 section of the work order; and O's strides of row, head and batch in elements.
"""

import ctypes
import dataclasses
import json
import math
import pathlib

# CUtensorMapDataType etc. of cuda.h.
BFLOAT16, NO_INTERLEAVE, SWIZZLE_128B, L2_PROMOTION_128B, FILL_ZERO = 9, 0, 3, 2, 0
MAX_DYNAMIC_SHARED_SIZE_BYTES = 8
NUM_REGS, LOCAL_SIZE_BYTES = 4, 3
BOX_COLUMNS = 64  # 128 bytes: one swizzled panel
ENTRY = b"fwd"


@dataclasses.dataclass(frozen=True)
class Facts:
    """The properties of a kernel that a launch needs."""

    name: str
    head_dim: int
    causal: bool
    tile_rows: int
    box_rows: int
    cluster: int
    persistent: bool
    threads: int
    shared_memory: int

    @staticmethod
    def parse(text):
        """Parses the JSON of a cubin; raises ValueError."""
        try:
            values = json.loads(text)
            return Facts(
                str(values["name"]), int(values["d"]), bool(values["causal"]), int(values["m"]), int(values["kvbox"]),
                int(values.get("cluster", 1)), values["sched"] != "none", int(values["threads"]), int(values["smem"]),
            )  # fmt: skip
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"not the description of a kernel: {error!r}") from None

    def tiles(self, batch, heads, queries):
        """Tiles of query rows; a cluster's CTAs take neighbours of one head."""
        tiles = -(-queries // self.tile_rows)
        return -(-tiles // self.cluster) * self.cluster * batch * heads

    def grid(self, tiles, multiprocessors):
        return min(tiles, multiprocessors) if self.persistent else tiles


def heads_per_section(batch, heads, keys, head_dim):
    """The number of (batch, head) pairs in an L2 section, within which a causal kernel processes
    its longest tiles first: as many as keep K and V in 32 MiB of L2, but at least 8, or 16 if they
    fit in 64 MiB, so that concurrent tiles share a head's K and V.
    """

    def fitting(mebibytes):
        most = max(1, (mebibytes << 20) // (keys * head_dim * 4))
        return 1 << (most.bit_length() - 1)

    return min(max(fitting(32), 8, min(16, fitting(64))), batch * heads)


def read_folder(folder):
    """The cubins in a folder with their Facts, by name."""
    result = {}
    for image in sorted(pathlib.Path(folder).glob("*.cubin")):
        facts = Facts.parse(image.with_suffix(".json").read_text())
        result[facts.name] = image, facts
    return result


class Driver:
    """The CUDA driver, as far as needed, in the thread's current context."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")

    def call(self, function, *arguments):
        status = getattr(self.library, function)(*arguments)
        if status:
            text = ctypes.c_char_p()
            self.library.cuGetErrorString(status, ctypes.byref(text))
            raise RuntimeError(f"{function}: {(text.value or b'unknown error').decode()}")

    def tensor_map(self, tensor, rows):
        """The map of a (B, S, H, D) view, boxes of 64 columns and `rows` rows
        of one head. Returns an object that owns the 64-byte aligned memory,
        and its address."""
        owner = ctypes.create_string_buffer(128 + 64)
        address = (ctypes.addressof(owner) + 63) // 64 * 64
        batch, length, heads, head_dim = tensor.shape
        sizes = (ctypes.c_uint64 * 4)(head_dim, length, heads, batch)
        strides = (ctypes.c_uint64 * 3)(*(tensor.stride(dim) * tensor.element_size() for dim in (1, 2, 0)))
        box, steps = (ctypes.c_uint32 * 4)(BOX_COLUMNS, rows, 1, 1), (ctypes.c_uint32 * 4)(1, 1, 1, 1)
        self.call(
            "cuTensorMapEncodeTiled", ctypes.c_void_p(address), BFLOAT16, 4, ctypes.c_void_p(tensor.data_ptr()), sizes,
            strides, box, steps, NO_INTERLEAVE, SWIZZLE_128B, L2_PROMOTION_128B, FILL_ZERO,
        )  # fmt: skip
        return owner, address


class GoldenKernel:
    """A loaded kernel."""

    def __init__(self, torch, image, facts):
        self.torch, self.facts, self.driver = torch, facts, Driver()
        self.module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        self.driver.call("cuModuleLoadData", ctypes.byref(self.module), pathlib.Path(image).read_bytes())
        self.driver.call("cuModuleGetFunction", ctypes.byref(self.function), self.module, ENTRY)
        self.driver.call("cuFuncSetAttribute", self.function, MAX_DYNAMIC_SHARED_SIZE_BYTES, facts.shared_memory)
        self.counter = torch.zeros(2, dtype=torch.int32, device="cuda")
        self.multiprocessors = torch.cuda.get_device_properties(0).multi_processor_count

    def info(self):
        """Like fovea_runtime.Kernel.info, as far as the driver knows."""
        values = {}
        for name, attribute in (("registers", NUM_REGS), ("local_memory", LOCAL_SIZE_BYTES)):
            value = ctypes.c_int()
            self.driver.call("cuFuncGetAttribute", ctypes.byref(value), attribute, self.function)
            values[name] = value.value
        return {**values, "threads": self.facts.threads, "shared_memory": self.facts.shared_memory}

    def prepare(self, q, k, v, o, lse):
        """A launch on views (B, S, H, D), LSE (B, H, S); call it to run it on
        the current stream. Tensor maps and arguments are made here, once."""
        facts = self.facts
        batch, queries, heads, head_dim = q.shape
        if head_dim != facts.head_dim or k.shape[2] != heads:
            raise RuntimeError(f"{facts.name} takes head dim {facts.head_dim} and as many K as Q heads, found {head_dim}")
        tiles = facts.tiles(batch, heads, queries)
        section = heads_per_section(batch, heads, k.shape[1], head_dim)
        maps = [
            self.driver.tensor_map(tensor, rows)
            for tensor, rows in ((q, facts.tile_rows), (k, facts.box_rows), (v, facts.box_rows))
        ]
        values = [ctypes.c_void_p(tensor.data_ptr()) for tensor in (o, lse, self.counter)]
        values.append(ctypes.c_float(math.log2(math.e) / math.sqrt(head_dim)))
        values += [ctypes.c_int(value) for value in (queries, k.shape[1], heads, batch, tiles, section)]
        values += [ctypes.c_int64(o.stride(dim)) for dim in (1, 2, 0)]
        addresses = [address for _, address in maps] + [ctypes.addressof(value) for value in values]
        parameters = (ctypes.c_void_p * len(addresses))(*addresses)
        grid = facts.grid(tiles, self.multiprocessors)
        keep = maps, values, q, k, v, o, lse

        def launch(keep=keep):
            stream = ctypes.c_void_p(self.torch.cuda.current_stream().cuda_stream)
            self.driver.call(
                "cuLaunchKernel", self.function, grid, 1, 1, facts.threads, 1, 1, facts.shared_memory, stream, parameters,
                None,
            )  # fmt: skip

        return launch
