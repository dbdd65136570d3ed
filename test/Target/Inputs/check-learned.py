"""Checks gradients of tensors that score_mods read with ptxas: check-learned.py FOVEA_OPT FOVEA_COMPILE PTXAS FOLDER.

Fails on a performance warning (C7510 to C7518: wgmma serialised), if a kernel
exceeds its limit of spill stores, and if additional kernels process all pairs.
"""

import pathlib
import re
import subprocess
import sys

HEAD, KEY, ROW = "tensor<?xf32>", "tensor<?x?x?xf32>", "tensor<?x?x?xf32>"

DISTANCE = """%d = arith.subi %i, %j : index
      %di = arith.index_cast %d : index to i32
      %df = arith.sitofp %di : i32 to f32"""

# Name, captured tensors, score_mod's ops, maximum bytes of spill stores at head dims 64 and 128.
VARIANTS = [
    ("gain", [HEAD], """%g = tensor.extract %t0[%h] : tensor<?xf32>
      %r = arith.mulf %s, %g : f32""", 64, 64),
    ("gain_and_steps", [HEAD, "tensor<?x?xf32>"], """%g = tensor.extract %t0[%h] : tensor<?xf32>
      %d = arith.subi %i, %j : index
      %w = arith.constant 37 : index
      %n = arith.floordivsi %d, %w : index
      %zero = arith.constant 0 : index
      %m = arith.maxsi %n, %zero : index
      %e = tensor.extract %t1[%h, %m] : tensor<?x?xf32>
      %x = arith.mulf %s, %g : f32
      %r = arith.addf %x, %e : f32""", 128, 160),
    ("forget_gates", [KEY], """%ci = tensor.extract %t0[%b, %h, %i] : tensor<?x?x?xf32>
      %cj = tensor.extract %t0[%b, %h, %j] : tensor<?x?x?xf32>
      %x = arith.addf %s, %ci : f32
      %r = arith.subf %x, %cj : f32""", 64, 64),
    ("width", [HEAD], f"""%w = tensor.extract %t0[%h] : tensor<?xf32>
      {DISTANCE}
      %x = arith.mulf %df, %df : f32
      %y = arith.mulf %x, %w : f32
      %r = arith.subf %s, %y : f32""", 64, 256),
    ("gain_and_key_gates", [HEAD, KEY], """%g = tensor.extract %t0[%h] : tensor<?xf32>
      %k = tensor.extract %t1[%b, %h, %j] : tensor<?x?x?xf32>
      %one = arith.constant 1.0 : f32
      %n = arith.negf %k : f32
      %x = math.exp %n : f32
      %y = arith.addf %x, %one : f32
      %gate = arith.divf %one, %y : f32
      %z = arith.mulf %s, %g : f32
      %r = arith.mulf %z, %gate : f32""", 128, 160),
]


def program(captures, body, dim):
    names = "".join(f", %c{n}: {kind}" for n, kind in enumerate(captures))
    inside = "".join(f", %t{n}: {kind}" for n, kind in enumerate(captures))
    given = ", ".join(f"%c{n}" for n in range(len(captures)))
    tensor, rows = f"tensor<?x16x?x{dim}xbf16>", "tensor<?x16x?xf32>"
    return f"""func.func @f(%q: {tensor}, %k: {tensor}, %v: {tensor}{names}) -> ({tensor}, {rows}) {{
  %o, %lse = attn.forward %q, %k, %v captures({given} : {', '.join(captures)})
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index{inside}) {{
      {body}
      attn.yield %r : f32
    }}
    : {tensor}, {tensor}, {tensor} -> {tensor}, {rows}
  return %o, %lse : {tensor}, {rows}
}}
"""


def check(tools, folder, name, captures, body, dim, allowed):
    optimizer, compiler, ptxas = tools
    source, both = (pathlib.Path(folder) / f"{name}_{dim}{ending}" for ending in (".mlir", ".both.mlir"))
    source.write_text(program(captures, body, dim))
    subprocess.run([optimizer, source, "--attn-make-gradient", "-o", both], check=True)
    command = [compiler, both, "--kernel=f_backward", "--target=sm_90a", "--emit=cubin", "-v", "--allow-faults", f"--ptxas={ptxas}",
               "-o", both.with_suffix(".cubin")]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    kernels = set(re.findall(r"Compiling entry function '(\w+)'", said))
    spills = sum(map(int, re.findall(r"(\d+) bytes spill stores", said)))
    warnings = sorted(set(re.findall(r"C75\d\d", said)))
    if not warnings and spills <= allowed and "f_backward" in kernels and "f_backward_sums" not in kernels:
        return 0
    print(f"{name} at head dim {dim}: {spills} bytes of spill stores; warnings {warnings}; kernels {sorted(kernels)}")
    return 1


def main():
    *tools, folder = sys.argv[1:]
    bad = sum(check(tools, folder, name, captures, body, dim, allowed)
              for name, captures, body, *limits in VARIANTS for dim, allowed in zip((64, 128), limits))
    print(f"{2 * len(VARIANTS)} gradients, {bad} bad")
    return bad != 0


sys.exit(main())
