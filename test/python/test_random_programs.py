"""Random programs of attention at every level (docs/Fuzzing.md): those that have failed
before, and a few hundred that nobody has seen."""

import json
import pathlib
import subprocess
import sys

import pytest

from conftest import ROOT

FOLDER = ROOT / "test" / "Fuzz"
#: Of drawing programs, on two cores.
SECONDS = 30


@pytest.fixture(scope="module")
def programs(fovea):
    """The package of the generator."""
    sys.path[:0] = [str(FOLDER / "programs")]
    import corpus
    import execute
    import program
    import rules
    import source
    import worker

    return type("Programs", (), {module.__name__: module for module in (corpus, execute, program, rules, source, worker)})


@pytest.mark.parametrize("name", sorted(path.name for path in (FOLDER / "programs" / "corpus").glob("*.py")))
def test_corpus(programs, name):
    path = FOLDER / "programs" / "corpus" / name
    if programs.program.Program.parse(path.read_text()).front_end == "torch":
        pytest.importorskip("torch", reason="PyTorch is not installed")
    failures = programs.corpus.replay(path)
    expected = programs.corpus.expected(path.read_text())
    if expected is None:
        assert not failures
    else:
        assert failures and any(expected in failure for failure in failures), "fixed: remove EXPECTED from the file"
        pytest.xfail(expected)


def test_programs_of_the_day(package_environment, tmp_path):
    """What fails is printed, as small as it gets, as text that run_programs.py replays."""
    result = subprocess.run(
        [sys.executable, FOLDER / "run_programs.py", "fuzz", "--minutes", str(SECONDS / 60), "--keep", tmp_path],
        env=package_environment, capture_output=True, text=True, timeout=600,
    )
    print(result.stdout)
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
    assert int(result.stdout.split(" programs, ")[0].split()[-1]) > 20


def test_texts_round_trip(programs):
    """And the choices that made a program make it again."""
    for index in range(100):
        source = programs.source.Random(f"round:{index}")
        drawn = programs.program.draw(source)
        assert str(programs.program.Program.parse(str(drawn))) == str(drawn)
        assert str(programs.program.draw(programs.source.Replay(source.choices))) == str(drawn)


def test_every_function_is_drawn(programs):
    import fovea

    text = "".join(programs.worker.draw("functions", index, "fovea")[0].source for index in range(1500))
    assert not {name for name in fovea.functions.__all__ if f"fovea.{name}(" not in text}


#: ATen's names that a function does not lead to: others stand for them when PyTorch dispatches.
ALIASES = {
    "__and__", "__iand__", "__or__", "__ior__", "__xor__", "__ixor__", "_reshape_alias", "_unsafe_view", "absolute", "broadcast_to",
    "clip", "contiguous", "convert_element_type", "detach_copy", "divide", "float_power", "isfinite", "lift_fresh_copy", "multiply",
    "negative", "numpy_T", "reshape", "subtract", "true_divide", "view_of",
}


def test_every_op_is_drawn(programs, monkeypatch):
    """Of the ATen ops that fovea.torch knows."""
    pytest.importorskip("torch", reason="PyTorch is not installed")
    import fovea
    from fovea.torch import _tracer

    missing = set(_tracer.EMITTERS) - ALIASES

    def watched(name, emit):
        def run(*args):
            missing.discard(name)
            return emit(*args)

        return run

    for name, emit in list(_tracer.EMITTERS.items()):
        monkeypatch.setitem(_tracer.EMITTERS, name, watched(name, emit))
    index = 0
    while missing and index < 4000:
        drawn, _ = programs.worker.draw("ops", index, "torch")
        drawn.form["blocks"], drawn.form["batch"], drawn.form["keys"] = None, 1, 1
        index += 1
        try:
            programs.execute.Prepared(drawn)
        except fovea.TraceError:
            pass
    assert not missing


def test_wrong_numbers_are_seen(programs):
    """A program whose results are spoiled fails by each rule."""
    import numpy

    drawn = programs.program.Program.parse((
        'FRONT_END = "fovea"\nFORM = {"queries": 70, "keys": 40, "heads": 2, "dtype": "bf16"}\nCAPTURES = {}\n\n\n'
        "def score_mod(score, b, h, q_idx, kv_idx):\n    return score\n"))
    with programs.execute.Prepared(drawn) as prepared:
        o, lse = prepared.run("tile", "sm_90a")
        assert not prepared.judge((o, lse)).kind
        row, lost, missing = o.copy(), lse.copy(), o.copy()
        row[0, 1, 69] += 0.05
        lost[0, 0, 3] += 0.002
        missing[0, 0, 69, 15] = numpy.nan
        assert prepared.judge((row, lse)).kind == "o"
        assert prepared.judge((missing, lse)).kind == "o"
        assert prepared.judge((o, lost)).kind == "lse"
        # Errors that each row may have, and all of them may not.
        small = prepared.meaning[0] + 1.3 * (prepared.plain[0] - prepared.meaning[0])
        assert prepared.judge((small, lse)).kind == "mean"


def test_repetitions_differ_in_their_data_alone(programs):
    """Gradients whose sums have one order are repeated as such: else a mistake of theirs would not come again."""
    import gradients

    for index in range(30):
        drawn, _ = programs.worker.draw("again", index)
        for other in programs.execute.with_other_data(drawn):
            assert gradients.in_one_order(other.form) == gradients.in_one_order(drawn.form)
            assert {**other.form, "seed": drawn.form["seed"]} == drawn.form and other.form["seed"] != drawn.form["seed"]


def test_wrong_gradients_are_seen(programs):
    """Of a program whose gradients are spoiled, each alone fails."""
    import gradients
    import numpy

    drawn = programs.program.Program.parse((
        'FRONT_END = "fovea"\nFORM = {"queries": 70, "keys": 40, "heads": 2, "sinks": True}\n'
        'CAPTURES = {"c0": {"dtype": "f32", "dims": (2,), "contents": "normal"}}\n\n\n'
        "def score_mod(score, b, h, q_idx, kv_idx, c0):\n    return score + c0[h] * (kv_idx - q_idx) / 64\n"))
    with programs.execute.Prepared(drawn) as prepared:
        own = prepared.gradients
        found = own.run("tile", "sm_90a")

        def judge(changed):
            return gradients.judge_all({**found, **changed}, own.meaning, own.plain, own.residue, own.outputs, "bf16", prepared.score_error)

        assert list(own.outputs) == ["dq", "dk", "dv", "dcapture0", "dsinks"] and judge({}) == ""
        for name, array in found.items():
            for spoil in (numpy.zeros_like, lambda array: 2 * array, lambda array: array * numpy.nan):
                assert judge({name: spoil(array)}).startswith(f"{name}: row"), name


# --- The mode of test/GPU/run_forward.py ----------------------------------------


class StandInKernel:
    """Behaves as a kernel: writes what the program gives, evaluated straightforwardly."""

    def __init__(self, programs, job, spoil):
        self.programs, self.job, self.spoil = programs, job, spoil
        self.metadata = json.loads(pathlib.Path(job.metadata).read_text())

    def __call__(self, stream, o, lse=None, **inputs):
        import torch

        taken = {tensor["name"] for tensor in self.metadata["tensors"]} - {"o", "lse"}
        assert taken <= set(inputs) and all(type(one) in (int, float, torch.Tensor) for one in inputs.values())
        drawn = self.programs.program.Program.parse(self.job.text)
        with self.programs.execute.Prepared(drawn) as prepared:
            for name, dtype, array in prepared.inputs:
                if name in taken:
                    given = inputs[name].contiguous()
                    assert torch.equal(given.view(torch.uint16) if dtype == "bf16" else given, torch.from_numpy(array))
            results = prepared.plain
        o.copy_(torch.from_numpy(results[0]))
        if lse is not None:
            lse.copy_(torch.from_numpy(results[1]))
        self.spoil(o, lse)


@pytest.fixture
def on_device(monkeypatch):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    monkeypatch.syspath_prepend(str(ROOT / "test" / "GPU"))
    # Both folders of tests have a module of variants.
    others = sys.modules.pop("variants", None)
    import random_programs

    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    yield random_programs
    sys.modules.pop("variants", None)
    if others is not None:
        sys.modules["variants"] = others


def nothing(o, lse):
    pass


def test_programs_on_a_device(programs, on_device, tmp_path):
    """With the interpreter in a kernel's place."""
    import torch

    ran = 0
    for index in range(12):
        job = on_device.prepare("device", index, ("sm_80", "sm_90a")[index % 2], None, tmp_path)
        if job.error is not None:
            continue
        kernel = StandInKernel(programs, job, nothing)
        assert on_device.check(torch, kernel, job, torch.device("cpu"), 0) == ("", ""), job.text
        ran += 1
    assert ran > 6


def test_wrong_programs_on_a_device(programs, on_device, tmp_path):
    import torch

    job = on_device.prepare_program(programs.program.Program.parse((
        'FRONT_END = "fovea"\nFORM = {"queries": 70, "keys": 40, "heads": 2, "strided": True}\n'
        'CAPTURES = {"c0": {"dtype": "f16", "dims": (70, 40), "contents": "normal"}}\n\n\n'
        "def score_mod(score, b, h, q_idx, kv_idx, c0):\n    return score + c0[q_idx, kv_idx]\n")), "one", "sm_90a", None, tmp_path)

    def unwritten(o, lse):
        o[0, 0, 69, 3] = torch.nan

    def lost(o, lse):
        lse[0, 1, 7] += 0.01

    def beside(o, lse):
        o.as_strided((1,), (1,), o.storage_offset() - 1).fill_(0)

    for spoil, kind in ((nothing, ""), (unwritten, "o"), (lost, "lse"), (beside, "damage")):
        assert on_device.check(torch, StandInKernel(programs, job, spoil), job, torch.device("cpu"), 0)[0] == kind

    class Runtime:
        def load(self, image, metadata):
            return StandInKernel(programs, job, lost)

    assert on_device.launch(torch, Runtime(), job, torch.device("cpu"), 0)[0] == "lse"


def test_many_programs_on_a_device(programs, on_device, package_environment, tmp_path, monkeypatch, capsys):
    """The processes that prepare them, what is printed, and the exit code; every third kernel is wrong."""
    import argparse
    import types

    import torch

    monkeypatch.setattr(on_device, "SHRINKS", 0)

    def spoiled(o, lse):
        o[:] = torch.nan

    class Runtime:
        def load(self, image, metadata):
            seed, index, _, _ = pathlib.Path(image).stem.split("_")
            drawn, _ = programs.worker.draw(seed, int(index))
            job = types.SimpleNamespace(text=str(drawn), metadata=metadata)
            return StandInKernel(programs, job, spoiled if int(index) % 3 == 0 else nothing)

    library = pathlib.Path(package_environment["FOVEA_LIBRARY_PATH"]) / "libFoveaRuntime.so"
    for count, code in ((7, 1), (0, 0)):
        args = argparse.Namespace(random_programs=count, runtime=str(library), seed="device", jobs=2, time=0, show=2, work=tmp_path)
        assert on_device.run(torch, Runtime(), args, ["sm_80", "sm_90a"], None, torch.device("cpu"), 0) == code
        said = capsys.readouterr().out
        assert f"{count} random programs" in said
        assert ("FAILED: program device:0 for sm_80: o: row 0, column 0 is nan" in said) == bool(code)
