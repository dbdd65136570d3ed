"""examples/gpt learns, and learns the same with Fovea's attention as with PyTorch's."""

import importlib
import json
import os
import subprocess
import sys

import pytest
from conftest import ROOT

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


def test_it_learns(build, tmp_path):
    out = tmp_path / "out.json"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "FOVEA_LIBRARY_PATH": str(build / "lib")}
    subprocess.run([sys.executable, ROOT / "examples" / "gpt" / "train.py", "--device=cpu", "--steps=25", f"--json={out}",
                    f"--checkpoint={tmp_path / 'gpt.pt'}"], env=environment, check=True, timeout=240)
    results = json.loads(out.read_text())
    ours, theirs = results["fovea"], results["torch"]
    assert ours["losses"][0] == pytest.approx(theirs["losses"][0], abs=1e-4)
    assert ours["losses"] == pytest.approx(theirs["losses"], abs=5e-3)
    assert ours["held_out"] == pytest.approx(theirs["held_out"], abs=5e-3)
    # A byte of 256 is 5.5 nats at first.
    assert ours["losses"][-1] < ours["losses"][0] - 1
    saved = torch.load(tmp_path / "gpt.pt")
    assert saved["sizes"]["steps"] == 25 and all(one.isfinite().all() for one in saved["weights"].values())


@pytest.mark.parametrize("script, arguments, message", [
    ("train", ["--steps=0"], "0 is less than 1"), ("train", ["--steps=-3"], "-3 is less than 1"),
])
def test_arguments_that_are_refused(monkeypatch, capsys, script, arguments, message):
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "gpt"))
    module = importlib.import_module(script)
    monkeypatch.setattr(sys, "argv", [f"{script}.py", *arguments])
    with pytest.raises(SystemExit) as refused:
        module.main()
    assert refused.value.code == 2 and message in capsys.readouterr().err
