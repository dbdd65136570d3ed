"""The README's programs and commands run in order, and its numbers are those of the pages that it
refers to."""

import importlib.util
import math
import os
import pathlib
import re
import subprocess
import sys

import pytest

FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
#: Appended to the program for PyTorch: compares the gradient with that of the formula in f64.
CHECK = """
exact = [tensor.detach().double().requires_grad_() for tensor in (q, k, v, slopes)]
index = torch.arange(length)
scores = exact[0] @ exact[1].mT / 8 + exact[3][:, None, None] * (index - index[:, None])
scores = scores.masked_fill(index > index[:, None], -torch.inf)
(scores.softmax(-1) @ exact[2]).sum().backward()
for found, wanted in zip((q, k, v, slopes), exact):
    error = (found.grad - wanted.grad).norm() / wanted.grad.norm()
    assert error < 2e-2, error
"""


@pytest.fixture(scope="module")
def readme(source_root):
    return (source_root / "README.md").read_text()


@pytest.fixture(scope="module")
def folder(readme, source_root, build, tmp_path_factory):
    """The repository of a reader, with `alibi.py`."""
    folder = tmp_path_factory.mktemp("readme")
    for name in ("examples", "python"):
        (folder / name).symlink_to(source_root / name)
    (folder / "build").symlink_to(build.resolve())
    (folder / "alibi.py").write_text(programs(readme)[1])
    return folder


def programs(page):
    return [text for language, text in FENCE.findall(page) if language == "python"]


def run(folder, environment, *command):
    environment = {**environment, "PATH": f"{pathlib.Path(sys.executable).parent}:{folder}/build/bin:{os.environ['PATH']}", "CUDA_VISIBLE_DEVICES": ""}
    result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_commands(readme, folder, package_environment):
    """The commands run in order, one line at a time."""
    if not (folder / "build" / "bin" / "fovea-compile").exists():
        pytest.skip("the tools are not built")
    texts = [text.replace("\\\n", " ") for language, text in FENCE.findall(readme) if language == "sh"]
    commands = [line for text in texts for line in text.splitlines()]
    assert len(commands) > 5
    outputs = {line: run(folder, package_environment, "bash", "-euc", line) for line in commands}
    error = next(float(text.split()[-1]) for line, text in outputs.items() if line == "python alibi.py")
    assert 0 < error < 5e-3
    assert (folder / "alibi-spec.html").exists() or (folder / "spec.html").exists()
    assert ".target sm_90a" in (folder / "soft_cap.ptx").read_text()
    for word, text in (("tile_n", "--why"), ("alibi.py:3", "--of"), ("tile.dot", "--fovea-to-tile")):
        assert any(word in output for line, output in outputs.items() if text in line), (word, text)


def test_make_commands(readme, source_root):
    """Targets in the first fence and in the text exist."""
    targets = re.findall(r"^([a-z-]+):", (source_root / "Makefile").read_text(), re.MULTILINE)
    named = re.findall(r"\bmake ([a-z-]+)", readme)
    assert {"demo", "test", "wheel"} <= set(named) and set(named) <= set(targets)


def test_pytorch(readme, folder, package_environment):
    pytest.importorskip("torch")
    program, _ = programs(readme)
    printed = run(folder, package_environment, sys.executable, "-c", program + CHECK)
    assert printed.startswith("tensor([") and printed.count(",") == 3


def test_cpp(readme, source_root):
    """Names in the C++ example are declared in its headers."""
    (text,) = (text for language, text in FENCE.findall(readme) if language == "cpp")
    headers = [(source_root / "include" / name) for name in re.findall(r"fovea/[\w/]+\.h", text)]
    declared = "".join(header.read_text() for header in [*headers, source_root / "include/fovea/Pipelines/Pipelines.h"])
    names = set(re.findall(r"fovea::(\w+)", text)) | {"target", "ptx", "metadata"}
    assert len(names) > 5 and all(re.search(rf"\b{name}\b", declared) for name in names)


def test_check_without_a_gpu(source_root, folder, package_environment):
    """The program of docs/Guides/PyTorch.md prints errors within the precision of bfloat16."""
    pytest.importorskip("torch")
    (program,) = (text for text in programs((source_root / "docs" / "Guides" / "PyTorch.md").read_text()) if 'backend="ptx"' in text)
    printed = dict(line.split() for line in run(folder, package_environment, sys.executable, "-c", program).splitlines())
    assert list(printed) == ["o", "dq", "dk", "dv", "ddecay"] and all(0 < float(error) < 1e-2 for error in printed.values()), printed


@pytest.mark.parametrize("index", range(2))
def test_serving_without_a_gpu(source_root, folder, package_environment, index):
    """The programs of docs/Guides/Serving.md that need no GPU print the rounding error of float32."""
    pytest.importorskip("torch")
    found = [text for text in programs((source_root / "docs" / "Guides" / "Serving.md").read_text()) if 'backend="interpret"' in text]
    assert len(found) == 2
    assert float(run(folder, package_environment, sys.executable, "-c", found[index])) < 1e-5


def test_the_wheel_s_page(source_root, folder, package_environment):
    """The first program needs a GPU; here it runs with only the device-specific parts changed."""
    with_torch, ahead = programs((source_root / "python" / "README.md").read_text())
    assert 0 < float(run(folder, package_environment, sys.executable, "-c", ahead)) < 5e-3
    pytest.importorskip("torch")
    for old, new in ((', device="cuda", dtype', ", dtype"), (', device="cuda")', ")"), ("4096, 4096)", '64, 64, device="cpu")'),
                     ("torch.randn(2, 32, 4096, 128", "torch.randn(1, 32, 64, 32"), ("block_mask=block_mask)", "block_mask=block_mask, backend='ptx')")):
        assert old in with_torch, old
        with_torch = with_torch.replace(old, new)
    run(folder, package_environment, sys.executable, "-c", with_torch)


# --- Numbers ----------------------------------------------------------------------------------------


def cells_of(text):
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]


def section(page, heading):
    return re.split(r"^##? ", page[page.index(heading) + len(heading):], maxsplit=1, flags=re.MULTILINE)[0]


def speed_rows(readme):
    """{row: {column: (least, greatest)}} of the table of speed."""
    header, _, *rows = cells_of(section(readme, "## Speed\n"))
    numbers = {}
    for name, *cells in rows:
        found = {column.split(",")[0]: re.findall(r"([\d.]+)x", cell) for column, cell in zip(header[1:], cells)}
        numbers[name] = {column: tuple(map(float, (texts[0], texts[-1]))) for column, texts in found.items() if texts}
    return numbers


def geometric_means(source_root, name):
    """The speedup over each kernel of a table in docs/Performance.md."""
    place = importlib.util.spec_from_file_location("plot_performance", source_root / "benchmarks" / "plot_performance.py")
    module = importlib.util.module_from_spec(place)
    place.loader.exec_module(module)
    rows = module.read_rows((source_root / "docs" / "Performance.md").read_text(), name)
    rates = {}
    for row in rows:
        rates.setdefault(row["name"], {})[row["cell"]] = row["tflops"]
    ours = rates.pop("fovea")
    return {who: math.exp(sum(math.log(ours[cell] / rate) for cell, rate in theirs.items()) / len(theirs)) for who, theirs in rates.items()}


COLUMNS = {"FlashAttention-3": "FlashAttention-3", "cuDNN": "CUDNN_ATTENTION", "FlashAttention-2": "FLASH_ATTENTION",
           "flex_attention": "flex_attention"}


@pytest.mark.parametrize("name", ["forward", "backward"])
def test_means(readme, source_root, name):
    means, shown = geometric_means(source_root, name), speed_rows(readme)[f"{name}, 18 cells"]
    text = section((source_root / "docs" / "Performance.md").read_text(), "## Forward on sm_90a\n")
    for column, (value, _) in shown.items():
        if COLUMNS[column] in means:
            assert abs(means[COLUMNS[column]] - value) < 0.006, column
        else:  # measured in another run, mentioned in the text
            assert re.search(rf"{value:.2f}x {column}", " ".join(text.split())), column
    assert len(shown) >= 2
    headline = re.search(r"on an H200 ([\d.]+)x FlashAttention-3 forward and ([\d.]+)x cuDNN backward", readme)
    assert float(headline[1]) == shown["FlashAttention-3"][0] if name == "forward" else float(headline[2]) == shown["cuDNN"][0]


def test_variants(readme, source_root):
    shown, tables = speed_rows(readme), (source_root / "benchmarks" / "notebook" / "tables.md").read_text()
    header, _, *rows = cells_of(section(tables, "## Variants on sm_90a\n"))
    faster = [float(number) for row in rows for number in row[header.index("faster by")].split(" / ")]
    assert shown["variants, forward"]["flex_attention"] == (round(min(faster), 1), round(max(faster), 1))
    header, _, *rows = cells_of(section(tables, "## Gradients of examples\n").partition("flex_attention's last two rows")[0])
    faster = [float(row[column]) for row in rows for column, title in enumerate(header) if title == "faster" and row[column]]
    # Tables by relative position or bucket, and slopes, are tens to hundreds of times as fast and outside of this range.
    assert shown["PyTorch's examples, backward"]["flex_attention"] == (round(min(faster), 1), round(max(number for number in faster if number < 10), 1))
    performance = (source_root / "docs" / "Performance.md").read_text()
    assert "1.5x to 8.5x flex_attention" in performance and "1.5x to 3.8x flex_attention" in performance
    assert "0.92x to 1.05x FlashAttention-2; backward 0.87x to 1.10x" in performance
    assert "0.92x to 1.05x FlashAttention-2 forward and 0.87x to 1.10x backward" in " ".join(readme.split())
