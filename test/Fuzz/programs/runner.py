"""Runs many programs in many processes."""

import collections
import dataclasses
import datetime
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

import known
import worker
from execute import Failure

ENTRY = pathlib.Path(__file__).resolve().parents[1] / "run_programs.py"
#: A program that takes longer hangs.
LONGEST = 120.0


def seed_of_day():
    return datetime.date.today().strftime("%Y%m%d")


@dataclasses.dataclass
class Found:
    """A failure: the shrunk program of a seed."""

    seed: str
    failure: Failure
    text: str
    shrunk: int = 0
    mlir: str = ""

    def __str__(self):
        how = f"shrunk in {self.shrunk} steps" if self.shrunk else "as it was drawn"
        mlir = f"\n{self.mlir}" if self.mlir else ""
        return f"--- program {self.seed}, {how}\n{self.failure}\n\n{self.text}{mlir}"


class Summary:
    def __init__(self):
        self.started, self.programs, self.executions, self.seconds = time.monotonic(), 0, 0, 0.0
        self.times, self.finds, self.counts, self.known = collections.Counter(), [], collections.Counter(), 0

    def add(self, report):
        self.programs += report["programs"]
        self.executions += report["executions"]
        self.times.update(report["times"])

    @property
    def wrong(self):
        """The finds that are not known."""
        return [found for found in self.finds if not known.is_known(str(found))]

    def __str__(self):
        seconds = time.monotonic() - self.started
        lines = [f"{self.programs} programs, {self.executions} executions in {seconds:.0f} s; "
                 f"{sum(self.counts.values())} failures, {len(self.wrong)} of them not known to be open"]
        lines += [f"  {self.times[name] / max(self.programs, 1) * 1e3:7.1f} ms  {name}" for name in sorted(self.times)]
        lines += [f"  {count:6} {' '.join(part for part in signature if part)}" for signature, count in self.counts.most_common()]
        return "\n".join(lines)


class Process:
    """A worker, begun again after a crash."""

    def __init__(self, summary, folder, number, options, on_find):
        self.summary, self.options, self.on_find = summary, dict(options), on_find
        self.first, self.log = number, folder / f"worker{number}"
        self.thread = threading.Thread(target=self.work)
        self.thread.start()

    def work(self):
        options = self.options
        deadline = time.monotonic() + options["seconds"] if options["seconds"] else None
        while deadline is None or time.monotonic() < deadline:
            if deadline is not None:
                options["seconds"] = max(1.0, deadline - time.monotonic())
            if self.once():
                return

    def once(self):
        """Whether the worker came to its end."""
        options, arguments = self.options, [sys.executable, str(ENTRY), "worker", "--first", str(self.first), "--log", str(self.log)]
        for name, value in options.items():
            if value is not None:
                arguments += [f"--{name.replace('_', '-')}", str(value)]
        self.log.write_bytes(b"%-20d" % self.first)
        errors = tempfile.TemporaryFile()
        process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=errors, text=True)
        hung = threading.Event()
        watch = threading.Thread(target=self.watch, args=(process, hung), daemon=True)
        watch.start()
        last = None
        for line in process.stdout:
            fact = json.loads(line)
            if fact["kind"] == "failure":
                failure = Failure(**fact["failure"])
                self.found(Found(fact["seed"], failure, fact["text"], fact["shrunk"], fact["mlir"]))
            else:
                last = fact
        code = process.wait()
        if last is not None:
            self.summary.add(last)
        if code == 0:
            return True
        index = int(self.log.read_bytes().split()[0])
        errors.seek(0)
        said = errors.read()[-3000:].decode(errors="replace")
        kind = "hang" if hung.is_set() else "crash"
        message = f"no end after {LONGEST:.0f} s" if hung.is_set() else f"exit code {code}: {said}"
        program, _ = worker.draw(options["seed"], index, options.get("front_end"))
        self.found(Found(worker.seed_of(options["seed"], index), Failure(kind, message=message), str(program)))
        self.first = index + options["step"]
        return False

    def watch(self, process, hung):
        """Shrinking logs nothing; it has its own limit."""
        limit = LONGEST + self.options["shrink_seconds"]
        while process.poll() is None:
            if time.time() - self.log.stat().st_mtime > limit:
                hung.set()
                process.kill()
                return
            time.sleep(1)

    def found(self, found):
        self.summary.finds.append(found)
        self.summary.counts[found.failure.signature] += 1
        self.on_find(found)


def run(seconds, jobs=None, seed=None, count=0, shrinks=2, shrink_seconds=20.0, front_end=None, levels=None, on_find=lambda found: None):
    """Draws and runs programs for `seconds`, or `count` in each process, and returns a Summary."""
    jobs, seed, summary = jobs or os.cpu_count(), seed or seed_of_day(), Summary()
    options = {"seed": seed, "seconds": seconds, "count": count, "step": jobs, "shrinks": shrinks,
               "shrink_seconds": shrink_seconds, "front_end": front_end, "levels": levels}
    with tempfile.TemporaryDirectory() as folder:
        processes = [Process(summary, pathlib.Path(folder), number, options, on_find) for number in range(jobs)]
        for process in processes:
            process.thread.join()
    return summary
