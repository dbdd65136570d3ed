"""Compares the PTX and launch metadata that two compilers generate for the same programs: all
examples and the grid of kernels that the GPU tests run.

    python scripts/compare_ptx.py OLD/bin/fovea-compile build/bin/fovea-compile
    python scripts/compare_ptx.py OLD NEW --filter 'causal|alibi' --show 2

Use it for changes that must not affect generated code. `--cache FOLDER` keeps the output of the old
compiler, by its binary, for later runs. Prints the programs whose output differs, with the number
of different lines, and finally `N equal, N different, N failed`. The exit code is 1 unless all are
equal. Debug locations, comments, the numbers of registers and the text of plans are ignored.
`--gradients build/bin/fovea-opt` also compares the gradients of these programs.
"""

import argparse
import concurrent.futures
import difflib
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test" / "GPU"))

import gpu_variants  # noqa: E402
import kernels  # noqa: E402
import run_forward  # noqa: E402


def programs(pattern, quick):
    """Yields (name, MLIR text, options) for every program."""
    for path in sorted((ROOT / "examples").glob("*.mlir")):
        if re.search(pattern, f"example-{path.stem}"):
            yield f"example-{path.stem}", path.read_text(), []
    for config in run_forward.kernel_grid(quick):
        if re.search(pattern, config.name):
            yield config.name, gpu_variants.emit(config), list(gpu_variants.VARIANTS[config.variant].options)


def gradients(fovea_opt, program):
    """The gradients of a program, or none if it has no derivative."""
    made = subprocess.run([fovea_opt, "-", "--attn-make-gradient", "--attn-differentiate"], input=program,
                          capture_output=True, text=True, check=False)
    return None if made.returncode else made.stdout


def gradient_programs(pattern, quick, fovea_opt):
    """Yields (name, MLIR text, options) for the gradients of programs."""
    for name, program, options in programs(pattern, quick):
        if made := gradients(fovea_opt, program):
            entry = re.search(r"func.func @(\w+_backward)\(", made)
            if entry:
                yield f"{name}-gradients", made, [*options, f"--kernel={entry[1]}"]


def significant(text):
    """The significant lines of PTX."""
    lines = (line.split("//")[0].strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith(".loc")]


def renumber(lines):
    """The lines with the registers numbered in the order of their first use."""
    names = {}

    def rename(match):
        return names.setdefault(match[0], f"%{match[1]}:{len(names)}")

    return [re.sub(r"%([a-z]+)\d+", rename, line) for line in lines if not line.startswith(".reg")]


def difference(old, new):
    """The lines of the difference, without the numbers of registers."""
    if renumber(old) == renumber(new):
        return []
    plain = [[re.sub(r"%([a-z]+)\d+", r"%\1", line) for line in lines] for lines in (old, new)]
    if plain[0] == plain[1]:
        plain = [renumber(old), renumber(new)]
    return list(difflib.unified_diff(*plain, "old", "new", lineterm="", n=1))


def compile_with(compiler, program, target, options):
    """The lines of PTX and metadata, or the compiler's output if it failed."""
    with tempfile.TemporaryDirectory() as folder:
        source, ptx, metadata = (pathlib.Path(folder) / name for name in ("p.mlir", "p.ptx", "p.json"))
        source.write_text(program)
        command = [compiler, source, f"--target={target}", *options, "-o", ptx, f"--metadata={metadata}"]
        result = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        if result.returncode:
            return None, result.stderr.splitlines()
        rest = [line for line in metadata.read_text().splitlines() if not line.startswith('  "plans": ')]
        return significant(ptx.read_text()), rest


def compile_once(cache, identity, *job):
    """`compile_with` with an optional cache folder."""
    if not cache:
        return compile_with(*job)
    _, program, target, options = job
    key = hashlib.sha256(json.dumps([identity, program, target, options]).encode()).hexdigest()
    file = cache / f"{key}.json"
    if not file.exists():
        # Other processes may write the same file.
        with tempfile.NamedTemporaryFile("w", dir=cache, delete=False) as text:
            json.dump(compile_with(*job), text)
        os.replace(text.name, file)
    return json.loads(file.read_text())


def compare(job):
    """The lines of the difference, empty if there is none; None if exactly one compiler failed."""
    cache, identity, old, new, *job = job
    old_ptx, old_rest = compile_once(cache, identity, old, *job)
    new_ptx, new_rest = compile_with(new, *job)
    if (old_ptx is None) != (new_ptx is None):
        return None
    if old_ptx is None:
        return []
    return difference(old_ptx, new_ptx) + difference(old_rest, new_rest)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=pathlib.Path, help="a fovea-compile")
    parser.add_argument("new", type=pathlib.Path, help="another one")
    parser.add_argument("--target", default=",".join(kernels.TARGETS), help="targets, comma-separated")
    parser.add_argument("--filter", default="", help="regular expression that selects programs by name")
    parser.add_argument("--quick", action="store_true", help="head dims 64 and 128 only")
    parser.add_argument("--gradients", type=pathlib.Path, metavar="FOVEA_OPT", help="also compare gradients")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print the first N differences")
    parser.add_argument("--cache", type=pathlib.Path, metavar="FOLDER", help="cache the old compiler's output there")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()
    identity = ""
    if args.cache:
        args.cache.mkdir(parents=True, exist_ok=True)
        identity = hashlib.sha256(args.old.read_bytes()).hexdigest()
    work = [
        (name, target, (args.cache, identity, args.old.resolve(), args.new.resolve(), text, target, options))
        for name, text, options in (
            *programs(args.filter, args.quick),
            *(gradient_programs(args.filter, args.quick, args.gradients) if args.gradients else ()),
        )
        for target in kernels.parse_targets(args.target)
    ]
    equal = different = failed = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for (name, target, _), lines in zip(work, pool.map(compare, (job for _, _, job in work))):
            if lines is None:
                failed += 1
                print(f"{name} {target}: one of the two compilers failed")
            elif lines:
                different += 1
                changed = sum(line[0] in "+-" for line in lines)
                print(f"{name} {target}: {changed} lines differ")
                if different <= args.show:
                    print("\n".join(lines))
            else:
                equal += 1
    print(f"{equal} equal, {different} different, {failed} failed")
    return 0 if work and not different and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
