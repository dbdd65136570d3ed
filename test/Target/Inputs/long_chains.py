"""Checks that compile time is linear in the length of a chain in a mask or a score_mod, or prints one.

    long_chains.py FOVEA_COMPILE TARGET KIND
    long_chains.py --print KIND LENGTH

Time is CPU time, the minimum of two runs. A chain of twice the length may take 3 times
as long, not 4; one of selects, whose code is long, 8 times with 4 times the length.
"""

import resource
import subprocess
import sys
import tempfile



def remainders(length):
    """x = (x + i) % 7, repeatedly."""
    lines, last = ["%seven = arith.constant 7 : index"], "%j"
    for n in range(length):
        lines += [f"%s{n} = arith.addi {last}, %i : index", f"%r{n} = arith.remsi %s{n}, %seven : index"]
        last = f"%r{n}"
    return [*lines, "%three = arith.constant 3 : index", f"%keep = arith.cmpi sle, {last}, %three : index"]


def alternatives(length):
    """i - j is one of many."""
    lines, last = ["%d = arith.subi %i, %j : index", "%none = arith.constant false"], "%none"
    for n in range(length):
        lines += [f"%c{n} = arith.constant {3 * n + 1} : index", f"%e{n} = arith.cmpi eq, %d, %c{n} : index",
                  f"%o{n} = arith.ori {last}, %e{n} : i1"]
        last = f"%o{n}"
    return [*lines, "%no = arith.constant false", f"%keep = arith.ori {last}, %no : i1"]


def diagonals(length):
    """j - i is one of many constants."""
    lines, last = ["%none = arith.constant false"], "%none"
    for n in range(length):
        lines += [f"%c{n} = arith.constant {7 * n + 3} : index", f"%p{n} = arith.addi %i, %c{n} : index",
                  f"%e{n} = arith.cmpi eq, %j, %p{n} : index", f"%o{n} = arith.ori {last}, %e{n} : i1"]
        last = f"%o{n}"
    return [*lines, "%no = arith.constant false", f"%keep = arith.ori {last}, %no : i1"]


def choices(length):
    """Repeated selects between the score and a product."""
    lines, last = ["%half = arith.constant 0.5 : f32"], "%s"
    for n in range(length):
        lines += [f"%m{n} = arith.mulf {last}, %s : f32", f"%c{n} = arith.cmpf ogt, {last}, %half : f32",
                  f"%x{n} = arith.select %c{n}, {last}, %m{n} : f32"]
        last = f"%x{n}"
    return [*lines, "%zero = arith.constant 0.0 : f32", f"%keep = arith.addf {last}, %zero : f32"]


MASKS = (remainders, alternatives, diagonals)
KINDS = {make.__name__: make for make in (*MASKS, choices)}
# Two lengths, and the maximum ratio of their times.
LIMITS = {kind: (60, 120, 3.0) for kind in KINDS} | {"choices": (30, 120, 8.0)}


def program(kind, length):
    make = KINDS[kind]
    head, result = ("mask_mod(", "i1") if make in MASKS else ("score_mod(%s: f32, ", "f32")
    tensor = "tensor<?x?x?x64xbf16>"
    body = "\n      ".join(make(length))
    return f"""func.func @f(%q: {tensor}, %k: {tensor}, %v: {tensor}) -> {tensor} {{
  %o = attn.forward %q, %k, %v
    {head}%b: index, %h: index, %i: index, %j: index) {{
      {body}
      attn.yield %keep : {result}
    }} : {tensor}, {tensor}, {tensor} -> {tensor}
  return %o : {tensor}
}}
"""


def seconds(compiler, target, text):
    best = float("inf")
    for _ in range(2):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
            file.write(text)
            file.flush()
            subprocess.run([compiler, file.name, f"--target={target}", "-o", "/dev/null"], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return best


def main():
    if sys.argv[1] == "--print":
        print(program(sys.argv[2], int(sys.argv[3])))
        return
    compiler, target, kind = sys.argv[1:]
    *lengths, most = LIMITS[kind]
    short, long = (seconds(compiler, target, program(kind, length)) for length in lengths)
    print(f"{kind} on {target}: {short:.2f} s and {long:.2f} s, {'linear' if long < most * short else 'TOO SLOW'}")


if __name__ == "__main__":
    main()
