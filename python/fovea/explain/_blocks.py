"""Block maps: visible pairs of each block, and whether the kernel processes it."""

from __future__ import annotations

import ctypes
import json
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Sequence, Tuple

from ..runtime._arrays import as_tensors, to_host
from ..compiler._kernel import Kernel, _options
from ..compiler._library import Context
from ..compiler._structs import BlockMapOptions
from ._gradients import has_key_tiles
from ._inputs import TENSORS, Input, Sizes

TRUTHS = ("none", "some", "all")
TREATMENTS = ("skipped", "masked", "plain")


@dataclass(frozen=True)
class BlockMap:
    """The blocks of one head of one sequence. ``block`` is the block size (queries, keys).

    ``rows`` holds a string for each query block, with a digit ``t + 3 * v`` for each key
    block: none (t = 0), some (1) or all (2) of its pairs are visible; the kernel skips it (v
    = 0), or processes it with the mask (1) or without it (2). ``visible_pairs`` is the number
    of visible pairs.
    """

    entry: int
    head: int
    queries: int
    keys: int
    visible_pairs: int
    rows: Tuple[str, ...]
    block: Tuple[int, int]

    def count(self) -> Dict[str, int]:
        """Counts blocks by visibility ("none", "some", "all") and by treatment ("skipped",
        "masked", "plain")."""
        result = dict.fromkeys(TRUTHS + TREATMENTS, 0)
        for row in self.rows:
            for code in map(int, row):
                result[TRUTHS[code % 3]] += 1
                result[TREATMENTS[code // 3]] += 1
        return result


def tensors_of(inputs: Sequence[Input], contents: Mapping[str, Any]) -> Tuple[Any, int, List[Any]]:
    """Contents as tensors of the C API, and objects that must outlive them."""
    named = [(entry.name, entry.dtype, to_host(entry.name, contents[entry.name], entry.dtype))
             for entry in inputs if entry.name in contents]
    tensors, keep = as_tensors(named)
    return tensors, len(named), keep


def kernel_block(kernel: Kernel) -> Tuple[int, int]:
    """The block size (queries, keys) of a kernel: a tile's rows and the columns of an
    iteration. The rows are keys in a kernel for dK and dV."""
    schedule = kernel.metadata["schedule"]
    rows, columns = schedule["tile_m"] * schedule.get("cluster", 1), schedule["tile_n"]
    return (columns, rows) if has_key_tiles(kernel) else (rows, columns)


def block_maps(kernel: Kernel, inputs: Sequence[Input], contents: Mapping[str, Any], sizes: Sizes) -> List[BlockMap]:
    """Maps of all sequences and heads that differ. Raises CompileError."""
    rows, columns = kernel_block(kernel)
    wanted = BlockMapOptions(
        ctypes.sizeof(BlockMapOptions), sizes.batch, sizes.heads, sizes.queries, sizes.keys, rows, columns,
        int(kernel.metadata["schedule"].get("classify", 0)), int(has_key_tiles(kernel)),
    )
    options = _options(kernel._options)
    others = [entry for entry in inputs if entry.name not in TENSORS]
    tensors, count, keep = tensors_of(others, contents)
    with Context() as context:
        module = context.parse(kernel._spec.located, kernel._spec.file)
        facts = json.loads(context.take(context.lib.foveaBlockMap(
            module, ctypes.byref(options), ctypes.byref(wanted), tensors, count
        )))
    del keep
    return [
        BlockMap(entry["entry"], entry["head"], entry["queries"], entry["keys"], entry["visible_pairs"],
                 tuple(entry["rows"]), (rows, columns))
        for entry in facts["maps"]
    ]
