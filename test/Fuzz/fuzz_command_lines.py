"""Fuzzes command lines of the tools.

    fuzz_command_lines.py --build FOLDER --finds FOLDER [--seconds=N | --runs=N] [--seed=N]

Takes the commands of the lit tests' RUN lines, changes arguments, and runs them in a temporary
folder. A tool may succeed or report an error. A signal, a sanitizer report, a stack dump, or a
compiler that runs for more than a minute is a finding. (fovea-run may run a large
program; it is stopped.)
"""

import argparse
import hashlib
import os
import pathlib
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TOOLS = {"fovea-opt": 60, "fovea-compile": 60, "fovea-translate": 60, "fovea-run": 10}
CRASH = re.compile(rb"PLEASE submit|LLVM ERROR|Stack dump|Sanitizer|runtime error:|terminate called|Assertion ")
NUMBERS = ["0", "-1", "1", "3", "64", "4096", "2147483648", "9223372036854775808", "1e400", "nan", "", "x", "?"]
PIECES = ["=", ",", "--", "-", "'", "\\", "\xff", "\n", "auto", "none", "sm_80", "sm_90a", "/", "/dev/null", "."]


def corpus():
    """Commands of the tests. They run in a folder with copies of the files that they name, since a
    command may overwrite them.
    """
    commands = []
    for path in [*(ROOT / "test").rglob("*.test"), *(ROOT / "test").rglob("*.mlir")]:
        for line in re.findall(r"RUN:(.*)", path.read_text(errors="replace")):
            for part in re.split(r"\||&&|;|2>&1|>|<", line):
                part = part.replace("%examples", "examples").replace("%S", str(path.parent.relative_to(ROOT)))
                try:
                    words = shlex.split(re.sub(r"%s\b", str(path.relative_to(ROOT)), part))
                except ValueError:
                    continue
                while words and words[0] in ("not", "%{run}"):
                    words = words[1:]
                if words and words[0] in TOOLS and not any("%" in word or "ulimit" in word for word in words):
                    commands.append(words)
    return commands


def mutate(words, rng, commands):
    words = list(words)
    place = rng.randrange(1, len(words) + 1)
    kind = rng.randrange(7)
    if kind == 0 and place < len(words):
        del words[place]
    elif kind == 1:
        other = rng.choice(commands)
        words.insert(place, rng.choice(other[1:] or ["-"]))
    elif kind == 2 and place < len(words):
        words[place] = re.sub(r"\d+", lambda match: rng.choice([match.group(), rng.choice(NUMBERS)]), words[place])
    elif kind == 3 and place < len(words):
        word = words[place]
        at = rng.randrange(len(word) + 1)
        words[place] = word[:at] + rng.choice(PIECES) + word[at + rng.randrange(3):]
    elif kind == 4 and place < len(words):
        words[place] *= rng.choice([2, 2, 500])
    elif kind == 5 and place < len(words):
        name, equals, value = words[place].partition("=")
        words[place] = name + equals + rng.choice([value[::-1], "", "=" + value, value + "," + value])
    elif place < len(words):
        words.append(words[place])
    return [word.replace("\0", "")[:100_000] for word in words]


def check(build, words, scratch):
    """Runs a command line; returns a description of the finding, or None."""
    command = [str(build / "bin" / words[0]), *words[1:]]
    try:
        result = subprocess.run(command, cwd=scratch, capture_output=True, stdin=subprocess.DEVNULL,
                                timeout=TOOLS[words[0]])
    except subprocess.TimeoutExpired:
        return "takes too long" if words[0] != "fovea-run" else None
    except ValueError:
        return None
    if result.returncode < 0:
        return f"signal {-result.returncode}: {result.stderr[-1500:].decode(errors='replace')}"
    if CRASH.search(result.stderr):
        return result.stderr[-1500:].decode(errors="replace")
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--finds", type=pathlib.Path, default=pathlib.Path("fuzz-finds/command-lines"))
    parser.add_argument("--seconds", type=int, default=0)
    parser.add_argument("--runs", type=int, default=0)
    parser.add_argument("--seed", type=int, default=int(time.strftime("%Y%m%d")))
    args = parser.parse_args()
    os.environ.setdefault("ASAN_OPTIONS", f"include={ROOT}/test/asan.options")
    rng, commands = random.Random(args.seed), corpus()
    end = time.monotonic() + (args.seconds or 1e9)
    count = finds = 0
    with tempfile.TemporaryDirectory() as scratch:
        for folder in ("examples", "test"):
            shutil.copytree(ROOT / folder, pathlib.Path(scratch) / folder)
        while finds < 20 and (count < args.runs if args.runs else time.monotonic() < end):
            count += 1
            words = rng.choice(commands)
            for _ in range(rng.choice([1, 1, 2, 3])):
                words = mutate(words, rng, commands)
            wrong = check(args.build.resolve(), words, scratch)
            if wrong:
                finds += 1
                text = shlex.join(words)
                args.finds.mkdir(parents=True, exist_ok=True)
                (args.finds / hashlib.sha256(text.encode(errors="replace")).hexdigest()[:12]).write_text(
                    text, errors="surrogateescape")
                print(f"{text[:1000]}\n{wrong}", flush=True)
    print(f"{count} inputs, {finds} finds")
    sys.exit(finds > 0)


if __name__ == "__main__":
    main()
