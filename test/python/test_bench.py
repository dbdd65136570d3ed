"""``python -m fovea bench`` without a GPU: plots from results, errors, options."""

import importlib.util
import io
import json
import re

import pytest

RESULTS = {
    "device": {"name": "NVIDIA H200"},
    "tables": {
        "forward": [
            {"cell": "128:4096:full", "name": "fovea", "tflops": 708.0},
            {"cell": "128:4096:full", "name": "CUDNN_ATTENTION", "tflops": 607.0},
            {"cell": "128:4096:causal", "name": "fovea", "tflops": 669.0},
        ],
        "variants": [{"name": "soft cap", "fovea_ms": 1.0, "flex_attention_ms": 2.0, "fovea_tflops": 550.0, "flex_attention_tflops": 275.0}],
    },
}


def test_results_of_all_benchmarks_are_read(fovea):
    from fovea.bench import _plot

    device, tables = _plot.read(RESULTS)
    assert device == "NVIDIA H200"
    assert tables["forward"]["128:4096:full"] == {"fovea": 708.0, "CUDNN_ATTENTION": 607.0}
    assert tables["variants"]["soft cap"] == {"fovea": 550.0, "flex_attention": 275.0}
    # Results of benchmarks/forward.py: the best schedule counts.
    rows = [{"cell": "a", "name": f"fovea[{n}]", "tflops": float(n)} for n in (3, 5, 4)]
    assert _plot.read({"device": "x", "rows": rows})[1] == {"forward": {"a": {"fovea": 5.0}}}
    # Results of benchmarks/variants.py: sparse variants count all pairs, and have the share of processed blocks.
    row = {"name": "window", "kind": "sparse", "share": 0.25, "tflops": 2000.0, "fovea_ms": 0.5, "flex_attention_ms": 1.0}
    assert _plot.read({"rows": [row]})[1] == {"variants": {"window": {"fovea": 500.0, "flex_attention": 250.0}}}
    for bad in ({}, {"rows": 1}, {"rows": []}, {"tables": {"forward": [1]}}, {"tables": {"forward": []}}):
        with pytest.raises(fovea.Error, match="results"):
            _plot.read(bad)


def test_plot(fovea, tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    from fovea import bench

    assert bench.plot(RESULTS, tmp_path / "bench.svg") == {"forward": 3, "variants": 2}
    drawn = (tmp_path / "bench.svg").read_text()
    assert "</svg>" in drawn
    with pytest.raises(fovea.Error, match="a .png, .svg or .pdf file"):
        bench.plot(RESULTS, tmp_path / "bench.txt")


def test_chips(fovea):
    from fovea.runtime import _gpus

    # The data sheets' rates follow from clocks and SMs.
    for target, tflops in (("sm_80", 312), ("sm_90a", 989), ("sm_100a", 2250)):
        assert abs(_gpus.gpu_of_target(target).tensor_rate / 1e12 / tflops - 1) < 0.01
    for target in fovea.targets():
        assert _gpus.gpu_of_target(target).shared_memory >= 99 << 10
    # Blackwell Ultra computes exp2 twice as fast.
    assert _gpus.gpu_of_target("sm_103a").special == 2 * _gpus.gpu_of_target("sm_100a").special
    assert _gpus.gpu_of_name("NVIDIA B300 SXM6 AC") is _gpus.B300
    assert _gpus.gpu_of_name("NVIDIA H200") is _gpus.H200 and _gpus.gpu_of_name("A thing") is None


def test_default_target(fovea):
    from fovea.bench import _command

    assert [_command.default_target(c) for c in ("sm_80", "sm_89", "sm_90", "sm_100", "sm_103", "sm_121")] == [
        "sm_80", "sm_89", "sm_90a", "sm_100a", "sm_103a", "sm_120"]
    with pytest.raises(fovea.Error, match="no target runs on sm_70; there are sm_80, sm_86"):
        _command.default_target("sm_70")


def test_progress(fovea):
    from fovea.bench._timing import Progress

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    stream = Terminal()
    progress = Progress(4, stream)
    progress.show("a cell")
    progress.advance(2)
    assert stream.getvalue().endswith("[" + "#" * 14 + "." * 14 + "] 2/4 a cell")
    quiet = io.StringIO()
    Progress(4, quiet).advance()
    assert quiet.getvalue() == ""


def test_command(run_command, tmp_path):
    (tmp_path / "bad.json").write_text("{")
    (tmp_path / "other.json").write_text(json.dumps({"a": 1}))
    for arguments, said in (
        (["--plot", "missing.json"], "No such file"), (["--plot", "bad.json"], "bad.json is not JSON"),
        (["--plot", "other.json"], "not the results of a benchmark"), (["decode"], "there is no table 'decode'"),
        (["--rounds", "0"], "--rounds must be at least 1"),
    ):
        result = run_command("bench", *arguments, cwd=tmp_path)
        assert result.returncode == 2 and said in result.stderr and len(result.stderr.splitlines()) == 1, result.stderr


def test_without_a_device(run_command):
    result = run_command("bench", CUDA_VISIBLE_DEVICES="")
    assert result.returncode == 3
    assert result.stderr in ("fovea bench: PyTorch is not installed\n", "fovea bench: PyTorch finds no CUDA device\n")


@pytest.mark.parametrize("name, contestants", [("forward", 3), ("backward", 3)])
def test_the_plots_of_the_page_are_current(source_root, name, contestants):
    # By its path, since benchmarks/ is not on the module path.
    place = importlib.util.spec_from_file_location("plot_performance", source_root / "benchmarks" / "plot_performance.py")
    plot_performance = importlib.util.module_from_spec(place)
    place.loader.exec_module(plot_performance)
    rows = plot_performance.read_rows((source_root / "docs" / "Performance.md").read_text(), name)
    assert len(rows) == 18 * contestants
    plot = (source_root / "docs" / "img" / f"{name}.svg").read_text()
    labels = " ".join(re.findall(r"<text[^>]*>(\d+)</text>", plot))
    for one in plot_performance.CONTESTANTS.values():
        bars = " ".join(f"{row['tflops']:.0f}" for row in rows if row["name"] == one)
        assert bars in labels, "run benchmarks/plot_performance.py"


@pytest.mark.parametrize("causal", [False, True])
def test_errors_are_those_of_float64(source_root, causal):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    place = importlib.util.spec_from_file_location("exact", source_root / "benchmarks" / "exact.py")
    exact = importlib.util.module_from_spec(place)
    place.loader.exec_module(exact)
    exact.ROWS, exact.CHUNK = 40, 2 * 100 * 16  # some rows, several chunks
    q, k, v, do = (torch.randn(2, heads, 100, dim) for heads, dim in ((4, 16), (2, 16), (2, 8), (4, 8)))
    place = torch.arange(2)[:, None, None], torch.arange(100)[:, None], torch.arange(100)

    def score(s, b, h, i, j):
        return 2 * torch.tanh(s / 2) + 0.1 * h * (j - i)

    sample = exact.Sample(torch, q, k, v, score=score, causal=causal)
    given = [one[:1, :heads].double().requires_grad_() for one, heads in ((q, 2), (k, 1), (v, 1))]
    scores = score(given[0] @ given[1].mT / 4, 0, *place)
    if causal:
        scores = scores.masked_fill(place[1] < place[2], -torch.inf)
    o = scores.softmax(-1) @ given[2]
    gradients = torch.autograd.grad(o, given, do[:1, :2].double())
    assert exact.gradient_error(gradients, sample.gradients(do)) < 1e-12
    right, wrong = sample.output_error(o, 1.5 * o)
    assert right < 1e-12 and abs(wrong - 0.5) < 1e-12
