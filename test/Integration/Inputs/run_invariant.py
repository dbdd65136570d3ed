"""Runs programs with `invariant` for a sequence alone and beside others: its bits must be equal.

    run_invariant.py FOVEA_RUN PROGRAM LEVEL TARGET [--count=N] [--seed=N] [--schedule=S]

LEVEL is tile or warp. PROGRAM is split-keys.mlir; each of its functions runs with `invariant`. The
lengths, the numbers of queries and the place of the sequence in its batch are random. Prints each
failure, and exits with 1 after one; also if the bits are equal without `invariant`, too.
"""

import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np
import run_split_keys as inputs


def output(options, program, entry, files, folder):
    names = [str(folder / f"{name}.npy") for name in ("o", "lse")]
    command = [options.tool, str(program), f"--entry={entry}", f"--target={options.target}", f"--schedule={options.schedule}",
               f"--level={options.level}", "--inputs", *files, "--outputs", *names]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise SystemExit(f"{entry}: {result.stderr}"[:3000])
    return [np.load(name) for name in names]


def cut(files, entry, place, folder):
    """The inputs of one sequence of a batch."""
    folder.mkdir()
    kept = []
    offsets = next((np.load(file) for file in files if file.endswith("cu_q.npy")), None)
    for file in files:
        name, array = pathlib.Path(file).name, np.load(file)
        if name == "cu_q.npy":
            array = array[place:place + 2] - array[place]
        elif name == "q.npy" and offsets is not None:
            array = array[:, :, offsets[place]:offsets[place + 1]]
        elif name == "starts.npy":
            array = array[place:place + 2]
        elif name not in ("pages.npy", "sinks.npy", "slopes.npy") and not (entry in ("pages", "rows", "mixed", "listed", "tokens") and name in ("k.npy", "v.npy")):
            array = array[place:place + 1]
        np.save(folder / name, np.ascontiguousarray(array))
        kept.append(str(folder / name))
    return kept, offsets


def compare(options, program, entry, rng, seed):
    """Whether a sequence of a random batch has the same bits alone."""
    lengths = [rng.randint(0, inputs.CAPACITY) for _ in range(rng.randint(2, 6))]
    place = rng.randrange(len(lengths))
    lengths[place] = rng.randint(inputs.CAPACITY // 2, inputs.CAPACITY)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        files = inputs.ENTRIES[entry](folder, np.random.default_rng(seed), lengths, entry)
        together = output(options, program, entry, files, folder)
        own, offsets = cut(files, entry, place, folder / "own")
        if offsets is None:
            together = [one[place:place + 1] for one in together]
        else:
            together = [one[:, :, offsets[place]:offsets[place + 1]] for one in together]
        if not together[0].size:
            return True
        alone = output(options, program, entry, own, folder)
    return all(one.tobytes() == other.tobytes() for one, other in zip(together, alone))


def main():
    options = inputs.make_parser("split=64").parse_args()
    rng, right, differs = random.Random(options.seed), True, False
    with tempfile.TemporaryDirectory() as name:
        program = inputs.with_invariant(options.program, pathlib.Path(name))
        for entry in (one for one in inputs.ENTRIES if one != "prefill"):
            for number in range(options.count):
                state = rng.getstate()
                if not compare(options, program, entry, rng, options.seed + number):
                    print(f"{entry}, draw {number} of seed {options.seed}: other bits", flush=True)
                    right = False
                rng.setstate(state)
                options.schedule, kept = options.schedule.replace("split=64", "split=0"), options.schedule
                differs |= not compare(options, pathlib.Path(options.program), entry, rng, options.seed + number)
                options.schedule = kept
    if not differs:
        print("bits are equal without 'invariant', too")
    print("all equal" if right else "some differ")
    return int(not right or not differs)


if __name__ == "__main__":
    sys.exit(main())
