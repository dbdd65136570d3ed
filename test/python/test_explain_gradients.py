"""The page of ``python -m fovea explain --gradients``: the kernels of both passes, and the
blocks that a kernel of gradients processes."""

import re

import numpy
import pytest

from test_explain import Page, causal, codes_of, data_of, documents, slope, unpacked, window


def backward_of(mask, target, by=("q", "k", "v"), **described):
    import fovea

    return fovea.attention(mask_mod=mask, head_dim=64, gradient=by, **described).backward


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("mask", [causal, window])
def test_block_map_of_gradients(fovea, mask, target):
    """Visibility is that of the forward pass; the processed blocks are those of key tiles."""
    from fovea import explain

    spec, (queries, keys) = backward_of(mask, target), (700, 500)
    (found,) = explain.block_map(spec, queries, keys, target=target)
    schedule = fovea.compile(spec, target).metadata["schedule"]
    assert found.block == (schedule["tile_n"], schedule["tile_m"])
    i, j = numpy.ogrid[:queries, :keys]
    expected = mask(0, 0, i, j)
    assert found.visible_pairs == expected.sum()
    assert tuple("".join(str(int(code) % 3) for code in row) for row in found.rows) == codes_of(expected, found.block)
    # No visible pair is skipped, blocks with masked pairs evaluate the mask, and bounds are exact.
    assert not set("".join(found.rows)) & set("1267")
    columns = ["".join(column) for column in zip(*found.rows)]
    assert all("3" not in column for column in columns if set(column) & set("4578"))
    # A block that ends after the last query or key needs the mask.
    assert not set(found.rows[-1]) & set("8") and not set(columns[-1]) & set("8")


def test_blocks_that_gradients_check(fovea):
    """Documents: key tiles evaluate block predicates, too."""
    from fovea import explain

    document = numpy.repeat(numpy.arange(5), 128)[None]
    spec = backward_of(documents, "sm_90a", captures={"document": ("i32", (None, None))})
    (found,) = explain.block_map(spec, 640, inputs={"document": document})
    i, j = numpy.ogrid[:640, :640]
    expected = (document[0][i] == document[0][j]) & (i >= j)
    assert found.visible_pairs == expected.sum()
    assert not set("".join(found.rows)) & set("12367")


def test_gradients_by_queries_have_tiles_of_queries(fovea):
    from fovea import explain

    spec = backward_of(causal, "sm_80", by=("q",))
    (found,) = explain.block_map(spec, 300, 400, target="sm_80")
    schedule = fovea.compile(spec, "sm_80").metadata["schedule"]
    assert found.block == (schedule["tile_m"], schedule["tile_n"])


def test_elements_of_gradients(fovea):
    """Pairs and scores are those of the forward program."""
    from fovea import explain

    described = {"head_dim": 64, "captures": {"slopes": ("f32", (None,))}}
    spec = fovea.attention(slope, window, gradient=("q", "k", "v", "slopes"), **described)
    inputs = {"slopes": numpy.array([0.5, -1.0, 0.25], numpy.float32)}
    first, second = (explain.elements(one, 300, head=1, heads=3, queries=(100, 140), keys=(30, 90), inputs=inputs, target="sm_80")
                     for one in (spec, spec.backward))
    assert (first.visible == second.visible).all() and first.visible.any()
    assert numpy.array_equal(first.changed, second.changed, equal_nan=True)


@pytest.mark.parametrize("target, lanes", [("sm_90a", {"load", "compute 0", "compute 1", "reduce"}), ("sm_80", {"all warps"})])
def test_page_of_both_passes(fovea, target, lanes):
    from fovea import explain

    spec = fovea.attention(mask_mod=causal, head_dim=64, gradient=("q", "k", "v"))
    text = explain.page(spec, 512, heads=2, target=target, gradients=True)
    page = Page(text)
    assert {"blocks", "why", "schedule", "resources", "roofline", "ir", "show"} <= page.ids and "compared" not in page.ids
    forward, backward = re.findall("<p class=verdict>(.*?)</p>", text)
    for line, name in ((forward, "forward"), (backward, "backward")):
        assert line.startswith(f"<b class=badge>{name}</b>") and re.search(r": processes [\d.]+ % of blocks; bottleneck: .*; at most [\d.]+ TFLOP/s", line)
    first, second = data_of(text), data_of(text, 1)
    assert first["maps"][0]["visible_pairs"] == second["maps"][0]["visible_pairs"] == 512 * 513 // 2
    assert {span["kind"] for span in first["timeline"]["spans"]} >= {"qk", "pv"}
    assert {span["kind"] for span in second["timeline"]["spans"]} >= {"qk", "dp", "dv", "dk", "dq"}
    assert lanes <= set(second["timeline"]["lanes"])
    assert "2 (D + Dv) each" in text and "2 (3 D + 2 Dv) each" in text
    assert b"attn.backward" in unpacked(second["levels"]["attn"]) and b"attention_backward" in unpacked(second["levels"]["ptx"])
    # Both kernels share the index of a line of the mask.
    (wanted,) = [n for n, name in enumerate(first["names"]) if name == f"test_explain.py:{causal.__code__.co_firstlineno + 1}"]
    for one in (first, second):
        assert all(str(wanted).encode() in unpacked(one["places"][level]).split() for level in ("python", "attn", "ptx"))


def test_bounds_of_gradients(fovea):
    """Five products per pair; bytes read and written are counted once."""
    from fovea.explain import _gradients, _inputs, _resources

    kernel = fovea.compile(backward_of(causal, "sm_90a"), "sm_90a")
    entries = _inputs.signature(kernel._spec, kernel._options)
    products = _gradients.products_of_a_pair(kernel, entries)
    assert products == {"qk": "D", "dp": "Dv", "dv": "Dv", "dk": "D", "dq": "D"}
    assert _gradients.counted_flops({"qk": "D", "dp": "Dv", "dk": "D"}) == "2 (2 D + Dv)"
    sizes = _inputs.Sizes(256, 256, 2, 4, 2)
    of_queries, of_keys = 2 * 4 * 256, 2 * 2 * 256
    # q, dO, dQ; k, v, dK, dV in bf16; LSE and delta.
    expected = 2 * 64 * (3 * of_queries + 4 * of_keys) + 8 * of_queries
    assert _resources.tensor_bytes(kernel, entries, sizes, (of_queries, of_keys)) == expected


@pytest.fixture
def program(tmp_path):
    file = tmp_path / "alibi.py"
    file.write_text("import fovea\nspec = fovea.attention(mask_mod=lambda b, h, q, k: q >= k, head_dim=64)\n"
                    "train = fovea.attention(mask_mod=lambda b, h, q, k: q >= k, head_dim=64, gradient=('q', 'k'))\n")
    return file


START = ["explain", "--seq", "128", "--target", "sm_80"]


def test_command_for_both_passes(fovea, run_command, program, tmp_path):
    """For a program without gradients, all gradients are compiled."""
    result = run_command(*START, f"{program}:spec", "--gradients", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    forward, backward, written = result.stdout.splitlines()
    assert forward.startswith("attention for sm_80: processes ") and backward.startswith("attention_backward for sm_80: processes ")
    assert written.startswith("alibi-spec-gradients.html: ")


def test_command_for_a_program_of_gradients(fovea, run_command, program, tmp_path):
    """The backward program of a Spec, and MLIR of one, have pages of their own kernel."""
    result = run_command(*START, f"{program}:train.backward", cwd=tmp_path)
    assert result.returncode == 0 and "\nalibi-train-backward.html: " in result.stdout, result.stderr
    assert {"blocks", "roofline"} <= Page((tmp_path / "alibi-train-backward.html").read_text()).ids
    backward = tmp_path / "backward.mlir"
    backward.write_text(fovea.gradient(fovea.attention(head_dim=64)).mlir)
    result = run_command(*START, str(backward), cwd=tmp_path)
    assert result.returncode == 0 and result.stdout.startswith("attention_backward for sm_80: processes all blocks"), result.stderr


def test_command_that_prints_reasons(run_command, program, tmp_path):
    result = run_command(*START, f"{program}:train", "--gradients", "--why", cwd=tmp_path)
    assert result.returncode == 0 and "\n\nattention_backward for sm_80\n" in result.stdout and "compute dK and dV" in result.stdout
    for arguments, said in [
        (["--gradients", "--compare", "target=sm_89"], "--gradients and --compare exclude each other: compare variants of FILE.py:NAME.backward\n"),
        (["--gradients", "--measure"], "--gradients and --measure exclude each other: only kernels of the forward pass can be measured\n"),
    ]:
        result = run_command(*START, f"{program}:spec", *arguments, cwd=tmp_path)
        assert result.returncode == 2 and result.stderr == f"fovea explain: {said}"
