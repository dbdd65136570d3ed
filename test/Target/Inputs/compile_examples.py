"""Compiles all examples to PTX, which is discarded: compile_examples.py FOVEA_COMPILE EXAMPLES TARGET."""

import pathlib
import subprocess
import sys

compiler, folder, target = sys.argv[1:]
examples = sorted(pathlib.Path(folder).glob("*.mlir"))
failed = [example.name for example in examples
          if subprocess.run([compiler, example, f"--target={target}", "-o", "/dev/null"]).returncode]
print(f"{len(examples)} examples for {target}, failed: {failed}")
