"""Two variants of a program side by side: ``Kernel.explain(compare=...)`` and the page of
``python -m fovea explain --compare``, with measured times."""

import dataclasses
import re
import statistics

import pytest

from test_explain import Page, causal, data_of, unpacked


def compiled(fovea, target="sm_90a", **choices):
    return fovea.compile(fovea.attention(mask_mod=causal, head_dim=64), target, **choices)


def field(found, name):
    (one,) = [one for one in found.fields if one.name == name]
    return one


# --- As text ------------------------------------------------------------------------


def test_targets_side_by_side(fovea):
    kernel = compiled(fovea)
    found = kernel.explain(compare={"target": "sm_80"})
    assert (found.target, found.beside.target) == ("sm_90a", "sm_80") and found.beside.beside is None
    assert found.beside.statements == compiled(fovea, "sm_80").explain().statements
    unit = field(found, "unit")
    assert unit.values == ("wgmma", "mma_sync") and unit.differs
    assert "it has no tcgen05" in unit.reasons[0] and "it has no tcgen05, wgmma" in unit.reasons[1]
    # A field that the other schedule does not have.
    assert field(found, "ping_pong").values == ("1", "0")
    for name, value in kernel.metadata["schedule"].items():
        assert field(found, name).values[0] == str(value)
    text = str(found)
    assert text.startswith("fields that differ from the second variant\n  target: sm_90a | sm_80\n  unit: wgmma | mma_sync\n      wgmma: the best MMA unit")
    assert "\nattention for sm_90a\n" in text and "\n\nattention for sm_80\n" in text and "  ping_pong: 1 | 0\n" in text
    # Without a variant there is no comparison.
    assert kernel.explain().fields == () and kernel.explain().beside is None


def test_schedules_side_by_side(fovea):
    found = compiled(fovea).explain(compare={"schedule": "tile_n=32"})
    tile = field(found, "tile_n")
    assert tile.values[1] == "32" and tile.reasons[1] == "user-specified" and not field(found, "target").differs
    # The other options are the kernel's.
    found = compiled(fovea, schedule="tile_n=32").explain(compare={"schedule": "tile_n=32,stages=3"})
    assert [one.name for one in found.fields if one.differs][0] == "stages" and field(found, "tile_n").values == ("32", "32")
    assert found._repr_html_().count("<") == 2


@pytest.mark.parametrize("compare, error, said", [
    ({}, "Error", "a variant must differ in one of target, schedule,"),
    ({"tile_n": 64}, "Error", "variants can't differ in 'tile_n', only in target, schedule,"),
    ({"schedule": "auto"}, "Error", "nothing to compare: schedule=auto makes the same kernel, attention for sm_90a"),
    ({"target": "sm_90a"}, "Error", "nothing to compare: target=sm_90a makes the same kernel"),
    ({"accurate_tanh": True}, "Error", "nothing to compare: accurate_tanh=True makes the same kernel"),
    ({"target": "sm_1"}, "CompileError", "unknown target 'sm_1', expected one of .*\n  note: in the variant to compare with: target=sm_1"),
    ({"schedule": "tile_n=640"}, "CompileError", "'tile_n' must be a multiple of 16 up to 256, found 640\n  note: in the variant to "
                                                 "compare with: schedule=tile_n=640"),
    ({"target": "sm_80", "schedule": "tile_n=256,tile_m=256"}, "CompileError", "error: schedule .*\n  note: in the variant to compare with: target=sm_80, sch"),
])
def test_variants_that_there_are_not(fovea, compare, error, said):
    from fovea import explain

    kernel = compiled(fovea)
    for call in (kernel.explain, lambda compare: explain.page_of(kernel, 256, compare=compare)):
        with pytest.raises(getattr(fovea, error), match=said) as raised:
            call(compare)
        assert type(raised.value).__name__ == error


def test_a_schedule_that_ptxas_had_replaced_is_no_choice(fovea):
    """A variant for another target has that target's own schedule."""
    from fovea.tools import _comparison
    from fovea.compiler import _kernel

    smaller = compiled(fovea, schedule="tile_n=32")
    kernel = _kernel.Kernel(smaller._spec, smaller._options, smaller._ptx, smaller._metadata, is_asked_for=False)
    other = _comparison.variant_of(kernel, {"target": "sm_80"})
    assert other.ptx == compiled(fovea, "sm_80").ptx and _comparison.labels([kernel, other]) == ["sm_90a", "sm_80"]


# --- On the page --------------------------------------------------------------------


def test_a_page_of_two(fovea):
    from fovea import explain

    text = explain.page(fovea.attention(mask_mod=causal, head_dim=64), 512, heads=2, compare={"target": "sm_80"})
    page = Page(text)
    assert {"compared", "blocks", "why", "schedule", "resources", "roofline", "ir", "show"} <= page.ids and not page.links
    compared = text[text.index('id="compared"'):text.index('id="blocks"')]
    assert "<tr class=differs><td>unit</td><td>wgmma</td><td>mma_sync</td></tr>" in compared
    assert "<b class=badge>B</b> the best MMA unit that &#x27;sm_80&#x27; has" in compared
    assert "<tr class=differs><td>ping_pong</td><td>1</td><td>0</td></tr>" in compared
    for name in ("shared memory per CTA", "blocks processed", "waves", "least time, tensor cores", "at least"):
        assert f"<td>{name}</td>" in compared, name
    # Each section except the first has both variants, with their own data.
    assert text.count('class=variant data-variant="0"') == text.count('class=variant data-variant="1"') == 6
    first, second = data_of(text), data_of(text, 1)
    assert [one["maps"][0]["block"] for one in (first, second)] != [first["maps"][0]["block"]] * 2
    assert first["maps"][0]["visible_pairs"] == second["maps"][0]["visible_pairs"]
    assert b"wgmma" in unpacked(first["levels"]["ptx"]) and b"wgmma" not in unpacked(second["levels"]["ptx"])
    # Both variants share the index of a source line, so that both panes mark it.
    (wanted,) = [n for n, name in enumerate(first["names"]) if name == f"test_explain.py:{causal.__code__.co_firstlineno + 1}"]
    for one in (first, second):
        assert all(str(wanted).encode() in unpacked(one["places"][level]).split() for level in ("python", "attn", "ptx"))


def test_one_kernel_has_nothing_beside_it(fovea):
    from fovea import explain

    text = explain.page(fovea.attention(mask_mod=causal, head_dim=64), 256, target="sm_80")
    assert not {"compared", "measured", "show"} & Page(text).ids and 'class=variant data-variant="1"' not in text and " class=two" not in text
    assert "badge>" not in text


def test_command(run_command, tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import fovea\nspec = fovea.attention(mask_mod=lambda b, h, q, k: q >= k, head_dim=64)\n")
    start = ["explain", f"{program}:spec", "--seq", "256"]
    result = run_command(*start, "--compare", "target=sm_80", "--compare", "schedule=tile_n=32", cwd=tmp_path)
    assert result.returncode == 0 and "\nprogram-spec.html: " in result.stdout, result.stderr
    text = (tmp_path / "program-spec.html").read_text()
    assert "<b class=badge>B</b> <span class=label>sm_80, schedule=tile_n=32</span>" in text and "<title>" + f"{program.name}:spec for sm_90a and sm_80</title>" in text
    result = run_command(*start, "--why", "--compare", "schedule=tile_n=32", cwd=tmp_path)
    assert result.returncode == 0 and "  tile_n: " in result.stdout and " | 32\n" in result.stdout, result.stderr


@pytest.mark.parametrize("arguments, said", [
    (["--compare", "tile_n=32"], "'tile_n=32' is not NAME=VALUE with NAME one of target, schedule,"),
    (["--compare", "accurate_tanh=1"], "accurate_tanh must be true or false, found '1'"),
    (["--compare", "target=sm_80", "--compare", "target=sm_89"], "--compare target is given twice, expected one variant\n"),
    (["--compare", "schedule=auto"], "fovea explain: nothing to compare: schedule=auto makes the same kernel, attention for sm_90a\n"),
    (["--compare", "target=sm_1"], "note: in the variant to compare with: target=sm_1\n"),
    (["--compare", "schedule=warps=3"], "'warps' must be 4, 8, 12 or 16 in kernels with roles, found 3\n  note: in the variant"),
    (["--why", "--measure"], "fovea explain: --measure applies to the page, which --why does not write\n"),
])
def test_command_errors(run_command, tmp_path, arguments, said):
    program = tmp_path / "program.py"
    program.write_text("import fovea\nspec = fovea.attention(mask_mod=lambda b, h, q, k: q >= k, head_dim=64)\n")
    result = run_command("explain", f"{program}:spec", "--seq", "256", *arguments, cwd=tmp_path)
    assert result.returncode == 2 and said in result.stderr, result.stderr


# --- Measured -----------------------------------------------------------------------


def test_measuring_without_a_device(fovea, run_command, tmp_path):
    try:
        fovea.device_info()
    except fovea.LaunchError:
        pass
    else:
        pytest.skip("there is a device")
    spec = fovea.attention(mask_mod=causal, head_dim=64)
    with pytest.raises(fovea.LaunchError, match="measuring needs a CUDA device: "):
        fovea.explain.page(spec, 256, measure=True)
    program = tmp_path / "program.py"
    program.write_text("import fovea\nspec = fovea.attention(head_dim=64)\n")
    result = run_command("explain", f"{program}:spec", "--measure", cwd=tmp_path)
    assert result.returncode == 2 and "fovea explain: FOVEA_ERROR_NO_DRIVER: measuring needs a CUDA device: " in result.stderr
    assert not (tmp_path / "program-spec.html").exists()


@pytest.fixture
def stand_in(fovea):
    """The emulated device, which does not load machine code."""
    from fovea.runtime import _emulator
    from fovea.explain import _measure

    def device(capability):
        with _emulator._lock:
            return _measure.Device(_emulator._open(capability), takes_code=False)

    return device


def looked(fovea, device, compare=None, target="sm_80", mods={"mask_mod": causal}, inputs=None):
    from fovea import explain

    kernel = fovea.compile(fovea.attention(head_dim=32, **mods), target)
    return explain.look(kernel, 64, heads=1, compare=compare, inputs=inputs), kernel


def clock(milliseconds):
    """A clock that runs the launches and returns the given times."""
    calls = []

    def times(launch, count):
        launch()
        calls.append(launch)
        return [milliseconds[len(calls) % len(milliseconds)]] * count

    return times, calls


def test_measured_on_the_stand_in(fovea, stand_in):
    """Kernels are launched alternately, and the page has their medians and bounds."""
    from fovea.runtime._gpus import A100
    from fovea.explain import _beside, _measure, _page

    found, _ = looked(fovea, None, compare={"schedule": "tile_n=32"})
    device = stand_in(80)
    times, calls = clock([40.0])
    measured = _measure.measure(found.variants, device, times, rounds=2)
    assert measured.capability == "sm_80" and measured.gpu is None and measured.problems == ("", "")
    assert measured.times[0] == _measure.Times(0.04, 0.04, 0.04, 14) == measured.times[1]
    # An estimate of each, then two repetitions of each.
    assert len(calls) == 6 and len(set(calls)) == 2
    # The device's rates are unknown, so there is no bound.
    page = _page.render(dataclasses.replace(found, measured=measured))
    assert Page(page).ids >= {"measured", "compared"} and "rates unknown" in page
    lines = _beside.report(found.variants, measured)
    flops = found.variants[0].flops
    assert flops == 4.0 * 32 * 64 * 65 / 2
    assert lines == [f"attention for sm_80 ({label}): 40,000.0 µs, 0.0 TFLOP/s" for label in ("schedule=auto", "schedule=tile_n=32")]
    # With known rates.
    measured = dataclasses.replace(measured, gpu=A100)
    page = _page.render(dataclasses.replace(found, measured=measured))
    part = page[page.index('id="measured"'):page.index('id="blocks"')]
    assert part.count("40,000.0 µs") == 6 and "14 launches on " in part and "by the rates of the A100 SXM 80 GB" in part
    assert "; at least " in _beside.report(found.variants, measured)[0] and page.count("<b>measured</b>") == 2


def test_events_time_launches(fovea, stand_in, monkeypatch):
    """The device's own clock, and inputs of every kind: captured tensors, lengths, scalars."""
    from fovea.explain import _measure

    monkeypatch.setattr("fovea.bench._timing.WARM_UP_MS", 0)
    found, kernel = looked(fovea, None, mods={
        "mask_mod": lambda b, h, q, k, window, bias: (q - k < window) & (bias[h] < 100.0), "sequences": "lengths", "scale": "runtime", "sinks": True,
        "captures": {"window": ("i32", ()), "bias": ("f32", (None,))}})
    device = stand_in(80)
    (times,) = _measure.measure(found.variants, device, rounds=1).times
    assert times.launches == 7 and 0 < times.low <= times.median <= times.high < 60


def test_what_a_device_runs(fovea, stand_in):
    from fovea.explain import _measure

    device = stand_in(90)
    assert [device.runs(target) for target in ("sm_80", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_120")] == [True, True, True, False, False, False]
    assert not stand_in(100).runs("sm_90a") and stand_in(100).runs("sm_89")
    assert [stand_in(103).runs(target) for target in ("sm_100", "sm_100a", "sm_103a", "sm_120a")] == [True, False, True, False]
    with pytest.raises(fovea.Error, match="it runs no kernels for sm_90a or sm_100"):
        _measure.check_targets(stand_in(80), ["sm_90a", "sm_100"])
    # One variant runs on the device, and one does not.
    found, _ = looked(fovea, None, compare={"target": "sm_90a"})
    measured = _measure.measure(found.variants, stand_in(80), clock([1.0])[0], rounds=1)
    assert measured.times[0] and measured.times[1] is None and measured.problems == ("", "kernels for sm_90a don't run on it")


def test_wrong_outputs_are_told(fovea):
    import numpy

    from fovea.explain import _measure

    ones = numpy.ones(100, numpy.float32)
    assert _measure._fault(ones * 1.001, ones) == ""
    assert _measure._fault(ones * 1.1, ones) == "its output differs from the first variant's by 10.0% of the norm"
    assert _measure._fault(ones * numpy.nan, ones) == "its output is not finite"


def test_turns(fovea):
    """Kernels alternate; the length of the warm-up follows from the estimated times."""
    import random

    from fovea.bench import _timing

    order = []
    contestants = {"a": lambda: order.append("a"), "b": lambda: order.append("b")}
    times = _timing.alternate(lambda function, count: [10.0] * count, contestants, 4, random.Random(0))
    assert {name: len(found) for name, found in times.items()} == {"a": 28, "b": 28} and statistics.median(times["a"]) == 10.0
    assert order.count("a") == order.count("b") == 12 and re.fullmatch("(aaabbb|bbbaaa){4}", "".join(order))
