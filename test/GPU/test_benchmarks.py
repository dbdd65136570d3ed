"""Checks what the benchmarks compute without a GPU. Needs no torch.

`pytest test/GPU/test_benchmarks.py`, or as a plain script.
"""

import contextlib
import io
import json
import pathlib
import random
import re
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "benchmarks")]

import backward  # noqa: E402
import backward_packed  # noqa: E402
import counters  # noqa: E402
import flash_attention_3  # noqa: E402
import forward  # noqa: E402
import golden_kernels  # noqa: E402
import kernels  # noqa: E402
import packed  # noqa: E402
import products  # noqa: E402
import report  # noqa: E402
import tracing  # noqa: E402
import variants  # noqa: E402
import waiting  # noqa: E402

DESCRIPTION = {
    "d": 64, "n": 64, "causal": 1, "sched": "dynamic", "cluster": 1, "m": 256, "kvbox": 64, "threads": 640,
    "smem": 132000, "name": "fwd_d64", "info": ["Used 96 registers"],
}  # fmt: skip


def refuses(function, *arguments, error=ValueError):
    with contextlib.redirect_stderr(io.StringIO()):
        try:
            function(*arguments)
        except error:
            return True
    return False


def test_cells_and_flops():
    cell = forward.Cell("128:4096:full")
    assert (cell.b, cell.h, cell.flops) == (4, 16, 4 * 4 * 16 * 4096**2 * 128)
    assert forward.Cell("128:4096:causal").flops * 2 == cell.flops
    assert forward.Cell("64:32768:full").b == 1
    both = forward.Cell("192/128:4096:full")
    assert (both.d, both.dv, both.h, both.flops) == (192, 128, 10, 2 * 4 * 10 * 4096**2 * 320)
    assert both.config.name == "dense_bf16_d192_dv128_bhsd" and cell.config.name == "dense_bf16_d128_bhsd"
    for text in ("128:4096", "192/x:4096:full", "192/0:4096:full", "128:x:full", "128:4096:window", "0:1:full"):
        assert refuses(forward.Cell, text, error=forward.argparse.ArgumentTypeError), text


def test_arguments():
    args = forward.parse_arguments([])
    assert len(args.cells) == 18 and args.schedule == ["auto"] and not args.lse and args.target is None
    args = forward.parse_arguments(["--schedule", "chain=0", "--target", "sm_80,sm_90a", "--lse"])
    assert args.schedule == ["auto", "chain=0"] and args.target == ["sm_80", "sm_90a"] and args.lse
    args = forward.parse_arguments(["--ablation", "--schedule", "stages=3", "--no-lse"])
    assert [cell.text for cell in args.cells] == forward.ABLATION_CELLS and args.schedule[-1] == "stages=3"
    assert forward.parse_arguments(["--schedule", "a=1", "--only-schedules"]).schedule == ["a=1"]
    for bad in (["--target", "hopper"], ["--rounds", "0"], ["--only-schedules"], ["--ablation", "--target", "sm_80,sm_90a"]):
        assert refuses(forward.parse_arguments, bad, error=SystemExit), bad


def test_counters():
    metrics = counters.METRICS

    def ncu_row(kernel, duration, first):
        return ",".join(f'"{x}"' for x in [kernel, f"{duration:,}", *range(first, first + len(metrics) - 1)])

    header = ",".join(f'"{x}"' for x in ["Kernel Name", *metrics])
    units = ",".join('"%"' for _ in range(len(metrics) + 1))
    said = ["==PROF== Connected", header, units, ncu_row("prologue", 900, 1), ncu_row("main", 1_200_000, 10), ncu_row("b", 5, 30)]
    rows = counters.read_rows("\n".join(said))
    assert [row["Kernel Name"] for row in rows] == ["prologue", "main", "b"]
    found = counters.read_counters(rows, ["a", "b"], {"a": 2, "b": 1})
    assert found["a"]["alone_ms"] == 1.2 and found["a"]["tensor"] == 10 and found["b"]["tensor"] == 30
    assert found["a"]["stalls"]["wait"] == 10 + len(metrics) - 2
    line = counters.format_row({"name": "a", "ms": 1.25, **found["a"]})
    assert "1.250" in line and "wait 27.00, short_scoreboard 26.00" in line, line
    assert refuses(counters.read_counters, rows, ["a", "b"], {"a": 2, "b": 2})
    assert counters.read_rows("==ERROR== ERR_NVGPUCTRPERM") == []


def test_packed_lengths():
    for tokens in (16384, 65536):
        for name, deal in packed.LENGTHS.items():
            queries, keys = deal(tokens)
            assert sum(keys) == tokens and min(keys) > 0 and len(queries) == len(keys), name
            first, last = (part[0] for part in packed.longest_first(queries, keys)), max(keys)
            assert tuple(first) == (queries[keys.index(last)], last), name
        assert packed.LENGTHS["rising"](tokens)[1] == sorted(packed.LENGTHS["shuffled"](tokens)[1])
    row = {"mask": "full", "lengths": "half", "tokens": 1, "sequences": 2, "longest": 3}
    timed = {**row, "given_ms": 2.0, "ordered_ms": 1.5, "sorted_ms": 1.0, "error": 0.002}
    assert packed.format_row(timed).split()[-3:] == ["0.750", "0.500", "2.00e-03"]
    assert packed.format_row(row).split()[-3:] == ["-", "-", "-"]


def test_products():
    cell = products.Cell("8192:4096:64")
    assert (cell.m, cell.n, cell.k, cell.flops) == (8192, 4096, 64, 2**32)
    for text in ("8192:4096", "0:1:1", "1:1:x", "1:1:1:1"):
        assert refuses(products.Cell, text, error=products.argparse.ArgumentTypeError), text
    args = products.parse_arguments([])
    assert {path.stem for path in args.programs} >= {"product", "product-gelu", "product-sm_80"} and len(args.cells) == 6
    assert refuses(products.parse_arguments, ["--rounds", "0"], error=SystemExit)
    targets = {path.stem: products.get_target(path.read_text()) for path in args.programs}
    assert (targets["product"], targets["product-sm_80"]) == ("sm_90a", "sm_80")
    tensors = [{"name": name} for name in ("a", "b", "c")]
    assert not products.has_epilogue({"tensors": tensors}) and products.has_epilogue({"tensors": [*tensors, {"name": "bias"}]})
    rows = products.add_ratios([{"name": "p", "tflops": 600.0}, {"name": "matmul", "tflops": 800.0}], {"p": False})
    assert [row["name"] for row in rows] == ["matmul", "p"] and rows[1]["of_peer"] == rows[1]["of_matmul"] == 0.75
    rows = products.add_ratios([{"name": "g", "tflops": 600.0}, {"name": "matmul", "tflops": 800.0}], {"g": True})
    assert rows[1]["of_peer"] is None and rows[1]["of_matmul"] == 0.75
    lines = products.format_table([{"cell": "1:1:1", **row} for row in rows])
    assert lines[2].split() == ["1:1:1", "g", "600.0", "-", "0.750", "-", "-", "-"], lines


def test_targets():
    assert kernels.parse_targets("sm_90a, sm_80,sm_90a") == ["sm_90a", "sm_80"]
    assert refuses(kernels.parse_targets, "") and refuses(kernels.parse_targets, "sm_80,")
    assert kernels.default_targets(9, 0) == ["sm_80", "sm_90a"] and kernels.default_targets(8, 9) == ["sm_80"]
    assert kernels.ptxas_chip("sm_90a", "sm_90") == "sm_90a" and kernels.ptxas_chip("sm_80", "sm_90") == "sm_90"


def test_ptxas_facts():
    said = """ptxas info    : 0 bytes gmem
    168 bytes stack frame, 404 bytes spill stores, 432 bytes spill loads
ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to ...
ptxas info    : Used 168 registers, used 16 barriers, 16 bytes smem"""
    facts = kernels.ptxas_facts(said)
    assert (facts["registers"], facts["spill_stores"], facts["spill_loads"]) == (168, 404, 432)
    assert facts["static_shared_memory"] == 16 and len(facts["ptxas_warnings"]) == 1


def test_reference_kernel_descriptions():
    facts = golden_kernels.Facts.parse(json.dumps(DESCRIPTION))
    assert (facts.head_dim, facts.causal, facts.tile_rows, facts.box_rows, facts.persistent) == (64, True, 256, 64, True)
    assert facts.tiles(2, 3, 257) == 12 and facts.grid(12, 132) == 12 and facts.grid(1000, 132) == 132
    pairs = golden_kernels.Facts.parse(json.dumps({**DESCRIPTION, "cluster": 2, "sched": "none"}))
    assert pairs.tiles(2, 3, 513) == 24 and pairs.grid(1000, 132) == 1000
    for bad in ("", "[]", "{}", json.dumps({**DESCRIPTION, "smem": None})):
        assert refuses(golden_kernels.Facts.parse, bad), bad
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "a.json").write_text(json.dumps(DESCRIPTION))
        assert not golden_kernels.read_folder(folder)
        (pathlib.Path(folder) / "a.cubin").write_bytes(b"")
        assert list(golden_kernels.read_folder(folder)) == ["fwd_d64"]


def test_heads_per_section():
    # 16 MiB of K and V a head at d 256, 16k: two heads fit, eight are taken.
    assert golden_kernels.heads_per_section(1, 8, 16384, 256) == 8
    assert golden_kernels.heads_per_section(4, 8, 4096, 256) == 16
    assert golden_kernels.heads_per_section(16, 16, 1024, 128) == 64
    assert golden_kernels.heads_per_section(1, 2, 1024, 128) == 2


def row(cell, name, tflops, **more):
    return {"cell": cell, "name": name, "tflops": tflops, **more}


def test_ratios_and_tables():
    cells = [
        [row("a", "fovea[auto]", 100.0, registers=168), row("a", "golden[x]", 200.0), row("a", "golden[y]", 160.0)],
        [row("b", "fovea[auto]", 200.0), row("b", "golden[x]", 100.0), row("b", "FLASH_ATTENTION", 50.0)],
    ]
    for rows in cells:
        report.add_ratios(rows)
    rows = sum(cells, [])
    assert rows[0]["of_golden"] == 0.5 and rows[0]["of_flash"] is None and rows[3]["of_flash"] == 4
    means = report.summarise(rows)["fovea[auto]"]
    assert abs(means["golden"] - 1) < 1e-12 and means["flash"] == 4 and means["cudnn"] is None and means["cells"] == 2
    assert report.geometric_mean([]) is None
    lines = report.format_table(rows)
    assert len(lines) == 7 and "100.0" in lines[1] and "0.50" in lines[1] and "168" in lines[1]
    assert "1.00" in report.format_summary(report.summarise(rows))[1]


def test_flash_attention_3_option():
    """`--fa3` without a file uses the installed package's library and reports if there is none."""
    for program in (forward, backward, backward_packed):
        assert program.parse_arguments(["--fa3"]).fa3 == flash_attention_3.INSTALLED
        assert program.parse_arguments(["--fa3", "a.so", "--rounds", "2"]).fa3 == "a.so"
        assert program.parse_arguments([]).fa3 is None
    if flash_attention_3.find_installed() is None:
        assert refuses(flash_attention_3.library_of, flash_attention_3.INSTALLED, error=OSError)
    assert flash_attention_3.library_of("a.so") == "a.so"
    with tempfile.TemporaryDirectory() as folder:
        library = pathlib.Path(folder) / "flash_attn_3" / "_C.abi3.so"
        library.parent.mkdir()
        (library.parent / "__init__.py").touch()
        library.touch()
        sys.path.insert(0, folder)
        try:
            assert flash_attention_3.library_of(flash_attention_3.INSTALLED) == str(library)
        finally:
            sys.path.remove(folder)
    means = report.summarise(_with_ratios([row("a", "fovea[auto]", 110.0), row("a", flash_attention_3.NAME, 100.0)]))
    assert abs(means["fovea[auto]"]["fa3"] - 1.1) < 1e-12 and "1.10" in report.format_summary(means)[1]


def _with_ratios(rows):
    report.add_ratios(rows)
    return rows


def test_printed_commands():
    """The commands of docs/Performance.md, benchmarks/notebook/tables.md and the programs' docstrings are taken."""
    programs = {"forward": forward, "backward": backward, "backward_packed": backward_packed}
    root = HERE.parents[1]
    pages = [root / "benchmarks" / "notebook" / "tables.md", root / "docs" / "Performance.md", *(pathlib.Path(program.__file__) for program in programs.values())]
    commands = [found for page in pages
                for found in re.findall(r"python benchmarks/(forward|backward|backward_packed)\.py((?: [^`|#\n]*)?)", page.read_text())]
    assert len(commands) > 8
    for name, arguments in commands:
        programs[name].parse_arguments(arguments.split())


def test_ablation_table():
    rows = [
        row("a", "fovea[auto]", 100.0, schedule={"work": "static"}),
        row("a", "fovea[chain=0]", 90.0, schedule={"work": "static", "chain": 0}),
        row("a", "fovea[work=static]", 101.0, schedule={"work": "static"}),
    ]
    lines = report.format_ablation(rows, ["auto", "chain=0", "work=static", "broken=1"], "auto")
    assert lines[2].split() == ["chain=0", "90.0", "-10.0%"]
    assert lines[3].split() == ["work=static", "="] and lines[4].split() == ["broken=1", "-"]


class FakeTorch:
    """Events on a clock that launches move."""

    def __init__(self):
        self.now, self.cuda = 0.0, self
        self.launches = []

    def synchronize(self):
        pass

    def Event(self, enable_timing):
        clock = self

        class Event:
            def record(self):
                self.at = clock.now

            def elapsed_time(self, end):
                return end.at - self.at

        return Event()

    def kernel(self, name, duration):
        def launch():
            self.launches.append(name)
            self.now += duration

        return launch


def test_turns():
    torch = FakeTorch()
    contestants = {"fast": torch.kernel("fast", 0.5), "slow": torch.kernel("slow", 20.0)}
    times = forward.take_turns(torch, contestants, 5, random.Random(0))
    assert {name: len(values) for name, values in times.items()} == {"fast": 35, "slow": 35}
    assert set(times["slow"]) == {20.0}
    assert torch.launches.count("fast") == 3 + 5 * (60 + 7) and torch.launches.count("slow") == 3 + 5 * (3 + 7)


TRACED = """.visible .entry other(
	.param .u32 other_param_0
)
{
	ret;
}
.visible .entry f(
	.param .u32 f_param_0,
	.param .u64 f_param_1
)
.maxntid 256, 1, 1
{
	.reg .b32 	%r<3>;

	mov.u32 	%r1, %tid.x;
	bar.sync 	0;
$L__BB0_1:
	ret;
}
"""


def test_tracing():
    facts = {"kernel": "f", "block": [256, 1, 1], "tensors": [], "parameters": [{"kind": "size"}, {"kind": "pointer"}]}
    ptx, metadata, sites = tracing.instrument(TRACED, json.dumps(facts))
    found = json.loads(metadata)
    assert found["parameters"][2] == {"kind": "pointer", "tensor": "trace"} and found["tensors"][0]["name"] == "trace"
    assert ".param .u64 f_param_1,\n\t.param .u64 .ptr .global .align 8 f_param_2\n)" in ptx
    lines = ptx.split("\n")
    assert lines[:6] == TRACED.split("\n")[:6]
    # The set-up code is after the declarations and before the first instruction.
    assert lines.index("\tld.param.u64 %te, [f_param_2];") < lines.index("\tmov.u32 \t%r1, %tid.x;")
    assert sites == {32: "before 16: bar.sync \t0;", 33: "after 16: bar.sync \t0;", 35: "after 17: $L__BB0_1:"}
    assert [line for line in lines if "st.global.u32 [%tr]," in line] == [f"\t@%tp st.global.u32 [%tr], {n};" for n in sites]
    assert refuses(tracing.instrument, TRACED, json.dumps({**facts, "kernel": "g"}))
    # Clocks wrap, as do numbers with a sign.
    notes = tracing.read_notes([32, -10, 33, 10, 35, 30, 0, 0, 32, 5])
    assert notes == [(32, 0), (33, 20), (35, 40)]
    mean, longest, steps = tracing.summarise([notes, [(32, 0), (33, 60)], []])
    assert (mean, longest) == (50, 60)
    assert steps == [(0.8, 1.0, 40, 32, 33), (0.2, 0.5, 20, 33, 35)]
    assert refuses(tracing.summarise, [[]])


def test_candidates():
    row = {"baseline_ms": 0.75, "candidates": {"chain=0": 1.5, "cluster=2": 1.0}}
    fastest, slowest = variants.format_candidates(row)
    assert fastest.split() == ["1.000", "ms", "0.75", "of", "dense", "cluster=2"]
    assert slowest.split() == ["1.500", "ms", "0.50", "of", "dense", "chain=0"]
    assert variants.format_candidates({}) == []
    args = variants.make_parser().parse_args(["--candidate", "a=1", "--candidate", "b=2", "--only", "fullbias"])
    assert args.candidate == ["a=1", "b=2"] and args.schedule == "auto"


def test_waiting():
    torch = FakeTorch()
    waiting.synchronize(torch, 5)
    release = threading.Event()
    torch.synchronize = release.wait
    assert refuses(waiting.synchronize, torch, 0.05, error=waiting.Hang)
    release.set()

    def fails():
        raise RuntimeError("an illegal memory access")

    torch.synchronize = fails
    assert refuses(waiting.synchronize, torch, 5, error=RuntimeError)


if __name__ == "__main__":
    tests = [function for name, function in sorted(globals().items()) if name.startswith("test_")]
    for test in tests:
        test()
    print(f"{len(tests)} passed, 0 failed")
