"""Runs PTX with random mistakes: each run must end by itself, with a known exit
code and, where it fails, an error that has a place.

Usage: mutate.py TOOL COUNT FILE.ptx -- arguments of the tool for that file"""

import random
import re
import subprocess
import sys

NUMBERS = [0, 1, 3, 7, 16, 17, 32, 48, 64, 1 << 20, 1 << 31, (1 << 32) - 1, 1 << 40]
TOKENS = ["-1", "0", "4294967295", "0x7fffffffffffffff", "99999999999999999999999", "0f7F800000"]
TOKENS += ["{", "}", "[", "1.5", '"', "%", "/*", "smem", "_"]


def mutate(text, rng):
    if rng.randrange(6) == 0:
        return text[: rng.randrange(len(text))]
    tokens = re.findall(r"[%A-Za-z_][\w.:]*|\d\w*|\s+|.", text)
    solid = [n for n, token in enumerate(tokens) if not token.isspace()]
    numbers = [n for n in solid if tokens[n][0].isdigit()]
    registers = [n for n in solid if tokens[n][0] == "%"]
    for _ in range(rng.choice([1, 1, 2, 5])):
        kind = rng.randrange(5)
        if kind == 0:
            tokens[rng.choice(solid)] = ""
        elif kind == 1:
            tokens[rng.choice(solid)] = tokens[rng.choice(solid)]
        elif kind == 2:
            tokens[rng.choice(solid)] = rng.choice(TOKENS)
        elif kind == 3:
            tokens[rng.choice(numbers)] = str(rng.choice(NUMBERS))
        else:
            tokens[rng.choice(registers)] = tokens[rng.choice(registers)]
    return "".join(tokens)


def main():
    tool, count, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    arguments = sys.argv[sys.argv.index("--") + 1 :]
    with open(path) as file:
        lines = [line for line in file.read().split("\n") if not line.startswith("//")]
    text = "\n".join(lines)
    rng = random.Random(path.rsplit("/", 1)[-1])
    failed = 0
    for n in range(count):
        broken = mutate(text, rng)
        command = [tool, "-", "--step-limit=20000", "--host-threads=1", f"--seed={n}"] + arguments
        run = subprocess.run(command, input=broken, capture_output=True, text=True, timeout=120)
        located = re.search(r"^-:\d+:\d+: error: |^error: ", run.stderr, re.M)
        if run.returncode not in (0, 1, 2) or (run.returncode and not located):
            sys.exit(f"exit code {run.returncode} for\n{broken}\n{run.stderr}")
        failed += run.returncode != 0
    print(f"{count} programs, {'some' if failed else 'none'} refused")


main()
