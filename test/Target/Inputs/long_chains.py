"""Checks that compile time is linear in the length of a mask's chain, or prints one.

    long_chains.py FOVEA_COMPILE TARGET KIND
    long_chains.py --print KIND LENGTH

Time is that of the processor, the lesser of two. A chain twice as long may take 3
times as long, not 4.
"""

import resource
import subprocess
import sys
import tempfile

LENGTH = 60
MOST = 3.0


def remainders(length):
    """x = (x + i) % 7, over and over."""
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
    """j is one of many distances from i."""
    lines, last = ["%none = arith.constant false"], "%none"
    for n in range(length):
        lines += [f"%c{n} = arith.constant {7 * n + 3} : index", f"%p{n} = arith.addi %i, %c{n} : index",
                  f"%e{n} = arith.cmpi eq, %j, %p{n} : index", f"%o{n} = arith.ori {last}, %e{n} : i1"]
        last = f"%o{n}"
    return [*lines, "%no = arith.constant false", f"%keep = arith.ori {last}, %no : i1"]


KINDS = {make.__name__: make for make in (remainders, alternatives, diagonals)}


def program(lines):
    tensor = "tensor<?x?x?x64xbf16>"
    body = "\n      ".join(lines)
    return f"""func.func @f(%q: {tensor}, %k: {tensor}, %v: {tensor}) -> {tensor} {{
  %o = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {{
      {body}
      attn.yield %keep : i1
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
        print(program(KINDS[sys.argv[2]](int(sys.argv[3]))))
        return
    compiler, target, kind = sys.argv[1:]
    make = KINDS[kind]
    short, long = (seconds(compiler, target, program(make(length))) for length in (LENGTH, 2 * LENGTH))
    print(f"{kind} on {target}: {short:.2f} s and {long:.2f} s, {'linear' if long < MOST * short else 'TOO SLOW'}")


if __name__ == "__main__":
    main()
