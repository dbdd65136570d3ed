"""Random programs (test/Fuzz/README.md) on a GPU: the modes `--random-programs N` and
`--random-gradients N` of run_forward.py. Worker processes prepare jobs (random_jobs.py); this
process launches them (random_launches.py). Each program runs for one target; targets alternate.
"""

import collections
import concurrent.futures
import contextlib
import dataclasses
import multiprocessing
import os
import pathlib
import tempfile
import time

import random_jobs
import waiting
from random_launches import launch, loses_context, settle

#: Failures per kind that are shrunk, and the time limit for each.
SHRINKS, SHRINK_SECONDS = 2, 60.0
SHRUNK = ("o", "lse", "mean", "gradient", "bits", "compile")
PASSED = ("right", "by chance")


class Tally:
    def __init__(self, mode):
        self.mode, self.started, self.counts, self.finds = mode, time.monotonic(), collections.Counter(), []

    def add(self, job, kind, message):
        self.counts[kind or "right"] += 1
        if kind and kind not in (*PASSED, *random_jobs.SKIPPED):
            self.finds.append((kind, job, message))

    def add_crash(self, message):
        print(message)
        self.counts["crash"] += 1

    @property
    def failed(self):
        return len(self.finds) + self.counts["crash"]

    @property
    def seconds(self):
        return time.monotonic() - self.started

    def of(self, kinds):
        return sum(self.counts[kind] for kind in kinds)

    def print(self, show):
        for kind, job, message in self.finds[:show]:
            print(f"FAILED: program {job.seed} for {job.target}: {kind}: {message}\n\n{job.text}")
        if len(self.finds) > show:
            print(f"... and {len(self.finds) - show} more; --show=N shows more")
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self.counts.items()))
        print(f"{sum(self.counts.values())} random {self.mode} in {self.seconds:.0f} s: {kinds}")
        print(f"{self.of(PASSED)} passed, {self.failed} failed, {self.of(random_jobs.SKIPPED)} skipped", flush=True)


def smaller(place, find, folder):
    """Shrinks a failing program and returns a Job with the same kind of failure; returns the
    original without Hypothesis.
    """
    try:
        import shrink
    except ImportError:
        return find
    kind, job, _ = find
    last = {}

    def fails(program):
        made = random_jobs.prepare_program(job.mode, program, "shrunk", job.target, place.chip, folder)
        found, said = settle(place, made, *launch(place, made), folder)
        last[str(program)] = made, said
        return found == kind

    smallest, _ = shrink.shrink(job.choices, fails, SHRINK_SECONDS)
    if smallest is None:
        return find
    made, said = last[str(smallest)]
    return kind, dataclasses.replace(made, seed=job.seed), said


def shrink_all(place, tally, folder):
    kinds = collections.Counter()
    for number, find in enumerate(tally.finds):
        kinds[find[0]] += 1
        if kinds[find[0]] <= SHRINKS and find[0] in SHRUNK:
            tally.finds[number] = smaller(place, find, folder)


def launch_all(place, futures, tally, seconds, folder):
    """Whether the device can still be used. `seconds` ends it early unless it is 0."""
    for index, future in enumerate(futures):
        if seconds and tally.seconds > seconds:
            return True
        try:
            job = future.result()
        except concurrent.futures.process.BrokenProcessPool as error:
            tally.add_crash(f"a process that compiles crashed at program {index} of this run or soon after: {error}")
            return True
        futures[index] = None  # what it holds is large
        try:
            kind, message = settle(place, job, *launch(place, job), folder)
        except waiting.Hang as error:
            tally.add(job, "hang", str(error))
            raise
        tally.add(job, kind, message)
        if kind == "launch" and loses_context(message):
            print("the context is lost; nothing after this program ran")
            return False
    return True


@contextlib.contextmanager
def ending_with_a_hang(tally, show):
    """After a Hang the device is unusable: the process ends and reports its findings."""
    try:
        yield
    except waiting.Hang as error:
        print(f"the device hangs; nothing after this program ran: {error}")
        tally.print(show)
        waiting.abandon(1)


def run(place, mode, count, args, targets):
    """0 if all passed, 1 if not; prints. `mode` is a name of random_jobs.MODES."""
    library = str(pathlib.Path(args.runtime).resolve().parent) if args.runtime else os.environ.get("FOVEA_LIBRARY_PATH", "")
    random_jobs.begin(library, [])
    tally, processors, context = Tally(mode), sorted(os.sched_getaffinity(0)), multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(args.work or temporary) / mode
        folder.mkdir(parents=True, exist_ok=True)
        with concurrent.futures.ProcessPoolExecutor(args.jobs, context, random_jobs.begin, (library, processors)) as pool:
            futures = [pool.submit(random_jobs.prepare, mode, str(args.seed), index, targets[index % len(targets)], place.chip, folder)
                       for index in range(count)]
            with ending_with_a_hang(tally, args.show):
                works = launch_all(place, futures, tally, args.time, folder)
            pool.shutdown(cancel_futures=True)
        if works and not args.time:
            with ending_with_a_hang(tally, args.show):
                shrink_all(place, tally, folder)
    tally.print(args.show)
    return 1 if tally.failed else 0
