"""Gradients of packed sequences, some of whose values are NaN, and with invalid offsets."""

import subprocess
import sys

import numpy as np

NAMES, GRADIENTS = ("q", "k", "v", "o", "lse", "do", "cu_q", "cu_k"), ("dq", "dk", "dv")


def run(tool, program, folder, target, inputs, may_race=False):
    """The gradients, as PTX on the CPU. With `may_race` CTAs may write the same rows: where offsets are none, several
    have one tile."""
    for name, array in inputs.items():
        np.save(f"{folder}/changed_{name}.npy", array)
    files = [[f"{folder}/{prefix}_{name}.npy" for name in names] for prefix, names in (("changed", NAMES), (target, GRADIENTS))]
    result = subprocess.run([tool, program, "--entry=causal", f"--target={target}", "--level=ptx",
                             "--inputs", *files[0], "--outputs", *files[1]], capture_output=True, text=True)
    if may_race and "[race]" in result.stderr:
        return []
    assert result.returncode == 0, result.stderr
    return [np.load(file) for file in files[1]]


def is_number(array):
    """Which bf16 are numbers, by their bits."""
    return array.view(np.uint16) & 0x7F80 != 0x7F80


def main():
    tool, program, folder, *targets = sys.argv[1:]
    given = {name: np.load(f"{folder}/{name}.npy") for name in NAMES}
    offsets = {"q": given["cu_q"], "k": given["cu_k"]}
    longest = int(np.argmax(np.diff(offsets["q"]) * np.diff(offsets["k"])))
    rows = {name: slice(of[longest], of[longest + 1]) for name, of in offsets.items()}
    changed = {name: array.copy() for name, array in given.items()}
    nan = np.array([0x7FC0], np.uint16).view(given["q"].dtype)[0]
    for name, of in (("q", "q"), ("o", "q"), ("do", "q"), ("k", "k"), ("v", "k")):
        changed[name][:, :, rows[of]] = nan
    changed["lse"][:, :, rows["q"]] = np.nan
    for target in targets:
        found = run(tool, program, folder, target, changed)
        for array, of in zip(found, ("q", "k", "k")):
            others = np.delete(array, np.arange(rows[of].start, rows[of].stop), axis=2)
            assert is_number(others).all(), (target, of)
        print(f"{target}: no number of one sequence reaches another")
        turned = {name: given[name][::-1].copy() for name in ("cu_q", "cu_k")}
        run(tool, program, folder, target, {**given, **turned}, may_race=True)
        print(f"{target}: reversed offsets keep within memory")


if __name__ == "__main__":
    main()
