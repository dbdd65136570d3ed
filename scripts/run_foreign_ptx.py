#!/usr/bin/env python3
"""Runs kernels of other projects on the PTX emulator and compares their results with float64.

    python scripts/run_foreign_ptx.py FOLDER --seeds 3 --check
    python scripts/run_foreign_ptx.py FOLDER --filter attention --unedited

FOLDER holds PTX files and one description in JSON per program. Such kernels test the emulator
independently of Fovea: their authors ran them on a GPU. A description has these fields:

    ptx         file name of the PTX; default: the description's name
    kernel      entry; may be absent if the module has one
    grid, block, cluster    lists of extents; cluster may be absent
    shared      bytes of dynamic shared memory; default 0
    options     further options of fovea-ptx-run, such as ["--tcgen05-load-dependency"]
    memory      list of {"name", "type", "shape", "fill"}: the tensors. `type` is bf16, f16, f32, f64,
                e4m3 (inputs only) or an integer type. `fill` is "normal", "small" (integers from
                -3 to 3), "iota", one number, a list of numbers, or absent for an unwritten output
    arguments   list of arguments in the syntax of fovea-ptx-run: "at:NAME", "u32:7",
                "map:NAME:SIZES:box=BOX:swizzle=128", "struct:at:NAME;u32:7"
    reference   {"kind": "matmul", "a", "b", "transpose_a", "transpose_b"}, or
                {"kind": "attention", "q", "k", "v", "causal", "scale"} with tensors of shape
                (batch, sequence, heads, dim); fewer key heads than query heads are shared
    outputs     list of {"name", "is", "bound"}: `is` names a result of the reference ("c"; "o", "lse")
                and `bound` limits its largest absolute error
    edits       list of {"pattern", "replacement", "count", "reason"}: regular expressions and their
                replacements, applied before the run; ^ and $ match at lines. `count` is the number
                of replacements (default: any positive number), and `reason` names the section of the
                PTX ISA that the original violates

The seed selects the random inputs and the emulator's interleaving. `--check` fails if an error
exceeds its bound or the emulator reports an error; the exit code is then 1. Invalid descriptions give
exit code 2.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Elements of bf16 and e4m3 are kept as their bits.
TYPES = {"f16": "<f2", "f32": "<f4", "f64": "<f8", "bf16": "<u2", "e4m3": "<u1"}
TYPES.update({f"{sign}{8 * size}": f"<{'i' if sign == 's' else 'u'}{size}" for sign in "su" for size in (1, 2, 4, 8)})

# The magnitudes of e4m3, by code.
E4M3 = numpy.array([(code & 7) * 2.0**-9 if code < 8 else (8 + (code & 7)) * 2.0 ** ((code >> 3) - 10) for code in range(127)])


class DescriptionError(Exception):
    """A description that does not fit its PTX or this script."""


def encode(values, element_type):
    """The values as an array of the element type, rounded to nearest, ties to even."""
    if element_type == "bf16":
        bits = values.astype("<f4").view("<u4").astype(numpy.uint64)
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2")
    if element_type == "e4m3":
        # The boundary to a code with an even mantissa belongs to that code.
        middles = (E4M3[1:] + E4M3[:-1]) / 2
        magnitudes = numpy.abs(values)
        codes = numpy.searchsorted(middles, magnitudes)
        codes += (codes % 2 == 1) & (numpy.append(middles, numpy.inf)[codes] == magnitudes)
        return (codes + 128 * (values < 0)).astype("<u1")
    return values.astype(TYPES[element_type])


def decode(array, element_type):
    """The inverse of `encode`, in float64."""
    if element_type == "bf16":
        array = (array.astype("<u4") << 16).view("<f4")
    if element_type == "e4m3":
        array = E4M3[array & 127] * (1.0 - 2.0 * (array >> 7))
    return array.astype(numpy.float64)


def fill(tensor, random):
    """The initial values of a tensor, or None for an unwritten one."""
    shape, how = tensor["shape"], tensor.get("fill")
    if how is None:
        return None
    if how == "normal":
        return random.standard_normal(shape)
    if how == "small":
        return random.integers(-3, 4, shape)
    if how == "iota":
        return numpy.arange(numpy.prod(shape)).reshape(shape)
    if isinstance(how, str):
        raise DescriptionError(f"unknown fill '{how}' of '{tensor['name']}'")
    return numpy.resize(numpy.array(how, numpy.float64), shape)


def matmul(spec, tensors):
    """C = A B, with either operand transposed on request."""
    a, b = (tensors[spec[name]] for name in "ab")
    return {"c": (a.T if spec.get("transpose_a") else a) @ (b.T if spec.get("transpose_b") else b)}


def attention(spec, tensors):
    """O (batch, sequence, heads, dim) and the log-sum-exp (batch, heads, sequence)."""
    q, k, v = (tensors[spec[name]].transpose(0, 2, 1, 3) for name in "qkv")
    k, v = (numpy.repeat(x, q.shape[1] // x.shape[1], axis=1) for x in (k, v))
    scores = q @ k.transpose(0, 1, 3, 2) * spec.get("scale", q.shape[-1] ** -0.5)
    if spec.get("causal"):
        rows, columns = scores.shape[-2:]
        scores[..., ~numpy.tri(rows, columns, columns - rows, dtype=bool)] = -numpy.inf
    top = scores.max(-1, keepdims=True)
    p = numpy.exp(scores - top)
    total = p.sum(-1, keepdims=True)
    return {"o": (p @ v / total).transpose(0, 2, 1, 3), "lse": (top + numpy.log(total))[..., 0]}


REFERENCES = {"matmul": matmul, "attention": attention}


def edit(text, edits):
    """The PTX after all edits. An edit that does not fit the text is an error."""
    for change in edits:
        text, number = re.subn(change["pattern"], change["replacement"], text, flags=re.MULTILINE)
        if not number or number != change.get("count", number):
            raise DescriptionError(f"edit '{change['pattern']}' made {number} replacements, expected {change.get('count', 'some')}")
    return text


def command(tool, program, ptx, folder, contents):
    """The command line of fovea-ptx-run, with the contents of each tensor in a file of `folder`."""
    line = [str(tool), str(ptx), *program.get("options", [])]
    line += [f"--{name}={program[name]}" for name in ("kernel", "shared") if name in program]
    line += [f"--{name}={','.join(map(str, program[name]))}" for name in ("grid", "block", "cluster") if name in program]
    for tensor in program["memory"]:
        name, element_type = tensor["name"], "u8" if tensor["type"] == "e4m3" else tensor["type"]
        spec = f"{element_type}[{numpy.prod(tensor['shape'])}]"
        if contents[name] is not None:
            contents[name].tofile(folder / name)
            spec += f"@{folder / name}"
        line.append(f"--memory={name}={spec}")
    line += [f"--arg={argument}" for argument in program["arguments"]]
    return line + [f"--print={output['name']}" for output in program["outputs"]]


def run(tool, program, ptx, seed, timeout):
    """Runs a program with one seed. Returns the largest error and the largest expected magnitude of each
    output, and the emulator's report."""
    random = numpy.random.default_rng(seed)
    types = {tensor["name"]: tensor["type"] for tensor in program["memory"]}
    contents = {}
    for tensor in program["memory"]:
        values = fill(tensor, random)
        contents[tensor["name"]] = None if values is None else encode(values, tensor["type"])
    with tempfile.TemporaryDirectory() as folder:
        line = command(tool, program, ptx, pathlib.Path(folder), contents)
        try:
            result = subprocess.run([*line, f"--seed={seed}"], capture_output=True, text=True, timeout=timeout, check=False)
        except subprocess.TimeoutExpired:
            return {}, f"error: no result after {timeout} s [timeout]"
    if result.returncode:
        return {}, result.stderr.strip() or f"error: exit code {result.returncode}"
    inputs = {name: decode(array, types[name]) for name, array in contents.items() if array is not None}
    kind = program["reference"]["kind"]
    if kind not in REFERENCES:
        raise DescriptionError(f"unknown reference '{kind}', expected {' or '.join(REFERENCES)}")
    expected = REFERENCES[kind](program["reference"], inputs)
    printed = dict(text.split(": ", 1) for text in result.stdout.splitlines() if ": " in text)
    errors = {}
    for output in program["outputs"]:
        wanted = expected[output["is"]]
        actual = numpy.array(printed[output["name"]].split(), numpy.float64).reshape(wanted.shape)
        difference = numpy.abs(actual - wanted)
        error = float("inf") if numpy.isnan(difference).any() else float(difference.max())
        errors[output["name"]] = error, float(numpy.abs(wanted).max())
    return errors, ""


def summary(report):
    """The kind and line of a report, such as `race, line 12`."""
    kind, line = re.search(r"\[([\w-]+)\]\s*$", report.splitlines()[0]), re.search(r":(\d+)(:\d+)?: error", report)
    return (kind[1] if kind else "error") + (f", line {line[1]}" if line else "")


def examine(tool, path, arguments):
    """Runs one program with all seeds. Returns a row of the table, all reports, and whether it passed."""
    program = json.loads(path.read_text())
    text = (path.parent / program.get("ptx", path.with_suffix(".ptx").name)).read_text()
    edits = [] if arguments.unedited else program.get("edits", [])
    largest, reports = {}, []
    with tempfile.TemporaryDirectory() as folder:
        ptx = pathlib.Path(folder) / path.with_suffix(".ptx").name
        ptx.write_text(edit(text, edits))
        for seed in range(arguments.seed, arguments.seed + arguments.seeds):
            errors, report = run(tool, program, ptx, seed, arguments.timeout)
            reports += [(seed, report)] if report else []
            for name, error in errors.items():
                largest[name] = max(error, largest.get(name, error))
    bounds = {output["name"]: output["bound"] for output in program["outputs"]}
    wrong = [name for name, (error, _) in largest.items() if error > bounds[name]]
    shown = ", ".join(
        f"{name} {error:.2g} of {magnitude:.3g} (bound {bounds[name]:g}{', EXCEEDED' * (name in wrong)})"
        for name, (error, magnitude) in largest.items()
    )
    kinds = "; ".join(dict.fromkeys(summary(report) for _, report in reports)) or "none"
    row = [path.stem, str(arguments.seeds), str(len(edits)), shown or "no result", kinds]
    return row, reports, not wrong and not reports


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=pathlib.Path, help="PTX files with a description in JSON each")
    parser.add_argument("--filter", default="", help="run only programs whose name matches this regular expression")
    parser.add_argument("--seed", type=int, default=0, help="first seed (default 0)")
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds (default 3)")
    parser.add_argument("--unedited", action="store_true", help="leave out the edits of the descriptions")
    parser.add_argument("--check", action="store_true", help="fail on errors beyond a bound and on reports")
    parser.add_argument("--timeout", type=int, default=1800, help="seconds per run (default 1800)")
    parser.add_argument("--tool", type=pathlib.Path, default=ROOT / "build" / "bin" / "fovea-ptx-run", help="the emulator's tool")
    arguments = parser.parse_args()
    paths = sorted(path for path in arguments.folder.glob("*.json") if re.search(arguments.filter, path.stem))
    if not paths:
        parser.error(f"found no description in {arguments.folder}")
    passed = 0
    print("| program | seeds | edits | largest error | reports |\n|---|---|---|---|---|")
    for path in paths:
        try:
            row, reports, ok = examine(arguments.tool, path, arguments)
        except (DescriptionError, KeyError, ValueError, OSError) as error:
            missing = f"found no field {error}" if isinstance(error, KeyError) else error
            print(f"{path}: {missing}", file=sys.stderr)
            return 2
        print("| " + " | ".join(row) + " |", flush=True)
        for seed, report in reports:
            print(f"{path.stem}, seed {seed}:\n{report}", file=sys.stderr)
        passed += ok
    print(f"{passed} passed, {len(paths) - passed} failed")
    return int(arguments.check and passed != len(paths))


if __name__ == "__main__":
    sys.exit(main())
