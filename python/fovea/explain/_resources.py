"""What a kernel takes of a multiprocessor, and how long it must take at least."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Mapping, Optional, Sequence

from .._chips import Chip
from .._dtypes import SIZES
from .._kernel import Kernel, find_ptxas
from .._library import Context
from ..errors import CompileError
from ._blocks import BlockMap
from ._inputs import Input, Sizes

Facts = Dict[str, Any]
_PTXAS = {
    "registers": r"Used (\d+) registers", "spill_stores": r"(\d+) bytes spill stores",
    "spill_loads": r"(\d+) bytes spill loads", "stack": r"(\d+) bytes stack frame", "barriers": r"used (\d+) barriers",
}


def ptxas_facts(kernel: Kernel) -> Optional[Facts]:
    """What ``ptxas -v`` says of the kernel; None without a ptxas."""
    program = find_ptxas()
    if program is None:
        return None
    with Context() as context:
        ptx = kernel.ptx.encode()
        code = context.take(context.lib.foveaAssemble(
            context.handle, ptx, len(ptx), kernel.target.encode(), program.encode()
        ))
        said = "\n".join(entry.message for entry in context.diagnostics())
    facts: Facts = {"bytes": len(code)}
    # A prologue's kernels are in the same code.
    start = f"entry function '{kernel.name}'"
    own = said.partition(start)[2].partition("entry function")[0] if start in said else said
    for name, pattern in _PTXAS.items():
        found = re.search(pattern, own)
        if found:
            facts[name] = int(found[1])
    facts["warnings"] = [line.strip() for line in said.splitlines()
                         if "warning" in line.lower() or "serializ" in line.lower()]
    return facts


def shared_memory(kernel: Kernel, trace: Mapping[str, Any]) -> List[Facts]:
    """Shared memory by buffer, in the order of addresses."""
    parts: List[Facts] = []
    for number, buffer in enumerate(trace["buffers"]):
        shape = buffer["shape"]
        stages = f"{shape[0]} stages of " if len(shape) == 3 and shape[0] > 1 else ""
        extents = " x ".join(map(str, shape[-2:]))
        parts.append({"name": (buffer["tensor"] or f"buffer {number}").upper(), "what": stages + extents,
                      "bytes": buffer["bytes"], "offset": buffer["offset"] or 0})
    rest = kernel.metadata["shared_memory"] - sum(part["bytes"] for part in parts)
    if rest > 0:
        parts.append({"name": "barriers", "what": "barriers, mailboxes, padding", "bytes": rest, "offset": 1 << 30})
    return sorted(parts, key=lambda part: part["offset"])


def tensor_bytes(inputs: Sequence[Input], sizes: Sizes, value_dim: int, output_bytes: int, lse: bool) -> int:
    """Bytes of Q, K, V and O (and LSE), each once."""
    total = 0
    for entry in inputs[:3]:
        heads, length = (sizes.heads, sizes.queries) if entry.name == "q" else (sizes.kv_heads, sizes.keys)
        total += sizes.batch * heads * length * (entry.shape[3] or 0) * SIZES[entry.dtype]
    rows = sizes.batch * sizes.heads * sizes.queries
    return total + rows * value_dim * output_bytes + (rows * 4 if lse else 0)


def bounds(kernel: Kernel, inputs: Sequence[Input], sizes: Sizes, maps: Sequence[BlockMap], special: float,
           ordinary: float, chip: Chip) -> Facts:
    """Least times by resource, in seconds, and what they come from. `special` and
    `ordinary` are operations of an element of a score, counted in the trace."""
    shapes = {entry.name: entry.shape for entry in inputs}
    dims = (shapes["q"][3] or 0) + (shapes["v"][3] or 0)
    outputs = {t["name"]: t for t in kernel.metadata["tensors"] if t["access"] != "read"}
    # A map stands for all heads and batch entries that it does not name.
    entries, heads = len({m.entry for m in maps}), len({m.head for m in maps})
    copies = (sizes.heads // heads) * (sizes.batch // entries if "cu_q" not in shapes and entries <= sizes.batch else 1)
    visible = copies * sum(m.visible_pairs for m in maps)
    visited = copies * sum((len(row) - sum(row.count(code) for code in "012")) * m.block[0] * m.block[1]
                           for m in maps for row in m.rows)
    moved = tensor_bytes(inputs, sizes, shapes["v"][3] or 0, SIZES[outputs["o"]["dtype"]], "lse" in outputs)
    flops = 2.0 * dims * visible
    performed = 2.0 * dims * visited
    return {
        "flops": flops, "performed": performed, "bytes": moved, "intensity": flops / max(moved, 1),
        "visible_pairs": visible, "visited_pairs": visited,
        "special": special, "ordinary": ordinary,
        "times": {
            "tensor cores": performed / chip.tensor_rate,
            "special functions": visited * special / chip.special_rate,
            "other arithmetic": visited * ordinary / chip.ordinary_rate,
            "memory": moved / chip.memory,
        },
        "useful": flops / chip.tensor_rate,
    }


def operations_of_a_score(trace: Mapping[str, Any]) -> Facts:
    """Operations of each unit for an element of a block of scores, by the trace."""
    scores = ordinary = special = 0
    for event in trace["events"]:
        if event[0] == "dot" and event[7]:
            scores += event[3] * event[4]
        elif event[0] == "compute":
            ordinary, special = ordinary + event[2], special + event[3]
    return {"ordinary": ordinary / max(scores, 1), "special": special / max(scores, 1)}


def levels_of(kernel: Kernel, levels: Sequence[str]) -> Dict[str, str]:
    """The IR of each level; a level that can't be had says why."""
    texts: Dict[str, str] = {}
    for level in levels:
        try:
            texts[level] = kernel.ir(level)
        except CompileError as error:
            texts[level] = f"// {error}"
    return texts
