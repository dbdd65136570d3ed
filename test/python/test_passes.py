"""The program fuzzer runs every pass of the reference, and for each pass arguments exist with which it changes IR."""

import functools
import pathlib
import re
import shlex
import string

ROOT = pathlib.Path(__file__).resolve().parents[2]
FUZZER = (ROOT / "test" / "Fuzz" / "fuzz-program.cpp").read_text()
# Adjacent string literals are one pipeline.
PIPELINES = re.findall(r'"(builtin\.module\(.*\))"', re.sub(r'"\s*\n\s*"', "", FUZZER))
# A pass that only prints; the fuzzer's library does not print.
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
    """Debian's LLVM prints no statistics, so the reference lists them."""
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
    """A pipeline on a module reaches kernels, which are two levels down."""
    for name in sorted(all_passes()):
        result = run_tool("fovea-opt", "-", f"--{name}", f"--mlir-print-ir-before={name}", "--mlir-print-ir-module-scope",
                          "--mlir-disable-threading", "-o", "/dev/null", stdin=KERNEL)
        places = set(re.findall(rf"IR Dump Before \S+ \({name}\) \('(\S+)' operation", result.stderr))
        on_kernels = name.partition("-")[0] in ("tile", "warp") and name != "warp-to-nvvm"
        wanted = "gpu.func" if on_kernels else "gpu.module" if name == "warp-to-nvvm" else "builtin.module"
        assert wanted in places, (name, places, result.stderr)
        if on_kernels:
            result = run_tool("fovea-opt", "-", f"--{name}", stdin="module {}")
            assert f"warning: '{name}' found no kernel" in result.stderr, (name, result.stderr)


def test_every_pass_is_shown(run_tool):
    """docs/Guides/Debugging.md has arguments for each pass with which it changes the IR."""
    text = (ROOT / "docs" / "Guides" / "Debugging.md").read_text()
    section = text[text.index("## Effect of a pass") : text.index("## Other tools")]
    variables = {}
    for name, value in re.findall(r'^(\w+)="(.*)"$', section, re.MULTILINE):
        variables[name] = string.Template(value).substitute(variables)
    commands = [(name, string.Template(arguments).substitute(variables))
                for name, arguments in re.findall(r"^changed (\S+) (.*)", section, re.MULTILINE)]
    assert len(commands) > 20

    @functools.lru_cache(None)
    def changed_by(arguments):
        """Passes that change the IR, with these arguments of fovea-opt."""
        parts = [str(ROOT / part) if (ROOT / part).is_file() else part for part in shlex.split(arguments)]
        result = run_tool("fovea-opt", *parts, "--mlir-print-ir-after-all", "--mlir-print-ir-after-change", "-o", "/dev/null")
        return set(re.findall(r"IR Dump After \S+ \(([a-z0-9-]+)", result.stderr))

    for name, arguments in commands:
        assert name in changed_by(arguments), f"docs/Guides/Debugging.md: {name} changes nothing with {arguments}"
    (idle,) = re.findall(r"^(`.*) change nothing\.", section, re.MULTILINE)
    shown = {name for name, _ in commands} | changed_by(commands[0][1]) | set(re.findall(r"`(.*?)`", idle))
    hidden = all_passes() - shown
    assert not hidden, f"{sorted(hidden)}: docs/Guides/Debugging.md, 'Effect of a pass', has no command for it"
