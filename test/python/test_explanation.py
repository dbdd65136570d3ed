"""``Kernel.explain``: the schedule, results and limits of the mask analysis, transformations that
were not applied; with lines."""

import inspect
import pathlib

import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


def causal(b, h, q_idx, kv_idx):
    return q_idx >= kv_idx


def near(b, h, q_idx, kv_idx, place):
    distance = place[q_idx] - place[kv_idx]
    close = distance < 2.0
    return close & (q_idx >= kv_idx)


def same(b, h, q_idx, kv_idx, document):
    return document[b, q_idx] == document[b, kv_idx]


def bit(b, h, q_idx, kv_idx, words):
    return (words[b, q_idx, kv_idx // 32] >> kv_idx % 32) & 1 == 1


def nothing(b, h, q_idx, kv_idx):
    return kv_idx < 0


def explained(fovea, mask, target="sm_90a", captures={}, **choices):
    described = {name: choices.pop(name) for name in ("blocks", "lse", "dtype") if name in choices}
    spec = fovea.attention(mask_mod=mask, head_dim=128, captures=captures, **described)
    return fovea.compile(spec, target, **choices).explain()


def line_of(function, text):
    lines, first = inspect.getsourcelines(function)
    (number,) = [first + index for index, line in enumerate(lines) if text in line]
    return number


def about(found, kind, subject):
    (one,) = [one for one in found.of_kind(kind) if one.subject == subject]
    return one


def test_bounds_of_a_causal_mask(fovea):
    found = explained(fovea, causal)
    one = about(found, "derived", "kv_bounds")
    assert one.text == ("queries i0 to i1 skip keys from i1 + 1 on (blocks above the diagonal); keys from 0 to i0 + 1 "
                        "need no mask")
    assert (one.where.file, one.where.line) == (__file__, line_of(causal, "def causal"))
    assert not found.of_kind("unknown") and not found.of_kind("warning")


@pytest.mark.parametrize("mask, captures, op, text, line", [
    (near, {"place": ("f32", (None,))}, "arith.cmpf", "it compares floats", "close = distance"),
    (bit, {"words": ("i32", (None, None, None))}, "tensor.extract", "it reads data at other positions", "return (words"),
    (same, {"document": ("i32", (None, None))}, "tensor.extract", "it reads data: it gives no range of keys; kernels with warp roles test each block",
     "return document"),
])
def test_where_the_analysis_gave_up(fovea, mask, captures, op, text, line):
    found = explained(fovea, mask, captures=captures)
    (one,) = found.of_kind("unknown")
    assert one.subject == op and text in one.text
    assert (one.where.file, one.where.line) == (__file__, line_of(mask, line))
    assert f"at {__file__}:{one.where.line}:" in str(found) and line in str(found)


def test_lines_are_the_last_describers(fovea):
    """The same program from other lines is compiled once; explanations have the lines of the caller."""
    first = fovea.compile(fovea.attention(mask_mod=causal, head_dim=32), "sm_80")

    def again(b, h, q_idx, kv_idx):
        return q_idx >= kv_idx

    second = fovea.compile(fovea.attention(mask_mod=again, head_dim=32), "sm_80")
    assert second.ptx == first.ptx and second._loaded is first._loaded
    for kernel, mask in ((first, causal), (second, again)):
        assert about(kernel.explain(), "derived", "kv_bounds").where.line == line_of(mask, "def ")


def test_captures_have_their_names(fovea):
    found = explained(fovea, same, captures={"document": ("i32", (None, None))})
    text = about(found, "derived", "kv_classify").text
    assert "min(document[b, i0..i1]) <= max(document[b, j0..j1])" in text and "capture0" not in str(found)


def test_schedule(fovea):
    found = explained(fovea, causal)
    kernel = fovea.compile(fovea.attention(mask_mod=causal, head_dim=128), "sm_90a")
    assert found.schedule == kernel.metadata["schedule"] and found.problem["head_dim"] == 128
    chosen = about(found, "chosen", "schedule")
    assert f"tile_n={found.schedule['tile_n']}" in chosen.value and chosen.where.file == __file__
    assert about(found, "chosen", "unit").value == "wgmma"
    limit = about(found, "chosen", "tile_n")
    assert limit.value == "128" and "144 does not fit: schedule needs" in limit.text and "bytes of shared memory" in limit.text
    assert "log-sum-exp" in about(found, "left out", "sum_by_dot").text
    assert about(found, "done", "ping_pong").text == "2 turns"
    # A user-specified schedule is not reported as the planner's choice.
    found = explained(fovea, causal, schedule="tile_n=64,stages=2")
    assert about(found, "chosen", "tile_n").text == about(found, "chosen", "stages").text == "user-specified"


def test_a_schedule_of_a_table(fovea, tmp_path):
    table = tmp_path / "table.json"
    table.write_text('{"schedules": [{"problem": {"target": "sm_90a", "elements": "bf16", "head_dim": 128, '
                     '"value_head_dim": 128}, "schedule": "tile_n=96,work=static"}]}')
    found = explained(fovea, causal, schedule_table=table)
    assert "schedules[0]" in about(found, "chosen", "schedule").text and str(table) in about(found, "chosen", "schedule").text
    assert about(found, "chosen", "tile_n").text == about(found, "chosen", "work").text == "from the table of measured schedules"


def test_a_schedule_that_falls_back(fovea):
    """wgmma's tiles have 64 queries; blocks of 32 need another MMA unit."""
    found = explained(fovea, causal, blocks=fovea.Blocks(32, 128))
    assert "block lists determine the processed blocks" in about(found, "derived", "mask").text
    assert about(found, "left out", "unit").text == "wgmma is not used: its tiles of 64 queries don't divide the block-sparse mask's blocks of 32"
    assert about(found, "chosen", "unit").value == "mma_sync"
    assert "divide the block-sparse mask's blocks of 128 keys" in about(found, "chosen", "tile_n").text


def test_a_schedule_that_ptxas_had_replaced(fovea):
    from fovea.compiler import _kernel

    kernel = fovea.compile(fovea.attention(mask_mod=causal, head_dim=128), "sm_90a")
    smaller = _kernel.compile_again(kernel, schedule="tile_n=64")
    other = _kernel.Kernel(smaller._spec, smaller._options, smaller._ptx, smaller._metadata, is_asked_for=False)
    first, *_ = other.explain().of_kind("chosen")
    assert (first.subject, first.value) == ("schedule", "tile_n=64") and "for which ptxas spills" in first.text


def test_warnings(fovea):
    with pytest.warns(fovea.CompileWarning):
        found = explained(fovea, nothing, cache=False)
    (one,) = found.of_kind("warning")
    assert one.text == "mask_mod hides every key from every query" and one.where.file == __file__


def test_mlir_and_gradients(fovea):
    path = EXAMPLES / "sliding_window.mlir"
    found = fovea.compile(path, "sm_80").explain()
    where = about(found, "derived", "kv_bounds").where
    assert where.file.endswith("sliding_window.mlir") and path.read_text().splitlines()[where.line - 1].strip() == where.text
    spec = fovea.attention(mask_mod=causal, head_dim=64, gradient=("q", "k", "v"))
    found = fovea.compile(spec, "sm_90a").backward.explain()
    assert "(blocks above the diagonal)" in about(found, "derived", "query_bounds").text
    assert "computes all gradients" in about(found, "chosen", "schedule").text


def test_as_text_and_in_a_notebook(fovea, monkeypatch):
    found = explained(fovea, causal)
    assert str(found) == repr(found) and str(found).startswith("attention for sm_90a\n")
    assert "\n  not applied:\n    sum_by_dot: " in str(found)
    with pytest.raises(ValueError, match="kind must be one of 'warning', 'derived', .*found 'all'"):
        found.of_kind("all")
    shown = found._repr_html_()
    assert shown.startswith('<iframe srcdoc="&lt;!doctype html&gt;') and shown.count("<") == 2

    def missing(*_):
        raise fovea.MissingPackageError("numpy is missing")

    monkeypatch.setattr("fovea.explain.need", missing)
    assert found._repr_html_().startswith("<pre>attention for sm_90a\n")


def test_the_function_is_the_method(fovea):
    from fovea.tools import explain_kernel

    kernel = fovea.compile(fovea.attention(mask_mod=lambda b, h, q, k: q >= k, head_dim=64), "sm_80")
    assert explain_kernel(kernel) == kernel.explain()
    assert explain_kernel(kernel, {"target": "sm_89"}).beside == kernel.explain({"target": "sm_89"}).beside is not None
