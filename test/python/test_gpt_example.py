"""examples/gpt learns, and learns the same with Fovea's attention as with PyTorch's."""

import importlib
import json
import subprocess
import sys

import pytest
from conftest import ROOT

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
FOLDER = ROOT / "examples" / "gpt"


@pytest.fixture
def run_example(package_environment):
    def run(script, *arguments):
        return subprocess.run([sys.executable, FOLDER / script, "--device=cpu", *map(str, arguments)], env=package_environment,
                              capture_output=True, encoding="utf-8", timeout=240)

    return run


@pytest.mark.parametrize("bias", ["table", "slopes"])
def test_it_learns(run_example, tmp_path, bias):
    out, checkpoint = tmp_path / "out.json", tmp_path / "gpt.pt"
    done = run_example("train.py", "--steps=25", f"--json={out}", f"--checkpoint={checkpoint}", f"--bias={bias}")
    assert done.returncode == 0, done.stderr
    results = json.loads(out.read_text())
    ours, theirs = results["fovea"], results["torch"]
    assert ours["losses"][0] == pytest.approx(theirs["losses"][0], abs=1e-4)
    assert ours["losses"] == pytest.approx(theirs["losses"], abs=5e-3)
    assert ours["held_out"] == pytest.approx(theirs["held_out"], abs=5e-3)
    # A byte of 256 is 5.5 nats at first.
    assert ours["losses"][-1] < ours["losses"][0] - 1
    saved = torch.load(checkpoint)
    assert saved["sizes"]["steps"] == 25 and all(one.isfinite().all() for one in saved["weights"].values())


def test_a_bias_is_learned(fovea, gpt):
    """Both attentions move it, and to the same place."""
    model = gpt
    import train

    sizes = train.Sizes(1, 32, 2, 2, 48, 5)
    batches = train.Batches(sizes.rows, sizes.length)
    for kind in model.BIASES:
        ours, theirs = (train.train(name, sizes, batches, torch.device("cpu"), bias=kind)[3][kind] for name in ("fovea", "torch"))
        begin = model.Bias(kind, sizes.heads, sizes.length, torch.device("cpu")).parameter
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-3)
        assert (ours - begin).abs().max() > 2e-3


@pytest.fixture
def gpt(monkeypatch):
    """The example's model."""
    monkeypatch.syspath_prepend(str(FOLDER))
    import model

    return model


@pytest.mark.parametrize("kind", ["table", "slopes"])
def test_kernels_take_its_attention(fovea, gpt, kind):
    model = gpt
    import fovea.torch

    variant = model.Variant(2, 2, 80, torch.device("cpu"), kind)
    variant.docs[:, 30:] = 1
    generator = torch.Generator().manual_seed(0)
    given = [torch.randn(2, 2, 80, 16, generator=generator).bfloat16().requires_grad_() for _ in range(3)]
    found = fovea.torch.flex_attention(*given, variant.score_mod, variant.mask_mod, backend="ptx:sm_90a")
    expected = variant._written_down(*(one.float() for one in given))
    torch.testing.assert_close(found.float(), expected, rtol=0, atol=2e-2)
    by = [*given, variant.bias.parameter]
    for mine, theirs in zip(*(torch.autograd.grad(one.float().square().sum(), by) for one in (found, expected))):
        assert (mine - theirs).abs().max() < 3e-2 * theirs.abs().max()


def call(module, monkeypatch, *arguments):
    """As from the command line."""
    monkeypatch.setattr(sys, "argv", [f"{module.__name__}.py", *map(str, arguments)])
    module.main()


@pytest.mark.parametrize("script, arguments, message", [
    ("train", ["--steps=0"], "0 is less than 1"), ("train", ["--steps=-3"], "-3 is less than 1"),
])
def test_arguments_that_are_refused(gpt, monkeypatch, capsys, script, arguments, message):
    with pytest.raises(SystemExit) as refused:
        call(importlib.import_module(script), monkeypatch, *arguments)
    assert refused.value.code == 2 and message in capsys.readouterr().err
