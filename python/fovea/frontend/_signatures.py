"""Types of functions that accept traced numbers, Python numbers and arrays: a traced operand
gives a traced result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, cast, overload

from ._trace import Traced

if TYPE_CHECKING:
    from typing import Protocol

    class OfOne(Protocol):
        @overload
        def __call__(self, x: Traced, /) -> Traced: ...
        @overload
        def __call__(self, x: Any, /) -> Any: ...

    class OfTwo(Protocol):
        @overload
        def __call__(self, a: Traced, b: Any, /) -> Traced: ...
        @overload
        def __call__(self, a: Any, b: Traced, /) -> Traced: ...
        @overload
        def __call__(self, a: Any, b: Any, /) -> Any: ...

    class OfThree(Protocol):
        @overload
        def __call__(self, a: Traced, b: Any, c: Any, /) -> Traced: ...
        @overload
        def __call__(self, a: Any, b: Traced, c: Any, /) -> Traced: ...
        @overload
        def __call__(self, a: Any, b: Any, c: Traced, /) -> Traced: ...
        @overload
        def __call__(self, a: Any, b: Any, c: Any, /) -> Any: ...


def of_one(function: Callable[[Any], Any]) -> OfOne:
    """Types a function of one number."""
    return cast("OfOne", function)


def of_two(function: Callable[[Any, Any], Any]) -> OfTwo:
    """Types a function of two numbers."""
    return cast("OfTwo", function)


def of_three(function: Callable[[Any, Any, Any], Any]) -> OfThree:
    """Types a function of three numbers."""
    return cast("OfThree", function)


__all__ = ["of_one", "of_two", "of_three"]
