"""The fuzzer of programs runs every pass of the reference."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
FUZZER = (ROOT / "test" / "Fuzz" / "fuzz-program.cpp").read_text()
PIPELINES = re.findall(r'"(builtin\.module\(.*\))"', FUZZER)
# Prints, where the fuzzer's library prints nothing.
NOT_FUZZED = {"warp-print-roles"}


def test_all_passes_are_fuzzed():
    names = set()
    for page in (ROOT / "docs" / "reference").glob("*Passes.md"):
        names.update(re.findall(r"^### `-(\S+)`", page.read_text(), re.MULTILINE))
    assert len(names) > 30
    fuzzed = set(re.findall(r"[a-z0-9]+(?:-[a-z0-9]+)+", " ".join(PIPELINES)))
    assert names - fuzzed == NOT_FUZZED


def test_all_passes_count():
    """Debian's LLVM prints no counts, so that only the reference can tell."""
    silent, passes = [], 0
    for page in (ROOT / "docs" / "reference").glob("*Passes.md"):
        for one in re.split(r"^### `-", page.read_text(), flags=re.MULTILINE)[1:]:
            passes += 1
            if "#### Statistics" not in one:
                silent.append(one.partition("`")[0])
    assert passes > 30 and not silent


def test_pipelines_exist(run_tool):
    assert len(PIPELINES) > 35
    for pipeline in PIPELINES:
        result = run_tool("fovea-opt", "-", f"--pass-pipeline={pipeline}", stdin="module {}")
        assert result.returncode == 0, (pipeline, result.stderr)
