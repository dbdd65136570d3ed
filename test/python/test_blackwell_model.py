"""The cost model of Blackwell kernels (benchmarks/blackwell.py), on small machine code and without nvdisasm."""

import collections
import importlib
import json
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "benchmarks" / "blackwell.py"


def load():
    """The package, which is not on the module path."""
    place = ROOT / "benchmarks" / "cost_model"
    spec = importlib.util.spec_from_file_location("cost_model", place / "__init__.py", submodule_search_locations=[str(place)])
    sys.modules.setdefault("cost_model", importlib.util.module_from_spec(spec))
    return [importlib.import_module(f"cost_model.{name}") for name in ("sass", "roles", "trace", "costs", "report")]


sass, roles, trace, costs, report = load()


def disassembly(lines, target="sm_100a"):
    """Text as nvdisasm writes it. Lines that end in a colon are labels."""
    text, address = [f"\t.target\t{target}", '\t.section\t.text.k,"ax",@progbits', "k:", ".text.k:"], 0
    for line in lines:
        if line.endswith(":"):
            text.append(line)
        else:
            guard, rest = (line.split(" ", 1) if line.startswith("@") else ("", line))
            text.append(f"        /*{address:04x}*/             {guard:>8} {rest} ;")
            address += 16
    return "\n".join(text) + "\n"


def retries(label, back):
    """Code out of line that retries a wait."""
    return [f"{label}:", "YIELD", "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR4], R3", f"@!P0 BRA `({label})", f"BRA `({back})"]


def softmax(name, masked=False):
    """A loop of 6 + 129 + 4 instructions, with a mask of 64 more."""
    return [
        f"{name}:", "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR4], R3", f"@!P0 BRA `({name}_wait)", f"{name}_ready:",
        "LDTM.x32 R4, tmem[UR4]", *["ISETP.GT.AND P1, PT, R1, R2, PT", "FSEL R4, R4, -INF , P1"] * (32 * masked),
        *["MUFU.EX2 R4, R4"] * 129, *["FFMA2.FTZ R4, R4.F32x2.HI_LO, R6.F32x2.HI_LO, R8.F32x2.HI_LO"] * 4,
        "STTM.x16 tmem[UR4], R4", "SYNCS.ARRIVE.TRANS64.A1T0 RZ, [UR4], RZ", f"BRA.U !UP0, `({name})",
    ]  # fmt: skip


ROLES = [
    "UISETP.NE.U32.AND UP0, UPT, UR17, 0x1, UPT", "BRA.U UP0, `(.correction)",
    ".grow:", "USETMAXREG.TRY_ALLOC.CTAPOOL UP0, 0xc0", "BRA.U !UP0, `(.grow)",
    *softmax(".masked", masked=True), *softmax(".plain"), "EXIT",
    ".correction:", "BRA.U UP1, `(.single)", "USETMAXREG.DEALLOC.CTAPOOL 0x50",
    ".scale:", "LDS R0, [R0+0x28600]", "VOTE.ANY P0, P0", "@!P0 BRA `(.same)",
    "LDTM.x32 R4, tmem[UR4]", *["FMUL2.FTZ R4, R0.F32, R4.F32x2.HI_LO"] * 16, "STTM.x32 tmem[UR4], R4",
    ".same:", "SYNCS.ARRIVE.TRANS64.A1T0 RZ, [UR4], RZ", "BRA.U !UP2, `(.scale)", "EXIT",
    ".single:", "USETMAXREG.DEALLOC.CTAPOOL 0x30", "ELECT P0, URZ, PT", "BRA.U UP3, `(.load)",
    ".mma:", "@!P0 BRA `(.others)", *["UTCHMMA gdesc[UR4], gdesc[UR6], tmem[UR8], tmem[UR10], idesc[UR11], UP0"] * 8,
    *["UTCHMMA tmem[UR4], gdesc[UR6], tmem[UR8], tmem[UR10], idesc[UR11], UP0"] * 16, "UTCBAR [UR20], URZ", "BRA `(.both)",
    ".others:", "NOP", "NOP", ".both:", "BRA.U !UP0, `(.mma)", "EXIT",
    ".load:", "BRA.U UP4, `(.store)",
    ".copy:", "UTMALDG.4D [UR8], [UR6], desc[UR16]", "UTMALDG.4D [UR8], [UR6], desc[UR16]", "BRA.U !UP0, `(.copy)", "EXIT",
    ".store:", "UTMASTG.4D [UR8], [UR28]", "BRA.U !UP0, `(.store)", "EXIT",
    *retries(".masked_wait", ".masked_ready"), *retries(".plain_wait", ".plain_ready"),
]  # fmt: skip


def kernel_of(lines, **options):
    return roles.main_kernel(sass.parse(disassembly(lines, **options)))


@pytest.fixture(scope="module")
def found():
    return roles.find_roles(kernel_of(ROLES))


@pytest.mark.parametrize(
    "opcode, expected",
    [
        ("UTCHMMA", "mma"), ("UTCQMMA.2CTA", "mma"), ("UTCBAR", "commit"), ("UTMALDG.4D", "tma load"), ("UTMASTG.4D", "tma store"),
        ("MUFU.EX2", "mufu"), ("FFMA2.FTZ", "packed"), ("FADD2", "packed"), ("F2FP.BF16.F32.PACK_AB", "f2fp"),
        ("FMNMX3.FTZ.NAN", "fmnmx3"),
        ("FMNMX.FTZ", "fmnmx"), ("FADD.FTZ", "fma"), ("IMAD.MOV.U32", "imad"), ("LOP3.LUT", "alu"), ("FSEL", "select"),
        ("LDTM.x32", "tmem load"), ("STTM.x16", "tmem store"), ("LDL.64", "spill"), ("STL", "spill"), ("LDS", "shared"),
        ("SYNCS.ARRIVE.TRANS64", "mbarrier"),
        ("BRA.U", "branch"), ("UIADD3.X", "uniform"), ("R2UR", "uniform"), ("NOP", "other"), ("LDG.E", "global"),
    ],
)  # fmt: skip
def test_classes(opcode, expected):
    assert sass.classify(opcode) == expected


def test_blocks_and_loops():
    kernel = kernel_of(["MOV R1, R2", ".outer:", "MOV R1, R2", ".inner:", "MOV R1, R2", "@P0 BRA `(.inner)", "@!P1 BRA `(.outer)", "EXIT"])
    graph = roles.Graph(kernel)
    assert [len(block.code) for block in graph.blocks] == [1, 1, 2, 1, 1]
    assert [block.follows for block in graph.blocks] == [[1], [2], [3, 2], [4, 1], []]
    assert [(loop.header, sorted(loop.blocks), len(loop.inner)) for loop in graph.loops] == [(1, [1, 2, 3], 1), (2, [2], 0)]


def test_branches():
    indirect = 'BRX R2 -0x890 (*"BRANCH_TARGETS .a,.b"*)'
    kernel = kernel_of([indirect, ".a:", "BRA.U UP0, `(.b)", "BRA `(.b)", "NOP", ".b:", "@!P0 EXIT", "@PT EXIT", "NOP"])
    follows = [block.follows for block in roles.Graph(kernel).blocks]
    assert follows == [[1, 4], [2, 4], [4], [4], [5], [], []]


def test_roles(found):
    _, listed = found
    assert [role.kind for role in listed] == ["softmax", "correction", "mma", "load", "epilogue"]
    softmax_role = listed[0]
    assert [(body.kind, len(body.code)) for body in softmax_role.bodies] == [("masked", 139 + 64), ("loop", 139)]
    expected = {"mufu": 129, "packed": 4, "mbarrier": 2, "branch": 2, "tmem load": 1, "tmem store": 1}
    assert softmax_role.main.counts == collections.Counter(expected)
    assert len(listed[1].main.code) == 23  # with rescaling
    # The elected lane and the others take both sides of a branch: 1 + 26 + 2 + 1.
    assert (len(listed[2].main.code), listed[2].main.counts["mma"]) == (30, 24)
    assert costs.operands(listed) == (8, 16)
    assert [len(role.main.code) for role in listed[3:]] == [3, 2]


def test_two_softmax_roles():
    first = ROLES[2 : ROLES.index(".correction:")]
    other = [line.replace(".masked", ".m2").replace(".plain", ".p2").replace(".grow", ".g2") for line in first]
    split = ROLES.index(".grow:")
    waits = retries(".m2_wait", ".m2_ready") + retries(".p2_wait", ".p2_ready")
    _, listed = roles.find_roles(kernel_of([*ROLES[:split], "BRA.U UP5, `(.g2)", *ROLES[split:], *other, *waits]))
    names = [role.name for role in listed]
    assert names == ["softmax 0", "correction", "mma", "load", "epilogue", "softmax 1"]
    assert costs.assumed_warps(listed, costs.parse_shape("d=64")) == {
        "softmax 0": [0, 1, 2, 3], "softmax 1": [4, 5, 6, 7], "correction": [8, 9, 10, 11], "mma": [12], "load": [13], "epilogue": [14],
    }  # fmt: skip


def test_cycles_by_hand(found):
    _, listed = found
    shape = costs.parse_shape("d=64")
    cycles = costs.units(shape, "sm_100a", costs.default_loads(listed, shape))
    assert cycles == {
        "mma": 2 * 2 * 128 * 128 * (64 + 64) / 8192,  # 1024
        # Q, K and V for each of two tiles, 16 KiB each; K and V once.
        "shared memory": 6 * 128 + 2 * 128,
        "mufu": 2 * 129 * 8,
        "issue": 2 * 139 + 23 + 30,
        "fma": 2 * (2 * 4 + 16),
        "alu": 2,  # VOTE
        "chain": 256 + 8 * 129 + 256,
    }
    assert costs.bottleneck(cycles) == "mufu"
    faster = costs.units(shape, "sm_103a", costs.default_loads(listed, shape))
    assert (faster["mufu"], costs.bottleneck(faster)) == (2 * 129 * 4, "mufu")


@pytest.mark.parametrize(
    "text, mma, reads, writes",
    [
        ("d=128", 2048, 1536, 512), ("d=128,pair=1", 2048, 1024, 256), ("d=192,dv=128", 2560, 2048, 640),
        ("d=192,dv=128,pair=1", 2560, 1408, 320),
        ("d=192,dv=128,keys=64", 1280, 1408, 320), ("d=256,keys=64,row_tiles=1", 1024, 1024, 512), ("d=128,bits=8", 1024, 768, 256),
    ],
)  # fmt: skip
def test_shapes(text, mma, reads, writes):
    shape = costs.parse_shape(text)
    assert shape.row_tiles * sum(costs.product_cycles(shape)) == mma
    assert costs.shared_memory(shape) == (reads, writes)


def test_products_of_shapes():
    assert [costs.parse_shape(text).products for text in ("d=64", "d=128", "d=192,dv=128", "d=64,bits=8")] == [24, 32, 40, 12]


def test_p_in_shared_memory():
    shape = costs.parse_shape("d=64")
    assert costs.shared_memory(shape, shared_p=True)[0] == costs.shared_memory(shape)[0] + 2 * 128 * 128 * 2 / 128


@pytest.mark.parametrize(
    "text, message",
    [
        ("d=64,rows=2", "unknown shape key 'rows': expected d, dv, keys, row_tiles, pair, bits"), ("dv=64", "the shape has no d"),
        ("d=x", "'d=x' has no number"), ("d", "'d' has no number"), ("d=0", "no such shape"), ("d=64,pair=2", "no such shape"),
        ("d=64,bits=4", "no such shape"),
    ],
)  # fmt: skip
def test_bad_shapes(text, message):
    with pytest.raises(sass.ModelError, match=message.replace("(", r"\(")):
        costs.parse_shape(text)


def test_bad_code():
    with pytest.raises(sass.ModelError, match="no instructions found"):
        sass.parse("hello\n")
    with pytest.raises(sass.ModelError, match="kernel 'k' has no loop"):
        roles.find_roles(kernel_of(["MOV R1, R2", "EXIT"]))
    with pytest.raises(sass.ModelError, match="no loop"):  # that only waits
        roles.find_roles(kernel_of([".a:", "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR4], R3", "@!P0 BRA `(.a)", "EXIT"]))
    with pytest.raises(sass.ModelError, match="no kernel 'j': expected one of k"):
        roles.main_kernel(sass.parse(disassembly(["EXIT"])), "j")
    with pytest.raises(sass.ModelError, match="target 'sm_90a' has no rates"):
        costs.units(costs.parse_shape("d=64"), "sm_90a", [])
    with pytest.raises(sass.ModelError, match="no softmax role"):
        costs.units(costs.parse_shape("d=64"), "sm_100a", [])


def events(counts):
    """A trace with each (name, line, warp) as often as it says."""
    return [
        {"ph": "b", "cat": "work", "name": name, "pid": 0, "tid": warp, "ts": 0, "id": "0", "args": {"line": line}}
        for (name, line, warp), number in counts.items()
        for _ in range(number)
    ]


PTX = [
    "tcgen05.ld.sync.aligned.32x32b.x32.b32 {}, [%r1];", "tcgen05.st.sync.aligned.32x32b.x16.b32 [%r1], {};",
    "tcgen05.ld.sync.aligned.32x32b.x32.b32 {}, [%r1];", "tcgen05.st.sync.aligned.32x32b.x16.b32 [%r1], {};",
    "tcgen05.ld.sync.aligned.32x32b.x32.b32 {}, [%r1];", "tcgen05.st.sync.aligned.32x32b.x32.b32 [%r1], {};",
    *["@%p1 tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r2, %p2;"] * 24,
    *["cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {}], [%r2];"] * 2,
    "cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%rd1, {}], [%r1];", "// tcgen05.ld.sync comment",
]  # fmt: skip


def traced(rescaled):
    """Eight key blocks of which two are masked; the correction role rescales some."""
    counts = collections.Counter()
    for warp in range(8):
        for line, number in ((1, 2), (2, 2), (3, 6), (4, 6)):
            counts["tcgen05.ld" if line % 2 else "tcgen05.st", line, warp] = number
    for warp in range(8, 12):
        counts["tcgen05.ld", 5, warp] = counts["tcgen05.st", 6, warp] = rescaled
    counts.update({("tcgen05.mma", line, 13): 8 for line in range(7, 31)})
    counts.update({("tensor load", line, 12): 8 for line in (31, 32)})
    counts["bulk store", 33, 14] = 1
    return counts


def test_weights_of_a_trace(found, tmp_path):
    graph, listed = found
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(events(traced(rescaled=4))))
    weights = trace.Weights(graph, listed, trace.read(path), "\n".join(PTX))
    assert (weights.blocks, weights.rescaled(listed), weights.masked(listed)) == (8, 0.5, 0.25)
    assert weights.warps == {"softmax": list(range(8)), "correction": [8, 9, 10, 11], "mma": [13], "load": [12], "epilogue": [14]}
    loads = {load.name: load for load in costs.traced_loads(listed, weights)}
    assert loads["softmax"].instructions == 139 + 64 / 4
    assert loads["correction"].instructions == 5 + 18 / 2
    assert loads["epilogue"].instructions == 2 / 8
    # The mma warp is in another quarter than by default.
    assert costs.busiest(loads.values(), lambda counts: sum(counts.values())) == 2 * 155 + 14 + 30


def test_trace_without_the_ptx(found, tmp_path):
    graph, listed = found
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(events(traced(rescaled=4))))
    assert trace.Weights(graph, listed, trace.read(path)).rescaled(listed) == 0.5
    path.write_text(json.dumps(events({key: number for key, number in traced(rescaled=0).items() if number})))
    with pytest.raises(sass.ModelError, match="the trace has 2 instructions 'tcgen05.ld', the machine code 3; name the PTX with --ptx"):
        trace.Weights(graph, listed, trace.read(path))
    assert trace.Weights(graph, listed, trace.read(path), "\n".join(PTX)).rescaled(listed) == 0


def test_bad_traces(found, tmp_path):
    graph, listed = found
    path = tmp_path / "trace.json"
    for text, message in (("{", "is not a trace"), ("[1]", "is not a trace"), ("[]", "has no asynchronous work")):
        path.write_text(text)
        with pytest.raises(sass.ModelError, match=message):
            trace.read(path)
    path.write_text(json.dumps(events({**traced(rescaled=4), ("tensor load", 31, 0): 1})))
    with pytest.raises(sass.ModelError, match="roles share warps"):
        trace.Weights(graph, listed, trace.read(path), "\n".join(PTX))


def test_bar():
    """The bar's cycles by the same rules are those of the published model."""
    for text, target, expected in (
        ("d=64", "sm_100a", {"mufu": 1808, "issue": 1313, "chain": 1416}),
        ("d=128,pair=1", "sm_100a", {"mufu": 1680, "issue": 1551, "chain": 1864, "shared memory": 1280}),
        ("d=192,dv=128", "sm_100a", {"mufu": 1680, "issue": 1530, "chain": 2120, "shared memory": 1728}),
        ("d=128,pair=1", "sm_103a", {"mufu": 1032, "chain": 1540}),
    ):
        shape = costs.parse_shape(text)
        cycles = report.bar_units(report.find_bar(shape, target), shape, target)
        assert {unit: cycles[unit] for unit in expected} == expected
    assert report.find_bar(costs.parse_shape("d=256"), "sm_100a") is None
    assert report.find_bar(costs.parse_shape("d=128"), "sm_100a").pair == 0


def run(*arguments):
    return subprocess.run([sys.executable, PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False)


@pytest.fixture
def nvdisasm(tmp_path):
    """A stand-in that prints the file it is given."""
    path = tmp_path / "nvdisasm"
    path.write_text('#!/bin/sh\ngrep -q /\\*0000 "$1" && exec cat "$1"\necho "nvdisasm fatal : $1 is not in ELF format" >&2\nexit 255\n')
    path.chmod(0o755)
    return path


def test_program(tmp_path, nvdisasm):
    cubin, numbers = tmp_path / "small.cubin", tmp_path / "numbers.json"
    cubin.write_text(disassembly(ROLES))
    result = run("--nvdisasm", nvdisasm, "--cubin", cubin, "--shape", "d=64", "--json", numbers)
    assert result.returncode == 0, result.stderr
    assert "weights: default" in result.stdout and "mufu             2064  <- bottleneck" in result.stdout
    assert "exponentials of a row: 128 of 128 by MUFU, 0% by polynomial" in result.stdout
    assert "139 (517)" in result.stdout and "203 (690)" in result.stdout
    written = json.loads(numbers.read_text())[0]
    assert (written["kernel"], written["bottleneck"], written["cycles"]["issue"]) == ("small", "mufu", 331)
    assert written["bar"]["softmax"] == 517 and "FlashAttention-4" in written["bar"]["source"]
    table = run("--nvdisasm", nvdisasm, "--cubin", cubin, "--shape", "d=64", "--markdown").stdout.splitlines()
    rows = [line for line in table if line.startswith("|")]
    assert table[0].startswith("Computed, not measured") and rows[0].startswith("| kernel | softmax |")
    assert len(rows) == 3 and len({row.count("|") for row in rows}) == 1


def test_page(tmp_path, nvdisasm):
    """The table replaces the one of a page, and only that."""
    cubin, page = tmp_path / "small.cubin", tmp_path / "page.md"
    cubin.write_text(disassembly(ROLES))
    page.write_text("before\n<!-- blackwell -->\nold\n<!-- end of blackwell -->\nafter\n")
    options = ("--nvdisasm", nvdisasm, "--cubin", cubin, "--shape", "d=64", "--page", page)
    result = run(*options)
    assert result.returncode == 0, result.stderr
    lines = page.read_text().splitlines()
    assert (lines[:2], lines[-2:]) == (["before", "<!-- blackwell -->"], ["<!-- end of blackwell -->", "after"])
    assert "old" not in lines and lines[2].startswith("Computed, not measured")
    assert max(len(line) for line in lines if not line.startswith("|")) <= 100
    page.write_text("no table\n")
    result = run(*options)
    assert result.returncode == 2 and "must have one table 'blackwell', found 0" in result.stderr
    assert page.read_text() == "no table\n"


def test_program_on_a_wrong_shape(tmp_path, nvdisasm):
    cubin = tmp_path / "small.cubin"
    cubin.write_text(disassembly(ROLES))
    result = run("--nvdisasm", nvdisasm, "--cubin", cubin, "--shape", "d=128")
    assert "note: the mma loop has 24 products, the shape needs 32" in result.stdout


def test_program_refuses(tmp_path, nvdisasm):
    text = tmp_path / "text"
    text.write_text("hello\n")
    result = run("--nvdisasm", nvdisasm, "--cubin", text, "--shape", "d=64")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: '{text}' is not a cubin: nvdisasm fatal")
    assert "no nvdisasm at '/nowhere'" in run("--nvdisasm", "/nowhere", "--cubin", text, "--shape", "d=64").stderr
    for arguments, message in (
        (["--cubin", text], "--cubin needs one --shape"), (["--shape", "d=64"], "--shape is for --cubin"),
        (["--cubin", text, "--shape", "rows=1"], "--shape: unknown shape key 'rows'"), (["--cells", "64:window"], "'64:window' is not a cell"),
        (["--trace", text], "--trace needs one kernel"),
    ):  # fmt: skip
        result = run(*arguments)
        assert (result.returncode, message in result.stderr) == (2, True), result.stderr


def test_cells_that_do_not_compile(tmp_path):
    compiler = tmp_path / "fovea-compile"
    compiler.write_text('#!/bin/sh\necho "x.mlir:1:1: error: no schedule fits" >&2\nexit 1\n')
    compiler.chmod(0o755)
    result = run("--compiler", compiler, "--cells", "64:full", "192/128:causal")
    assert result.returncode == 2
    said = "for sm_100a: x.mlir:1:1: error: no schedule fits"
    assert result.stdout.splitlines() == [f"SKIP 64:full {said}", f"SKIP 192/128:causal {said}"]
