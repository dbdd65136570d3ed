"""Runs an attn.backward program at levels and targets, and compares it with finite differences.

    run_backward.py FOVEA_RUN PROGRAM ENTRY FOLDER LEVEL:TARGET,... OPTION... [-- OTHER INPUT...]

Options are those of Interpreter/Inputs/gradients.py. The program returns the gradients of q, k and
v; its inputs are q, k, v, o, lse, do, then the others: file names in FOLDER, or numbers. This
script creates the inputs.
"""

import pathlib
import subprocess
import sys

GRADIENTS = pathlib.Path(__file__).resolve().parents[2] / "Interpreter" / "Inputs" / "gradients.py"


def main():
    tool, program, entry, folder, runs, *rest = sys.argv[1:]
    others = rest[rest.index("--") + 1:] if "--" in rest else []
    options = rest[: rest.index("--")] if "--" in rest else rest
    folder = pathlib.Path(folder)
    subprocess.run([sys.executable, GRADIENTS, "inputs", folder, *options], check=True)
    inputs = [folder / f"{name}.npy" for name in ("q", "k", "v", "o", "lse", "do")]
    inputs += [folder / f"{name}.npy" if name[0].isalpha() else name for name in others]
    outputs = [folder / f"{name}.npy" for name in ("dq", "dk", "dv")]
    for run in runs.split(","):
        level, _, target = run.partition(":")
        for output in outputs:
            output.unlink(missing_ok=True)
        subprocess.run([tool, program, f"--entry={entry}", f"--level={level}", *([f"--target={target}"] if target else []),
                        "--inputs", *inputs, "--outputs", *outputs], check=True, stdout=subprocess.DEVNULL)
        found = subprocess.run([sys.executable, GRADIENTS, "check", folder, *options], check=True, capture_output=True, text=True)
        wrong = [line for line in found.stdout.splitlines() if "agrees" not in line]
        print(entry, run, *(wrong or ["agrees"]))


main()
