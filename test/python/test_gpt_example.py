"""examples/gpt trains, equally with Fovea's and PyTorch's attention, and generation with a cache
gives the same bytes as without one."""

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
    # The initial loss is log(256) = 5.5 nats.
    assert ours["losses"][-1] < ours["losses"][0] - 1
    saved = torch.load(checkpoint)
    assert saved["sizes"]["steps"] == 25 and all(one.isfinite().all() for one in saved["weights"].values())
    written = run_example("generate.py", checkpoint, "--prompt=def f", "--tokens=8", "--temperature=0.7")
    assert written.returncode == 0 and written.stdout.startswith("def f"), written.stderr


def test_a_bias_is_learned(fovea, gpt):
    """Both attentions train the weights, with the same result."""
    model, _ = gpt
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
    """The example's modules."""
    monkeypatch.syspath_prepend(str(FOLDER))
    import generate
    import model

    return model, generate


@pytest.mark.parametrize("kind", ["table", "slopes"])
def test_kernels_take_its_attention(fovea, gpt, kind):
    model, _ = gpt
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


def made(gpt, kind, length):
    """A model with confident predictions, and an empty cache."""
    model, generate = gpt
    torch.manual_seed(0)
    one = model.GPT(2, 32, 2)
    with torch.no_grad():
        for parameter in one.parameters():
            parameter.mul_(8 if parameter.dim() == 2 else 1)
    bias = model.Bias(kind, 2, 8, torch.device("cpu"), fixed=True)
    bias.parameter.normal_()
    return one, generate.Cache(2, 2, 16, bias, torch.device("cpu"), length)


def whole(model, kind, parameter, cap, tokens):
    """Logits after each byte, without a cache."""
    at = torch.arange(tokens.shape[1])
    apart = at[:, None] - at
    bias = parameter[:, apart.clamp(0, parameter.shape[-1] - 1)] if kind == "table" else -parameter[:, None, None] * apart

    def attend(query, key, value):
        scores = cap * torch.tanh(query @ key.mT / 4 / cap) + bias
        return scores.masked_fill(apart < 0, -torch.inf).softmax(-1) @ value

    with torch.no_grad():
        return model(tokens, attend)


@pytest.mark.parametrize("kind", ["table", "slopes"])
def test_bytes_that_are_kept(fovea, gpt, kind):
    """Bytes processed at once or one by one, also with a full cache and after the end of the position table."""
    one, cache = made(gpt, kind, length=4)
    text = torch.randint(256, (1, 21), generator=torch.Generator().manual_seed(1))
    expected = whole(one, kind, cache.bias.parameter, gpt[0].CAP, text)
    parts = [cache.read(one, part) for part in text.split([7, 1, 3, *[1] * 10], 1)]
    torch.testing.assert_close(torch.cat(parts, 1), expected, rtol=0, atol=1e-4)


def test_what_follows(fovea, gpt):
    one, cache = made(gpt, "table", length=16)
    written = list(gpt[1].generate(one, cache, b"import", 12))
    text = list(b"import")
    for _ in range(12):
        text.append(int(whole(one, "table", cache.bias.parameter, gpt[0].CAP, torch.tensor([text]))[0, -1].argmax()))
    assert written == text[6:] and len(set(written)) > 3


def test_drawing(fovea, gpt):
    def drawn(temperature, seed):
        return list(gpt[1].generate(*made(gpt, "table", 16), b"a", 8, temperature, seed))

    assert drawn(5.0, 1) == drawn(5.0, 1) != drawn(5.0, 2)
    assert drawn(1e-3, 1) == drawn(0.0, 2)


def test_what_is_no_checkpoint(gpt, monkeypatch, tmp_path):
    model, generate = gpt
    sizes = {"layers": 1, "width": 32, "heads": 2, "length": 8}
    weights = {**model.GPT(1, 32, 2).state_dict(), "table": torch.zeros(2, 8)}
    good = {"sizes": sizes, "bias": "table", "weights": weights}
    path = tmp_path / "gpt.pt"
    torch.save(good, path)
    generate.load(path, torch.device("cpu"))
    for message, bad in {
        "weights are not those of its sizes": [{**good, "sizes": {**sizes, "layers": 2}}, {**good, "sizes": {}},
                                               {**good, "bias": "slopes"}, {**good, "sizes": {**sizes, "heads": 4}}],
        "is no checkpoint of train.py's$": [{"weights": weights}, torch.zeros(3), {**good, "bias": "rings"}],
    }.items():
        for saved in bad:
            torch.save(saved, path)
            with pytest.raises(ValueError, match=message):
                generate.load(path, torch.device("cpu"))
    path.write_text("no zip file")
    for name, message in ((path, "is no checkpoint"), (tmp_path / "missing", "there is no .*--checkpoint=.*missing")):
        with pytest.raises(ValueError, match=message):
            generate.load(name, torch.device("cpu"))
    with pytest.raises(SystemExit, match="^generate.py: there is no"):
        call(generate, monkeypatch, tmp_path / "missing")


def call(module, monkeypatch, *arguments):
    """Runs the command line."""
    monkeypatch.setattr(sys, "argv", [f"{module.__name__}.py", *map(str, arguments)])
    module.main()


@pytest.mark.parametrize("script, arguments, message", [
    ("train", ["--steps=0"], "0 is less than 1"), ("train", ["--steps=-3"], "-3 is less than 1"),
    ("generate", ["gpt.pt", "--tokens=0"], "0 is less than 1"), ("generate", ["gpt.pt", "--prompt="], "--prompt is empty"),
    ("generate", ["gpt.pt", "--temperature=nan"], "nan is less than 0"),
])
def test_arguments_that_are_refused(gpt, monkeypatch, capsys, script, arguments, message):
    with pytest.raises(SystemExit) as refused:
        call(importlib.import_module(script), monkeypatch, *arguments)
    assert refused.value.code == 2 and message in capsys.readouterr().err
