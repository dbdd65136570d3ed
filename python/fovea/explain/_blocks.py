"""Which blocks of queries and keys a mask shows, and which a kernel visits."""

from __future__ import annotations

import ctypes
import json
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Sequence, Tuple

from .._arrays import as_tensors, to_host
from .._kernel import Kernel, _options
from .._library import BlockMapOptions, Context
from ._gradients import has_key_tiles
from ._inputs import TENSORS, Input, Sizes

TRUTHS = ("none", "some", "all")
VISITS = ("skipped", "masked", "plain")


@dataclass(frozen=True)
class BlockMap:
    """One head of one sequence, in blocks of ``block`` queries and keys.

    ``rows`` holds a text for each block of queries, with a digit ``t + 3 * v`` for
    each block of keys: the mask shows none (t = 0), some (1) or all (2) of its
    pairs of a query and a key; the kernel skips it (v = 0), visits it with the
    mask's arithmetic (1) or without (2). ``visible_pairs`` counts pairs.
    """

    entry: int
    head: int
    queries: int
    keys: int
    visible_pairs: int
    rows: Tuple[str, ...]
    block: Tuple[int, int]

    def count(self) -> Dict[str, int]:
        """Blocks by what is true of them ("none", "some", "all") and by what is
        done with them ("skipped", "masked", "plain")."""
        result = dict.fromkeys(TRUTHS + VISITS, 0)
        for row in self.rows:
            for code in map(int, row):
                result[TRUTHS[code % 3]] += 1
                result[VISITS[code // 3]] += 1
        return result


def tensors_of(inputs: Sequence[Input], contents: Mapping[str, Any]) -> Tuple[Any, int, List[Any]]:
    """Contents as the C API takes them, and what must outlive them."""
    named = [(entry.name, entry.dtype, to_host(entry.name, contents[entry.name], entry.dtype))
             for entry in inputs if entry.name in contents]
    tensors, keep = as_tensors(named)
    return tensors, len(named), keep


def kernel_block(kernel: Kernel) -> Tuple[int, int]:
    """Queries and keys of a block that the kernel visits: a tile's rows, and the columns of
    an iteration; the rows are keys in a kernel of gradients by these."""
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
