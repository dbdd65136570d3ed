"""Programs of the ops on partial results and caches: ``attn.merge`` and ``attn.append``."""

from __future__ import annotations

from typing import Any, List, Optional, Sequence, Tuple

from ..runtime._dtypes import dtype_name
from ._builder import tensor_type
from ._program import Spec

Shape = Sequence[Optional[int]]
_FLOATS = ("bf16", "f16", "f32")
#: An operand of a program: its name and type.
Operand = Tuple[str, str]


def _checked_float(name: str, dtype: Any) -> str:
    found = dtype_name(dtype)
    if found not in _FLOATS:
        raise ValueError(f"{name} must be bf16, f16 or f32, found {found}")
    return found


def _checked_count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} must be an integer of at least 1, found {value!r}")
    return value


def _function(name: str, operands: Sequence[Operand], op: str, results: Sequence[Operand]) -> Spec:
    """The program of a function whose body is one op."""
    arguments = ", ".join(f"%{one}: {kind}" for one, kind in operands)
    kinds, values = (", ".join(each) for each in ([kind for _, kind in results], [f"%{one}" for one, _ in results]))
    text = f"func.func @{name}({arguments}) -> ({kinds}) {{\n  {values} = {op}\n  return {values} : {kinds}\n}}\n"
    return Spec(name, text, (), text)


def merge(
    *,
    head_dim: int,
    dtype: Any = "bf16",
    output_dtype: Any = None,
    parts: Optional[int] = None,
    layout: str = "bhsd",
    name: str = "merge",
) -> Spec:
    """Describes the merge of attention over disjoint sets of keys: partial outputs and their
    log-sum-exps to those over all keys.

    head_dim, dtype
        head dim and element type of the outputs.
    output_dtype
        the element type of the result, by default ``dtype``.
    parts
        None: the parts are a leading dimension of one tensor, of any size. Its operands are
        ``o_parts``, (parts, batch, heads, queries, head_dim), and ``lse_parts``, (parts,
        batch, heads, queries), float32. A number: each part has operands of its own, ``o0``,
        ``lse0``, ``o1`` and so on, without the leading dimension.
    layout
        "bhsd", or "bshd" for outputs (batch, queries, heads, head_dim).
    name
        the name of the kernel.

    The results are ``o`` and ``lse``. A part with a log-sum-exp of -inf has no effect. Without
    other parts, o is 0 and lse -inf. Raises ValueError.

    >>> kernel = fovea.compile(fovea.merge(head_dim=128))  # doctest: +SKIP
    >>> kernel.launch(o_parts=o_parts, lse_parts=lse_parts, o=o, lse=lse)  # doctest: +SKIP
    """
    width = _checked_count("head_dim", head_dim)
    kinds = _checked_float("dtype", dtype), _checked_float("output_dtype", dtype if output_dtype is None else output_dtype)
    if layout not in ("bhsd", "bshd"):
        raise ValueError(f"layout must be 'bhsd' or 'bshd', found {layout!r}")
    stacked: Shape = (None,) if parts is None else ()
    part, result = (tensor_type((*more, None, None, None, width), kind) for more, kind in ((stacked, kinds[0]), ((), kinds[1])))
    sums, total = (tensor_type((*more, None, None, None), "f32") for more in (stacked, ()))
    names = [("o_parts", "lse_parts")] if parts is None else [(f"o{n}", f"lse{n}") for n in range(_checked_count("parts", parts))]
    operands = [operand for o, lse in names for operand in ((o, part), (lse, sums))]
    pairs = ", ".join(f"(%{o}, %{lse})" for o, lse in names)
    clause = "" if layout == "bhsd" else f" layout({layout})"
    return _function(name, operands, f"attn.merge {pairs}{clause} : {part}, {sums} -> {result}, {total}", (("o", result), ("lse", total)))


def append(head_dim: int, heads: int, dtype: str, *, value_dim: Optional[int], rank: int, cache_rank: int, page: Optional[int],
           integers: Sequence[Tuple[str, str]]) -> Spec:
    """The program that appends rows of rank ``rank`` to a cache of rank ``cache_rank``.
    ``integers`` are the names and element types of the operands with positions; without
    ``value_dim`` there are no values."""
    dims = [head_dim] if value_dim is None else [head_dim, value_dim]
    rows = [tensor_type((*(None,) * (rank - 2), heads, dim), dtype) for dim in dims]
    caches = [tensor_type((None, *(page,) * (cache_rank - 3), heads, dim), dtype) for dim in dims]
    shapes = {"slots": (None,) * (rank - 2), "page_table": (None, None), "lengths": (None,), "cu_seq": (None,)}
    clauses = {"cu_seq": "offsets"}
    kinds = [(name, tensor_type(shapes[name], kind)) for name, kind in integers]
    names: List[str] = ["k", "v"][:len(dims)]
    operands = [*zip(names, rows), *((f"{name}_cache", kind) for name, kind in zip(names, caches)), *kinds]
    given, kept = (", ".join(f"%{name}{end}" for name in names) for end in ("", "_cache"))
    positions = " ".join(f"{clauses.get(name, name)}(%{name} : {kind})" for name, kind in kinds)
    op = f"attn.append ({given}) to ({kept}) {positions} : {', '.join(rows)} to {', '.join(caches)}"
    return _function("append", operands, op, [(f"{name}_result", kind) for name, kind in zip(names, caches)])


__all__ = ["append", "merge"]
