"""Sizes that each example runs with. What a program's types fix is read from them; a
dimension of a captured tensor that they leave open has a line in CAPTURES.
"""

import re

# What stands for what in `tensor<BxHxSxDxbf16>`.
QUERIES, KEYS = ("B", "Hq", "Sq"), ("B", "Hkv", "Skv")


def words(s):
    """Words of 32 bits that have a bit for each key."""
    return -(-s["Skv"] // 32)


# By an example's name, sizes of operands that are the caller's choice, from those of q, k and v.
CAPTURES = {
    "alibi": lambda s: {"capture0.0": s["Hq"]},
    "bitmask": lambda s: {"capture0.0": s["B"], "capture0.1": s["Sq"], "capture0.2": words(s)},
    "block_mask": lambda s: {"partial_index.3": 4, "full_index.3": 5},
    "block_sparse": lambda s: {"partial_index.3": 3},
    "documents": lambda s: {"capture0.0": s["B"], "capture0.1": max(s["Sq"], s["Skv"])},
    # Rows of whole 16 bytes, for tensor maps.
    "logit_bias": lambda s: {"capture0.0": s["Hq"], "capture0.1": s["Sq"], "capture0.2": -(-s["Skv"] // 8) * 8},
    "packed": lambda s: {"N+1": 5},
    "prefix_lm": lambda s: {"capture0.0": s["B"]},
    "relative_bias": lambda s: {"capture0.0": s["Hq"]},
    "tree_mask": lambda s: {"capture0.0": s["B"]},
}
# The tree's nodes are the last keys.
LEAST = {"tree_mask": {"Skv": 16}}


def fixed_sizes(program):
    """Sizes of q, k and v that the types of a program, a path, say."""
    text = program.read_text()
    found = {}
    for name, dims in (("q", QUERIES), ("k", KEYS)):
        shape = re.search(rf"%{name}: tensor<([^>]*)>", text)[1].split("x")
        found.update({dim: int(size) for dim, size in zip(dims, shape) if size != "?"})
    return found


def sizes_of(program, sizes):
    """Sizes of q, k and v: those given, where the program leaves them open."""
    result = {**sizes, **fixed_sizes(program)}
    for dim, least in LEAST.get(program.stem, {}).items():
        result[dim] = max(result[dim], least)
    return result


def captures_of(program, sizes):
    """Sizes of captured tensors beside q, k and v of these sizes."""
    return CAPTURES.get(program.stem, lambda _: {})(sizes)


def dims(program, sizes, captures_for=None):
    """What fovea-run takes as --dims. Captured tensors can be as large as others need."""
    own = sizes_of(program, sizes)
    captures = captures_of(program, sizes_of(program, captures_for) if captures_for else own)
    return ",".join(f"{name}={size}" for name, size in {**own, **captures}.items())


# Said with what fovea-run does not run for want of a size.
HINT = "An example's sizes stand in test/Integration/Inputs/example_sizes.py."
