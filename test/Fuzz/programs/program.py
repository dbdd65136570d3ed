"""A program: two functions, their captured tensors, and the form of the call. It is text that can
be saved, edited and run.
"""

import ast
import dataclasses
import pprint

from aten import AtenRegion
from captures import Captured
from dialects import DIALECTS
from expressions import Region
from nodes import Node

HEAD_DIMS = (16, 32, 64, 24, 48, 80, 128, 8, 40, 256, 160, 192, 144)
SCHEDULES = (
    "tile_n=32", "tile_n=64", "tile_m=64,tile_n=64,warps=4", "tile_m=128,tile_n=64,warps=8",
    "stages=2", "stages=1", "query_in_registers=0", "query_in_registers=1", "classify=0", "classify=1", "work=single,chain=0",
    "work=dynamic", "work=static", "chain=0", "chain=1", "chain=2", "sum_by_dot=0", "sum_by_dot=1", "longest_first=0", "overlap=1",
    "overlap=0", "output=tma", "output=memory", "score_stages=2", "ping_pong=1", "add_by_dot=1", "add_by_dot=0", "key_stages=2",
    "tile_n=128", "tile_n=112", "softmax_part=50",
)
SMALL_BLOCKS = "tile_m=64,tile_n=32,warps=4"
RECURRENCES = ("deferred", "conditional", "lazy", "normalized", "three-pass")
#: A bound that |score| rarely exceeds for normal inputs; and the error of scores relative to it.
SCORE, SCORE_ERROR = 8.0, 2.0**-19


@dataclasses.dataclass
class Program:
    front_end: str
    form: dict
    captures: dict
    source: str
    note: str = ""

    def __str__(self):
        """The text of a corpus file."""
        captures = {name: captured.describe() for name, captured in self.captures.items()}
        note = f'"""{self.note}"""\n\n' if self.note else ""
        form = {name: value for name, value in self.form.items() if value != DEFAULTS[name]}
        form, captures = (pprint.pformat(one, width=118, compact=True, sort_dicts=False) for one in (form, captures))
        return f"{note}FRONT_END = {self.front_end!r}\n\nFORM = {form}\n\nCAPTURES = {captures}\n\n\n{self.source}"

    @classmethod
    def parse(cls, text):
        """The opposite. Raises ValueError."""
        tree = ast.parse(text)
        found = {}
        functions = []
        for statement in tree.body:
            if isinstance(statement, ast.Assign):
                found[statement.targets[0].id] = ast.literal_eval(statement.value)
            elif isinstance(statement, ast.FunctionDef):
                functions.append(ast.get_source_segment(text, statement))
        missing = {"FRONT_END", "FORM", "CAPTURES"} - set(found)
        if missing:
            raise ValueError(f"a program has no {', '.join(sorted(missing))}")
        captures = {name: Captured(**fields) for name, fields in found["CAPTURES"].items()}
        return cls(found["FRONT_END"], {**DEFAULTS, **found["FORM"]}, captures, "\n\n\n".join(functions) + "\n",
                   ast.get_docstring(tree) or "")

    def names(self):
        return [name for name in ("score_mod", "mask_mod") if f"def {name}(" in self.source]


#: The form of a program; the simplest value of each.
DEFAULTS = {
    "dtype": "bf16", "head_dim": 16, "value_head_dim": 16, "batch": 1, "heads": 1, "kv_heads": 1, "queries": 1, "keys": 1,
    "layout": "bhsd", "sequences": "dense", "lengths": None, "cu_q": None, "cu_k": None, "blocks": None, "lists": None,
    "sinks": False, "dropout": 0.0, "scale": None, "lse": True, "output_dtype": None, "static": (), "query_scale": 1.0,
    "value_scale": 1.0, "schedule": "auto", "recurrence": "auto", "accurate_tanh": False, "seed": 0, "strided": False,
    "score_error": 0.0, "guard": None,
}


def draw_length(source, longest):
    """Mostly a few blocks, and sizes around their ends."""
    kind = source.weighted([(3, "few"), (3, "any"), (2, "end")])
    if kind == "few":
        return source.between(1, min(longest, 20))
    if kind == "any":
        return source.between(1, longest)
    return min(longest, source.choose((16, 32, 64, 128)) + source.between(-1, 1))


def cuts(source, count, total):
    """Offsets of `count` sequences; some are empty."""
    return [0, *sorted(source.between(0, total) for _ in range(count - 1)), total]


def draw_form(source, front_end):
    form = dict(DEFAULTS)
    form["kv_heads"] = source.weighted([(5, 1), (3, 2)])
    form["heads"] = form["kv_heads"] * source.weighted([(5, 1), (3, 2), (1, 3), (1, 4)])
    form["batch"] = source.weighted([(6, 1), (2, 2), (1, 3)])
    form["queries"], form["keys"] = draw_length(source, 80), draw_length(source, 150)
    if source.chance(12):
        form["keys"] = source.between(151, 400)
    if source.chance(12):
        form["queries"] = source.between(81, 300)
    if source.chance(15):
        form["queries"] = form["keys"] = min(form["queries"], 129)
    form["head_dim"] = source.weighted([(6, 16), (4, 32), (2, 64), *((1, dim) for dim in HEAD_DIMS[3:])])
    form["value_head_dim"] = form["head_dim"] if not source.chance(12) else source.choose(HEAD_DIMS)
    form["dtype"] = source.weighted([(3, "bf16"), (2, "f16"), (1, "f32")])
    form["accurate_tanh"] = source.chance(50)
    form["lse"] = not source.chance(15)
    form["query_scale"] = source.weighted([(16, 1.0), (1, 0.001), (2, 8.0), (1, 100.0)])
    form["value_scale"] = source.weighted([(16, 1.0), (1, 1e-6 if form["dtype"] == "f16" else 1e-28), (1, 1e4)])
    form["scale"] = source.weighted([(8, None), (1, 0.37), (1, -0.25)])
    # Blocks of few keys: several of them in short sequences.
    form["schedule"] = source.weighted([(12, "auto"), (7, SMALL_BLOCKS), (2, source.choose(SCHEDULES))])
    if source.chance(10):
        form["recurrence"] = source.choose(RECURRENCES)
    form["strided"] = source.chance(20)
    form["seed"] = source.below(1 << 16)
    if front_end == "fovea":
        draw_plain_form(source, form)
    elif source.chance(25):
        # A BlockMask, of such blocks.
        form["blocks"] = {"queries": source.choose((16, 32, 64, 128)), "keys": source.choose((16, 32, 64, 128))}
    return form


def draw_plain_form(source, form):
    form["layout"] = source.weighted([(3, "bhsd"), (1, "bshd")])
    form["output_dtype"] = source.weighted([(8, None), (1, "f32")])
    form["sinks"] = source.chance(8)
    form["dropout"] = source.weighted([(12, 0.0), (1, 0.25)])
    if source.chance(5):
        form["scale"] = "runtime"
    static = ("batch", "heads", "kv_heads", "query_length", "key_length")
    # With all sizes known, few queries of heads that share keys become one tile's rows.
    whole = source.chance(12)
    form["static"] = tuple(name for name in static if whole or source.chance(10))
    form["sequences"] = source.weighted([(8, "dense"), (2, "lengths"), (2, "packed")])
    if form["sequences"] == "lengths":
        form["lengths"] = [source.between(0, form["keys"]) for _ in range(form["batch"])]
    elif form["sequences"] == "packed":
        count = source.between(1, 4)
        form["batch"], form["static"] = 1, tuple(name for name in form["static"] if name != "batch")
        form["cu_q"], form["cu_k"] = cuts(source, count, form["queries"]), cuts(source, count, form["keys"])
    if source.chance(1):
        form["keys"], form["sequences"], form["cu_q"], form["cu_k"] = 0, "dense", None, None
        form["lengths"], form["static"] = None, ()
    elif form["sequences"] != "packed" and source.chance(12):
        sizes = (16, 32, 64, 128)
        form["blocks"] = {
            "queries": source.choose(sizes), "keys": source.choose(sizes), "full": source.chance(50),
            "per_batch": source.chance(50), "per_head": source.chance(50)}


def extents(form):
    """Mask expressions of the coordinates."""
    if form["sequences"] != "packed":
        return form["batch"], form["heads"], form["queries"], max(form["keys"], 1)
    longest = [max(b - a for a, b in zip(cuts, cuts[1:])) for cuts in (form["cu_q"], form["cu_k"])]
    return len(form["cu_q"]) - 1, form["heads"], max(longest[0], 1), max(longest[1], 1)


def score_node(form):
    scale = form["scale"] if isinstance(form["scale"], float) else 0.5 if form["scale"] else form["head_dim"] ** -0.5
    largest = SCORE * max(1.0, abs(form["query_scale"])) * max(1.0, abs(scale) * form["head_dim"] ** 0.5)
    return Node("score", "float", -largest, largest, None, SCORE_ERROR * largest, scored=True)


def function_text(name, arguments, lines):
    return f"def {name}({', '.join(arguments)}):\n" + "".join(f"    {line}\n" for line in lines)


def draw(source, front_end=None):
    """A program; the choices are the source's."""
    front_end = front_end or source.weighted([(3, "fovea"), (2, "torch")])
    dialect = DIALECTS[front_end]
    form, captures, parts = draw_form(source, front_end), {}, []
    kind = source.weighted([(5, "score_mod"), (3, "mask_mod"), (5, "both")])
    sizes = extents(form)
    region_class = AtenRegion if front_end == "torch" else Region
    lists = form["blocks"] and form["blocks"].get("full")  # full blocks don't ask the mask
    if front_end == "fovea" and kind == "both" and sizes[3] > 1 and not lists and source.chance(10):
        # The mask hides keys that captured tensors don't have.
        form["guard"] = source.between(1, sizes[3] - 1)
    if kind != "score_mod":
        region = region_class(source, dialect, sizes, captures, accurate_tanh=form["accurate_tanh"])
        lines = region.finish(region.mask())
        if form["guard"]:
            lines[-1] = f"return (kv_idx < {form['guard']}) & ({lines[-1][len('return '):]})"
        parts.append(("mask_mod", Region.arguments, lines, region.used))
    if kind != "mask_mod":
        own = captures
        if form["guard"]:
            sizes, own = (*sizes[:3], form["guard"]), {}
        score = score_node(form)
        region = region_class(source, dialect, sizes, captures if own is captures else Offset(captures), score,
                              form["accurate_tanh"])
        region.lengths = extents(form)[2:]  # keys that the mask hides count, too
        node = region.scores()
        form["score_error"] = float(node.error)
        parts.append(("score_mod", ("score", *Region.arguments), region.finish(node), region.used))
    if front_end == "torch":
        for captured in captures.values():
            captured.view = source.weighted([(4, "plain"), (1, "every_other"), (1, "transposed"), (1, "offset")])
            captured.static = False
    texts = []
    for name, arguments, lines, used in reversed(parts):
        body = "\n".join(lines)
        own = () if front_end == "torch" else [one for one in dict.fromkeys(used) if one in body]
        texts.append(function_text(name, (*arguments, *own), lines))
    source_text = "\n\n".join(texts)
    kept = {name: captured for name, captured in captures.items() if name in source_text}
    return Program(front_end, form, kept, source_text)


class Offset(dict):
    """Captured tensors of one function: not those that the other one has read."""

    def __init__(self, others):
        super().__init__()
        self._others = others

    def __len__(self):
        return len(self._others)

    def __setitem__(self, name, captured):
        super().__setitem__(name, captured)
        self._others[name] = captured
