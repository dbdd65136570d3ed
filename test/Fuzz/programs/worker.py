"""Draws and runs programs, and reports failures as lines of JSON. It is a separate process, whose
log shows the program of a crash.
"""

import collections
import json
import time

import execute
import known
import program as programs
import shrink
import source


def seed_of(run, index):
    """The seed of a program: that of the run, and its index."""
    return f"{run}:{index}"


def draw(run, index, front_end=None):
    """(Program, choices)."""
    choices = source.Random(seed_of(run, index))
    return programs.draw(choices, front_end), choices.choices


def reduced(program, choices, failure, seconds, front_end=None):
    """Shrinks a failing program; returns the smallest one with the same kind of failure, and its
    failure.
    """
    wheres = [(failure.level, failure.target)] if failure.level and failure.kind != "eager" else (
        [("eager", "")] if failure.kind == "eager" else [])
    last = {}

    def fails(candidate):
        found, _ = execute.check(candidate, wheres)
        same = found is not None and (found.signature == failure.signature)
        if same:
            last[str(candidate)] = found
        return same

    smallest, tried = shrink.shrink(choices, fails, seconds, front_end)
    if smallest is None:
        return program, failure, tried
    return smallest, last[str(smallest)], tried


def mlir_of(program):
    """The program as MLIR, "" if it can't be traced."""
    try:
        return execute.Prepared(program).text
    except Exception:
        return ""


class Worker:
    def __init__(self, arguments, write):
        self.arguments, self.write = arguments, write
        self.seen, self.times = collections.Counter(), {}
        self.programs = self.executions = self.failures = 0
        self.by_level = collections.Counter()

    def run(self):
        arguments = self.arguments
        deadline = time.monotonic() + arguments.seconds if arguments.seconds else None
        with open(arguments.log, "r+b" if arguments.log.exists() else "w+b") as log:
            index, told = arguments.first, time.monotonic()
            while (deadline is None or time.monotonic() < deadline) and (not arguments.count or self.programs < arguments.count):
                log.seek(0)
                log.write(b"%-20d" % index)
                log.flush()
                self.one(index)
                index += arguments.step
                if time.monotonic() - told > 5:
                    self.report("progress")
                    told = time.monotonic()
        self.report("done")

    def report(self, kind):
        self.write({"kind": kind, "programs": self.programs, "executions": self.executions, "failures": self.failures,
                    "times": self.times})

    def one(self, index):
        start = time.perf_counter()
        program, choices = draw(self.arguments.seed, index, self.arguments.front_end)
        self.times["draw"] = self.times.get("draw", 0.0) + time.perf_counter() - start
        failure, count = execute.check(program, self.arguments.wheres, self.times)
        self.programs += 1
        self.executions += count
        if failure is None:
            return
        self.failures += 1
        self.seen[failure.signature] += 1
        tried = 0
        if self.seen[failure.signature] <= self.arguments.shrinks and not known.is_known(str(failure)):
            start = time.perf_counter()
            program, failure, tried = reduced(program, choices, failure, self.arguments.shrink_seconds, self.arguments.front_end)
            self.times["shrink"] = self.times.get("shrink", 0.0) + time.perf_counter() - start
        self.write({"kind": "failure", "seed": seed_of(self.arguments.seed, index), "failure": vars(failure), "text": str(program),
                    "shrunk": tried, "mlir": mlir_of(program)})


def main(arguments):
    def write(fact):
        print(json.dumps(fact), flush=True)

    Worker(arguments, write).run()
