"""Prints gradients of a score_mod that is a chain of selects, minima or maxima.

    choice_chain.py KIND LENGTH

Each step uses the score, so the derivative with respect to it is a sum over
all steps.
"""

import sys

STEPS = {
    "select": "%c{n} = arith.cmpf ogt, %x{n}, %at{n} : f32\n%x{next} = arith.select %c{n}, %x{n}, %m{n} : f32",
    "maximum": "%x{next} = arith.maximumf %x{n}, %m{n} : f32",
    "number": "%x{next} = arith.minnumf %x{n}, %m{n} : f32",
}

kind, length = sys.argv[1], int(sys.argv[2])
body = ["%none = arith.constant 0.0 : f32", "%x0 = arith.addf %s, %none : f32"]
for n in range(length):
    # Other steps are taken at other scores.
    body += [f"%k{n} = arith.constant {0.5 + (n * 7 % 11) / 8} : f32", f"%o{n} = arith.constant {(n * 5 % 13) / 10 - 0.6} : f32",
             f"%p{n} = arith.mulf %s, %k{n} : f32", f"%m{n} = arith.addf %p{n}, %o{n} : f32",
             f"%at{n} = arith.addf %s, %o{n} : f32", STEPS[kind].format(n=n, next=n + 1)]
lines = "\n      ".join("\n".join(body).splitlines())
print(f"""!t = tensor<?x?x?x16xf32>
func.func @f(%q: !t, %k: !t, %v: !t) -> !t {{
  %o = attn.forward %q, %k, %v
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {{
      {lines}
      attn.yield %x{length} : f32
    }} : !t, !t, !t -> !t
  return %o : !t
}}""")
