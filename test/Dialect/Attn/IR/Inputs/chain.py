"""A program whose mask_mod is a chain of so many sums."""

import sys

count = int(sys.argv[1])
sums = "\n".join(f"      %x{n + 1} = arith.addi %x{n}, %x0 : index" for n in range(count))
print(f"""!t = tensor<?x?x?x64xbf16>
func.func @chain(%q: !t, %k: !t, %v: !t) -> !t {{
  %o = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {{
      %x0 = arith.constant 1 : index
{sums}
      %keep = arith.cmpi sge, %i, %x{count} : index
      attn.yield %keep : i1
    }} : !t, !t, !t -> !t
  return %o : !t
}}""")
