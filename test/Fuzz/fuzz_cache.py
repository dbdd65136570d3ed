"""Fuzzes files that Python reads: cache entries and kernel files.

    fuzz_cache.py --finds FOLDER [--seconds=N | --runs=N] [--seed=N] [--build FOLDER] [FILE...]

Mutates a kernel file, and corrects its checksum in half of the cases, as an attacker would. Loading
it must give a complete kernel or fovea.Error, and the cache must return only what was written to
it. Given FILEs, reads each of them once instead.
"""

import argparse
import hashlib
import json
import os
import pathlib
import random
import resource
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))

import fovea.cache  # noqa: E402
from fovea.compiler._kernel import _MAGIC, Kernel  # noqa: E402
from fovea.frontend._program import Spec  # noqa: E402
from fovea.errors import Error  # noqa: E402

NUMBERS = [b"0", b"-1", b"1e400", b"NaN", b"9" * 400, b"2147483648", b"true", b"null", b'"x"', b"[]", b"{}", b"1.5"]


def seeds():
    metadata = json.dumps({"version": 1, "kernel": "f", "target": "sm_80", "tensors": [], "parameters": []}).encode()
    spec = Spec("f", "func.func @f() {\n}\n", ("w", "m"), "")
    for cubin in (None, b"\x7fELF" + bytes(40)):
        yield Kernel(spec, {"target": "sm_80", "schedule": "auto"}, b".version 8.0\n", metadata, cubin).to_bytes()


def mutate(data, rng):
    """One change, of bytes, numbers or nesting."""
    place = rng.randrange(len(data) + 1)
    end = min(len(data), place + rng.choice([1, 1, 2, 8, 64]))
    kind = rng.randrange(7)
    if kind == 0:
        return data[:place] + rng.randbytes(rng.choice([1, 1, 4])) + data[end:]
    if kind == 1:
        return data[:place] + data[end:]
    if kind == 2:
        other = rng.randrange(len(data) + 1)
        return data[:place] + data[other:other + rng.choice([1, 8, 200])] + data[place:]
    if kind == 3:
        digits = [i for i, c in enumerate(data) if 48 <= c < 58]
        if digits:
            place = rng.choice(digits)
            end = place
            while end < len(data) and 48 <= data[end] < 58:
                end += 1
        return data[:place] + rng.choice(NUMBERS) + data[end:]
    if kind == 4:
        bracket = rng.choice([b"[]", b"{}", b'""'])
        depth = rng.choice([1, 2, 5000 if rng.randrange(20) == 0 else 3])
        return data[:place] + bracket[:1] * depth + data[place:end] + bracket[1:] * depth + data[end:]
    if kind == 5:
        return data[:place]
    return data[:place] + rng.choice([b"null", b"\xff", b"\n", b",", b'"', b"0"]) + data[end:]


def repair(data):
    """With the right checksum, if there is room for one."""
    body = data[len(_MAGIC):].partition(b"\n")[2]
    return _MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def read(data):
    """Raises an exception for a finding."""
    try:
        kernel = Kernel.from_bytes(data)
    except Error:
        return
    assert isinstance(kernel.name, str) and isinstance(kernel.target, str) and isinstance(kernel.mlir, str)
    assert isinstance(kernel.metadata, dict) and isinstance(kernel.ptx, str) and all(
        isinstance(name, str) for name in kernel.captures)
    repr(kernel)
    kernel.to_bytes()


def read_entry(data, path):
    path.write_bytes(data)
    path.chmod(0o600)
    assert fovea.cache.read("key") is None, "a changed entry was taken"


def fuzz(args, scratch):
    fovea.cache.configure(folder=scratch / "cache")
    rng = random.Random(args.seed)
    originals = list(seeds())
    fovea.cache.write("key", originals[0])
    entry = next((scratch / "cache").glob("*.fovea"))
    whole = entry.read_bytes()
    end = time.monotonic() + (args.seconds or 1e9)
    count = finds = 0
    while finds < 20 and (count < args.runs if args.runs else time.monotonic() < end):
        count += 1
        data = rng.choice(originals)
        if count % 16 == 0:
            changed = mutate(whole, rng)
            check = (lambda each: read_entry(each, entry)) if changed != whole else (lambda each: None)
        else:
            for _ in range(rng.choice([1, 1, 2, 4])):
                data = mutate(data, rng)
            changed, check = (repair(data) if rng.randrange(2) else data), read
        try:
            check(changed)
        except Exception as error:  # whatever else comes is a find
            finds += 1
            args.finds.mkdir(parents=True, exist_ok=True)
            name = args.finds / hashlib.sha256(changed).hexdigest()[:12]
            name.write_bytes(changed)
            print(f"{name}: {type(error).__name__}: {str(error)[:200]}", flush=True)
    print(f"{count} inputs, {finds} finds")
    return finds > 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build")
    parser.add_argument("--finds", type=pathlib.Path, default=pathlib.Path("fuzz-finds/cache"))
    parser.add_argument("--seconds", type=int, default=0)
    parser.add_argument("--runs", type=int, default=0)
    parser.add_argument("--seed", type=int, default=int(time.strftime("%Y%m%d")))
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    args = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    for file in args.files:
        read(file.read_bytes())
        print(f"Executed {file}")
    if args.files:
        return
    with tempfile.TemporaryDirectory() as scratch:
        sys.exit(fuzz(args, pathlib.Path(scratch)))


if __name__ == "__main__":
    main()
