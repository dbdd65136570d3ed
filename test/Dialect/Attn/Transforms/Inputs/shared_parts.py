"""Prints masks in which each level uses the previous one twice.

    shared_parts.py LEVELS
"""

import sys


def function(name, lines):
    body = "\n      ".join(lines)
    return f"""func.func @{name}(%q: !t) -> !t {{
  %o = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {{
      %one = arith.constant 1 : index
      %c0 = arith.cmpi sge, %i, %j : index
      %s0 = arith.remui %j, %h : index
      {body}
      attn.yield %keep : i1
    }} : !t, !t, !t -> !t
  return %o : !t
}}
"""


def main(levels):
    conditions, choices, sums = [], [], []
    for n in range(levels):
        conditions += [
            f"%k{n} = arith.constant {n + 2} : index",
            f"%p{n} = arith.cmpi slt, %j, %k{n} : index",
            f"%q{n} = arith.cmpi sgt, %i, %k{n} : index",
            f"%a{n} = arith.andi %c{n}, %p{n} : i1",
            f"%b{n} = arith.andi %c{n}, %q{n} : i1",
            f"%c{n + 1} = arith.{'ori' if n % 2 else 'andi'} %a{n}, %b{n} : i1",
        ]
        choices += [
            f"%k{n} = arith.constant {n + 2} : index",
            f"%p{n} = arith.cmpi slt, %j, %k{n} : index",
            f"%q{n} = arith.cmpi sgt, %i, %k{n} : index",
            f"%c{n + 1} = arith.select %c{n}, %p{n}, %q{n} : i1",
        ]
        # The sum stays what it is: s + s - s.
        sums += [
            f"%d{n} = arith.addi %s{n}, %s{n} : index",
            f"%s{n + 1} = arith.subi %d{n}, %s{n} : index",
        ]
    conditions.append(f"%keep = arith.andi %c{levels}, %c0 : i1")
    choices.append(f"%keep = arith.andi %c{levels}, %c0 : i1")
    sums.append(f"%keep = arith.cmpi slt, %s{levels}, %i : index")
    print("!t = tensor<?x?x?x64xbf16>")
    for name, lines in (("conditions", conditions), ("choices", choices), ("sums", sums)):
        print(function(name, lines))


main(int(sys.argv[1]))
