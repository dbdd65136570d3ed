"""Files with programs that have failed. Each runs at all levels. One with ``EXPECTED`` is an open
finding and must fail with that message.
"""

import pathlib
import re

import execute
from program import Program

FOLDER = pathlib.Path(__file__).resolve().parent / "corpus"
EVERYWHERE = [("tile", "sm_80"), ("tile", "sm_90a"), ("warp", "sm_80"), ("warp", "sm_90a"), ("eager", ""),
              ("gradient-tile", "sm_80"), ("gradient-tile", "sm_90a"), ("gradient-warp", "sm_80"),
              ("gradient-warp", "sm_86"), ("gradient-warp", "sm_90a")]


def files():
    return sorted(FOLDER.glob("*.py"))


def expected(text):
    """The pattern that an open finding's failure matches, or None."""
    found = re.search(r'^EXPECTED = "([^"]*)"', text, re.MULTILINE)
    return found and found[1]


def replay(path, verbose=False):
    """Runs a file; returns messages of failures."""
    program = Program.parse(path.read_text())
    if verbose:
        with execute.Prepared(program) as prepared:
            print(prepared.text)
    failures = []
    for where in EVERYWHERE:
        failure, _ = execute.check(program, [where])
        if verbose:
            print(*where, failure or "right")
        if failure is not None:
            failures.append(str(failure))
            if failure.kind == "trace":
                break
    return failures
