"""Compiles every example to machine code for each target and prints the results."""

import pathlib
import subprocess
import sys

examples, compiler, ptxas, output = sys.argv[1:]
failed = 0
for example in sorted(pathlib.Path(examples).glob("*.mlir")):
    for target in ("sm_80", "sm_90a"):
        command = [compiler, str(example), f"--target={target}", "--emit=cubin", f"--ptxas={ptxas}", "-o", output]
        run = subprocess.run(command, capture_output=True, text=True)
        print(f"{example.name} {target}: " + ("assembled" if run.returncode == 0 else "failed\n" + run.stderr))
        failed += run.returncode != 0
sys.exit(failed != 0)
