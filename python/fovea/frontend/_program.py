"""Attention programs: ``Spec``, the names of operands, and messages with the user's names."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import re
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, NoReturn, Optional, Sequence, Tuple, Union

from .._files import read_regular
from ..errors import CompileError, Diagnostic, Error

#: Layouts of sequences, with the operands that they add.
SEQUENCES: Dict[str, Tuple[str, ...]] = {"dense": (), "lengths": ("lengths",), "packed": ("cu_q", "cu_k"),
                                         "paged": ("page_table", "lengths")}
#: Operands of pages whose tables are one list.
LISTED_PAGES = ("page_indices", "page_indptr", "lengths")
#: Operands of packed queries over keys of another layout.
QUERY_OFFSETS = ("cu_q",)
#: Operands of block-sparse lists and of dropout.
BLOCK_LISTS = ("partial_count", "partial_index", "full_count", "full_index")
#: Operands of the same lists transposed, which only programs of gradients have.
QUERY_BLOCK_LISTS = ("partial_query_count", "partial_query_index", "full_query_count", "full_query_index")
DROPOUT = ("dropout_seed", "dropout_offset")
#: Operands that each call passes as lists: block-sparse lists, offsets of packed sequences, page tables and lengths. A
#: launch passes them in this order; `lists_of` must return the same order.
LISTS = (*BLOCK_LISTS, *SEQUENCES["packed"], "page_table", *LISTED_PAGES)
#: Operands that scale quantized tensors, by their names in the program's clause.
SCALES = {"q": "q_scale", "k": "k_scale", "v": "v_scale", "v_mean": "v_mean"}
RESERVED = {"q", "k", "v", "o", "lse", "scale", "sinks", *SCALES.values(), *BLOCK_LISTS, *DROPOUT, *LISTED_PAGES,
            *(name for names in SEQUENCES.values() for name in names)}


@dataclass(frozen=True)
class Spec:
    """A variant of attention as a program, returned by ``fovea.attention`` and compiled by
    ``fovea.compile``.

    ``mlir`` is the program, one function called ``name``. ``captures`` are the names of
    captured tensors, in the order of the program's captured values.
    ``located`` is the program with Python source locations, for diagnostics and line tables;
    ``file`` is the file name in locations of ops without one. ``backward`` is the program of
    the gradients, if it is compiled with this one.
    """

    name: str
    mlir: str
    captures: Tuple[str, ...] = ()
    located: str = field(default="", compare=False, repr=False)
    file: str = field(default="<mlir>", compare=False, repr=False)
    backward: Optional["Spec"] = field(default=None, repr=False)

    def __str__(self) -> str:
        return self.mlir

    def __call__(self, *arguments: Any, **named: Any) -> NoReturn:
        """Raises TypeError: a Spec is compiled, not called."""
        raise TypeError("a Spec describes attention and can't be called: fovea.compile(spec) makes a kernel, whose launch and "
                        "interpret take q, k and v; fovea.reference(spec, q, k, v) needs no kernel")


#: Arguments that name a program: a Spec, MLIR text, or the path of a file with it.
Program = Union["Spec", str, "os.PathLike[str]"]


def as_spec(program: Program) -> Spec:
    """Returns a Spec unchanged, and makes one from MLIR text or a file with it. Raises
    OSError, Error."""
    if isinstance(program, Spec):
        return program
    if isinstance(program, str):
        if "\n" not in program and program.endswith((".mlir", ".mlirbc")):
            raise Error(f"{program!r} is a path, not a program; pass pathlib.Path({program!r})")
        return Spec("", program, (), program)
    if isinstance(program, os.PathLike):
        text = read_regular(program).decode()
        return Spec("", text, (), text, os.fspath(program))
    hint = "; fovea.attention makes a Spec of a function" if callable(program) else ""
    raise Error(f"expected a Spec, MLIR text or a path, found {type(program).__name__}{hint}")


def lists_of(program: str) -> Tuple[str, ...]:
    """The names, of `LISTS`, that the lists of a program of ``make_spec`` have."""
    if " packed(%cu_q, " in program:
        return SEQUENCES["packed"]
    queries = QUERY_OFFSETS if f" packed(%{QUERY_OFFSETS[0]} " in program else ()
    keys = next((SEQUENCES[form] for form in ("paged", "lengths") if f" {form}(%" in program), ())
    if f" paged(%{LISTED_PAGES[0]}, " in program:
        keys = LISTED_PAGES
    blocks = BLOCK_LISTS if "%full_count" in program else BLOCK_LISTS[:2]
    return queries + keys or blocks


def has_sinks(program: str) -> bool:
    """Whether a program of ``make_spec`` takes sinks."""
    return " sinks(%sinks " in program


@functools.lru_cache(maxsize=1024)
def own_names(program: str) -> Tuple[str, ...]:
    """The operands that each call passes before captured tensors to a program of ``make_spec``:
    sinks, scales."""
    scales = tuple(name for name in SCALES.values() if f"%{name}: " in program)
    return (("sinks",) if has_sinks(program) else ()) + scales


@functools.lru_cache(maxsize=1024)
def output_dtype(program: str) -> str:
    """The element type of the output of a program of ``make_spec``."""
    found = re.search(r"-> \(tensor<[^>]*x(\w+)>", program)
    assert found, program
    return found[1]


def captured_names(program: str, count: int) -> Tuple[str, ...]:
    """The names of the ``count`` captured tensors that a call passes to a program of ``make_spec``:
    those of `own_names` come first."""
    own = own_names(program)
    return own + tuple(f"capture{index}" for index in range(count - len(own)))


def gradient_lists_of(program: str) -> Tuple[str, ...]:
    """The names of the lists that the program's gradients take: those of `lists_of`, then the
    transposed block-sparse lists, which a call may omit."""
    lists = lists_of(program)
    return lists + QUERY_BLOCK_LISTS[:len(lists)] if lists[0] in BLOCK_LISTS else lists


def internal_names(spec: Spec) -> Dict[str, str]:
    """The names of captured tensors in IR and metadata, by the user's: the same if all are ASCII,
    otherwise ``capture0`` and so on."""
    is_named = all(name.isascii() for name in spec.captures)
    return {name: name if is_named else f"capture{index}" for index, name in enumerate(spec.captures)}


def with_users_names(spec: Spec, message: str) -> str:
    """A message of the compiler or the runtime about a program, with the user's names."""
    return message if all(name == internal for name, internal in internal_names(spec).items()) else with_names(spec.captures, message)


def with_names(captures: Sequence[str], message: str) -> str:
    """A message of the compiler or the runtime, with the user's names of captured tensors."""
    def name(found: "re.Match[str]") -> str:
        number = int(found[2])
        return found[1] + captures[number] if number < len(captures) else found[0]

    message = re.sub(r"captured value #(\d+)", r"captured 'capture\1'", message)
    return re.sub(r"\b(d?)capture(\d+)\b", name, message)


@contextlib.contextmanager
def in_names_of(spec: "Spec") -> Iterator[None]:
    """Raises a CompileError again with the user's names of captured tensors."""
    def by_name(one: Diagnostic) -> Diagnostic:
        return dataclasses.replace(one, message=with_users_names(spec, one.message), notes=tuple(map(by_name, one.notes)))

    try:
        yield
    except CompileError as error:
        raise CompileError(tuple(map(by_name, error.diagnostics))) from None
