"""Times kernels alternately in random order, each after a warm-up of 30 ms, because the GPU's
clock under its power limit depends on the previous kernel."""

from __future__ import annotations

import functools
import random
import sys
from typing import Any, Callable, Dict, List, Mapping, Optional, TextIO

WARM_UP_MS, LAUNCHES = 30, 7

Contestants = Mapping[str, Callable[[], Any]]
#: A function that returns milliseconds of `count` launches.
Clock = Callable[[Callable[[], Any], int], List[float]]


def launch_times(torch: Any, function: Callable[[], Any], count: int) -> List[float]:
    """Milliseconds of `count` launches in sequence, by PyTorch's events."""
    pairs = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(count)]
    for begin, end in pairs:
        begin.record()
        function()
        end.record()
    torch.cuda.synchronize()
    return [begin.elapsed_time(end) for begin, end in pairs]


def alternate(
    clock: Clock, contestants: Contestants, rounds: int, rng: random.Random,
    on_turn: Optional[Callable[[str], Any]] = None,
) -> Dict[str, List[float]]:
    """Times of all launches of each kernel in ms, by name, measured by `clock`."""
    estimates = {name: min(clock(function, 3)) for name, function in contestants.items()}
    times: Dict[str, List[float]] = {name: [] for name in contestants}
    order = list(contestants)
    for _ in range(rounds):
        rng.shuffle(order)
        for name in order:
            if on_turn:
                on_turn(name)
            for _ in range(max(3, int(WARM_UP_MS / max(estimates[name], 1e-3)))):
                contestants[name]()
            times[name] += clock(contestants[name], LAUNCHES)
    return times


def take_turns(
    torch: Any, contestants: Contestants, rounds: int, rng: random.Random,
    on_turn: Optional[Callable[[str], Any]] = None,
) -> Dict[str, List[float]]:
    """``alternate`` with PyTorch's events."""
    return alternate(functools.partial(launch_times, torch), contestants, rounds, rng, on_turn)


def first_line(error: BaseException) -> str:
    """The first line of an exception's message."""
    return (str(error).splitlines() or [type(error).__name__])[0][:300]


class Progress:
    """A progress bar on a terminal, below the printed lines; nothing elsewhere."""

    WIDTH = 28

    def __init__(self, total: int, stream: Optional[TextIO] = None):
        self.total, self.done, self.text = max(total, 1), 0, ""
        self.stream = stream or sys.stderr
        self.shown = self.stream.isatty()

    def _draw(self) -> None:
        if self.shown:
            filled = self.WIDTH * self.done // self.total
            bar = "#" * filled + "." * (self.WIDTH - filled)
            self.stream.write(f"\r\x1b[K[{bar}] {self.done}/{self.total} {self.text[:60]}")
            self.stream.flush()

    def show(self, text: str) -> None:
        """Sets the text of the bar."""
        self.text = text
        self._draw()

    def advance(self, count: int = 1) -> None:
        """Advances the bar."""
        self.done = min(self.done + count, self.total)
        self._draw()

    def print(self, line: str) -> None:
        """Prints a line to standard output."""
        if self.shown:
            self.stream.write("\r\x1b[K")
            self.stream.flush()
        print(line, flush=True)
        self._draw()

    def end(self) -> None:
        """Removes the bar."""
        if self.shown:
            self.stream.write("\r\x1b[K")
            self.stream.flush()
