"""Runs split-keys.mlir with lengths that cut items in every place.

    run_split_keys.py FOVEA_RUN PROGRAM LEVEL TARGET [--count=N] [--seed=N] [--schedule=S] [--entries=A,B] [--invariant]

LEVEL is tile, warp or ptx. Lengths are 0, 1, a block and one more or less, the capacity, and COUNT
random draws, of one sequence and of several. NaN stands where no key is. Prints each failure; exits
with 1 after one. With --invariant the programs have that clause.
"""

import argparse
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


def make_pool(folder, rng, lengths, page, kind):
    """Files of K and V in pages, and of the page table."""
    batch, places = len(lengths), -(-CAPACITY // page)
    table = rng.permutation(batch * places).reshape(batch, places)
    exists = np.zeros((batch * places, page), bool)
    for entry, length in enumerate(lengths):
        for key in range(length):
            exists[table[entry, key // page], key % page] = True
    files = []
    for name in "kv":
        rows = np.where(exists[:, None, :, None], rng.normal(size=(batch * places, 2, page, 64)), np.nan)
        files.append(save(folder, name, rows, kind))
    return files, save(folder, "table", table, np.int32)


def make_pages(folder, rng, lengths, entry):
    heads, queries, page = (2, 16, 32) if entry == "pages" else (4, 2, 12)
    q = save(folder, "q", rng.normal(size=(len(lengths), heads, queries, 64)), np.float16)
    pool, table = make_pool(folder, rng, lengths, page, np.float16)
    return [q, *pool, table, save(folder, "n", np.array(lengths), np.int32)]


def make_offsets(folder, rng, lengths):
    """Offsets of packed queries: none, one, a few or many of each sequence."""
    counts = [int(rng.choice((0, 1, 1, 3, 16, 70))) for _ in lengths]
    counts[-1] += not any(counts)
    offsets = np.concatenate(([0], np.cumsum(counts)))
    return save(folder, "cu_q", offsets, np.int32), int(offsets[-1])


def make_mixed(folder, rng, lengths, entry):
    offsets, total = make_offsets(folder, rng, lengths)
    q = save(folder, "q", rng.normal(size=(1, 8, total, 64)), "bf16")
    pool, table = make_pool(folder, rng, lengths, 1 if entry == "tokens" else 16, "bf16")
    return [q, *pool, offsets, table, save(folder, "n", np.array(lengths), np.int32)]


def make_listed(folder, rng, lengths, entry):
    """As mixed, with the pages that have keys, and some more, in one list."""
    *files, table, n = make_mixed(folder, rng, lengths, entry)
    page = 1 if entry == "tokens" else 16
    rows = [row[:-(-length // page) + rng.integers(2)] for row, length in zip(np.load(table), lengths)]
    pages = np.concatenate((*rows, [-7]))
    starts = np.concatenate(([0], np.cumsum([len(row) for row in rows])))
    return [*files, save(folder, "pages", pages, np.int32), save(folder, "starts", starts, np.int32), n]


def make_chunks(folder, rng, lengths, entry):
    dim, heads = 128 if entry == "chunks" else 64, 6 if entry == "threes" else 4
    offsets, total = make_offsets(folder, rng, lengths)
    files = [save(folder, "q", rng.normal(size=(1, heads, total, dim)), "bf16")]
    exists = np.arange(CAPACITY)[None, None, :, None] < np.array(lengths)[:, None, None, None]
    for name in "kv":
        rows = np.where(exists, rng.normal(size=(len(lengths), 2, CAPACITY, dim)), np.nan)
        files.append(save(folder, name, rows, "bf16"))
    files += [offsets, save(folder, "n", np.array(lengths), np.int32)]
    if entry != "windows":
        files.append(save(folder, "sinks", rng.normal(size=heads), np.float32))
    return [*files, save(folder, "slopes", rng.normal(size=heads), np.float32)] if entry == "threes" else files


def make_prefill(folder, rng, lengths, _):
    queries, keys = 1 + lengths[0] % 300, max(lengths)
    sizes = {"q": (2, 2, queries, 64), "k": (2, 1, keys, 64), "v": (2, 1, keys, 64)}
    return [save(folder, name, rng.normal(size=size), "bf16") for name, size in sizes.items()]


ENTRIES = {"decode": make_decode, "drafts": make_decode, "pages": make_pages, "prefill": make_prefill, "mixed": make_mixed,
           "chunks": make_chunks, "windows": make_chunks, "threes": make_chunks,
           "listed": make_listed, "tokens": make_listed, "rows": make_pages}


def with_invariant(program, folder):
    """A copy of a program whose functions have the clause `invariant`."""
    copy = folder / "invariant.mlir"
    copy.write_text(pathlib.Path(program).read_text().replace("attn.forward %q, %k, %v", "attn.forward %q, %k, %v invariant"))
    return str(copy)


def make_parser(schedule):
    parser = argparse.ArgumentParser()
    for name in ("tool", "program", "level", "target"):
        parser.add_argument(name)
    parser.add_argument("--count", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--schedule", default=schedule)
    return parser


def run(options, entry, lengths, seed):
    with tempfile.TemporaryDirectory() as name:
        files = ENTRIES[entry](pathlib.Path(name), np.random.default_rng(seed), lengths, entry)
        program = with_invariant(options.program, pathlib.Path(name)) if options.invariant else options.program
        command = [options.tool, program, f"--entry={entry}", f"--target={options.target}",
                   f"--schedule={options.schedule}", "--check"]
        command += ["--device=ptx"] if options.level == "ptx" else [f"--level={options.level}"]
        command += [f"--seeds={2 + seed % 2}"] if options.level == "warp" else []
        result = subprocess.run([*command, "--inputs", *files], capture_output=True, text=True, check=False)
    if result.returncode == 0 and result.stdout.count("passed") == 2:
        return True
    print(f"{entry} {lengths} seed {seed}: {result.stdout}{result.stderr}"[:3000], flush=True)
    return False


def main():
    parser = make_parser("work=shares")
    parser.add_argument("--entries", type=lambda names: names.split(","), default=list(ENTRIES))
    parser.add_argument("--invariant", action="store_true")
    options = parser.parse_args()
    rng, right = random.Random(options.seed), True
    for entry in options.entries:
        cases = [[rng.choice(SPECIAL) for _ in range(rng.choice((1, 2, 5)))] for _ in range(options.count)]
        cases.append([rng.randint(0, CAPACITY) for _ in range(rng.choice((1, 3)))])
        if options.level == "tile" and entry in ("decode", "pages", "chunks"):
            cases += [[one] for one in SPECIAL]
        for number, lengths in enumerate(cases):
            right &= run(options, entry, lengths, options.seed + number)
    print("all passed" if right else "some failed")
    return int(not right)


if __name__ == "__main__":
    sys.exit(main())
