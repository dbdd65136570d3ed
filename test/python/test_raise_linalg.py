"""Random attention in linalg: results before and after `attn-raise-linalg`, compared with numpy."""

import os

import numpy as np
import pytest

import linalg_programs

#: FOVEA_LINALG_PROGRAMS sets a larger number than CI uses.
COUNT = int(os.environ.get("FOVEA_LINALG_PROGRAMS", "60"))
FIRST = int(os.environ.get("FOVEA_LINALG_FIRST", "0"))


@pytest.fixture(scope="module")
def programs():
    return [linalg_programs.draw(seed) for seed in range(FIRST, FIRST + COUNT)]


@pytest.fixture(scope="module")
def raised(programs, run_tool):
    """The text of all functions after the pass, by name."""
    result = run_tool("fovea-opt", "--attn-raise-linalg", "--remarks-filter=raise", stdin="".join(p.text for p in programs))
    assert result.returncode == 0, result.stderr
    missed = [line for line in result.stderr.splitlines() if "[Missed]" in line]
    assert not missed, "\n".join(missed)
    return result.stdout


def execute(run_tool, path, program, folder):
    files = []
    for number, values in enumerate(program.inputs):
        files.append(folder / f"{number}.npy")
        np.save(files[-1], values)
    output = folder / "output.npy"
    result = run_tool("fovea-run", path, f"--entry={program.name}", "--precision=exact", "--inputs", *files, "--outputs", output)
    assert result.returncode == 0, result.stderr
    return np.load(output)


def test_programs(programs, raised, run_tool, tmp_path):
    before, after = tmp_path / "before.mlir", tmp_path / "after.mlir"
    before.write_text("".join(program.text for program in programs))
    after.write_text(raised)
    failures = []
    for number, program in enumerate(programs):
        # Some programs also compare the interpreter's linalg with numpy.
        for path in [before, after] if number % 4 == 0 else [after]:
            values = execute(run_tool, path, program, tmp_path)
            if values.shape != program.expected.shape or not np.allclose(values, program.expected, rtol=1e-5, atol=1e-5):
                failures.append(f"{program.name} {path.stem}: {', '.join(program.notes)}")
    assert not failures, "\n".join(failures)


def test_raised(raised):
    assert raised.count("attn.forward") == COUNT
    assert "linalg.softmax" not in raised and "math.exp" not in raised.replace("score_mod", "").split("linalg")[0]
