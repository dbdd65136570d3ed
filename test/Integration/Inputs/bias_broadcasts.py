"""Runs a bias of (batch, heads, queries, keys) with any of its extents 1 (broadcast), and checks
the results.

    bias_broadcasts.py FOVEA_RUN TARGET

Prints a line for each of the 16 programs; exits with 1 if one is wrong.
"""

import itertools
import pathlib
import subprocess
import sys
import tempfile

from reporting import report

SIZES = {"B": 2, "Hq": 4, "Sq": 140, "Skv": 200}

PROGRAM = """
!t = tensor<?x?x?x64xbf16>
!bias = {type}
func.func @f(%q: !t, %k: !t, %v: !t, %bias: !bias) -> !t {{
  %o = attn.forward %q, %k, %v captures(%bias : !bias)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: !bias) {{
      %c0 = arith.constant 0 : index
      %x = tensor.extract %t[{at}] : !bias
      %wide = arith.extf %x : bf16 to f32
      %r = arith.addf %s, %wide : f32
      attn.yield %r : f32
    }}
    mask_mod(%b: index, %h: index, %i: index, %j: index, %t: !bias) {{
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    }} : !t, !t, !t -> !t
  return %o : !t
}}
"""


def main(fovea_run, target):
    failed = False
    for whole in itertools.product((False, True), repeat=4):
        shape = "x".join("?" if each else "1" for each in whole)
        at = ", ".join(name if each else "%c0" for name, each in zip(("%b", "%h", "%i", "%j"), whole))
        dims = [f"{name}={size}" for name, size in {**SIZES, "Hkv": 2}.items()]
        dims += [f"capture0.{dim}={size}" for dim, size in enumerate(SIZES.values()) if whole[dim]]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "program.mlir"
            path.write_text(PROGRAM.format(type=f"tensor<{shape}xbf16>", at=at))
            command = [fovea_run, str(path), "--level=warp", f"--target={target}", "--random=1", "--check"]
            command.append(f"--dims={','.join(dims)}")
            result = subprocess.run(command, capture_output=True, text=True)
        failed |= report(shape, command, result)
    return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
