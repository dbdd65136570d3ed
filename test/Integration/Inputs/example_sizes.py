"""Sizes for running each example. Static sizes are read from the program's types; a dynamic
dimension of a captured tensor has a line in CAPTURES.
"""

import re

# Dimension names for `tensor<BxHxSxDxbf16>`; with pages, those of K.
QUERIES, KEYS, PAGES = ("B", "Hq", "Sq"), ("B", "Hkv", "Skv"), ("pages", "Hkv", "page")


def words(s):
    """Words of 32 bits that have a bit for each key."""
    return -(-s["Skv"] // 32)


# Sizes of operands that the caller can choose, by example, as functions of the sizes of q, k and v.
CAPTURES = {
    "alibi": lambda s: {"capture0.0": s["Hq"]},
    "bitmask": lambda s: {"capture0.0": s["B"], "capture0.1": s["Sq"], "capture0.2": words(s)},
    "block_mask": lambda s: {"partial_index.3": 4, "full_index.3": 5},
    "block_sparse": lambda s: {"partial_index.3": 3},
    "documents": lambda s: {"capture0.0": s["B"], "capture0.1": max(s["Sq"], s["Skv"])},
    # Rows of whole 16 bytes, for tensor maps.
    "logit_bias": lambda s: {"capture0.0": s["Hq"], "capture0.1": s["Sq"], "capture0.2": -(-s["Skv"] // 8) * 8},
    "packed": lambda s: {"N+1": 5},
    # Room for as many keys as the other examples have, and some pages that no sequence has.
    "paged": lambda s: {"P": -(-s["Skv"] // s["page"]), "pages": 2 * s["B"] * -(-s["Skv"] // s["page"])},
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
    for name, dims in (("q", QUERIES), ("k", PAGES if " paged(" in text else KEYS)):
        if "layout(bshd)" in text:
            dims = (dims[0], dims[2], dims[1])
        shape = re.search(rf"%{name}: tensor<([^>]*)>", text)[1].split("x")
        found.update({dim: int(size) for dim, size in zip(dims, shape) if size != "?"})
    return found


def sizes_of(program, sizes):
    """Sizes of q, k and v: those given, unless the program fixes them."""
    result = {**sizes, **fixed_sizes(program)}
    for dim, least in LEAST.get(program.stem, {}).items():
        result[dim] = max(result[dim], least)
    return result


def captures_of(program, sizes):
    """Sizes of captured tensors for these sizes of q, k and v."""
    return CAPTURES.get(program.stem, lambda _: {})(sizes)


def dims(program, sizes, captures_for=None):
    """The --dims argument of fovea-run. Captured tensors may be as large as others require."""
    own = sizes_of(program, sizes)
    captures = captures_of(program, sizes_of(program, captures_for) if captures_for else own)
    if "page" in own:
        own.pop("Skv")
    return ",".join(f"{name}={size}" for name, size in {**own, **captures}.items())


# Printed if fovea-run fails because a size is missing.
HINT = "The sizes of examples are in test/Integration/Inputs/example_sizes.py."
