"""The page of ``python -m fovea explain``: the block maps are correct, and the page needs no network."""

import base64
import gzip
import html.parser
import json
import pathlib
import re
import sys

import numpy
import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES.parent / "test" / "Integration" / "Inputs"))

from example_sizes import fixed_sizes  # noqa: E402


def causal(b, h, q, k):
    return q >= k


def window(b, h, q, k):
    return (q >= k) & (q - k < 100)


def documents(b, h, q_idx, kv_idx, document):
    return (document[b, q_idx] == document[b, kv_idx]) & (q_idx >= kv_idx)


def by_head(b, h, q, k):
    return q - k <= 64 * h


def codes_of(mask, block):
    """Whether none (0), some (1) or all (2) pairs of each block are visible, for a mask as a matrix."""
    m, n = block
    rows = []
    for i in range(0, mask.shape[0], m):
        parts = [mask[i : i + m, j : j + n] for j in range(0, mask.shape[1], n)]
        rows.append("".join("2" if part.all() else "1" if part.any() else "0" for part in parts))
    return tuple(rows)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("mask", [causal, window, by_head])
def test_block_map(fovea, mask, target):
    from fovea import explain

    queries, keys = 700, 500
    spec = fovea.attention(mask_mod=mask, head_dim=64)
    maps = explain.block_map(spec, queries, keys, heads=3, target=target)
    # There is one map for all heads unless the mask depends on the head.
    assert [m.head for m in maps] == ([0, 1, 2] if mask is by_head else [0])
    i, j = numpy.ogrid[:queries, :keys]
    for found in maps:
        expected = numpy.broadcast_to(mask(0, found.head, i, j), (queries, keys))
        assert found.visible_pairs == expected.sum()
        truth = tuple("".join(str(int(code) % 3) for code in row) for row in found.rows)
        assert truth == codes_of(expected, found.block)
        counts = found.count()
        assert sum(counts[name] for name in ("none", "some", "all")) == sum(map(len, found.rows))
        # No visible pair is skipped, and blocks with masked pairs evaluate the mask.
        assert not set("".join(found.rows)) & set("1267")
        # These masks have exact bounds: no block is processed needlessly, if there is one to process.
        for row in found.rows:
            assert "3" not in row or not any(int(code) % 3 for code in row)


def test_block_map_of_data(fovea):
    from fovea import explain

    document = numpy.repeat(numpy.arange(5), 64)[None]
    spec = fovea.attention(mask_mod=documents, head_dim=64, captures={"document": ("i32", (None, None))})
    (found,) = explain.block_map(spec, 320, inputs={"document": document}, target="sm_80")
    i, j = numpy.ogrid[:320, :320]
    expected = (document[0][i] == document[0][j]) & (i >= j)
    assert found.visible_pairs == expected.sum() == 5 * 64 * 65 // 2
    assert tuple("".join(str(int(c) % 3) for c in row) for row in found.rows) == codes_of(expected, found.block)
    # Lengths hide keys of each batch entry.
    spec = fovea.attention(head_dim=64, sequences="lengths")
    maps = explain.block_map(spec, 128, batch=2, inputs={"lengths": numpy.array([128, 40])}, target="sm_80")
    assert [m.visible_pairs for m in maps] == [128 * 128, 128 * 40]


def test_block_map_errors(fovea):
    from fovea import explain

    spec = fovea.attention(mask_mod=causal, head_dim=64, query_length=256)
    with pytest.raises(fovea.Error, match="has 256 queries, found 128"):
        explain.block_map(spec, 128)
    with pytest.raises(fovea.Error, match="takes no 'slopes'; it takes nothing but q, k, v"):
        explain.block_map(spec, 256, inputs={"slopes": numpy.zeros(4)})
    with pytest.raises(ValueError, match="query_length must be positive, found 0"):
        explain.block_map(spec, 0)
    with pytest.raises(fovea.CompileError, match="unknown target 'sm_1'"):
        explain.block_map(spec, 256, target="sm_1")


class Page(html.parser.HTMLParser):
    """Parses the elements of a page; fails if they are not balanced."""

    VOID = {"meta", "input", "br", "line", "polyline", "circle"}

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.links, self.script = [], set(), [], ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.ids.add(attributes.get("id"))
        self.links += [attributes[name] for name in ("src", "href") if name in attributes]
        if tag not in self.VOID:
            self.open.append((tag, attributes.get("id")))

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        opened, _ = self.open.pop()
        assert opened == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == ("script", "data"):
            self.script += data


def unpacked(text):
    return gzip.decompress(base64.b64decode(text))


def data_of(text, variant=0):
    """The data of the page's script for a variant; `names` are source positions."""
    data = json.loads(Page(text).script)
    return {**data["variants"][variant], "names": data["places"]}


@pytest.mark.parametrize("name, target", [("causal", "sm_90a"), ("documents", "sm_90a"), ("block_mask", "sm_80")])
def test_page(fovea, name, target):
    from fovea import explain

    text = explain.page(EXAMPLES / f"{name}.mlir", 512, target=target, heads=2)
    page = Page(text)
    assert {"blocks", "why", "schedule", "resources", "roofline", "ir"} <= page.ids
    # The page loads no other files.
    assert not page.links and "http://" not in re.sub(r"http://www\.w3\.org/\S*", "", text) and "https://" not in text
    data = data_of(text)
    assert list(data["levels"])[:6] == ["attn", "tile", "warp", "nvvm", "llvm", "ptx"]
    maps = data["maps"]
    assert len(maps) == (2 if name == "block_mask" else 1)
    if name == "causal":
        i, j = numpy.ogrid[:512, :512]
        assert maps[0]["visible_pairs"] == (i >= j).sum()
    lines = data["timeline"]
    assert lines["lanes"][0] == "copies" and lines["lanes"][-1] == "tensor cores"
    assert ("compute 1" in lines["lanes"]) == (target == "sm_90a")
    kinds = {span["kind"] for span in lines["spans"]}
    assert {"copy_q", "copy_k", "copy_v", "qk", "pv"} <= kinds and kinds & {"softmax", "masked"}
    # Products of an SM don't overlap, nor do the spans of a warp group.
    for lane in lines["lanes"][1:]:
        spans = sorted((span["begin"], span["end"]) for span in lines["spans"] if span["lane"] == lane)
        assert all(end <= begin + 0.2 for (_, end), (begin, _) in zip(spans, spans[1:])), lane
    assert all(0 < part <= 1 for part in lines["busy"].values())
    if fovea.find_ptxas() and target == "sm_90a":
        assert re.search(r"registers <b>\d+ at launch; load \d+, compute \d+</b>", text)
        launched, shared = re.search(r"<td>(\d+ x \d+) as (\d+ x \d+ \+ \d+ x \d+)</td>", text).groups()
        # Roles have at most the registers of the launch.
        assert eval(launched.replace("x", "*")) >= eval(shared.replace("x", "*")) > 0


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.mlir")), ids=lambda path: path.stem)
def test_every_example(fovea, path):
    """Generated captured tensors, lengths and lists have valid contents."""
    from fovea import explain

    queries, keys = (None, None) if "Sq" in fixed_sizes(path) else (512, 512)
    data = data_of(explain.page(path, queries, keys, heads=2, target="sm_80"))
    assert any(set("".join(m["rows"])) - set("012") for m in data["maps"]), "no block is processed"
    assert {span["kind"] for span in data["timeline"]["spans"]} >= {"qk", "pv"}


def test_inputs_by_constraints(fovea):
    """Captured tensors have the size that the kernel needs, and indices of heads are not generated
    as document ids."""
    from fovea import explain
    from fovea.explain import _inputs

    def made(mask, captures):
        kernel = fovea.compile(fovea.attention(mask_mod=mask, head_dim=64, captures=captures), "sm_80")
        entries = _inputs.signature(kernel._spec, kernel._options)
        sizes = _inputs.fit_sizes(kernel._spec, entries, _inputs.Sizes(300, 500, 2, 4, 4))
        contents, notes = _inputs.make_inputs(kernel, entries, sizes, {}, skip="qkv")
        return contents[next(iter(captures))], notes

    bits, _ = made(lambda b, h, q, k, m: m[b, q, k], {"m": ("i1", (None, None, None))})
    assert bits.shape == (2, 300, 500)
    bits, _ = made(lambda b, h, q, k, m: m[q, k], {"m": ("i1", (None, None))})
    assert bits.shape == (300, 500)
    documents, _ = made(lambda b, h, q, k, m: m[b, q] == m[b, k], {"m": ("i32", (None, None))})
    assert documents.shape == (2, 500) and documents.max() < 20
    words, _ = made(lambda b, h, q, k, m: (m[b, q, k // 32] >> k % 32) & 1 == 1, {"m": ("i32", (None, None, None))})
    assert words.shape[:2] == (2, 300) and words.shape[2] * 32 >= 500
    windows, notes = made(lambda b, h, q, k, w: (q >= k) & (q - k < w[h]), {"w": ("i32", (None,))})
    assert list(windows) == [125, 250, 375, 500] and notes["w"] == "numbers that rise to 500, the length"
    # Each head attends to its own number of keys, and no block is processed needlessly.
    spec = fovea.attention(mask_mod=lambda b, h, q, k, w: (q >= k) & (q - k < w[h]), head_dim=64, captures={"w": ("i32", (None,))})
    maps = explain.block_map(spec, 512, heads=4, target="sm_80")
    assert len({m.visible_pairs for m in maps}) == 4 and not any("3" in row for m in maps for row in m.rows)


def bent(score, b, h, q, k):
    import fovea

    return fovea.where(q >= k, score * 0.5 + 1.0, score - 1.0)


#: A mask with many ops, of which few are selects.
def ball(b, h, q, k):
    slice, row, column = q // 64 - k // 64, q // 8 % 8 - k // 8 % 8, q % 8 - k % 8
    return slice * slice + row * row + column * column <= 6


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name, mods", [
    ("dense", {}),
    ("bent", {"score_mod": bent}),  # it has selects, too, but masks nothing
    ("ball", {"mask_mod": ball}),
], ids=lambda value: value if isinstance(value, str) else "")
def test_kinds_of_computing(fovea, name, mods, target):
    """A span has the kind "masked" if scores are masked in it."""
    from fovea.explain import _inputs, _timeline
    from fovea.runtime._gpus import gpu_of_target

    kernel = fovea.compile(fovea.attention(head_dim=64, **mods), target)
    entries = _inputs.signature(kernel._spec, kernel._options)
    contents, _ = _inputs.make_inputs(kernel, entries, _inputs.small_sizes(kernel._spec, entries, 512, 1), {})
    trace = _timeline.trace(kernel, entries, contents)
    kinds = [span.kind for span in _timeline.lay_out(trace, gpu_of_target(target), 1).spans]
    if name == "ball":
        assert kinds.count("masked") > 2 * len(trace["agents"])
    else:
        # A warp group's first key block may be the last one, which is partial.
        assert kinds.count("masked") <= len(trace["agents"]) and kinds.count("softmax") > 8
    if target == "sm_90a":
        assert {buffer["tensor"] for buffer in trace["buffers"]} == {"q", "k", "v", "o"}


def test_bytes_of_processed_blocks(fovea):
    """Keys that are visible to no query are not read; heads of a group share keys."""
    from fovea import explain
    from fovea.explain import _inputs, _resources

    spec = fovea.attention(mask_mod=causal, head_dim=64, heads=8, kv_heads=2)
    maps = explain.block_map(spec, 512, 4096, target="sm_80", batch=3)
    sizes = _inputs.Sizes(512, 4096, 3, 8, 2)
    copies = _resources.copies_of(maps, sizes, is_packed=False)
    assert _resources.processed_rows(maps, sizes, copies) == (3 * 8 * 512, 3 * 2 * 512)
    # Windows that differ by head: the widest window of each group.
    spec = fovea.attention(mask_mod=lambda b, h, q, k: (k >= 1000) & (k < 1000 + 200 * (h + 1)), head_dim=64, heads=4, kv_heads=2)
    maps = explain.block_map(spec, 128, 4000, target="sm_80", batch=2)
    sizes = _inputs.Sizes(128, 4000, 2, 4, 2)
    n = maps[0].block[1]
    expected = sum(-(-(1000 + 200 * widest) // n) * n - 1000 // n * n for widest in (2, 4))
    copies = _resources.copies_of(maps, sizes, is_packed=False)
    assert _resources.processed_rows(maps, sizes, copies) == (2 * 4 * 128, 2 * expected)


def test_waves(fovea):
    from fovea.runtime._gpus import H200
    from fovea.explain import _inputs, _resources

    kernel = fovea.compile(fovea.attention(mask_mod=causal, head_dim=128), "sm_90a")
    rows = kernel.metadata["schedule"]["tile_m"]
    few = _resources.waves(kernel, _inputs.Sizes(8 * rows, 4096, 1, 4, 4), {}, H200)
    assert (few["blocks"], few["waves"], few["used"]) == (32, 1, 32) and few["share"] == 32 / 132
    many = _resources.waves(kernel, _inputs.Sizes(8 * rows, 4096, 5, 4, 4), {}, H200)
    assert (many["blocks"], many["waves"], many["share"]) == (160, 2, 1.0)
    assert _resources.evaluate(["+", ["mod", "a", 7], ["floordiv", ["ceildiv", 9, 2], 2]], {"a": 20}) == 8
    assert _resources.evaluate(["*", "a", 2], {}) is None


def sizes_of(fovea, spec, target="sm_90a", lengths=(None, None), batch=None, heads=None):
    """Sizes that a page chooses, and the GPU's SMs with work."""
    from fovea.runtime._gpus import gpu_of_target
    from fovea.explain import _inputs, _resources, _sizes

    kernel = fovea.compile(spec, target)
    entries = _inputs.signature(kernel._spec, kernel._options)
    sizes = _sizes.choose_sizes(kernel, entries, *lengths, batch, heads)
    return sizes, _resources.waves(kernel, sizes, {}, gpu_of_target(target))


def test_sizes_that_fill_the_gpu(fovea):
    dense = fovea.attention(head_dim=64)
    sizes, spread = sizes_of(fovea, dense)
    assert (sizes.queries, sizes.batch, sizes.heads) == (4096, 1, 16) and spread["share"] == 1.0
    # Short sequences need more batch entries, but only as many as fill the GPU.
    sizes, spread = sizes_of(fovea, dense, lengths=(256, 256))
    assert spread["share"] == 1.0 and sizes.batch > 1 and sizes.heads == 16
    assert sizes_of(fovea, dense, lengths=(256, 256), batch=sizes.batch // 2, heads=16)[1]["share"] < 1.0
    # Sizes of the caller and sizes that the program fixes are kept.
    sizes, _ = sizes_of(fovea, dense, lengths=(256, 256), heads=2)
    assert (sizes.batch, sizes.heads) == (1, 2)
    sizes, spread = sizes_of(fovea, EXAMPLES / "gqa_decode.mlir", "sm_80")
    assert sizes.queries == 1 and spread["share"] == 1.0
    # A bias for each pair would take gigabytes with 16 heads of each batch entry.
    spec = fovea.attention(lambda score, b, h, q, k, bias: score + bias[b, h, q, k], head_dim=64, captures={"bias": ("f32", (None,) * 4)})
    sizes, _ = sizes_of(fovea, spec, "sm_80")
    assert sizes.batch * sizes.heads <= 4


def test_names_of_pages():
    from fovea.explain._command import page_name

    assert page_name("folder/alibi.py:spec", False) == "alibi-spec.html"
    assert page_name("alibi.py:spec.backward", False) == "alibi-spec-backward.html"
    assert page_name("folder/causal.mlir", False) == "causal.html" and page_name("alibi.py:spec", True) == "alibi-spec-gradients.html"


def test_verdict(fovea):
    from fovea import explain
    from fovea.explain._verdict import verdict

    def said(mask, queries, **others):
        kernel = fovea.compile(fovea.attention(mask_mod=mask, head_dim=64, **others), "sm_90a")
        found = explain.look(kernel, queries)
        text = explain._page.render(found)
        line = verdict(found.variants[0])
        assert f"<p class=verdict>{line[0].upper()}{line[1:]}.</p>" in text
        return found.variants[0], line

    variant, line = said(causal, 512)
    counts = variant.maps[0].count()
    share = 100 * (counts["masked"] + counts["plain"]) / sum(map(len, variant.maps[0].rows))
    assert line.startswith(f"processes {share:.1f} % of blocks; bottleneck: ")
    rate = float(re.search(r"at most ([\d.]+) TFLOP/s", line)[1]) * 1e12
    assert rate == pytest.approx(variant.limits["flops"] / max(variant.limits["times"].values()), rel=5e-3)
    # Comparisons of floats skip no block: all are processed, some needlessly.
    variant, line = said(lambda b, h, q, k, place: place[q] - place[k] < -1e9, 256, captures={"place": ("f32", (None,))})
    assert line.startswith("processes all blocks (") and " needlessly); bottleneck: " in line and variant.wasted_blocks > 0


def test_lengths_that_a_program_fixes(fovea):
    from fovea import explain

    # One query of a decoding step, 4096 keys.
    text = explain.page(EXAMPLES / "gqa_decode.mlir", target="sm_80")
    assert "1 queries, 4096 keys" in text
    spec = fovea.attention(head_dim=64, query_length=256)
    (found,) = explain.block_map(spec, key_length=512, target="sm_80")
    assert (found.queries, found.keys) == (256, 512)


def test_command(run_command, tmp_path):
    variants = tmp_path / "variants.py"
    variants.write_text(
        "import fovea\nspec = fovea.attention(mask_mod=lambda b, h, q, k: q >= k, head_dim=64)\n"
        "def make():\n    return spec\nnumber = 1\ndef mask(b, h, q, k):\n    return q >= k\n"
    )
    result = run_command("explain", f"{variants}:make", "--seq", "256x300", "--target", "sm_80", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    said, written = result.stdout.splitlines()
    assert re.fullmatch(r"attention for sm_80: processes 60\.0 % of blocks; bottleneck: [\w/ ]+; at most [\d.]+ TFLOP/s", said), said
    assert written.startswith("variants-make.html: ")
    text = (tmp_path / "variants-make.html").read_text()
    Page(text)
    assert "<h1>variants.py:make</h1>" in text and " SMs in use</b>" in text
    other = "is neither a Spec of fovea.attention nor a function without arguments that returns one; it has spec\n"
    for arguments, said in [
        (["missing.mlir"], "fovea explain: there is no file missing.mlir\n"),
        ([f"{variants}"], f"fovea explain: say which Spec of {variants} is meant: {variants}:NAME; it has spec\n"),
        ([f"{variants}:number"], f"fovea explain: 'number' of {variants} {other}"),
        ([f"{variants}:mask"], f"fovea explain: 'mask' of {variants} {other}"),
        (["missing.py"], "fovea explain: there is no file missing.py\n"),
        ([f"{variants}:spec", "--set", "x"], "fovea explain: 'x' is not NAME=NUMBER or NAME=FILE.npy\n"),
        ([f"{variants}:spec", "--set", "x=y"], "fovea explain: 'y' is neither a number nor a .npy file\n"),
        ([f"{variants}:spec", "--heads", "0"], "fovea explain: heads must be positive, found 0\n"),
    ]:
        result = run_command("explain", *arguments, cwd=tmp_path)
        assert (result.returncode, result.stderr) == (2, said)
    result = run_command("explain", f"{variants}:spec", "--why", cwd=tmp_path)
    assert result.returncode == 0 and result.stdout.startswith("attention for sm_90a\n"), result.stderr
    assert f"at {variants}:2:" in result.stdout and not (tmp_path / "variants-spec.html").exists()
    variants.write_text("import fovea\nspec = fovea.attention(head_dim=64, gradient=True)\n")
    result = run_command("explain", f"{variants}:spec.backward", "--why", cwd=tmp_path)
    assert result.returncode == 0 and result.stdout.startswith("attention_backward for sm_90a\n"), result.stderr
    result = run_command("explain", f"{variants}:spec", "--target", "sm_1", cwd=tmp_path)
    assert result.returncode == 2 and "unknown target 'sm_1', expected one of 'sm_80'" in result.stderr
    result = run_command("explain", f"{variants}:spec", "--seq", "0", cwd=tmp_path)
    assert result.returncode == 2 and "lengths must be positive, found '0'" in result.stderr


@pytest.mark.parametrize("schedule, target", [("auto", "sm_90a"), ("cluster=2", "sm_90a"), ("auto", "sm_80")])
def test_resources_and_lanes(fovea, schedule, target):
    """Buffers add up to the kernel's shared memory; each CTA of a cluster has its own tensor
    cores."""
    from fovea.runtime._gpus import gpu_of_target
    from fovea.explain import _inputs, _resources, _timeline

    kernel = fovea.compile(fovea.attention(head_dim=256), target, schedule=schedule)
    entries = _inputs.signature(kernel._spec, kernel._options)
    contents, _ = _inputs.make_inputs(kernel, entries, _inputs.small_sizes(kernel._spec, entries, 512, 2), {})
    trace = _timeline.trace(kernel, entries, contents)
    parts = _resources.shared_memory(kernel, trace)
    assert sum(part["bytes"] for part in parts) == kernel.metadata["shared_memory"]
    rest = sum(part["bytes"] for part in parts if part["name"] == "barriers")
    assert rest < 1024 and {part["name"] for part in parts} >= {"Q", "K", "V"}
    cluster = kernel.metadata["cluster"][0]
    lines = _timeline.lay_out(trace, gpu_of_target(target), cluster)
    assert sum(lane.startswith("tensor cores") for lane in lines.lanes) == cluster == (2 if schedule == "cluster=2" else 1)
    operations = _resources.operations_of_a_score(trace)
    # One exponential per score, and little other work for that unit.
    assert 0.9 < operations["special"] < 1.2 and 2 < operations["ordinary"] < 16


# --- Pairs of a query and a key ---------------------------------------------------


def slope(score, b, h, q_idx, kv_idx, slopes):
    return score * 2 + slopes[h] * (kv_idx - q_idx)


@pytest.mark.parametrize("name, pairs", [("first", (0, 0)), ("later", (130, 70))])
def test_elements(fovea, name, pairs):
    from fovea import explain

    slopes = numpy.array([0.5, -1.0, 0.25], numpy.float32)
    spec = fovea.attention(slope, window, head_dim=64, captures={"slopes": ("f32", (None,))})
    q, k = pairs
    found = explain.elements(spec, 300, head=1, heads=3, queries=(q, q + 40), keys=(k, k + 30), scores=(0.0, 3.0), target="sm_80",
                             inputs={"slopes": slopes})
    i, j = numpy.ogrid[q : q + 40, k : k + 30]
    expected = window(0, 1, i, j)
    assert (found.visible == expected).all() and found.changed.shape == (2, 40, 30)
    for number, score in enumerate(found.scores):
        assert numpy.array_equal(found.changed[number][expected], slope(score, 0, 1, i, j, slopes)[expected])
        assert numpy.isnan(found.changed[number][~expected]).all()
    assert (found.first_query, found.first_key, found.entry, found.head) == (q, k, 0, 1)


def test_elements_of_sequences_and_lists(fovea):
    """Lengths and lists hide pairs, too."""
    from fovea import explain

    spec = fovea.attention(head_dim=64, sequences="lengths")
    found = explain.elements(spec, 64, entry=1, batch=2, inputs={"lengths": numpy.array([64, 40])}, keys=(30, 64), target="sm_80")
    # The number of keys of a sequence is its length.
    assert found.visible.shape == (64, 10) and found.visible.all() and found.changed is None
    maps = explain.block_map(EXAMPLES / "block_mask.mlir", 512, target="sm_80")
    for one in maps[:2]:
        rows = numpy.concatenate([
            explain.elements(EXAMPLES / "block_mask.mlir", 512, head=one.head, queries=(n, n + 64), keys=(0, 512), target="sm_80").visible
            for n in range(0, 512, 64)])
        assert rows.sum() == one.visible_pairs and rows.shape == (512, 512)


def test_elements_errors(fovea):
    from fovea import explain

    spec = fovea.attention(mask_mod=causal, head_dim=64)
    with pytest.raises(fovea.CompileError, match="there are no queries 0 to 63 of head 9 of sequence 0"):
        explain.elements(spec, 128, head=9, target="sm_80")
    with pytest.raises(fovea.CompileError, match="there are no queries 500 to 500"):
        explain.elements(spec, 128, queries=(500, 510), target="sm_80")
    with pytest.raises(ValueError, match=r"keys must be a range \(first, end\) with 0 <= first < end, found \(3, 3\)"):
        explain.elements(spec, 128, keys=(3, 3), target="sm_80")


def test_absurd_sizes(fovea):
    """Sizes whose product overflows 64 bits are an error."""
    per_head = fovea.attention(mask_mod=lambda b, h, q, k: (q >= k) | (h == 1) | (b == 1), head_dim=64)
    huge = {"query_length": 16, "key_length": 16, "batch": 2 ** 30, "heads": 2 ** 30}
    with pytest.raises(fovea.CompileError, match="have a product of at most 17179869184"):
        fovea.explain.elements(per_head, queries=(0, 4), keys=(0, 4), **huge)
    with pytest.raises(fovea.CompileError, match="have a product of at most 17179869184"):
        fovea.explain.block_map(per_head, **huge)


def test_pairs_on_the_page(fovea):
    """Partially visible blocks have pairs, and some have scores, equal to those evaluated one by one."""
    from fovea import explain

    spec = fovea.attention(slope, by_head, head_dim=64, captures={"slopes": ("f32", (None,))})
    slopes = numpy.array([0.5, -1.0], numpy.float32)
    data = data_of(explain.page(spec, 300, 400, heads=2, target="sm_80", inputs={"slopes": slopes}))
    facts = data["elements"]
    assert [(one["map"], one["head"]) for one in facts["sets"]] == [(0, 0), (1, 1)] and facts["scores"] == [0.0, 1.0, 10.0]
    visible, changed = unpacked(facts["visible"]), numpy.frombuffer(unpacked(facts["changed"]), "<f4")
    for one in facts["sets"]:
        map = data["maps"][one["map"]]
        m, n = map["block"]
        cut = {f"{i},{j}" for i, row in enumerate(map["rows"]) for j, code in enumerate(row) if int(code) % 3 == 1}
        assert set(one["visible"]) == cut and one["changed"]
        for place, number in one["visible"].items():
            i, j = (int(x) * size for x, size in zip(place.split(","), (m, n)))
            size = -(-m * n // 8)
            bits = numpy.unpackbits(numpy.frombuffer(visible[number * size : (number + 1) * size], numpy.uint8))[: m * n].reshape(m, n)
            q, k = numpy.ogrid[i : i + m, j : j + n]
            assert (bits == (by_head(0, one["head"], q, k) & (q < 300) & (k < 400))).all()
        for place, number in one["changed"].items():
            i, j = (int(x) * size for x, size in zip(place.split(","), (m, n)))
            q, k = numpy.ogrid[i : i + m, j : j + n]
            here = by_head(0, one["head"], q, k) & (q < 300) & (k < 400)
            values = changed[number * 3 * m * n :][: 3 * m * n].reshape(3, m, n)
            expected = numpy.stack([slope(score, 0, one["head"], q, k, slopes) for score in facts["scores"]])
            assert numpy.allclose(values[:, here], expected[:, here], rtol=5e-4) and numpy.isnan(values[:, ~here]).all()


def test_heads_that_the_mask_does_not_tell_apart(fovea):
    from fovea import explain

    spec = fovea.attention(slope, causal, head_dim=64, captures={"slopes": ("f32", (None,))})
    data = data_of(explain.page(spec, 256, heads=2, target="sm_80"))
    assert len(data["maps"]) == 1 and [one["head"] for one in data["elements"]["sets"]] == [0, 1]
    spec = fovea.attention(mask_mod=causal, head_dim=64)
    assert [one["head"] for one in data_of(explain.page(spec, 256, heads=2, target="sm_80"))["elements"]["sets"]] == [0]


# --- Why, source, lines, machine code -----------------------------------------------


def test_why_on_the_page(fovea):
    from fovea import explain

    def near(b, h, q, k, place):
        return (place[q] - place[k] < 2.0) & (q >= k)

    text = explain.page(fovea.attention(mask_mod=near, head_dim=64, captures={"place": ("f32", (None,))}), 256, target="sm_90a")
    why = text[text.index('id="why"'):text.index('id="schedule"')]
    assert "it compares floats" in why and "Ranges are not enough: a predicate checks each block (nothing wasted)" in why
    assert "<details class=\"section\" id=\"why\"><summary>" in text and "ranges are not enough, nothing wasted" in why and "class=bad" not in why
    assert "<code>return (place[q] - place[k] &lt; 2.0) &amp; (q &gt;= k)</code>" in why and "test_explain.py:" in why
    assert "(blocks above the diagonal)" in why and "log-sum-exp" in why


def why_of(fovea, mask, **captures):
    text = fovea.explain.page(fovea.attention(mask_mod=mask, head_dim=64, captures=captures), 256, target="sm_90a", heads=1)
    return text[text.index('id="why"'):text.index('id="schedule"')]


def test_no_alarm_where_nothing_is_wasted(fovea):
    checked = why_of(fovea, documents, document=("i32", (None, None)))
    assert "<h3>Ranges are not enough: a predicate checks each block (nothing wasted)</h3>" in checked and "class=bad" not in checked
    assert "query i sees keys [0, i] where document[b, i] == document[b, j]" in checked


def test_alarm_for_blocks_that_are_processed_needlessly(fovea):
    wasted = why_of(fovea, lambda b, h, q, k, place: place[q] - place[k] < -1e9, place=("f32", (None,)))
    assert re.search(r"<h3 class=bad>\d+ blocks are processed needlessly: ranges do not describe the mask</h3>", wasted)


def test_the_first_block_is_the_most_mixed(fovea):
    from fovea import explain

    document = numpy.repeat(numpy.arange(2), [192, 320])[None]
    spec = fovea.attention(mask_mod=documents, head_dim=64, captures={"document": ("i32", (None, None))})
    data = data_of(explain.page(spec, 512, target="sm_80", inputs={"document": document}, heads=1))
    m, n = data["maps"][0]["block"]
    row, column = map(int, data["elements"]["sets"][0]["first"].split(","))
    # The block in which a document ends at q = k.
    assert row * m < 192 < (row + 1) * m and column * n <= 192 <= (column + 1) * n


def test_lines_of_all_levels(fovea):
    """The source is the first pane, and lines of each level refer to it."""
    from fovea import explain

    spec = fovea.attention(slope, causal, head_dim=64, captures={"slopes": ("f32", (None,))})
    data = data_of(explain.page(spec, 256, heads=2, target="sm_90a"))
    levels = {name: unpacked(text).decode().split("\n") for name, text in data["levels"].items()}
    places = {name: list(map(int, unpacked(text).split())) for name, text in data["places"].items()}
    assert list(levels)[:7] == ["python", "attn", "tile", "warp", "nvvm", "llvm", "ptx"]
    (wanted,) = [places["python"][n] for n, line in enumerate(levels["python"]) if "return score * 2" in line]
    assert re.fullmatch(r"test_explain\.py:\d+", data["names"][wanted])
    expected = {"attn": "arith.mulf", "tile": "arith.mulf", "warp": "arith.mulf", "nvvm": "llvm.fmul", "llvm": "fmul", "ptx": "mul"}
    for name, text in expected.items():
        assert len(levels[name]) == len(places[name])
        own = [line for line, place in zip(levels[name], places[name]) if place == wanted]
        assert any(text in line for line in own), name
        # Locations are not printed.
        assert not any(" loc(" in line or "!dbg" in line or line.startswith(("#loc", "!")) for line in levels[name]), name
    # A program in MLIR is its own source.
    data = data_of(explain.page(EXAMPLES / "causal.mlir", 256, target="sm_80"))
    assert list(data["levels"])[0] == "attn"
    places = {name: list(map(int, unpacked(text).split())) for name, text in data["places"].items()}
    lines = unpacked(data["levels"]["attn"]).decode().split("\n")
    (wanted,) = [place for place, line in zip(places["attn"], lines) if "arith.cmpi" in line]
    assert re.fullmatch(r"causal\.mlir:\d+", data["names"][wanted])
    assert all(wanted in places[name] for name in ("tile", "warp", "nvvm", "llvm", "ptx"))


@pytest.mark.parametrize("name", ["nvdisasm", "cuobjdump"])
def test_machine_code(fovea, name, tmp_path, monkeypatch):
    from fovea import explain
    from fovea.explain import _sass, _variant

    stub = tmp_path / name
    stub.write_text('#!/bin/sh\nfor file; do :; done\nprintf "        /*0000*/ MOV R1, %s ;\\n" "$(cat "$file")"\n')
    stub.chmod(0o755)
    monkeypatch.setattr("shutil.which", lambda program: str(stub) if program == name else None)
    assert _sass.disassemble(b"code") == "        /*0000*/ MOV R1, code ;\n"
    monkeypatch.setattr(_variant, "ptxas_facts", lambda kernel: {"code": b"c", "bytes": 1, "warnings": []})
    data = data_of(explain.page(EXAMPLES / "causal.mlir", 256, target="sm_80"))
    assert list(data["levels"])[-1] == "sass" and b"MOV R1, c" in unpacked(data["levels"]["sass"])
    # A tool that fails is ignored.
    stub.write_text("#!/bin/sh\necho no >&2\nexit 3\n")
    assert _sass.disassemble(b"code") is None
    assert "sass" not in data_of(explain.page(EXAMPLES / "causal.mlir", 256, target="sm_80"))["levels"]
