"""Runs the steps of docs/Tutorial/1-Variant.md in order, in an empty folder."""

import re
import subprocess
import sys

import pytest

FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def steps(source_root):
    """The fenced blocks of each numbered section."""
    text = (source_root / "docs" / "Tutorial" / "1-Variant.md").read_text()
    return {int(section[3]): FENCE.findall(section) for section in re.split(r"^(?=## )", text, flags=re.MULTILINE)[1:]}


@pytest.fixture(scope="module")
def folder(steps, source_root, build, tmp_path_factory):
    """A user's folder: the program, and the build."""
    if not (build / "bin" / "fovea-run").exists():
        pytest.skip("the tools are not built")
    folder = tmp_path_factory.mktemp("variant")
    (folder / "alibi_window.mlir").write_text(steps[1][0][1])
    (folder / "build").symlink_to(build.resolve())
    return folder


def run(folder, environment, *command):
    result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def commands(folder, environment, fences):
    return [run(folder, environment, "bash", "-euc", line)
            for language, text in fences if language == "sh" for line in text.replace("\\\n", " ").strip().split("\n")]


def test_check_and_gradients(steps, folder, package_environment):
    *_, ran = commands(folder, package_environment, steps[2])
    assert "o 1x16x100x64" in ran
    (program,) = (text for language, text in steps[2] if language == "python")
    assert 0 < float(run(folder, package_environment, sys.executable, "-c", program)) < 0.02
    bounds, tile, *checked = commands(folder, package_environment, steps[3])
    assert "kv_bounds" in bounds and "tile.dot" in tile
    _, *derived = commands(folder, package_environment, steps[4])
    assert "dcapture0 against finite differences" in derived[0]
    for said in [*checked, *derived]:
        assert "passed" in said and "FAILED" not in said


def test_python(steps, folder, package_environment):
    ((_, program),) = steps[5]
    (folder / "alibi_window.py").write_text(program)
    first, *slopes = run(folder, package_environment, sys.executable, "alibi_window.py").split("\n")
    assert 0 < float(first) < 0.02 and len(" ".join(slopes).strip("[] ").split()) == 16
    listed = run(folder, package_environment, sys.executable, "-m", "fovea", "lines", "alibi_window.py:spec", "--of", "slopes[h]")
    assert "alibi_window.py:5" in listed


def test_kept(steps, folder, source_root, build, package_environment):
    """Examples are found with their sizes, and a user's own test runs."""
    inputs = source_root / "test" / "Integration" / "Inputs"
    examples = folder / "examples"
    examples.mkdir()
    (examples / "alibi_window.mlir").write_text(steps[1][0][1])
    tools = build.resolve() / "bin"
    for script, *arguments in (("run_examples.py", tools / "fovea-run", examples, "tile", "sm_80"),
                               ("run_examples.py", tools / "fovea-run", examples, "attn", tools / "fovea-opt"),
                               ("run_example_gradients.py", tools / "fovea-opt", tools / "fovea-run", examples, "attn:sm_80"),
                               ("run_shapes.py", tools / "fovea-compile", tools / "fovea-run", examples, "sm_80")):
        said = run(folder, package_environment, sys.executable, str(inputs / script), *map(str, arguments))
        assert "passed" in said
    (test,) = (text for _, text in steps[6] if "RUN:" in text)
    (line,) = re.findall(r"RUN: (.*) \|", test.replace("\\\n// RUN:", ""))
    said = run(folder, package_environment, "bash", "-euc", f"{tools}/{line.replace('%examples', 'examples')}")
    assert [bool(re.search(pattern, said)) for pattern in (r"o .*passed", r"lse .*passed")] == [True, True]
