"""Single pairs of a query and a key: whether the pair is visible, and the results of
score_mod for a few scores."""

from __future__ import annotations

import base64
import ctypes
import gzip
from dataclasses import dataclass, replace
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ..compiler._kernel import Kernel, _options
from ..compiler._library import Context
from ..compiler._structs import ElementOptions
from ._blocks import BlockMap, tensors_of
from ._inputs import TENSORS, Input, Sizes

#: Scores that the page shows score_mod of.
SCORES = (0.0, 1.0, 10.0)
#: Limits of a page's data: heads, rows of blocks per head, and rows and columns of blocks
#: with scores.
_HEADS, _ROWS, _SCORE_ROWS, _SCORE_COLUMNS = 4, 32, 4, 3


@dataclass(frozen=True)
class Elements:
    """Pairs of queries from ``first_query`` on and keys from ``first_key`` on, of one head
    of one sequence.

    ``visible`` tells for each pair whether the key is visible to the query. ``changed`` is the
    result of score_mod for each of ``scores``, in f64: [score, query, key], NaN for a masked
    pair; None if there is no score_mod. Both are numpy arrays.
    """

    entry: int
    head: int
    first_query: int
    first_key: int
    visible: Any
    scores: Tuple[float, ...]
    changed: Optional[Any]

    def of_keys(self, first: int, end: int) -> Elements:
        """The same pairs, restricted to the keys in [`first`, `end`)."""
        here = slice(first, end)
        return replace(self, first_key=first, visible=self.visible[:, here],
                       changed=None if self.changed is None else self.changed[..., here])


class ElementReader:
    """Reads elements of a program, one row of blocks at a time."""

    def __init__(self, context: Context, kernel: Kernel, inputs: Sequence[Input], contents: Mapping[str, Any], sizes: Sizes):
        self._context, self._sizes = context, sizes
        self._choices = _options(kernel._options)
        self._module = context.parse(kernel._spec.located, kernel._spec.file)
        others = [entry for entry in inputs if entry.name not in TENSORS]
        self._tensors, self._count, self._keep = tensors_of(others, contents)

    def read(self, entry: int, head: int, first: int, rows: int, scores: Sequence[float]) -> Elements:
        """Reads `rows` queries and all keys. Raises CompileError."""
        sizes = self._sizes
        values = (ctypes.c_double * max(len(scores), 1))(*scores)
        wanted = ElementOptions(ctypes.sizeof(ElementOptions), sizes.batch, sizes.heads, sizes.queries, sizes.keys,
                                entry, head, first, rows, values, len(scores))
        lib = self._context.lib
        found = dict(self._context.take_tensors(lib.foveaElements(
            self._module, ctypes.byref(self._choices), ctypes.byref(wanted), self._tensors, self._count)))
        return Elements(entry, head, first, 0, found["visible"], tuple(scores), found.get("scores"))


# --- For the page ---------------------------------------------------------------


def _spread(count: int, most: int) -> List[int]:
    """At most `most` indices below `count`, evenly spaced from the first to the last."""
    if count <= most:
        return list(range(count))
    return sorted({round(n * (count - 1) / (most - 1)) for n in range(most)})


class _Blobs:
    """Arrays of one size without duplicates."""

    def __init__(self) -> None:
        self._numbers: Dict[bytes, int] = {}

    def add(self, data: bytes) -> int:
        return self._numbers.setdefault(data, len(self._numbers))

    def packed(self) -> str:
        return base64.b64encode(gzip.compress(b"".join(self._numbers), mtime=0)).decode()


def _padded(array: Any, block: Tuple[int, int], fill: Any) -> Any:
    import numpy

    result = numpy.full((*array.shape[:-2], *block), fill, array.dtype)
    result[..., : array.shape[-2], : array.shape[-1]] = array
    return result


def _short(changed: Any) -> bytes:
    """Rounds to f32 with 12 bits of mantissa, which compress better and suffice for display."""
    import numpy

    bits = changed.astype(numpy.float32).view(numpy.uint32)
    return bytes(((bits + 0x400) & 0xFFFFF800).astype("<u4").tobytes())


def _heads_of(number: int, maps: Sequence[BlockMap], sizes: Sizes, has_scores: bool) -> List[int]:
    """Heads whose elements may differ: that of the map, or with score_mod several heads, as the
    map only distinguishes masks."""
    if len({one.head for one in maps}) > 1 or not has_scores:
        return [maps[number].head]
    return list(range(min(sizes.heads, _HEADS)))


def _columns_with_scores(codes: str) -> List[int]:
    """The first, a middle and the last block of a row with visible pairs."""
    counts = [column for column, code in enumerate(codes) if code not in "036"]
    return [counts[n] for n in _spread(len(counts), _SCORE_COLUMNS)]


def _edges(visible: Any) -> int:
    """The number of adjacent pairs of which one is visible, a measure of how mixed a block is."""
    return int((visible[1:] != visible[:-1]).sum()) + int((visible[:, 1:] != visible[:, :-1]).sum())


def _add_row(found: Dict[str, Any], one: BlockMap, row: int, elements: Elements, with_scores: Sequence[int],
             blobs: Tuple[_Blobs, _Blobs]) -> None:
    """Adds a row of blocks: bits of blocks with some visible pairs, and scores of the given
    columns. ``first`` becomes the most mixed block; ties prefer one with scores."""
    import numpy

    for column, code in enumerate(one.rows[row]):
        place, where = f"{row},{column}", slice(column * one.block[1], (column + 1) * one.block[1])
        if code in "147":
            bits = _padded(elements.visible[:, where], one.block, False)
            found["visible"][place] = blobs[0].add(numpy.packbits(bits).tobytes())
            mixed = _edges(elements.visible[:, where]), elements.changed is not None and column in with_scores
            if mixed > found["mixed"]:
                found["mixed"], found["first"] = mixed, place
        if elements.changed is not None and column in with_scores:
            found["changed"][place] = blobs[1].add(_short(_padded(elements.changed[..., where], one.block, numpy.nan)))


def _add_scores_of_first(found: Dict[str, Any], one: BlockMap, reader: ElementReader, blobs: _Blobs) -> None:
    """Adds the scores of the block that the page shows first."""
    import numpy

    row, column = map(int, found["first"].split(","))
    first, begin = row * one.block[0], column * one.block[1]
    elements = reader.read(one.entry, found["head"], first, min(one.block[0], one.queries - first), SCORES)
    if elements.changed is not None:
        scores = elements.changed[..., begin : begin + one.block[1]]
        found["changed"][found["first"]] = blobs.add(_short(_padded(scores, one.block, numpy.nan)))


def page_elements(kernel: Kernel, inputs: Sequence[Input], contents: Mapping[str, Any], sizes: Sizes,
                  maps: Sequence[BlockMap]) -> Dict[str, Any]:
    """The page's data of elements: bits of partially visible blocks, and scores, up to the
    limits of a page. Blocks with all or no pairs visible need no bits."""
    blobs = _Blobs(), _Blobs()
    sets: List[Dict[str, Any]] = []
    has_scores = "score_mod" in kernel.mlir
    chosen = maps[:_HEADS]
    with Context() as context:
        reader = ElementReader(context, kernel, inputs, contents, sizes)
        for number, one in enumerate(chosen):
            scored = set(_spread(len(one.rows), _SCORE_ROWS)) if has_scores else set()
            for head in _heads_of(number, chosen, sizes, has_scores):
                found: Dict[str, Any] = {"map": number, "entry": one.entry, "head": head, "visible": {}, "changed": {},
                                         "first": "", "mixed": (0, False)}
                for row in sorted({*_spread(len(one.rows), _ROWS), *scored}):
                    # Skip rows without bits, as each read copies all inputs.
                    if row not in scored and not set(one.rows[row]) & set("147"):
                        continue
                    first, scores = row * one.block[0], SCORES if row in scored else ()
                    elements = reader.read(one.entry, head, first, min(one.block[0], one.queries - first), scores)
                    _add_row(found, one, row, elements, _columns_with_scores(one.rows[row]) if scores else (), blobs)
                del found["mixed"]
                if has_scores and found["first"] and found["first"] not in found["changed"]:
                    _add_scores_of_first(found, one, reader, blobs[1])
                sets.append(found)
    return {"sets": sets, "scores": list(SCORES) if has_scores else [], "visible": blobs[0].packed(), "changed": blobs[1].packed()}
