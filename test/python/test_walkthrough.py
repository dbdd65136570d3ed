"""The excerpts in docs/Tutorial/2-ThroughTheLevels.md match the output of its commands."""

import re
import subprocess
import sys

import excerpts
import pytest

FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def page(source_root):
    """The fenced blocks of the page, as (language, text)."""
    return FENCE.findall((source_root / "docs" / "Tutorial" / "2-ThroughTheLevels.md").read_text())


@pytest.fixture(scope="module")
def run_commands(build, source_root, package_environment):
    def run(language, setup, text):
        tools = (setup + text).replace("build/bin/", f"{build}/bin/")
        program = ["bash", "-c", tools] if language == "sh" else [sys.executable, "-c", text]
        result = subprocess.run(
            program, cwd=source_root, env=package_environment, capture_output=True, text=True, timeout=300
        )
        assert result.returncode == 0, result.stderr
        return result.stdout + result.stderr

    return run


def steps(page):
    """(language, commands, excerpt) of each step; the first block sets up the others."""
    (_, setup), *blocks = page
    assert len(blocks) % 2 == 0
    return setup, [(*command, excerpt) for command, (_, excerpt) in zip(blocks[::2], blocks[1::2])]


def test_each_step(page, run_commands, build):
    if not (build / "bin" / "fovea-run").exists():
        pytest.skip("the tools are not built")
    setup, all_steps = steps(page)
    assert len(all_steps) > 10
    for language, commands, excerpt in all_steps:
        output = run_commands(language, setup, commands)
        lost = excerpts.missing(excerpt, output)
        assert lost is None, f"not in the output of\n{commands}\n{lost}"


def test_the_picture_is_current(source_root):
    script = source_root / "scripts" / "kernel_timeline.py"
    drawn = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60).stdout
    assert drawn == (source_root / "docs" / "img" / "hopper-kernel.svg").read_text(), f"python {script} > docs/img/hopper-kernel.svg"


OUTPUT = """
%0 = load %arg0 : tensor
%1 = add %0, %arg0 : tensor
%2 = dot %1, %0 : tensor
store %2 : tensor
"""


@pytest.mark.parametrize(
    "excerpt, lost",
    [
        ("%a = load %x ...\n%b = add %a, %x : tensor", None),
        ("%a = load %x : tensor\n...\n%c = dot %b, %a : tensor\nstore %c : ...", None),
        ("%a = add %b, %b : tensor", "%a = add %b, %b : tensor"),
        ("%a = load %x : tensor\n%c = dot %b, %a : tensor", "%a = load %x : tensor\n%c = dot %b, %a : tensor"),
        ("%c = dot %b, %a : tensor\n...\n%a = load %x : tensor", "%a = load %x : tensor"),
        ("%c = dot %b, %a : tensor\nstore %b : tensor", "%c = dot %b, %a : tensor\nstore %b : tensor"),
    ],
)
def test_excerpts(excerpt, lost):
    assert excerpts.missing(excerpt, OUTPUT) == lost
