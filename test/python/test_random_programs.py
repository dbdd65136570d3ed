"""Random attention programs at every level (test/Fuzz/README.md): those that have failed before,
and a few hundred new ones."""

import subprocess
import sys

import pytest

from conftest import ROOT

FOLDER = ROOT / "test" / "Fuzz"
#: Seconds for drawing programs, on two cores.
SECONDS = 30


@pytest.fixture(scope="module")
def programs(fovea):
    """The modules of the generator."""
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
    """Failing programs are reduced and printed as text that run_programs.py replays."""
    result = subprocess.run(
        [sys.executable, FOLDER / "run_programs.py", "fuzz", "--minutes", str(SECONDS / 60), "--keep", tmp_path],
        env=package_environment, capture_output=True, text=True, timeout=600,
    )
    print(result.stdout)
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
    assert int(result.stdout.split(" programs, ")[0].split()[-1]) > 20


def test_texts_round_trip(programs):
    """Programs round-trip through text, and replaying the choices reproduces the program."""
    for index in range(100):
        source = programs.source.Random(f"round:{index}")
        drawn = programs.program.draw(source)
        assert str(programs.program.Program.parse(str(drawn))) == str(drawn)
        assert str(programs.program.draw(programs.source.Replay(source.choices))) == str(drawn)


def test_every_function_is_drawn(programs):
    import fovea

    text = "".join(programs.worker.draw("functions", index, "fovea")[0].source for index in range(1500))
    assert not {name for name in fovea.math.__all__ if f"fovea.{name}(" not in text}


#: ATen ops that PyTorch never dispatches from a function, as it dispatches others in their place.
ALIASES = {
    "__and__", "__iand__", "__or__", "__ior__", "__xor__", "__ixor__", "_reshape_alias", "_unsafe_view", "absolute", "broadcast_to",
    "chunk", "clip", "contiguous", "convert_element_type", "detach_copy", "divide", "float_power", "isfinite", "lift_fresh_copy", "multiply",
    "negative", "numpy_T", "reshape", "subtract", "true_divide", "unsafe_chunk",
    "view_of",
}


def test_every_op_is_drawn(programs, monkeypatch):
    """Every ATen op that fovea.torch supports is drawn."""
    pytest.importorskip("torch", reason="PyTorch is not installed")
    import fovea
    from fovea.torch.trace import _tracer

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
    assert not missing, " ".join(sorted(missing))


def test_wrong_numbers_are_seen(programs):
    """A program with corrupted results fails by each rule."""
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
        # Errors within the tolerance of a row, but not of all rows together.
        small = prepared.meaning[0] + 1.3 * (prepared.plain[0] - prepared.meaning[0])
        assert prepared.judge((small, lse)).kind == "mean"


def test_repetitions_differ_in_their_data_alone(programs):
    """Deterministic gradients are repeated with deterministic=True; otherwise their failure might not repeat."""
    import gradients

    for index in range(30):
        drawn, _ = programs.worker.draw("again", index)
        for other in programs.execute.with_other_data(drawn):
            assert gradients.in_one_order(other.form) == gradients.in_one_order(drawn.form)
            assert {**other.form, "seed": drawn.form["seed"]} == drawn.form and other.form["seed"] != drawn.form["seed"]


def test_wrong_gradients_are_seen(programs):
    """Each corrupted gradient of a program fails."""
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

        assert list(own.outputs) == ["dq", "dk", "dv", "dc0", "dsinks"] and judge({}) == ""
        for name, array in found.items():
            for spoil in (numpy.zeros_like, lambda array: 2 * array, lambda array: array * numpy.nan):
                assert judge({name: spoil(array)}).startswith(f"{name}: row"), name
