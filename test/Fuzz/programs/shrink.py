"""Shrinks a failing program. Hypothesis simplifies the choices; the generator interprets them."""

import time

import program as programs
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.database import ExampleDatabase, choices_to_bytes
from hypothesis.errors import Flaky
from source import Source


class _Drawn(Source):
    def __init__(self, draw):
        self._draw, self.count = draw, 0

    def below(self, bound):
        self.count += 1
        return self._draw(_integers(bound)) if bound > 1 else 0


_STRATEGIES = {}


def _integers(bound):
    if bound not in _STRATEGIES:
        _STRATEGIES[bound] = st.integers(0, bound - 1)
    return _STRATEGIES[bound]


class _One(ExampleDatabase):
    """Holds one sequence of choices, for whichever test asks first."""

    def __init__(self, value):
        super().__init__()
        self._value = value

    def fetch(self, key):
        # Entries under a test's secondary key are already small.
        if key.endswith(b".secondary"):
            yield self._value

    def save(self, key, value):
        pass

    def delete(self, key, value):
        pass


class _Fails(Exception):
    pass


class _Late(BaseException):
    """Hypothesis lets it pass, as it does KeyboardInterrupt."""


def shrink(choices, fails, seconds, front_end=None):
    """Returns the smallest program for which `fails` is true, and the number of tries. `choices`
    are the recorded choices of one such program. Returns None if that one does not fail again.
    """
    deadline = time.monotonic() + seconds
    best, tried = [None, None], 0

    @st.composite
    def drawn(draw):
        source = _Drawn(draw)
        return programs.draw(source, front_end), source.count

    @settings(database=_One(choices_to_bytes([chosen for chosen, bound in choices if bound > 1])), deadline=None,
              suppress_health_check=list(HealthCheck), phases=(Phase.reuse, Phase.shrink), report_multiple_bugs=False,
              print_blob=False)
    @given(drawn())
    def attempt(found):
        nonlocal tried
        program, count = found
        if time.monotonic() > deadline:
            raise _Late
        tried += 1
        if fails(program):
            size = len(program.source), len(str(program)), count
            if best[0] is None or size <= best[0]:
                best[:] = size, program
            raise _Fails

    try:
        attempt()
    except (_Fails, _Late, Flaky):
        pass
    return best[1], tried
