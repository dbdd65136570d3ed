"""The mapping of PTX lines to lines of Python and MLIR."""

import inspect
import re
import subprocess
import sys

import numpy
import package
import pytest

CAPTURES = {"slopes": ("f32", (None,))}


def alibi(score, b, h, q_idx, kv_idx, slopes):
    distance = kv_idx - q_idx
    return score + slopes[h] * distance


def relative(q_idx, kv_idx):
    return abs(q_idx - kv_idx)


def by_helper(score, b, h, q_idx, kv_idx):
    capped = 20.0 * fovea_tanh(score / 20.0)
    return capped - 0.5 * relative(q_idx, kv_idx)


def causal(b, h, q_idx, kv_idx):
    return q_idx >= kv_idx


def described(fovea):
    return fovea.attention(alibi, causal, head_dim=64, captures=CAPTURES)


def fovea_tanh(value):
    import fovea

    return fovea.tanh(value)


def line_of(function, text):
    """The line number of a text in the function."""
    lines, first = inspect.getsourcelines(function)
    (number,) = [first + index for index, line in enumerate(lines) if text in line]
    return number


def instructions(kernel, file, line):
    """Instructions with a source position."""
    found = set()
    for number, text in enumerate(kernel.ptx.splitlines(), 1):
        source = kernel.source_of(number)
        if source and (source.file, source.line) == (file, line):
            found.update(re.findall(r"^\s*(?:@!?%?p\d*\s+)?([a-z][\w.:]+)", text))
    return found


def without_places(ptx):
    return [line for line in ptx.splitlines()
            if not re.match(r"\s*(\.loc|\.file|\$L__(tmp|func)|//|\.section\s+\.debug_macinfo)|\s*$", line)]


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_python(fovea, target):
    kernel = fovea.compile(described(fovea), target=target, line_info=True)
    biased = instructions(kernel, __file__, line_of(alibi, "return score"))
    assert any(re.match(r"(fma|mul|add)\.", name) for name in biased), biased
    assert any(name.startswith("ld.global") for name in biased)
    assert any(name.startswith("setp.") for name in instructions(kernel, __file__, line_of(causal, "return")))
    # The others come from the line that calls fovea.attention.
    whole = instructions(kernel, __file__, line_of(described, "return"))
    assert any(name.startswith(("mma", "wgmma")) for name in whole) and any(name.startswith("ex2") for name in whole)
    # Every instruction has a position.
    sources = [kernel.source_of(number) for number, text in enumerate(kernel.ptx.splitlines(), 1) if text.startswith("\t.loc")]
    assert {source.file for source in sources if source} == {__file__}
    assert sum(source is None for source in sources) < len(sources) / 4
    source = next(source for source in sources if source and source.line == line_of(alibi, "return score"))
    assert source.text == "return score + slopes[h] * distance"
    assert str(source).startswith(f"{__file__}:{source.line}:{source.column}: return score")


def test_functions_in_ir(fovea):
    spec = fovea.attention(by_helper, head_dim=64)
    kernel = fovea.compile(spec, target="sm_80", line_info=True)
    for level in ("attn", "tile", "warp"):
        text = kernel.ir(level)
        for name, function, part in (("by_helper", by_helper, "return"), ("relative", relative, "return")):
            place = re.escape(f'"{__file__}":{line_of(function, part)}:')
            # Below the attn level locations are aliases.
            assert re.search(rf'loc\(fused<"{name}">\[{place}\d+\]\)', text) or (
                re.search(rf'loc\(fused<"{name}">\[#loc\d*\]\)', text) and re.search(place, text)), level
    plain = fovea.compile(spec, target="sm_80")
    assert not any("loc(" in plain.ir(level) for level in ("attn", "tile", "warp"))


def test_columns(fovea):
    if sys.version_info < (3, 11):
        pytest.skip("Python has no columns")
    spec = fovea.attention(alibi, head_dim=64, captures=CAPTURES)
    (line,) = [line for line in spec.located.splitlines() if "arith.addf" in line]
    column = "    return score + slopes[h] * distance".index("score") + 1
    assert f":{line_of(alibi, 'return score')}:{column}])" in line


def test_nothing_else_changes(fovea):
    spec = described(fovea)
    plain, lines = (fovea.compile(spec, target="sm_90a", line_info=choice) for choice in (False, True))
    assert ".loc" not in plain.ptx and ".file" not in plain.ptx and ".loc" in lines.ptx
    assert without_places(plain.ptx) == without_places(lines.ptx)
    assert plain.metadata == lines.metadata
    with pytest.raises(fovea.Error, match="compiled without line_info=True"):
        plain.source_of(1)
    count = len(lines.ptx.split("\n"))
    for wrong in (0, count + 1):
        with pytest.raises(ValueError, match=f"from 1 to {count}, found {wrong}"):
            lines.source_of(wrong)
    assert lines.source_of(1) is None and lines.source_of(count) is None


def test_emulator_takes_it(fovea):
    spec = fovea.attention(alibi, causal, dtype="f16", head_dim=16, captures=CAPTURES)
    kernel = fovea.compile(spec, target="sm_80", line_info=True)
    q, k, v = package.random_inputs()
    slopes = numpy.full(q.shape[1], -0.25, numpy.float32)
    expected, _ = fovea.reference(spec, q, k, v, slopes=slopes)
    found, _ = kernel.interpret(q, k, v, slopes=slopes, level="ptx")
    assert numpy.abs(found - expected).max() < 1e-2


def test_ptxas_takes_it(fovea, tmp_path):
    ptxas = fovea.find_ptxas()
    if ptxas is None:
        pytest.skip("needs ptxas")
    spec = described(fovea)
    for target in ("sm_80", "sm_90a"):
        kernel = fovea.compile(spec, target=target, line_info=True)
        assert kernel.cubin
        source, cubin = tmp_path / "kernel.ptx", tmp_path / "kernel.cubin"
        source.write_text(kernel.ptx)
        subprocess.run([ptxas, "-lineinfo", f"-arch={target}", source, "-o", cubin], check=True)
        assert __file__.encode() in cubin.read_bytes() or b"test_lines.py" in cubin.read_bytes()


def test_mlir(fovea, source_root, tmp_path):
    path = source_root / "examples" / "alibi.mlir"
    kernel = fovea.compile(path, target="sm_80", line_info=True)
    lines = path.read_text().splitlines()
    number = 1 + next(index for index, line in enumerate(lines) if "%biased = arith.addf" in line)
    assert {name.split(".")[0] for name in instructions(kernel, str(path), number)} & {"add", "fma"}
    # MLIR text has no file; positions refer to the program.
    text = path.read_text()
    kernel = fovea.compile(text, target="sm_80", line_info=True)
    assert instructions(kernel, "<mlir>", number)
    kernel.save(tmp_path / "kernel")
    for one in (kernel, fovea.Kernel.load(tmp_path / "kernel")):
        texts = {source.text for source in map(one.source_of, range(1, 1 + one.ptx.count("\n"))) if source}
        assert "%biased = arith.addf %s, %bias : f32" in texts


def test_where_there_is_no_file(fovea, run_python):
    names = {}
    exec("def score(s, b, h, q, k):\n    return s * 0.5 + q\n", names)
    for function in (names["score"], lambda s, b, h, q, k: s * 0.5 + q, eval("lambda s, b, h, q, k: s * 0.5 + q")):
        kernel = fovea.compile(fovea.attention(function, head_dim=64), target="sm_80", line_info=True)
        file, first = function.__code__.co_filename, function.__code__.co_firstlineno
        line = first + (file == "<string>" and function.__name__ == "score")
        assert instructions(kernel, file, line), (file, line)
        found = [source for source in map(kernel.source_of, range(1, 1 + kernel.ptx.count("\n"))) if source]
        texts = {source.text for source in found if source.file == file and source.line == line}
        if file == "<string>":
            assert not any("arith" in text for text in texts)
        else:
            assert len(texts) == 1 and "lambda" in texts.pop()
    # A program that is read from a pipe.
    program = ("import fovea\nspec = fovea.attention(lambda s, b, h, q, k: s * 0.5 + q, head_dim=64)\n"
               "kernel = fovea.compile(spec, target='sm_80', line_info=True)\n"
               "print({(s.file, s.line) for s in map(kernel.source_of, range(1, 1 + kernel.ptx.count(chr(10)))) if s})\n")
    result = run_python(f"exec(compile({program!r}, '<stdin>', 'exec'))")
    assert result.returncode == 0, result.stderr
    assert result.stdout == "{('<stdin>', 2)}\n"


def test_odd_names(fovea):
    source = "def odd(s, b, h, q, k):\n    return s * 0.5 + q\n"
    file = 'C:\\a "quoted" name\\\u00fc.py'
    names = {}
    exec(compile(source, file, "exec"), names)
    kernel = fovea.compile(fovea.attention(names["odd"], head_dim=64), target="sm_80", line_info=True)
    found = [source for source in map(kernel.source_of, range(1, 1 + kernel.ptx.count("\n"))) if source]
    assert any(source.file == file and source.line == 2 for source in found), {source.file for source in found}


def test_equal_programs_of_two_places(fovea):
    one = fovea.attention(mask_mod=lambda b, h, q, k: q >= k, head_dim=16)
    two = fovea.attention(mask_mod=lambda b, h, q, k: q >= k, head_dim=16)
    assert one == two and one.located != two.located
    # Compiled once; each kernel has its own source lines.
    first, second = fovea.compile(one, target="sm_80"), fovea.compile(two, target="sm_80")
    assert first._ptx is second._ptx and first._loaded is second._loaded
    first, second = (fovea.compile(spec, target="sm_80", line_info=True) for spec in (one, two))
    assert first is not second and first.ptx != second.ptx
    assert first is fovea.compile(one, target="sm_80", line_info=True)
    from fovea.compiler import _kernel

    _kernel._memory.clear()  # from disk now
    assert fovea.compile(two, target="sm_80", line_info=True).ptx == second.ptx
    assert fovea.compile(two, target="sm_80", line_info=True).ir("attn") == two.located
    assert fovea.compile(one, target="sm_80").ir("attn") == one.mlir


def test_gradients(fovea):
    spec = fovea.attention(by_helper, causal, head_dim=64, gradient=("q", "k", "v"))
    kernel = fovea.compile(spec, target="sm_80", line_info=True)
    backward = kernel.backward
    for function, part in ((by_helper, "capped ="), (relative, "return"), (causal, "return")):
        assert instructions(backward, __file__, line_of(function, part)), part
    files = {source.file for source in map(backward.source_of, range(1, 1 + backward.ptx.count("\n"))) if source}
    assert files == {__file__}


def test_explain(fovea):
    import base64
    import gzip
    import json

    from fovea import explain

    spec = described(fovea)
    page = explain.page(spec, 256, target="sm_80", heads=2)
    levels = json.loads(page.partition('id="data">')[2].partition("</script>")[0].replace("<\\/", "</"))["variants"][0]["levels"]
    ptx = gzip.decompress(base64.b64decode(levels["ptx"])).decode()
    number = line_of(alibi, "return score")
    assert f"\t// test_lines.py:{number}: return score + slopes[h] * distance" in ptx.splitlines()
    assert "\t.loc" not in ptx and "loc(" not in gzip.decompress(base64.b64decode(levels["tile"])).decode()


# --- The command -----------------------------------------------------------------------

PROGRAM = '''import fovea
def alibi(score, b, h, q_idx, kv_idx, slopes):
    return score + slopes[h] * (kv_idx - q_idx)
spec = fovea.attention(alibi, head_dim=64, captures={"slopes": ("f32", (None,))})
'''


@pytest.fixture
def command(fovea, tmp_path, monkeypatch, capsys):
    """Runs `fovea lines`: (exit code, stdout, stderr)."""
    from fovea.__main__ import main

    (tmp_path / "alibi.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        code = main(["lines", *arguments])
        return (code, *capsys.readouterr())

    return run


def test_command_finds_instructions_by_text_and_by_line(command):
    code, text, _ = command("alibi.py:spec", "--of", "slopes[h]", "--all")
    lines = text.splitlines()
    assert code == 0 and lines
    for line in lines:
        assert re.fullmatch(r"\d+ .*; // alibi\.py:3:\d+: return score \+ slopes\[h\] \* \(kv_idx - q_idx\)", line)
    # An instruction by its line number.
    number, instruction = lines[0].split(" ", 1)
    assert command("alibi.py:spec", number) == (0, f"{number} {instruction}\n", "")
    mnemonic = instruction.split()[0]
    assert lines[0] in command("alibi.py:spec", "--find", mnemonic, "--all")[1].splitlines()
    assert command("alibi.py:spec", "--find", "no such text") == (
        1, "", "fovea lines: there is no instruction that contains 'no such text'\n")
    assert command("alibi.py:spec", "--of", "slope[h]") == (
        1, "", "fovea lines: there is no instruction from a line that contains 'slope[h]'\n")


def test_command_counts_instructions_by_line(command):
    for chosen in (("--find", "ex2"), ("--of", "slopes[h]")):
        code, text, _ = command("alibi.py:spec", *chosen)
        _, every, _ = command("alibi.py:spec", *chosen, "--all")
        counted = [re.fullmatch(r" *(\d+) (\S+) +// (.*)", line) for line in text.splitlines()]
        assert code == 0 and all(counted)
        for count, mnemonic, source in (one.groups() for one in counted):
            place = "" if source.startswith("several lines") else f" // {source}"
            matching = [line for line in every.splitlines() if mnemonic in line.split() and line.endswith(place or ";")]
            assert len(matching) == int(count)
        assert sum(int(one[1]) for one in counted) == len(every.splitlines()) > len(counted)


def test_command_reads_ptx(command, fovea, tmp_path):
    spec = fovea.attention(alibi, head_dim=64, captures=CAPTURES)
    (tmp_path / "with.ptx").write_text(fovea.compile(spec, line_info=True).ptx)
    (tmp_path / "without.ptx").write_text(fovea.compile(spec).ptx)
    assert "return score + slopes[h] * distance" in command("with.ptx", "--of", "test_lines.py")[1]
    assert command("without.ptx")[::2] == (2, "fovea lines: without.ptx has no lines (.loc); compile with fovea-compile "
                                              "--line-info or line_info=True\n")


def test_command_takes_gradients(command, tmp_path):
    (tmp_path / "both.py").write_text(PROGRAM.replace("head_dim=64,", "head_dim=64, gradient=True,"))
    code, text, _ = command("both.py:spec.backward", "--of", "slopes[h]")
    assert code == 0 and text and text != command("both.py:spec", "--of", "slopes[h]")[1]
    assert command("alibi.py:spec.backward")[::2] == (
        2, "fovea lines: 'spec' of alibi.py has no gradients: request them by fovea.attention(..., gradient=('q', 'k', 'v'))\n")
    assert command("both.py:spec.forward")[::2] == (
        2, "fovea lines: a Spec has no program 'forward', only 'backward': both.py:spec.backward is that of its gradients\n")


def test_command_says_what_is_wrong(command):
    assert re.fullmatch(r"fovea lines: the PTX has lines 1 to \d+, found 0\n", command("alibi.py:spec", "0")[2])
    assert command("none.py:spec")[::2] == (2, "fovea lines: there is no file none.py\n")
    assert command("none.ptx")[::2] == (2, "fovea lines: there is no file none.ptx\n")


def test_command_stops_when_nobody_reads(package_environment, tmp_path):
    (tmp_path / "alibi.py").write_text(PROGRAM)
    run = subprocess.run(f"{sys.executable} -m fovea lines alibi.py:spec | head -1", shell=True, cwd=tmp_path,
                         env=package_environment, capture_output=True, text=True)
    assert run.stderr == "" and run.stdout.count("\n") == 1
