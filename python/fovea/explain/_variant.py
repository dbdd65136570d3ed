"""Collects the facts about one kernel on a page."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence

from ..compiler import _kernel
from ..runtime._gpus import Gpu, gpu_of_target
from ..tools import Explanation, explain_kernel
from ..errors import Error
from ._blocks import BlockMap, block_maps, kernel_block
from ._elements import page_elements
from ._inputs import DEFAULT_HEADS, TENSORS, Input, Sizes, make_inputs, small_sizes
from ._gradients import has_key_tiles, is_gradient
from ._links import Level, levels_of, plain
from ._resources import Facts, bounds, ptxas_facts, shared_memory, waves
from ._sass import disassemble
from ._timeline import Timeline, lay_out, trace


@dataclass(frozen=True)
class Call:
    """The call that a page describes: the program's inputs, sizes, and contents of inputs that
    affect visibility; ``notes`` describe generated contents."""

    entries: Sequence[Input]
    sizes: Sizes
    contents: Mapping[str, Any]
    notes: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class Variant:
    """A kernel with its facts. ``name`` and ``label`` distinguish two kernels on a page: "A" and
    "sm_80", "backward" and "attention_backward"; "" for a single one. ``problems`` has the
    reasons for missing facts."""

    name: str
    label: str
    kernel: _kernel.Kernel
    gpu: Gpu
    call: Call
    maps: List[BlockMap]
    traced: Sizes
    recorded: Mapping[str, Any]
    lines: Optional[Timeline]
    parts: List[Facts]
    assembly: Optional[Facts]
    levels: Mapping[str, Level]
    explanation: Explanation
    pairs: Facts
    problems: Mapping[str, str]

    @property
    def roles(self) -> Sequence[Mapping[str, Any]]:
        """The warp groups' roles."""
        found: Sequence[Mapping[str, Any]] = self.recorded["agents"]
        return found

    @property
    def has_key_tiles(self) -> bool:
        """Whether its tiles are keys, which iterate over blocks of queries."""
        return has_key_tiles(self.kernel)

    @property
    def helpers(self) -> List[str]:
        """Names of the kernels that run before and after it in each launch."""
        facts = self.kernel.metadata
        return [one["kernel"] for when in ("prologue", "epilogue") for one in facts.get(when, ())]

    @property
    def is_backward(self) -> bool:
        """Whether the kernel computes gradients."""
        return is_gradient(self.call.entries)

    def blocks(self, codes: str) -> int:
        """The number of blocks of all maps with one of the codes of ``BlockMap.rows``."""
        return sum(row.count(code) for one in self.maps for row in one.rows for code in codes)

    @property
    def checks_blocks(self) -> bool:
        """Whether its warp roles evaluate a block predicate, kv_classify."""
        return bool(self.kernel.metadata["schedule"].get("classify"))

    @property
    def wasted_blocks(self) -> int:
        """The number of processed blocks without visible pairs."""
        return self.blocks("36")

    @functools.cached_property
    def limits(self) -> Optional[Facts]:
        """``bounds_on`` the target's GPU."""
        return self.bounds_on(self.gpu)

    @functools.cached_property
    def flops(self) -> float:
        """FLOPs of visible pairs."""
        return float(self._bounds(self.gpu, None)["flops"])

    def bounds_on(self, gpu: Gpu) -> Optional[Facts]:
        """Least times on a GPU; None if the kernel could not be traced."""
        if not self.recorded["events"]:
            return None
        return self._bounds(gpu, waves(self.kernel, self.call.sizes, self.call.contents, gpu))

    def _bounds(self, gpu: Gpu, spread: Optional[Facts]) -> Facts:
        return bounds(self.kernel, self.call.entries, self.call.sizes, self.maps, self.recorded, gpu, spread)


def _small_sizes(kernel: _kernel.Kernel, call: Call, heads: int) -> Sizes:
    """Sizes of a few tiles, for the interpreter. Inputs of the caller do not fit these sizes."""
    rows, columns = kernel_block(kernel)
    length = min(max(3 * rows, 6 * columns), max(call.sizes.queries, call.sizes.keys))
    return small_sizes(kernel._spec, call.entries, length, heads)


def _traced(kernel: _kernel.Kernel, call: Call, small: Sizes, problems: Dict[str, str]) -> Dict[str, Any]:
    """The trace of the interpreter."""
    try:
        contents, _ = make_inputs(kernel, call.entries, small, {})
        return trace(kernel, call.entries, contents)
    except Error as error:
        problems["trace"] = f"the warp program could not be traced: {error}"
        return {"agents": [], "buffers": [], "events": []}


def _assembled(kernel: _kernel.Kernel, problems: Dict[str, str]) -> Optional[Facts]:
    try:
        facts = ptxas_facts(kernel)
    except Error as error:
        problems["ptxas"] = str(error)
        return None
    if facts is None:
        problems["ptxas"] = "not found: registers and spills are not known (pip install nvidia-cuda-nvcc)"
    return facts


def make_call(kernel: _kernel.Kernel, entries: Sequence[Input], sizes: Sizes, inputs: Mapping[str, Any]) -> Call:
    """A call with `inputs`; missing ones are generated. Raises Error."""
    contents, notes = make_inputs(kernel, entries, sizes, inputs, skip=TENSORS)
    return Call(entries, sizes, contents, notes)


def gather(kernel: _kernel.Kernel, call: Call, name: str = "", label: str = "", beside: Sequence[Variant] = ()) -> Variant:
    """Collects the facts. Pairs of blocks are shared with a variant with the same maps. Raises CompileError."""
    gpu, problems = gpu_of_target(kernel.target), {}  # type: Gpu, Dict[str, str]
    maps = block_maps(kernel, call.entries, call.contents, call.sizes)
    small = _small_sizes(kernel, call, min(call.sizes.heads, DEFAULT_HEADS))
    recorded = _traced(kernel, call, small, problems)
    lines = lay_out(recorded, gpu, kernel.metadata["cluster"][0]) if "trace" not in problems else None
    assembly = _assembled(kernel, problems)
    levels = levels_of(_kernel.compile_again(kernel, line_info=True))
    sass = disassemble(assembly["code"]) if assembly else None
    if sass:
        levels["sass"] = plain(sass)
    pairs = next((one.pairs for one in beside if one.maps == maps), None)
    if pairs is None:
        pairs = page_elements(kernel, call.entries, call.contents, call.sizes, maps)
    return Variant(name, label, kernel, gpu, call, maps, small, recorded, lines, shared_memory(kernel, recorded), assembly, levels,
                   explain_kernel(kernel), pairs, problems)
