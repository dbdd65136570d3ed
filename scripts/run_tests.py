"""Builds presets, runs all checks and tests on them, and adds up the results.

The last line is `N passed, N failed, N skipped`; the exit code is 1 if anything failed. A lit test
counts as one, a pytest case as one, and so do the build, the formatting check and the check that
generated documentation is current. Tests are skipped if they need a device or a tool that this
machine lacks. A test of more than 30 s is reported as slow.

The preset asan checks memory and undefined behaviour. It omits lit tests that only inspect the
output of ptxas for PTX that other tests compile too, and it runs the fuzzers of text and of
programs for a short time. `--limit` bounds its time: steps that don't fit are skipped with a
message, starting with the build.
"""

import argparse
import json
import os
import pathlib
import platform
import random
import subprocess
import sys
import time
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent

# The meaning of lit's result codes. An expected failure counts as passed; an unexpected pass as
# failed.
LIT_PASSED = {"PASS", "FLAKYPASS", "XFAIL"}
# Tests that are skipped under the sanitizers, which are about twenty times slower: tests with many
# programs or many runs, which take 10 seconds or more without sanitizers.
NOT_SANITIZED = "|".join([
    "ptxas", "no-spills", "roles-sass", "cubin.test", "long-chains", "time-budget", "Package/",
    "examples-sm_[0-9a]*-(warp|ptx)", "examples-attn", "example-gradients", "feature-pairs", "shapes-", "layouts.test",
    "products-", "ablation", "flash-attention-4", "packed-queries", "sequence-order", "recurrences-", "bias-broadcasts",
    "cluster.test", "persistent", "planted-faults", "replay-plans", "schedules-sm", "Analysis/random",
    "backward(-roles|-roles-wide|-strips|-ordered|-ordered-classified|-packed|-groups|-query-terms|-distances"
    "|-sums-by-distance|-sums-by-key)?.mlir", "backward-blocks-"])
# With a time limit, shards of lit's tests run until the time is used up, because lit can't be
# interrupted: it may then wait for its own workers indefinitely.
SHARDS = 20
# Grace period before a process that does not end is killed.
KILL_SECONDS = 20
# Time after which a test is considered to hang.
TEST_SECONDS, SANITIZED_SECONDS = 300, 900
# Slower tests are reported: split them or use smaller programs.
SLOW_SECONDS = 30
# Fixed, so that every change is tested with the same programs. `make fuzz` and `make fuzz-text`
# cover more.
FUZZ_SEED = 1
FUZZ_MINUTES = 2
PROGRAM_MINUTES = 1
LIT_SKIPPED = {"UNSUPPORTED", "SKIPPED", "EXCLUDED"}


class Totals:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.failures = []
        self.slow = []

    def add(self, name, ok, seconds=0.0):
        if seconds > SLOW_SECONDS:
            self.slow.append((seconds, name))
        if ok:
            self.passed += 1
        else:
            self.failed += 1
            self.failures.append(name)

    def skip(self):
        self.skipped += 1


def banner(text):
    print(f"--- {text}", flush=True)


class Clock:
    """The time left of a limit in minutes, in seconds; infinite without a limit."""

    def __init__(self, minutes):
        self.start = time.monotonic()
        self.limit = minutes
        self.seconds = 60 * minutes if minutes is not None else float("inf")

    def passed(self):
        return time.monotonic() - self.start

    def left(self, reserve=0):
        """The time left, minus `reserve` minutes for later steps."""
        return self.seconds - self.passed() - 60 * reserve


def run(command, environment=None, seconds=float("inf")):
    """Runs a command and shows its output. Returns success, or None if it exceeded the time limit.
    """
    limited = seconds != float("inf")
    # Unlike the timeout of subprocess, this also ends child processes and processes that ignore
    # signals.
    prefix = ["timeout", f"--kill-after={KILL_SECONDS}", f"{max(seconds, 1):.0f}"] if limited else []
    code = subprocess.run([*prefix, *command], cwd=ROOT, stdin=subprocess.DEVNULL, env=environment).returncode
    # 124: the limit was exceeded; 137 and -9: the process had to be killed.
    return None if limited and code in (124, 137, -9) else code == 0


def tool_of_build(build, name):
    """A path that CMake found when it configured `build`."""
    for line in (build / "CMakeCache.txt").read_text().splitlines():
        key, _, value = line.partition("=")
        if key.split(":")[0] == name:
            return value
    return None


def lit_timeout(lit, seconds):
    """Arguments that stop a hanging test, if lit's Python supports that."""
    python = pathlib.Path(lit).read_text(errors="replace").splitlines()[0].lstrip("#! ").split()
    probe = subprocess.run([*python, "-c", "import psutil"], capture_output=True)
    return [f"--timeout={seconds}"] if probe.returncode == 0 else []


def add_lit_results(results, totals):
    if not results.exists():
        totals.add("lit", False)
        return
    for test in json.loads(results.read_text())["tests"]:
        if test["code"] in LIT_SKIPPED:
            totals.skip()
        else:
            totals.add(test["name"], test["code"] in LIT_PASSED, test.get("elapsed") or 0.0)


def run_lit(build, jobs, totals, only, arguments=(), longest=TEST_SECONDS, seconds=float("inf")):
    """Runs tests and adds up their results; None if they exceeded the time limit."""
    results = build / "test" / "lit-results.json"
    results.unlink(missing_ok=True)
    lit = tool_of_build(build, "FOVEA_LIT")
    if not lit or lit.endswith("NOTFOUND"):
        print("test: lit was not found when the build was configured", file=sys.stderr)
        totals.add("lit", False)
        return False
    paths = [build / "test" / path for path in only] or [build / "test"]
    ended = run([lit, "-sv", f"-j{jobs}", *lit_timeout(lit, longest), *arguments, "--order=lexical", "--output", results, *paths],
                seconds=seconds)
    if ended is not None:
        add_lit_results(results, totals)
    return ended


def run_lit_until(clock, reserve, build, jobs, totals, only, arguments, longest):
    """Runs as many shards as `clock` has time for, in a random order."""
    shards = random.sample(range(1, SHARDS + 1), SHARDS)
    slowest = 0
    for count, shard in enumerate(shards):
        left = clock.left(reserve)
        if left < max(slowest, KILL_SECONDS):
            print(f"{SHARDS - count} of {SHARDS} parts of the tests are left out: no time for them ({clock.limit:g} minutes)")
            totals.skip()
            return
        start = time.monotonic()
        if run_lit(build, jobs, totals, only, [*arguments, f"--num-shards={SHARDS}", f"--run-shard={shard}"], longest, left) is None:
            print(f"part {shard} of the tests didn't end in time ({clock.limit:g} minutes)")
            totals.skip()
            return
        slowest = max(slowest, time.monotonic() - start)


def run_pytest(build, jobs, totals):
    folder = ROOT / "test" / "python"
    if not folder.exists():
        return
    report = build / "test" / "pytest.xml"
    report.unlink(missing_ok=True)
    run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}",
         f"--numprocesses={jobs}", "--dist=worksteal", f"--rootdir={ROOT}", folder, "--fovea-build", build])
    if not report.exists():
        totals.add("pytest", False)
        return
    cases = 0
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        cases += 1
        kinds = {child.tag for child in case}
        if "skipped" in kinds:
            totals.skip()
        else:
            totals.add(f"{case.get('classname')}::{case.get('name')}", not kinds & {"failure", "error"},
                       float(case.get("time") or 0))
    if cases == 0:
        totals.add("pytest collected no tests", False)


def run_fuzzers(build, jobs, totals):
    """Runs each text fuzzer and random programs for a short time and reports their number."""
    totals.add("fuzz-text", run([sys.executable, "test/Fuzz/run_text.py", build, f"--minutes={FUZZ_MINUTES}", f"--seed={FUZZ_SEED}",
                                 f"--finds={build / 'test' / 'finds'}"]))
    # Python is not sanitized, so the sanitizer's library must be loaded before ours.
    library = subprocess.run([tool_of_build(build, "CMAKE_CXX_COMPILER"),
                              f"-print-file-name=libclang_rt.asan-{platform.machine()}.so"],
                             capture_output=True, text=True).stdout.strip()
    environment = {**os.environ, "LD_PRELOAD": library, "FOVEA_LIBRARY_PATH": str(build / "lib"),
                   "ASAN_OPTIONS": f"{os.environ['ASAN_OPTIONS']}:detect_leaks=0"}
    totals.add("fuzz programs", run([sys.executable, "test/Fuzz/run_programs.py", "fuzz", f"--minutes={PROGRAM_MINUTES}", f"--seed={FUZZ_SEED}",
                                     f"--jobs={jobs}", "--front-end=fovea", f"--keep={build / 'test' / 'finds'}"],
                                    environment))


def sanitize_environment():
    os.environ["ASAN_OPTIONS"] = f"include={ROOT}/test/asan.options"
    os.environ["UBSAN_OPTIONS"] = "print_stacktrace=1"
    os.environ["LSAN_OPTIONS"] = f"print_suppressions=0:suppressions={ROOT}/test/leaks.supp"


def test_sanitized(args, totals):
    """Runs the preset asan within the time limit."""
    build = ROOT / "build-asan"
    clock = Clock(args.limit)
    sanitize_environment()
    fuzzing = 0 if args.only else FUZZ_MINUTES + PROGRAM_MINUTES + 1
    banner("building preset 'asan'")
    built = run(["scripts/build.sh", "asan", args.jobs, "all"], seconds=clock.left(fuzzing + 1))
    if built is None:
        print(f"the sanitized build didn't end in time: no test of it ran ({args.limit:g} minutes)")
        totals.skip()
        return
    totals.add("build asan", built)
    if not built:
        return
    banner("lit")
    chosen = ["--filter-out", NOT_SANITIZED]
    if args.limit is None:
        run_lit(build, args.jobs, totals, args.only, chosen, SANITIZED_SECONDS)
    else:
        run_lit_until(clock, fuzzing, build, args.jobs, totals, args.only, chosen, SANITIZED_SECONDS)
    if not args.only:
        banner("fuzzers")
        run_fuzzers(build, args.jobs, totals)


def test_preset(preset, args, totals):
    if preset == "asan":
        test_sanitized(args, totals)
        return
    build = ROOT / ("build" if preset == "default" else f"build-{preset}")
    whole = not args.only
    if whole:
        banner("formatting")
        totals.add("format-check", run(["scripts/format.sh", "--check"]))
    banner(f"building preset '{preset}'")
    built = run(["scripts/build.sh", preset, args.jobs, "all"])
    totals.add(f"build {preset}", built)
    if not built:
        return
    if whole:
        banner("generated documentation")
        totals.add("docs-check", run(["scripts/build.sh", preset, args.jobs, "fovea-docs-check"]))
    banner("lit")
    run_lit(build, args.jobs, totals, args.only)
    if whole:
        banner("pytest")
        run_pytest(build, args.jobs, totals)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", nargs="+", default=["default"], help="CMake presets to build and test")
    parser.add_argument("--jobs", default="2", help="processes to run at once")
    parser.add_argument("--only", nargs="*", default=[], help="lit tests or folders below test/, without the rest")
    parser.add_argument("--limit", type=float, help="minutes that the preset asan may take; all it needs if not given")
    args = parser.parse_args()
    clock = Clock(None)
    totals = Totals()
    for preset in args.preset:
        test_preset(preset, args, totals)

    banner(f"done in {clock.passed():.0f} s")
    for seconds, name in sorted(totals.slow, reverse=True):
        print(f"SLOW: {name}: {seconds:.0f} s, more than {SLOW_SECONDS}")
    for name in totals.failures:
        print(f"FAILED: {name}")
    print(f"{totals.passed} passed, {totals.failed} failed, {totals.skipped} skipped")
    return 1 if totals.failed else 0


if __name__ == "__main__":
    sys.exit(main())
