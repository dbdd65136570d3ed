"""Builds a preset, runs every check and test on it, and adds up the results.

The last line is `N passed, N failed, N skipped`; the exit code is 1 when
anything failed. A lit test counts as one, a pytest case as one, and so do the
build, the formatting check and the check that generated documentation is
current. Tests that need a device or tool that this machine lacks are skipped.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent

# What lit's result codes count as. A test expected to fail that does is fine;
# one that unexpectedly passes is not.
LIT_PASSED = {"PASS", "FLAKYPASS", "XFAIL"}
LIT_SKIPPED = {"UNSUPPORTED", "SKIPPED", "EXCLUDED"}


class Totals:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.failures = []

    def add(self, name, ok):
        if ok:
            self.passed += 1
        else:
            self.failed += 1
            self.failures.append(name)

    def skip(self):
        self.skipped += 1


def banner(text):
    print(f"--- {text}", flush=True)


def run(command):
    """Runs a command with its output shown; whether it succeeded."""
    return subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL).returncode == 0


def tool_of_build(build, name):
    """A path that CMake found when it configured `build`."""
    for line in (build / "CMakeCache.txt").read_text().splitlines():
        key, _, value = line.partition("=")
        if key.split(":")[0] == name:
            return value
    return None


def lit_timeout(lit):
    """Arguments that stop a hanging test, where lit's Python can do that."""
    python = pathlib.Path(lit).read_text(errors="replace").splitlines()[0].lstrip("#! ").split()
    probe = subprocess.run([*python, "-c", "import psutil"], capture_output=True)
    return ["--timeout=300"] if probe.returncode == 0 else []


def run_lit(build, jobs, totals, only):
    results = build / "test" / "lit-results.json"
    results.unlink(missing_ok=True)
    lit = tool_of_build(build, "FOVEA_LIT")
    if not lit or lit.endswith("NOTFOUND"):
        print("test: lit was not found when the build was configured", file=sys.stderr)
        totals.add("lit", False)
        return
    paths = [build / "test" / path for path in only] or [build / "test"]
    run([lit, "-sv", f"-j{jobs}", *lit_timeout(lit), "--order=lexical", "--output", results, *paths])
    if not results.exists():
        totals.add("lit", False)
        return
    for test in json.loads(results.read_text())["tests"]:
        if test["code"] in LIT_SKIPPED:
            totals.skip()
        else:
            totals.add(test["name"], test["code"] in LIT_PASSED)


def run_pytest(build, totals):
    folder = ROOT / "test" / "python"
    if not folder.exists():
        return
    report = build / "test" / "pytest.xml"
    report.unlink(missing_ok=True)
    run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}",
         f"--rootdir={ROOT}", folder, "--fovea-build", build])
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
            totals.add(f"{case.get('classname')}::{case.get('name')}", not kinds & {"failure", "error"})
    if cases == 0:
        totals.add("pytest collected no tests", False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", default="default", help="CMake preset to build and test")
    parser.add_argument("--jobs", default="2", help="processes to run at once")
    parser.add_argument("--only", nargs="*", default=[], help="lit tests or folders below test/, without the rest")
    args = parser.parse_args()
    build = ROOT / ("build" if args.preset == "default" else f"build-{args.preset}")
    sanitized = args.preset == "asan"
    if sanitized:
        os.environ["ASAN_OPTIONS"] = f"include={ROOT}/test/asan.options"
        os.environ["LSAN_OPTIONS"] = f"print_suppressions=0:suppressions={ROOT}/test/leaks.supp"

    start = time.monotonic()
    totals = Totals()
    if not sanitized and not args.only:
        banner("formatting")
        totals.add("format-check", run(["scripts/format.sh", "--check"]))
    banner(f"building preset '{args.preset}'")
    built = run(["scripts/build.sh", args.preset, args.jobs, "all"])
    totals.add("build", built)
    if built:
        if not sanitized and not args.only:
            banner("generated documentation")
            totals.add("docs-check", run(["scripts/build.sh", args.preset, args.jobs, "fovea-docs-check"]))
        banner("lit")
        run_lit(build, args.jobs, totals, args.only)
        if not args.only:
            banner("pytest")
            run_pytest(build, totals)

    banner(f"done in {time.monotonic() - start:.0f} s")
    for name in totals.failures:
        print(f"FAILED: {name}")
    print(f"{totals.passed} passed, {totals.failed} failed, {totals.skipped} skipped")
    return 1 if totals.failed else 0


if __name__ == "__main__":
    sys.exit(main())
