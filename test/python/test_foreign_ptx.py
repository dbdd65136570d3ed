"""scripts/run_foreign_ptx.py runs PTX with a description and compares it with float64."""

import importlib.util
import json
import pathlib
import sys

import pytest

numpy = pytest.importorskip("numpy")

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Each CTA adds the elements of one row. Every thread adds to shared memory after a barrier.
SUM = """.version 8.6
.target sm_90a
.address_size 64
.shared .align 4 .b8 row[128];
.visible .entry sum(.param .u64 x, .param .u64 y, .param .align 8 .b8 sizes[16])
{
  .reg .b32 %r<8>; .reg .f32 %f<3>; .reg .b64 %rd<6>; .reg .pred %p;
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [y];
  ld.param.u32 %r1, [sizes];
  ld.param.u64 %rd5, [sizes+8];
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, %ctaid.x;
  mad.lo.u32 %r4, %r3, %r1, %r2;
  mad.wide.u32 %rd3, %r4, 4, %rd1;
  ld.global.f32 %f1, [%rd3];
  mov.u32 %r5, row;
  mad.lo.u32 %r6, %r2, 4, %r5;
  st.shared.f32 [%r6], %f1;
  bar.sync 0;
  setp.ne.u32 %p, %r2, 0;
  @%p ret;
  mov.f32 %f2, 0f00000000;
  mov.u32 %r7, 0;
LOOP:
  ld.shared.f32 %f1, [%r5];
  add.f32 %f2, %f2, %f1;
  add.u32 %r5, %r5, 4;
  add.u32 %r7, %r7, 1;
  setp.lt.u32 %p, %r7, %r1;
  @%p bra LOOP;
  mad.wide.u32 %rd4, %r3, 4, %rd5;
  st.global.f32 [%rd4], %f2;
  ret;
}
"""

DESCRIPTION = {
    "kernel": "sum",
    "grid": [3],
    "block": [32],
    "memory": [
        {"name": "x", "type": "f32", "shape": [3, 32], "fill": "small"},
        {"name": "ones", "type": "f32", "shape": [32, 1], "fill": 1},
        {"name": "y", "type": "f32", "shape": [3, 1]},
    ],
    "arguments": ["at:x", "at:y", "struct:u32:32;at:y"],
    "reference": {"kind": "matmul", "a": "x", "b": "ones"},
    "outputs": [{"name": "y", "is": "c", "bound": 0}],
}


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("run_foreign_ptx", ROOT / "scripts" / "run_foreign_ptx.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def foreign(script, build, tmp_path, monkeypatch, capsys):
    """Runs the script on SUM with changes to its description. Returns exit code, output, errors."""
    tool = build / "bin" / "fovea-ptx-run"
    if not tool.exists():
        pytest.skip("fovea-ptx-run is not built")

    def run(*options, **changes):
        (tmp_path / "sum.ptx").write_text(SUM)
        (tmp_path / "sum.json").write_text(json.dumps({**DESCRIPTION, **changes}))
        monkeypatch.setattr(sys, "argv", ["run_foreign_ptx", str(tmp_path), f"--tool={tool}", "--seeds=2", *options])
        code = script.main()
        return code, *capsys.readouterr()

    return run


def test_right(foreign):
    code, out, err = foreign("--check")
    assert (code, err) == (0, "")
    assert "| sum | 2 | 0 | y 0 of " in out and "| none |" in out
    assert out.endswith("1 passed, 0 failed\n")


def test_wrong_numbers(foreign):
    wrong = [{"pattern": r"mov\.f32 %f2, 0f00000000;", "replacement": "mov.f32 %f2, 0f3F800000;"}]
    code, out, _ = foreign("--check", edits=wrong)
    assert code == 1
    assert "y 1 of " in out and "(bound 0, EXCEEDED) | none |" in out
    assert foreign("--check", "--unedited", edits=wrong)[0] == 0
    assert foreign(edits=wrong)[0] == 0


def test_report(foreign):
    code, out, err = foreign("--check", edits=[{"pattern": r"^ *bar\.sync 0;$", "replacement": "", "reason": "9.7.14.1"}])
    assert code == 1
    assert "| sum | 2 | 1 | no result | race, line " in out
    assert "sum, seed 0:" in err and "[race]" in err


def test_invalid_descriptions(foreign):
    code, _, err = foreign(edits=[{"pattern": "bar", "replacement": "bar", "count": 2}])
    assert code == 2 and "edit 'bar' made 1 replacements, expected 2" in err
    code, _, err = foreign(reference={"kind": "sum"})
    assert code == 2 and "unknown reference 'sum', expected matmul or attention" in err
    code, _, err = foreign(memory=[{"name": "x", "type": "f32", "shape": [96], "fill": "huge"}])
    assert code == 2 and "unknown fill 'huge' of 'x'" in err
    code, _, err = foreign(outputs=[{"name": "y", "is": "c"}])
    assert code == 2 and "found no field 'bound'" in err


def test_references(script):
    random = numpy.random.default_rng(0)
    q, k, v = (random.standard_normal((2, 5, heads, 8)) for heads in (4, 2, 2))
    result = script.attention({"q": "q", "k": "k", "v": "v", "causal": True}, {"q": q, "k": k, "v": v})
    scores = q[1, 3, 3] @ k[1, :4, 1].T / 8**0.5
    p = numpy.exp(scores)
    assert numpy.allclose(result["o"][1, 3, 3], p @ v[1, :4, 1] / p.sum())
    assert numpy.allclose(result["lse"][1, 3, 3], numpy.log(p.sum()))
    a, b = random.standard_normal((3, 4)), random.standard_normal((5, 3))
    assert numpy.allclose(script.matmul({"a": "a", "b": "b", "transpose_a": True, "transpose_b": True}, {"a": a, "b": b})["c"], a.T @ b.T)


def test_rounding(script):
    def rounded(element_type, *values):
        return list(script.decode(script.encode(numpy.array(values), element_type), element_type))

    assert rounded("bf16", 1.0, 1.00390625, 1.01171875, -2.0) == [1.0, 1.0, 1.015625, -2.0]
    assert rounded("e4m3", 0.0, 1.0625, 1.1875, -1.1, 448.0, 2.0**-9, 2.0**-10) == [0.0, 1.0, 1.25, -1.125, 448.0, 2.0**-9, 0.0]
