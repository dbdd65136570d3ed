"""Compiles programs with the plans that their own launch metadata contain: the PTX must not change.

    replay_plans.py FOVEA_OPT FOVEA_COMPILE EXAMPLES FOLDER TARGET...

Programs are all examples and, on targets with backward kernels, all their gradients. Prints a line
for each program; exits with 1 if one differs, or if the second metadata differ from the first.
"""

import json
import pathlib
import subprocess
import sys

from run_example_gradients import make_gradient

# Targets without backward kernels.
FORWARD_ONLY = ("sm_100a", "sm_103a")


def compile_with(fovea_compile, program, folder, target, *options):
    """The PTX, without comments, and the launch metadata."""
    ptx, metadata = folder / "kernel.ptx", folder / "kernel.json"
    subprocess.run([fovea_compile, "-", f"--target={target}", "-o", ptx, f"--metadata={metadata}", *options],
                   input=program, text=True, check=True)
    lines = [line.split("//")[0].rstrip() for line in ptx.read_text().splitlines()]
    return lines, json.loads(metadata.read_text())


def is_same(fovea_compile, program, folder, target, *options):
    first = compile_with(fovea_compile, program, folder, target, *options)
    again = compile_with(fovea_compile, program, folder, target, f"--schedule={first[1]['plans']}", *options)
    return first == again


def main(fovea_opt, fovea_compile, examples, folder, *targets):
    paths = sorted(pathlib.Path(examples).glob("*.mlir"))
    assert paths, f"no examples in {examples}"
    failed = False
    for path in paths:
        # Sequences may share a page, so keys in pages have no gradients.
        has_gradients = " paged(" not in path.read_text()
        gradient, entry = make_gradient(fovea_opt, path) if has_gradients else ("", "")
        for target in targets:
            runs = [("", path.read_text(), ())]
            if has_gradients and target not in FORWARD_ONLY:
                runs.append((" gradients", gradient, (f"--kernel={entry}",)))
            for what, program, options in runs:
                same = is_same(fovea_compile, program, pathlib.Path(folder), target, *options)
                failed |= not same
                print(f"{path.stem}{what} {target}: {'same' if same else 'DIFFERENT'}")
    return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
