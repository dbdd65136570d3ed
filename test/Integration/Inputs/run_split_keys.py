"""Runs split-keys.mlir with lengths that cut items in every place.

    run_split_keys.py FOVEA_RUN PROGRAM LEVEL TARGET [COUNT [SEED]]

LEVEL is tile, warp or ptx. Lengths are 0, 1, a block and one more or less, the capacity, and COUNT
random draws, of one sequence and of several. NaN stands where no key is. Prints each failure; exits
with 1 after one.
"""

import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Interpreter" / "Inputs"))
import npy  # noqa: E402

SPECIAL = (0, 1, 63, 64, 65, 127, 128, 129, 500)
CAPACITY = 500


def save(folder, name, values, kind):
    path = folder / f"{name}.npy"
    np.save(path, npy.to_bf16(values) if kind == "bf16" else values.astype(kind))
    return str(path)


def make_decode(folder, rng, lengths, entry):
    heads, kv_heads, queries, dim = {"decode": (8, 2, 1, 64), "drafts": (14, 2, 3, 128)}[entry]
    batch = len(lengths)
    files = [save(folder, "q", rng.normal(size=(batch, heads, queries, dim)), "bf16")]
    exists = np.arange(CAPACITY)[None, None, :, None] < np.array(lengths)[:, None, None, None]
    for name in "kv":
        rows = np.where(exists, rng.normal(size=(batch, kv_heads, CAPACITY, dim)), np.nan)
        files.append(save(folder, name, rows, "bf16"))
    files.append(save(folder, "n", np.array(lengths), np.int32))
    if entry == "drafts":
        files.append(save(folder, "sinks", rng.normal(size=heads), np.float32))
    return files


def make_pages(folder, rng, lengths, _):
    batch, page = len(lengths), 32
    places = -(-CAPACITY // page)
    table = rng.permutation(batch * places).reshape(batch, places)
    files = [save(folder, "q", rng.normal(size=(batch, 2, 16, 64)), np.float16)]
    exists = np.zeros((batch * places, page), bool)
    for entry, length in enumerate(lengths):
        for key in range(length):
            exists[table[entry, key // page], key % page] = True
    for name in "kv":
        rows = np.where(exists[:, None, :, None], rng.normal(size=(batch * places, 2, page, 64)), np.nan)
        files.append(save(folder, name, rows, np.float16))
    return [*files, save(folder, "table", table, np.int32), save(folder, "n", np.array(lengths), np.int32)]


def make_prefill(folder, rng, lengths, _):
    queries, keys = 1 + lengths[0] % 300, max(lengths)
    sizes = {"q": (2, 2, queries, 64), "k": (2, 1, keys, 64), "v": (2, 1, keys, 64)}
    return [save(folder, name, rng.normal(size=size), "bf16") for name, size in sizes.items()]


ENTRIES = {"decode": make_decode, "drafts": make_decode, "pages": make_pages, "prefill": make_prefill}


def run(tool, program, level, target, entry, lengths, seed):
    with tempfile.TemporaryDirectory() as name:
        files = ENTRIES[entry](pathlib.Path(name), np.random.default_rng(seed), lengths, entry)
        command = [tool, program, f"--entry={entry}", f"--target={target}", "--schedule=work=shares", "--check"]
        command += ["--device=ptx"] if level == "ptx" else [f"--level={level}"]
        command += [f"--seeds={2 + seed % 2}"] if level == "warp" else []
        result = subprocess.run([*command, "--inputs", *files], capture_output=True, text=True, check=False)
    if result.returncode == 0 and result.stdout.count("passed") == 2:
        return True
    print(f"{entry} {lengths} seed {seed}: {result.stdout}{result.stderr}"[:3000], flush=True)
    return False


def main():
    tool, program, level, target, *rest = sys.argv[1:]
    count, seed = (int(one) for one in (rest + ["2", "1"][len(rest) :])[:2])
    rng, right = random.Random(seed), True
    for entry in ENTRIES:
        cases = [[rng.choice(SPECIAL) for _ in range(rng.choice((1, 2, 5)))] for _ in range(count)]
        cases.append([rng.randint(0, CAPACITY) for _ in range(rng.choice((1, 3)))])
        if level == "tile":
            cases += [[one] for one in SPECIAL]
        for number, lengths in enumerate(cases):
            right &= run(tool, program, level, target, entry, lengths, seed + number)
    print("all passed" if right else "some failed")
    return int(not right)


if __name__ == "__main__":
    sys.exit(main())
