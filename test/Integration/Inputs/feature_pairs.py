"""Runs programs that combine features of attn.forward, and checks the results.

    feature_pairs.py FOVEA_RUN TARGET [LEVEL]

Every pair of choices of two features occurs in some program, except for pairs that the op rejects.
Each program is lowered to the warp level, or to LEVEL, and run there. 8-bit floats need a target
with wgmma. Prints a line for each; exits with 1 if one
is wrong.
"""

import itertools
import pathlib
import random
import subprocess
import sys
import tempfile

#: Scores, by name: captured values (names, types), and the body of score_mod.
SCORES = {
    "plain": ((), ""),
    "cap": (
        (),
        """%cap = arith.constant 20.0 : f32
    %x = arith.divf %s, %cap : f32
    %t = math.tanh %x : f32
    %r = arith.mulf %t, %cap : f32""",
    ),
    "alibi": (
        (("slopes", "tensor<?xf32>"),),
        """%steep = tensor.extract %slopes[%h] : tensor<?xf32>
    %flat = arith.constant 0.0625 : f32
    %slope = arith.mulf %steep, %flat : f32
    %d = arith.subi %j, %i : index
    %di = arith.index_cast %d : index to i32
    %df = arith.sitofp %di : i32 to f32
    %bias = arith.mulf %slope, %df : f32
    %r = arith.addf %s, %bias : f32""",
    ),
    # By key.
    "column": (
        (("column", "tensor<?x?xf16>"),),
        """%x = tensor.extract %column[%b, %j] : tensor<?x?xf16>
    %wide = arith.extf %x : f16 to f32
    %r = arith.addf %s, %wide : f32""",
    ),
    "bias": (
        (("bias", "tensor<?x?x?xbf16>"),),
        """%x = tensor.extract %bias[%h, %i, %j] : tensor<?x?x?xbf16>
    %wide = arith.extf %x : bf16 to f32
    %r = arith.addf %s, %wide : f32""",
    ),
    "distance": (
        (("distances", "tensor<?x?xf32>"), ("least", "i32")),
        """%c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = tensor.dim %distances, %c1 : tensor<?x?xf32>
    %last = arith.subi %n, %c1 : index
    %w = arith.index_cast %least : i32 to index
    %d = arith.subi %j, %i : index
    %at = arith.addi %d, %w : index
    %low = arith.maxsi %at, %c0 : index
    %place = arith.minsi %low, %last : index
    %x = tensor.extract %distances[%h, %place] : tensor<?x?xf32>
    %r = arith.addf %s, %x : f32""",
    ),
}

#: Masks, likewise.
MASKS = {
    "all": ((), ""),
    "bottom": (
        (),
        """%m = attn.query_length
    %n = attn.key_length
    %x = arith.subi %i, %m : index
    %y = arith.subi %j, %n : index
    %keep = arith.cmpi sge, %x, %y : index""",
    ),
    "window": (
        (("width", "i32"),),
        """%w = arith.index_cast %width : i32 to index
    %d = arith.subi %i, %j : index
    %near = arith.cmpi slt, %d, %w : index
    %past = arith.cmpi sge, %i, %j : index
    %keep = arith.andi %near, %past : i1""",
    ),
    # Some queries see no key.
    "shifted": (
        (),
        """%c = arith.constant 50 : index
    %shifted = arith.addi %j, %c : index
    %keep = arith.cmpi sge, %i, %shifted : index""",
    ),
    "dilated": (
        (),
        """%c3 = arith.constant 3 : index
    %zero = arith.constant 0 : index
    %bi = arith.floordivsi %i, %c3 : index
    %bj = arith.floordivsi %j, %c3 : index
    %d = arith.subi %bi, %bj : index
    %r = arith.remsi %d, %c3 : index
    %keep = arith.cmpi eq, %r, %zero : index""",
    ),
    "documents": (
        (("doc", "tensor<?x?xi32>"),),
        """%c60 = arith.constant 60 : i32
    %x = tensor.extract %doc[%b, %i] : tensor<?x?xi32>
    %y = tensor.extract %doc[%b, %j] : tensor<?x?xi32>
    %dx = arith.divsi %x, %c60 : i32
    %dy = arith.divsi %y, %c60 : i32
    %keep = arith.cmpi eq, %dx, %dy : i32""",
    ),
    "bits": (
        (("bits", "tensor<?x?x?xi32>"),),
        """%c32 = arith.constant 32 : index
    %at = arith.divui %j, %c32 : index
    %bit = arith.remui %j, %c32 : index
    %bit32 = arith.index_cast %bit : index to i32
    %word = tensor.extract %bits[%b, %i, %at] : tensor<?x?x?xi32>
    %moved = arith.shrui %word, %bit32 : i32
    %keep = arith.trunci %moved : i32 to i1""",
    ),
}

#: Sizes: (B, Hq, Hkv, Sq, Skv), and which of them the types say.
SIZES = {
    "square": ((2, 2, 2, 130, 130), ()),
    "grouped": ((2, 4, 2, 70, 200), ()),
    "static": ((1, 4, 1, 140, 90), ("B", "Hq", "Hkv", "Sq", "Skv")),
    "few": ((2, 8, 2, 3, 150), ("Hq", "Hkv", "Sq")),
    "one": ((2, 8, 2, 1, 150), ("Hq", "Hkv", "Sq")),
}

#: Elements of 8 bits, which only some targets multiply.
NARROW = "f8E4M3FN"

FEATURES = {
    "element": ("bf16", "f16", "f32"),
    "dims": ((64, 64), (40, 72), (96, 80), (128, 128)),
    "layout": ("bhsd", "bshd"),
    "sizes": tuple(SIZES),
    "sequence": ("dense", "lengths", "packed"),
    "score": tuple(SCORES),
    "mask": tuple(MASKS),
    "blocks": ("none", "partial", "full"),
    "sinks": (False, True),
    "dropout": (False, True),
    "scale": ("default", "constant", "runtime"),
    "scales": ("none", "tensor", "heads", "mean"),
    "results": ("o", "o f32", "o lse", "o f32 lse"),
}


def conflicts(choice):
    """Whether the op refuses this."""
    packed = choice.get("sequence") == "packed"
    lists = packed and choice.get("blocks") in ("partial", "full")
    # The tolerance of f32 does not know scores that scales make larger.
    scaled = choice.get("scales", "none") != "none" and choice.get("element") == "f32"
    return lists or scaled or choice.get("scales") == "mean" and choice.get("dropout")


def pairs_of(choice):
    """The pairs that have been chosen so far, in the features' order."""
    chosen = [(name, choice[name]) for name in FEATURES if name in choice]
    return itertools.combinations(chosen, 2)


def covering(seed=1):
    """Programs, each a choice of every feature, in which all pairs occur."""
    rng = random.Random(seed)
    every = (
        ((a, x), (b, y)) for a, b in itertools.combinations(FEATURES, 2) for x in FEATURES[a] for y in FEATURES[b]
    )
    missing = [pair for pair in every if not conflicts(dict(pair))]
    programs = []
    while missing:
        tried = [complete(dict(rng.choice(missing)), set(missing), rng) for _ in range(30)]
        best = max(tried, key=lambda choice: len(set(missing).intersection(pairs_of(choice))))
        found = set(pairs_of(best))
        missing = [pair for pair in missing if pair not in found]
        programs.append(best)
    return programs


def complete(choice, missing, rng):
    """Chooses the other features so that many missing pairs occur."""
    rest = [name for name in FEATURES if name not in choice]
    rng.shuffle(rest)
    for name in rest:
        options = [{**choice, name: value} for value in FEATURES[name]]
        options = [option for option in options if not conflicts(option)]
        rng.shuffle(options)
        choice = max(options, key=lambda option: len(missing.intersection(pairs_of(option))))
    return choice


def program(choice):
    """The program as MLIR, and the sizes of its dimensions."""
    values, static = SIZES[choice["sizes"]]
    sizes = dict(zip(("B", "Hq", "Hkv", "Sq", "Skv"), values))
    if choice["sequence"] == "packed":
        sizes["B"] = 1
        sizes["N+1"] = 4
    d, dv = choice["dims"]

    def size(name):
        return str(sizes[name]) if name in static else "?"

    def tensor(heads, sequence, depth, element):
        dims = [size("B"), size(heads), size(sequence), str(depth)]
        if choice["layout"] == "bshd":
            dims[1], dims[2] = dims[2], dims[1]
        return f"tensor<{'x'.join(dims)}x{element}>"

    element = choice["element"]
    types = tensor("Hq", "Sq", d, element), tensor("Hkv", "Skv", d, element), tensor("Hkv", "Skv", dv, element)
    arguments = list(zip(("%q", "%k", "%v"), types))
    clauses = []

    def clause(keyword, operands, extra=""):
        arguments.extend(operands)
        names, kinds = (", ".join(part) for part in zip(*operands))
        clauses.append(f"{keyword}({names} : {kinds}{extra})")

    if choice["scale"] == "runtime":
        clause("scale", [("%scale", "f32")])
    elif choice["scale"] == "constant":
        clauses.append("scale(0.2)")
    if choice["scales"] != "none":
        batch = "?" if choice["sequence"] == "packed" else size("B")
        leading = "1x1" if choice["scales"] == "tensor" else f"{batch}x{size('Hkv')}"
        scales = {name: f"tensor<{leading}xf32>" for name in "qkv"}
        if choice["scales"] == "mean":
            scales["v_mean"] = f"tensor<{leading}x{dv}xf32>"
        names = ", ".join(f'"{name}"' for name in scales)
        clause("scales", [(f"%scale_{name}", kind) for name, kind in scales.items()], f", names = [{names}]")
    if choice["layout"] != "bhsd":
        clauses.append(f"layout({choice['layout']})")
    score_captures, score = SCORES[choice["score"]]
    mask_captures, mask = MASKS[choice["mask"]]
    captures = [(f"%{name}", type) for name, type in score_captures + mask_captures]
    if captures:
        clause("captures", captures)
    if choice["sequence"] == "lengths":
        clause("lengths", [("%n", f"tensor<{size('B')}xi32>")])
    elif choice["sequence"] == "packed":
        clause("packed", [("%cu_q", "tensor<?xi32>"), ("%cu_k", "tensor<?xi32>")])
    if choice["blocks"] != "none":
        kinds = ("partial", "full") if choice["blocks"] == "full" else ("partial",)
        lists = []
        for kind in kinds:
            lists += [(f"%{kind}_count", f"tensor<1x{size('Hq')}x?xi32>")]
            lists += [(f"%{kind}_index", f"tensor<1x{size('Hq')}x?x?xi32>")]
        clause("blocks", lists, ", size = [64, 32]")
    if choice["sinks"]:
        clause("sinks", [("%t", f"tensor<{size('Hq')}xf32>")])
    if choice["dropout"]:
        arguments.extend([("%seed", "i64"), ("%offset", "i64")])
        clauses.append("dropout(0.25, %seed, %offset)")
    coordinates = "%b: index, %h: index, %i: index, %j: index"
    inner = coordinates + "".join(f", {name}: {type}" for name, type in captures)
    if score:
        clauses.append(f"score_mod(%s: f32, {inner}) {{\n    {score}\n    attn.yield %r : f32\n  }}")
    if mask:
        clauses.append(f"mask_mod({inner}) {{\n    {mask}\n    attn.yield %keep : i1\n  }}")

    output = "f32" if "f32" in choice["results"] else "bf16" if element == NARROW else element
    results = [("%o", tensor("Hq", "Sq", dv, output))]
    if "lse" in choice["results"]:
        results.append(("%lse", f"tensor<{size('B')}x{size('Hq')}x{size('Sq')}xf32>"))
    names, kinds = (", ".join(part) for part in zip(*results))
    signature = ", ".join(f"{name}: {type}" for name, type in arguments)
    text = f"func.func @f({signature}) -> ({kinds}) {{\n  {names} = attn.forward %q, %k, %v"
    text += "".join(f" {each}" for each in clauses)
    text += f"\n    : {', '.join(types)} -> {kinds}\n  return {names} : {kinds}\n}}\n"

    dims = {name: number for name, number in sizes.items() if name not in static}
    shapes = {
        "slopes": (sizes["Hq"],),
        "column": (4, 200),
        "bias": (sizes["Hq"], sizes["Sq"], -(-sizes["Skv"] // 8) * 8),
        "distances": (sizes["Hq"], 40),
        "doc": (4, 200),
        "bits": (4, 200, 7),
    }
    for number, (name, _) in enumerate(score_captures + mask_captures):
        for dim, extent in enumerate(shapes.get(name, ())):
            dims[f"capture{number}.{dim}"] = extent
    if choice["sequence"] == "packed" and choice["scales"] in ("heads", "mean"):
        for name in ("q_scale", "k_scale", "v_scale", *["v_mean"] * (choice["scales"] == "mean")):
            dims[f"{name}.0"] = sizes["N+1"] - 1
    if choice["blocks"] != "none":
        dims["partial_index.3"] = 3
    if choice["blocks"] == "full":
        dims["full_index.3"] = 2
    return text, dims


def main(fovea_run, target, level="warp"):
    failed = False
    if target == "sm_90a":
        FEATURES["element"] += (NARROW,)
    for choice in covering():
        text, dims = program(choice)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "program.mlir"
            path.write_text(text)
            command = [fovea_run, str(path), f"--level={level}", f"--target={target}", "--check"]
            command += ["--random=1", "--integers=0:130", *(f"--dims={name}={size}" for name, size in dims.items())]
            result = subprocess.run(command, capture_output=True, text=True)
        print(*(f"{name}={value}" for name, value in choice.items()), end=": ")
        print("passed" if result.returncode == 0 else "FAILED", flush=True)
        if result.returncode != 0:
            failed = True
            print(" ".join(command), text, result.stdout, result.stderr, sep="\n")
    return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
