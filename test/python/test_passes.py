"""Every pass of the reference is run by the fuzzer of programs, and shown at work."""

import pathlib
import re
import shlex

ROOT = pathlib.Path(__file__).resolve().parents[2]
FUZZER = (ROOT / "test" / "Fuzz" / "fuzz-program.cpp").read_text()
PIPELINES = re.findall(r'"(builtin\.module\(.*\))"', FUZZER)
# Prints, where the fuzzer's library prints nothing.
NOT_FUZZED = {"warp-print-roles"}


def all_passes():
    names = set()
    for page in (ROOT / "docs" / "reference").glob("*Passes.md"):
        names.update(re.findall(r"^### `-(\S+)`", page.read_text(), re.MULTILINE))
    assert len(names) > 30
    return names


def test_all_passes_are_fuzzed():
    fuzzed = set(re.findall(r"[a-z0-9]+(?:-[a-z0-9]+)+", " ".join(PIPELINES)))
    forgotten = all_passes() - fuzzed - NOT_FUZZED
    assert not forgotten, f"{sorted(forgotten)}: in no pipeline of test/Fuzz/fuzz-program.cpp"
    gone = NOT_FUZZED - all_passes() | NOT_FUZZED & fuzzed
    assert not gone, f"{sorted(gone)}: NOT_FUZZED says that no pipeline has it, or it is no pass"


def test_all_passes_count():
    """Debian's LLVM prints no counts, so that only the reference can tell."""
    silent, passes = [], 0
    for page in (ROOT / "docs" / "reference").glob("*Passes.md"):
        for one in re.split(r"^### `-", page.read_text(), flags=re.MULTILINE)[1:]:
            passes += 1
            if "#### Statistics" not in one:
                silent.append(one.partition("`")[0])
    assert passes > 30
    assert not silent, f"{silent}: no `statistics` in Passes.td"


def test_pipelines_exist(run_tool):
    assert len(PIPELINES) > 35
    for pipeline in PIPELINES:
        result = run_tool("fovea-opt", "-", f"--pass-pipeline={pipeline}", stdin="module {}")
        assert result.returncode == 0, (pipeline, result.stderr)


KERNEL = """
gpu.module @kernels {
  gpu.func @k() kernel {
    gpu.return
  }
}
"""


def test_every_pass_runs_as_a_flag(run_tool):
    """A flag on a module reaches the ops that the pass is for: kernels are two levels down."""
    for name in sorted(all_passes()):
        result = run_tool("fovea-opt", "-", f"--{name}", f"--mlir-print-ir-before={name}", "--mlir-print-ir-module-scope",
                          "--mlir-disable-threading", "-o", "/dev/null", stdin=KERNEL)
        places = set(re.findall(rf"IR Dump Before \S+ \({name}\) \('(\S+)' operation", result.stderr))
        on_kernels = name.partition("-")[0] in ("tile", "warp") and name != "warp-to-nvvm"
        wanted = "gpu.func" if on_kernels else "gpu.module" if name == "warp-to-nvvm" else "builtin.module"
        assert wanted in places, (name, places, result.stderr)
        if on_kernels:
            result = run_tool("fovea-opt", "-", f"--{name}", stdin="module {}")
            assert f"warning: '{name}' ran on nothing" in result.stderr, (name, result.stderr)


def changed_by(run_tool, text):
    """Passes that change the IR, with these arguments of fovea-opt."""
    arguments = [str(ROOT / part) if (ROOT / part).is_file() else part for part in shlex.split(text)]
    result = run_tool("fovea-opt", *arguments, "--mlir-print-ir-after-all", "--mlir-print-ir-after-change", "-o", "/dev/null")
    return set(re.findall(r"IR Dump After \S+ \(([a-z0-9-]+)", result.stderr))


def test_every_pass_is_shown(run_tool):
    """docs/Running.md has arguments with which one sees what a pass does, for each."""
    text = (ROOT / "docs" / "Running.md").read_text()
    section = text[text.index("## What a pass changes") : text.index("## Other tools")]
    (usual,) = re.findall(r"^changed \S+ (.*)", section, re.MULTILINE)
    rows = re.findall(r"^\| (`.*?`) \| `(.*?)` \|$", section, re.MULTILINE)
    (idle,) = re.findall(r"^(`.*) change nothing\.", section, re.MULTILINE)
    shown = changed_by(run_tool, usual) | set(re.findall(r"`(.*?)`", idle))
    for cell, arguments in rows:
        names = set(re.findall(r"`(.*?)`", cell))
        unchanged = names - changed_by(run_tool, arguments)
        assert not unchanged, f"{sorted(unchanged)}: docs/Running.md says that it changes something with {arguments}"
        shown |= names
    hidden = all_passes() - shown
    assert not hidden, f"{sorted(hidden)}: no row of the table in docs/Running.md, 'What a pass changes', shows it at work"
