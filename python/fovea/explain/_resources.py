"""The resources of an SM that a kernel uses, and its least time by resource."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from ..runtime._gpus import Gpu
from ..runtime._dtypes import SIZES
from ..compiler._kernel import Kernel, find_ptxas
from ..compiler._library import Context
from ._blocks import BlockMap
from ._gradients import counted_flops, products_of_a_pair
from ._inputs import Input, Sizes
from ._timeline import product_of, tensor_label

Facts = Dict[str, Any]
_PTXAS = {
    "registers": r"Used (\d+) registers", "spill_stores": r"(\d+) bytes spill stores",
    "spill_loads": r"(\d+) bytes spill loads", "stack": r"(\d+) bytes stack frame", "barriers": r"used (\d+) barriers",
}


def ptxas_facts(kernel: Kernel) -> Optional[Facts]:
    """The output of ``ptxas -v`` for the kernel, and its machine code as ``code``; None if there
    is no ptxas."""
    program = find_ptxas()
    if program is None:
        return None
    with Context() as context:
        ptx = kernel.ptx.encode()
        code = context.take(context.lib.foveaAssemble(
            context.handle, ptx, len(ptx), kernel.target.encode(), program.encode()
        ))
        said = "\n".join(entry.message for entry in context.diagnostics())
    facts: Facts = {"bytes": len(code), "code": code}
    # The code also contains prologue and epilogue kernels.
    start = f"entry function '{kernel.name}'"
    own = said.partition(start)[2].partition("entry function")[0] if start in said else said
    for name, pattern in _PTXAS.items():
        found = re.search(pattern, own)
        if found:
            facts[name] = int(found[1])
    facts["warnings"] = [line.strip() for line in said.splitlines()
                         if "warning" in line.lower() or "serializ" in line.lower()]
    return facts


def _buffer_names(trace: Mapping[str, Any]) -> List[str]:
    """Names of shared buffers: the tensor that is copied to the buffer, else the operand of the
    products that read it."""
    names = [tensor_label(one["tensor"]) if one["tensor"] else "" for one in trace["buffers"]]
    for event in trace["events"]:
        if event[0] == "dot":
            kind = product_of(trace, event)[0]
            for number in event[8:10]:
                if number >= 0 and not names[number]:
                    names[number] = {"dv": "P", "pv": "P", "dk": "dS", "dq": "dS"}.get(kind, "")
    # Kernels of gradients copy statistics of each query.
    for number, one in enumerate(trace["buffers"]):
        if not names[number]:
            names[number] = "row statistics" if one["shape"][-2:-1] == [1] else f"buffer {number}"
    return names


def shared_memory(kernel: Kernel, trace: Mapping[str, Any]) -> List[Facts]:
    """Shared memory by buffer, in the order of addresses."""
    parts: List[Facts] = []
    for name, buffer in zip(_buffer_names(trace), trace["buffers"]):
        shape = buffer["shape"]
        stages = f"{shape[0]} stages of " if len(shape) == 3 and shape[0] > 1 else ""
        extents = " x ".join(map(str, shape[-2:]))
        parts.append({"name": name, "what": stages + extents,
                      "bytes": buffer["bytes"], "offset": buffer["offset"] or 0})
    rest = kernel.metadata["shared_memory"] - sum(part["bytes"] for part in parts)
    if rest > 0:
        parts.append({"name": "barriers", "what": "barriers, scalars broadcast among warps, padding", "bytes": rest, "offset": 1 << 30})
    return sorted(parts, key=lambda part: part["offset"])


@dataclass(frozen=True)
class Copies:
    """The number of query heads, key heads and batch entries that share a map: all that the
    mask does not distinguish."""

    heads: int
    kv_heads: int
    batch: int


def copies_of(maps: Sequence[BlockMap], sizes: Sizes, is_packed: bool) -> Copies:
    """The heads and batch entries that share each map."""
    entries, heads = len({m.entry for m in maps}), len({m.head for m in maps})
    return Copies(sizes.heads // heads, sizes.kv_heads if heads == 1 else 1,
                  1 if is_packed or entries > sizes.batch else sizes.batch // entries)


def processed_rows(maps: Sequence[BlockMap], sizes: Sizes, copies: Copies) -> Tuple[int, int]:
    """The number of rows of Q, and of K or V, in processed blocks. Each row counts once: query
    heads of a group share the rows of their key head."""
    queries = keys = 0
    read: Dict[Tuple[int, int], Set[int]] = {}
    for m in maps:
        rows, columns = m.block
        own = read.setdefault((m.entry, m.head * sizes.kv_heads // sizes.heads), set())
        for number, row in enumerate(m.rows):
            processed = {column for column, code in enumerate(row) if code not in "012"}
            queries += min(rows, m.queries - number * rows) if processed else 0
            keys += sum(min(columns, m.keys - column * columns) for column in processed - own)
            own |= processed
    return queries * copies.heads * copies.batch, keys * copies.kv_heads * copies.batch


def tensor_bytes(kernel: Kernel, inputs: Sequence[Input], sizes: Sizes, processed: Tuple[int, int]) -> int:
    """Bytes of the operands' rows in processed blocks, and of all outputs, each counted once."""
    queries, keys = processed
    entries = {entry.name: entry for entry in inputs}
    rows = {"q": queries, "do": queries, "k": keys, "v": keys}
    total = sum(count * (entries[name].shape[3] or 0) * SIZES[entries[name].dtype] for name, count in rows.items() if name in entries)
    of_queries, of_keys = sizes.batch * sizes.heads * sizes.queries, sizes.batch * sizes.kv_heads * sizes.keys
    written = {"o": (of_queries, "v"), "dq": (of_queries, "q"), "dk": (of_keys, "k"), "dv": (of_keys, "v")}
    for tensor in kernel.metadata["tensors"]:
        if tensor["access"] != "read" and tensor["name"] in written:
            count, like = written[tensor["name"]]
            total += count * (entries[like].shape[3] or 0) * SIZES[tensor["dtype"]]
    # LSE, and delta of kernels of gradients.
    statistics = 2 if "do" in entries else sum(tensor["name"] == "lse" for tensor in kernel.metadata["tensors"])
    return total + of_queries * 4 * statistics


def evaluate(expression: Any, sizes: Mapping[str, int]) -> Optional[int]:
    """Evaluates an expression of the metadata (docs/Specification/ABI.md); None if a size is unknown."""
    if isinstance(expression, int):
        return expression
    if isinstance(expression, str):
        return sizes.get(expression)
    name, left, right = expression[0], evaluate(expression[1], sizes), evaluate(expression[2], sizes)
    if left is None or right is None:
        return None
    return {"+": lambda: left + right, "*": lambda: left * right, "floordiv": lambda: left // right,
            "ceildiv": lambda: -(-left // right), "mod": lambda: left % right}[name]()


def waves(kernel: Kernel, sizes: Sizes, contents: Mapping[str, Any], gpu: Gpu) -> Optional[Facts]:
    """The number of tiles (CTAs), and of waves on the GPU. `share` is the share of SMs with a
    CTA, `most` its maximum, which clusters limit. None if the grid depends on unknown sizes."""
    known = {"B": sizes.batch, "Hq": sizes.heads, "Hkv": sizes.kv_heads, "Sq": sizes.queries, "Skv": sizes.keys}
    for name, array in contents.items():
        known.update({f"{name}.{dim}": size for dim, size in enumerate(getattr(array, "shape", ()))})
    grid = [evaluate(one, known) for one in kernel.metadata["grid"]]
    if any(one is None for one in grid):
        return None
    cluster = kernel.metadata["cluster"][0]
    blocks = -(-math.prod(one for one in grid if one is not None) // cluster) * cluster
    places = gpu.multiprocessors // cluster * cluster
    together = int(kernel.metadata["schedule"].get("min_blocks", 1))
    used = min(blocks, places)
    return {"blocks": blocks, "waves": -(-blocks // (places * together)), "used": used,
            "multiprocessors": gpu.multiprocessors, "share": used / gpu.multiprocessors, "most": places / gpu.multiprocessors}


def bounds(kernel: Kernel, inputs: Sequence[Input], sizes: Sizes, maps: Sequence[BlockMap], trace: Mapping[str, Any],
           gpu: Gpu, spread: Optional[Facts]) -> Facts:
    """Least times by resource in seconds, and the numbers that they follow from. `trace` gives
    the operations per score, `spread`, from `waves`, the SMs in use."""
    shapes = {entry.name: entry.shape for entry in inputs}
    counted, traced = operations_of_a_score(trace), {product_of(trace, event)[0] for event in trace["events"] if event[0] == "dot"}
    products = products_of_a_pair(kernel, inputs, traced)
    depth = {"D": shapes["q"][3] or 0, "Dv": shapes["v"][3] or 0}
    dims = sum(depth[name] for name in products.values())
    copies = copies_of(maps, sizes, "cu_q" in shapes)
    repeats = copies.heads * copies.batch
    visible = repeats * sum(m.visible_pairs for m in maps)
    processed = repeats * sum((len(row) - sum(row.count(code) for code in "012")) * m.block[0] * m.block[1]
                          for m in maps for row in m.rows)
    moved = tensor_bytes(kernel, inputs, sizes, processed_rows(maps, sizes, copies))
    share = spread["share"] if spread else 1.0
    flops, performed = 2.0 * dims * visible, 2.0 * dims * processed
    return {
        "flops": flops, "performed": performed, "bytes": moved, "intensity": flops / max(moved, 1),
        "visible_pairs": visible, "processed_pairs": processed, "counted": counted_flops(products),
        **counted, "waves": spread,
        "times": {
            "tensor cores": performed / (gpu.tensor_rate * share),
            "special functions": processed * counted["special"] / (gpu.special_rate * share),
            "FP32/integer ALU": processed * counted["ordinary"] / (gpu.ordinary_rate * share),
            "memory": moved / gpu.memory,
        },
        "useful": flops / gpu.tensor_rate,
    }


def operations_of_a_score(trace: Mapping[str, Any]) -> Facts:
    """Operations of each unit per score, counted in the trace."""
    scores = ordinary = special = 0
    for event in trace["events"]:
        if event[0] == "dot" and product_of(trace, event)[0] == "qk":
            scores += event[3] * event[4]
        elif event[0] == "compute":
            ordinary, special = ordinary + event[2], special + event[3]
    return {"ordinary": ordinary / max(scores, 1), "special": special / max(scores, 1)}
