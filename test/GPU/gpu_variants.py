"""Attention variants, each as attn IR and as torch functions.

`python gpu_variants.py NAME` prints the program of a kernel, for example of
`causal_bf16_d64_bhsd` or `window_f16_d80_dv128_bshd`; `--list` the variants;
`--no-lse` leaves the log-sum-exp result out, as inference does.
Nothing here needs torch: the torch functions only use methods of what they are
given.
"""

import argparse
import dataclasses
import re

WINDOW = 100
PREFIX = 96
CHUNK = 192
SHIFT = 70
CAP = 30.0
DILATION = 4
STRIDE = 320
SUMMARY = 64
WIDTH = 96
RADIUS = 5
BUTTERFLY = 32
DOCUMENT = 150
DISTANCE = 100
# The limit of distances of a table that is written with constants.
NEAR = 32


def table_of_distances(reach):
    """A score_mod: a bias by head and distance, clamped by constants, so that many
    blocks have one value. The table has a column for each distance up to `reach`."""
    return f"""%reach = arith.constant {reach} : index
      %least = arith.constant 0 : index
      %most = arith.constant {2 * reach} : index
      %distance = arith.subi %j, %i : index
      %shifted = arith.addi %distance, %reach : index
      %lower = arith.maxsi %shifted, %least : index
      %column = arith.minsi %lower, %most : index
      %bias = tensor.extract %t0[%h, %column] : tensor<?x?xf32>
      %r = arith.addf %s, %bias : f32
      attn.yield %r : f32"""


@dataclasses.dataclass(frozen=True)
class Capture:
    """A captured tensor: its element type, and which size each dimension has,
    by name or as a number. Floats are small random numbers; integers number the
    documents, of about DOCUMENT positions, that lie in the last dimension, and
    truth values change with them. Of "bits" there are 32 to an i32 along the
    last dimension."""

    dtype: str
    dims: tuple

    @property
    def element(self):
        return "i32" if self.dtype == "bits" else self.dtype


@dataclasses.dataclass(frozen=True)
class Blocks:
    """Lists of blocks: queries and keys of a block, whether there is a list of
    full ones, and whether lists differ between batch entries and heads."""

    query: int
    key: int
    full: bool = False
    by_batch: bool = True
    by_head: bool = True

    @property
    def names(self):
        """The lists, in the order in which they follow a variant's captures."""
        kinds = ("partial", "full") if self.full else ("partial",)
        return [f"{kind}_{part}" for kind in kinds for part in ("count", "index")]


@dataclasses.dataclass(frozen=True)
class Variant:
    """A variant: the bodies of its regions, and the same function in torch.

    The torch functions get index tensors b, h, i, j that broadcast to
    (B, Hq, Sq, Skv), the sizes (an object with B, Hq, Hkv, Sq, Skv) and the
    captured tensors, then the lists of blocks.
    """

    score_mod: str = ""
    mask_mod: str = ""
    captures: tuple = ()
    mask: object = None
    score: object = None
    lengths: bool = False
    packed: bool = False
    sinks: bool = False
    dropout: float = 0.0
    runtime_scale: bool = False
    blocks: object = None
    # Further options of fovea-compile, and how far off a score may be for what
    # it computes with.
    options: tuple = ()
    # Targets that compile the variant; all if empty.
    targets: tuple = ()
    score_error: float = 0.0


CAUSAL = """%keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1"""

CAUSAL_BOTTOM_RIGHT = """%m = attn.query_length
      %n = attn.key_length
      %x = arith.subi %i, %m : index
      %y = arith.subi %j, %n : index
      %keep = arith.cmpi sge, %x, %y : index
      attn.yield %keep : i1"""

WINDOWED = f"""%w = arith.constant {WINDOW} : index
      %d = arith.subi %i, %j : index
      %near = arith.cmpi slt, %d, %w : index
      %past = arith.cmpi sge, %i, %j : index
      %keep = arith.andi %near, %past : i1
      attn.yield %keep : i1"""
SHIFTED = f"""%c = arith.constant {SHIFT} : index
      %js = arith.addi %j, %c : index
      %keep = arith.cmpi sge, %i, %js : index
      attn.yield %keep : i1"""


def _alibi_score(s, b, h, i, j, sizes, captures):
    return s + captures[0].to(s.dtype)[h] * (j - i)


def _logarithmic_score(s, b, h, i, j, sizes, captures):
    return s - captures[0].to(s.dtype)[h] * ((i - j).abs() + 1).to(s.dtype).log()


def _distance_score(s, b, h, i, j, sizes, captures):
    last = captures[0].shape[1] - 1
    return s + captures[0][h, (j - i + last // 2).clamp(0, last)]


def _prefix_mask(b, h, i, j, sizes, captures):
    return (j <= i) | (j < PREFIX)


def _listed(count, index, block, b, h, i, j, sizes):
    """The keys that lie in a block of the block-sparse list."""
    blocks = -(-sizes.Skv // block.key)
    slot = index.new_ones(index.shape[-1]).cumsum(0) - 1
    counts = (slot < count[..., None]) & (index >= 0) & (index < blocks)
    table = index.new_zeros(*index.shape[:-1], blocks + 1)
    table = table.scatter(-1, index.masked_fill(~counts, blocks).long(), 1)
    b, h = (at * (extent > 1) for at, extent in ((b, table.shape[0]), (h, table.shape[1])))
    return table[b, h, i // block.query, j // block.key] > 0


LISTED = Blocks(64, 64)
MASKED = Blocks(128, 64, full=True, by_batch=False)


def _block_mask(b, h, i, j, sizes, captures):
    partial, full = (_listed(*lists, MASKED, b, h, i, j, sizes) for lists in (captures[:2], captures[2:]))
    return full | (partial & (i >= j))


def _document_mask(b, h, i, j, sizes, captures):
    queries, keys = captures
    return (queries[b, i] == keys[b, j]) & (i >= j)


def _timed_mask(b, h, i, j, sizes, captures):
    queries, keys, valid = captures
    return (queries[b, i] >= keys[b, j]) & valid[b, j]


def _rounds_mask(b, h, i, j, sizes, captures):
    queries, keys = captures
    return queries[b, i] % 3 == keys[b, j] % 3


def _global_mask(b, h, i, j, sizes, captures):
    return (i >= j) & ((i - j < WINDOW) | (j < SUMMARY) | (j % STRIDE == 0))


def _strided_mask(b, h, i, j, sizes, captures):
    return (i >= j) & ((i - j < WINDOW) | (j % STRIDE >= STRIDE - SUMMARY))


def _neighbourhood_mask(b, h, i, j, sizes, captures):
    column = (i % WIDTH).clamp(RADIUS, WIDTH - 1 - RADIUS)
    return ((i // WIDTH - j // WIDTH).abs() <= RADIUS) & ((column - j % WIDTH).abs() <= RADIUS)


def _clamped_mask(b, h, i, j, sizes, captures):
    row, column = ((x.clamp(RADIUS, WIDTH - 1 - RADIUS)) for x in (i // WIDTH, i % WIDTH))
    return ((row - j // WIDTH).abs() <= RADIUS) & ((column - j % WIDTH).abs() <= RADIUS)


def _tree_mask(b, h, i, j, sizes, captures):
    node = j - (sizes.Skv - sizes.Sq)
    return (node < 0) | ((captures[0][b, i, 0] >> (node & 31)) & 1 == 1)


def _butterfly_mask(b, h, i, j, sizes, captures):
    differ = (i // BUTTERFLY) ^ (j // BUTTERFLY)
    return (differ & (differ - 1)) == 0


VARIANTS = {
    "dense": Variant(),
    "scaled": Variant(runtime_scale=True),
    "lengths": Variant(lengths=True),
    "causal": Variant(mask_mod=CAUSAL, mask=lambda b, h, i, j, sizes, captures: i >= j),
    # Aligned to the bottom right: the last query sees all keys.
    "causalbr": Variant(
        mask_mod=CAUSAL_BOTTOM_RIGHT,
        mask=lambda b, h, i, j, sizes, captures: i - sizes.Sq >= j - sizes.Skv,
    ),
    # Learned per head, in windows.
    "sinks": Variant(
        sinks=True,
        mask_mod=WINDOWED,
        mask=lambda b, h, i, j, sizes, captures: (i >= j) & (i - j < WINDOW),
    ),
    # Some rows have only their sink to attend to.
    "sinksempty": Variant(
        sinks=True,
        mask_mod=SHIFTED,
        mask=lambda b, h, i, j, sizes, captures: i >= j + SHIFT,
    ),
    "dropout": Variant(
        dropout=0.25,
        mask_mod=CAUSAL,
        mask=lambda b, h, i, j, sizes, captures: i >= j,
    ),
    # Each sequence aligned to its own end.
    "packed": Variant(
        packed=True,
        mask_mod=CAUSAL_BOTTOM_RIGHT,
        mask=lambda b, h, i, j, sizes, captures: i - sizes.Sq >= j - sizes.Skv,
    ),
    # Where no mask leaves out blocks, sequences come in an order of their own.
    "packedfull": Variant(packed=True),
    "window": Variant(
        mask_mod=WINDOWED,
        mask=lambda b, h, i, j, sizes, captures: (i >= j) & (i - j < WINDOW),
    ),
    "prefix": Variant(
        mask_mod=f"""%p = arith.constant {PREFIX} : index
      %in = arith.cmpi slt, %j, %p : index
      %past = arith.cmpi sge, %i, %j : index
      %keep = arith.ori %in, %past : i1
      attn.yield %keep : i1""",
        mask=_prefix_mask,
    ),
    "chunked": Variant(
        mask_mod=f"""%c = arith.constant {CHUNK} : index
      %ic = arith.divui %i, %c : index
      %jc = arith.divui %j, %c : index
      %same = arith.cmpi eq, %ic, %jc : index
      %past = arith.cmpi sge, %i, %j : index
      %keep = arith.andi %same, %past : i1
      attn.yield %keep : i1""",
        mask=lambda b, h, i, j, sizes, captures: (i // CHUNK == j // CHUNK) & (i >= j),
    ),
    # Masks with holes: ranges of keys do not describe them.
    "dilated": Variant(
        mask_mod=f"""%w = arith.constant {4 * WINDOW} : index
      %n = arith.constant {DILATION} : index
      %zero = arith.constant 0 : index
      %d = arith.subi %i, %j : index
      %near = arith.cmpi ult, %d, %w : index
      %r = arith.remsi %d, %n : index
      %on = arith.cmpi eq, %r, %zero : index
      %keep = arith.andi %near, %on : i1
      attn.yield %keep : i1""",
        mask=lambda b, h, i, j, sizes, captures: (i >= j) & (i - j < 4 * WINDOW) & ((i - j) % DILATION == 0),
    ),
    "strided": Variant(
        mask_mod=f"""%w = arith.constant {WINDOW} : index
      %n = arith.constant {STRIDE} : index
      %start = arith.constant {STRIDE - SUMMARY} : index
      %d = arith.subi %i, %j : index
      %near = arith.cmpi slt, %d, %w : index
      %r = arith.remui %j, %n : index
      %summary = arith.cmpi uge, %r, %start : index
      %shown = arith.ori %near, %summary : i1
      %past = arith.cmpi sge, %i, %j : index
      %keep = arith.andi %shown, %past : i1
      attn.yield %keep : i1""",
        mask=_strided_mask,
    ),
    "global": Variant(
        mask_mod=f"""%w = arith.constant {WINDOW} : index
      %n = arith.constant {STRIDE} : index
      %p = arith.constant {SUMMARY} : index
      %zero = arith.constant 0 : index
      %d = arith.subi %i, %j : index
      %near = arith.cmpi slt, %d, %w : index
      %first = arith.cmpi slt, %j, %p : index
      %r = arith.remui %j, %n : index
      %on = arith.cmpi eq, %r, %zero : index
      %a = arith.ori %near, %first : i1
      %shown = arith.ori %a, %on : i1
      %past = arith.cmpi sge, %i, %j : index
      %keep = arith.andi %shown, %past : i1
      attn.yield %keep : i1""",
        mask=_global_mask,
    ),
    "neighbourhood": Variant(
        mask_mod=f"""%w = arith.constant {WIDTH} : index
      %r = arith.constant {RADIUS} : index
      %size = arith.constant {2 * RADIUS + 1} : index
      %last = arith.constant {WIDTH - 1 - RADIUS} : index
      %ir = arith.divui %i, %w : index
      %ic = arith.remui %i, %w : index
      %jr = arith.divui %j, %w : index
      %jc = arith.remui %j, %w : index
      %low = arith.maxsi %ic, %r : index
      %c = arith.minsi %low, %last : index
      %dr = arith.subi %ir, %jr : index
      %dc = arith.subi %c, %jc : index
      %er = arith.addi %dr, %r : index
      %ec = arith.addi %dc, %r : index
      %nr = arith.cmpi ult, %er, %size : index
      %nc = arith.cmpi ult, %ec, %size : index
      %keep = arith.andi %nr, %nc : i1
      attn.yield %keep : i1""",
        mask=_neighbourhood_mask,
    ),
    # FlexAttention's way to write it: neighbourhoods that stay in a square.
    "clamped": Variant(
        mask_mod=f"""%w = arith.constant {WIDTH} : index
      %r = arith.constant {RADIUS} : index
      %last = arith.constant {WIDTH - 1 - RADIUS} : index
      %ir = arith.floordivsi %i, %w : index
      %ic = arith.remsi %i, %w : index
      %jr = arith.floordivsi %j, %w : index
      %jc = arith.remsi %j, %w : index
      %rlow = arith.maxsi %ir, %r : index
      %row = arith.minsi %rlow, %last : index
      %clow = arith.maxsi %ic, %r : index
      %column = arith.minsi %clow, %last : index
      %dr = arith.subi %row, %jr : index
      %dc = arith.subi %column, %jc : index
      %ar = math.absi %dr : index
      %ac = math.absi %dc : index
      %nr = arith.cmpi sle, %ar, %r : index
      %nc = arith.cmpi sle, %ac, %r : index
      %keep = arith.andi %nr, %nc : i1
      attn.yield %keep : i1""",
        mask=_clamped_mask,
    ),
    "butterfly": Variant(
        mask_mod=f"""%n = arith.constant {BUTTERFLY} : index
      %one = arith.constant 1 : index
      %zero = arith.constant 0 : index
      %ib = arith.divui %i, %n : index
      %jb = arith.divui %j, %n : index
      %x = arith.xori %ib, %jb : index
      %y = arith.subi %x, %one : index
      %z = arith.andi %x, %y : index
      %keep = arith.cmpi eq, %z, %zero : index
      attn.yield %keep : i1""",
        mask=_butterfly_mask,
    ),
    "documents": Variant(
        captures=(Capture("i32", ("B", "Sq")), Capture("i32", ("B", "Skv"))),
        mask_mod="""%x = tensor.extract %t0[%b, %i] : tensor<?x?xi32>
      %y = tensor.extract %t1[%b, %j] : tensor<?x?xi32>
      %same = arith.cmpi eq, %x, %y : i32
      %past = arith.cmpi sge, %i, %j : index
      %keep = arith.andi %same, %past : i1
      attn.yield %keep : i1""",
        mask=_document_mask,
    ),
    # Other element types; interleaved documents.
    "timed": Variant(
        captures=(Capture("i64", ("B", "Sq")), Capture("i64", ("B", "Skv")), Capture("i1", ("B", "Skv"))),
        mask_mod="""%x = tensor.extract %t0[%b, %i] : tensor<?x?xi64>
      %y = tensor.extract %t1[%b, %j] : tensor<?x?xi64>
      %valid = tensor.extract %t2[%b, %j] : tensor<?x?xi1>
      %past = arith.cmpi sge, %x, %y : i64
      %keep = arith.andi %past, %valid : i1
      attn.yield %keep : i1""",
        mask=_timed_mask,
    ),
    # A triangle that captured values shift, in each entry of the batch.
    "shifted": Variant(
        captures=(Capture("i64", ("B",)),),
        mask_mod="""%shift = tensor.extract %t0[%b] : tensor<?xi64>
      %wide = arith.index_cast %shift : i64 to index
      %c7 = arith.constant 7 : index
      %more = arith.addi %wide, %c7 : index
      %place = arith.addi %i, %more : index
      %keep = arith.cmpi sge, %place, %j : index
      attn.yield %keep : i1""",
        mask=lambda b, h, i, j, sizes, captures: i + captures[0][b] + 7 >= j,
    ),
    # A captured value for each key.
    "columns": Variant(
        captures=(Capture("bf16", ("Hq", "Skv")),),
        score_mod="""%x = tensor.extract %t0[%h, %j] : tensor<?x?xbf16>
      %bias = arith.extf %x : bf16 to f32
      %r = arith.addf %s, %bias : f32
      attn.yield %r : f32""",
        score=lambda s, b, h, i, j, sizes, captures: s + captures[0].to(s.dtype)[h, j],
    ),
    "rounds": Variant(
        captures=(Capture("i32", ("B", "Sq")), Capture("i32", ("B", "Skv"))),
        mask_mod="""%c3 = arith.constant 3 : i32
      %x = tensor.extract %t0[%b, %i] : tensor<?x?xi32>
      %y = tensor.extract %t1[%b, %j] : tensor<?x?xi32>
      %rx = arith.remsi %x, %c3 : i32
      %ry = arith.remsi %y, %c3 : i32
      %keep = arith.cmpi eq, %rx, %ry : i32
      attn.yield %keep : i1""",
        mask=_rounds_mask,
    ),
    # The first SHIFT queries have nothing to attend to.
    "empty": Variant(
        mask_mod=SHIFTED,
        mask=lambda b, h, i, j, sizes, captures: i >= j + SHIFT,
    ),
    "softcap": Variant(
        options=("--accurate-tanh",),
        score_mod=f"""%cap = arith.constant {CAP:.1f} : f32
      %x = arith.divf %s, %cap : f32
      %t = math.tanh %x : f32
      %r = arith.mulf %t, %cap : f32
      attn.yield %r : f32""",
        mask_mod=CAUSAL,
        score=lambda s, b, h, i, j, sizes, captures: CAP * (s / CAP).tanh(),
        mask=lambda b, h, i, j, sizes, captures: i >= j,
        # Some units in the last place of a tanh near 1.
        score_error=CAP * 2.0**-22,
    ),
    "alibi": Variant(
        captures=(Capture("f32", ("Hq",)),),
        score_mod="""%slope = tensor.extract %t0[%h] : tensor<?xf32>
      %d = arith.subi %j, %i : index
      %di = arith.index_cast %d : index to i32
      %df = arith.sitofp %di : i32 to f32
      %bias = arith.mulf %slope, %df : f32
      %r = arith.addf %s, %bias : f32
      attn.yield %r : f32""",
        mask_mod=CAUSAL,
        score=_alibi_score,
        mask=lambda b, h, i, j, sizes, captures: i >= j,
    ),
    # A bias for each score: blocks of it are copied.
    "bias": Variant(
        captures=(Capture("bf16", ("Hq", "Sq", "Skv")),),
        score_mod="""%x = tensor.extract %t0[%h, %i, %j] : tensor<?x?x?xbf16>
      %wide = arith.extf %x : bf16 to f32
      %r = arith.addf %s, %wide : f32
      attn.yield %r : f32""",
        mask_mod=CAUSAL,
        score=lambda s, b, h, i, j, sizes, captures: s + captures[0].to(s.dtype)[h, i, j],
        mask=lambda b, h, i, j, sizes, captures: i >= j,
    ),
    # A bit for each pair, 32 keys to a word.
    "bitmask": Variant(
        captures=(Capture("bits", ("B", "Sq", "Skv")),),
        mask_mod="""%c32 = arith.constant 32 : index
      %at = arith.divui %j, %c32 : index
      %bit = arith.remui %j, %c32 : index
      %bit32 = arith.index_cast %bit : index to i32
      %word = tensor.extract %t0[%b, %i, %at] : tensor<?x?x?xi32>
      %shifted = arith.shrui %word, %bit32 : i32
      %keep = arith.trunci %shifted : i32 to i1
      attn.yield %keep : i1""",
        mask=lambda b, h, i, j, sizes, captures: (captures[0][b, i, j // 32] >> (j % 32)) & 1 == 1,
    ),
    # The last queries' keys are a tree, of at most 32 nodes.
    "tree": Variant(
        captures=(Capture("bits", ("B", "Sq", "Sq")),),
        mask_mod="""%n = attn.key_length
      %m = attn.query_length
      %c0 = arith.constant 0 : index
      %c31 = arith.constant 31 : i32
      %root = arith.subi %n, %m : index
      %before = arith.cmpi slt, %j, %root : index
      %node = arith.subi %j, %root : index
      %node32 = arith.index_cast %node : index to i32
      %bit = arith.andi %node32, %c31 : i32
      %word = tensor.extract %t0[%b, %i, %c0] : tensor<?x?x?xi32>
      %shifted = arith.shrui %word, %bit : i32
      %ancestor = arith.trunci %shifted : i32 to i1
      %keep = arith.ori %before, %ancestor : i1
      attn.yield %keep : i1""",
        mask=_tree_mask,
    ),
    # T5: a value for each head and distance, up to a limit.
    "distances": Variant(
        captures=(Capture("f32", ("Hq", 2 * DISTANCE + 1)),),
        score_mod="""%zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %two = arith.constant 2 : index
      %size = tensor.dim %t0, %one : tensor<?x?xf32>
      %last = arith.subi %size, %one : index
      %middle = arith.divui %last, %two : index
      %d = arith.subi %j, %i : index
      %n = arith.addi %d, %middle : index
      %low = arith.maxsi %n, %zero : index
      %place = arith.minsi %low, %last : index
      %bias = tensor.extract %t0[%h, %place] : tensor<?x?xf32>
      %r = arith.addf %s, %bias : f32
      attn.yield %r : f32""",
        score=_distance_score,
    ),
    "table": Variant(
        captures=(Capture("f32", ("Hq", 2 * NEAR + 1)),),
        score_mod=table_of_distances(NEAR),
        score=_distance_score,
    ),
    "tablecausal": Variant(
        captures=(Capture("f32", ("Hq", 2 * NEAR + 1)),),
        score_mod=table_of_distances(NEAR),
        score=_distance_score,
        mask_mod=CAUSAL,
        mask=lambda b, h, i, j, sizes, captures: i >= j,
    ),
    # KERPLE: a function of the distance, without a table.
    "logarithmic": Variant(
        captures=(Capture("f32", ("Hq",)),),
        score_mod="""%one = arith.constant 1.0 : f32
      %slope = tensor.extract %t0[%h] : tensor<?xf32>
      %d = arith.subi %i, %j : index
      %far = math.absi %d : index
      %integer = arith.index_cast %far : index to i32
      %x = arith.sitofp %integer : i32 to f32
      %y = arith.addf %x, %one : f32
      %l = math.log %y : f32
      %bias = arith.mulf %slope, %l : f32
      %r = arith.subf %s, %bias : f32
      attn.yield %r : f32""",
        score=_logarithmic_score,
    ),
    # Blocks that a list gives, and those with a mask in some of them.
    "blocksparse": Variant(
        blocks=LISTED,
        mask=lambda b, h, i, j, sizes, captures: _listed(*captures, LISTED, b, h, i, j, sizes),
    ),
    "blockmask": Variant(mask_mod=CAUSAL, blocks=MASKED, mask=_block_mask),
}

# tanh as the hardware instruction.
VARIANTS["fastcap"] = dataclasses.replace(VARIANTS["softcap"], options=(), score_error=CAP * 2.0**-11)

# Packed sequences in the caller's order.
for name in ("packed", "packedfull"):
    VARIANTS[name + "other"] = dataclasses.replace(VARIANTS[name], options=("--schedule=longest_first=0",))

# Output by TMA: through the buffer that the schedule chooses, and
# through the query's.
for name in ("dense", "causal"):
    VARIANTS["tma" + name] = dataclasses.replace(VARIANTS[name], options=("--schedule=output=tma",), targets=("sm_90a",))
VARIANTS["tmaquery"] = dataclasses.replace(VARIANTS["tmacausal"], options=("--schedule=output=tma,output_stages=0",))

# CTAs of a cluster that part a bias's rows.
VARIANTS["clusterbias"] = dataclasses.replace(
    VARIANTS["bias"], options=("--schedule=cluster=2,work=static",), targets=("sm_90a",)
)

# Variants that the numeric grid must cover; the others are checked for some head dims.
REQUIRED = ("dense", "causal", "window", "prefix", "softcap", "alibi")


@dataclasses.dataclass(frozen=True)
class Config:
    """One kernel: a variant, element type, head dims and layout, and whether it
    writes the log-sum-exp. Sizes are dynamic unless `static` gives (B, Hq, Hkv,
    Sq, Skv)."""

    variant: str
    dtype: str = "bf16"
    d: int = 64
    dv: int = 0
    layout: str = "bhsd"
    static: tuple = ()
    lse: bool = True

    @property
    def value_dim(self):
        return self.dv or self.d

    @property
    def name(self):
        dv = f"_dv{self.dv}" if self.dv and self.dv != self.d else ""
        sizes = "".join(f"_{size}" for size in self.static)
        return f"{self.variant}_{self.dtype}_d{self.d}{dv}_{self.layout}{sizes}{'' if self.lse else '_nolse'}"

    @staticmethod
    def parse(name):
        match = re.fullmatch(r"([a-z]+)_(f16|bf16)_d(\d+)(?:_dv(\d+))?_(bhsd|bshd)((?:_\d+){5})?(_nolse)?", name)
        if not match or match[1] not in VARIANTS:
            raise ValueError(f"'{name}' names no variant: expected VARIANT_DTYPE_dD[_dvDV]_LAYOUT[_B_HQ_HKV_SQ_SKV][_nolse]")
        static = tuple(int(size) for size in match[6].split("_")[1:]) if match[6] else ()
        return Config(match[1], match[2], int(match[3]), int(match[4] or 0), match[5], static, not match[7])


def emit(config, with_lse=True, table=None):
    """The attn IR of a kernel, whose second result is LSE unless without. The
    variant is one of `table`, by default of VARIANTS."""
    variant, with_lse = (table or VARIANTS)[config.variant], with_lse and config.lse
    names = ("B", "Hq", "Hkv", "Sq", "Skv")
    sizes = dict(zip(names, config.static)) if config.static else dict.fromkeys(names, "?")

    def tensor(heads, sequence, head_dim):
        dims = [sizes["B"], sizes[heads], sizes[sequence], head_dim]
        if config.layout == "bshd":
            dims[1], dims[2] = dims[2], dims[1]
        return f"tensor<{'x'.join(str(dim) for dim in dims)}x{config.dtype}>"

    q, k = tensor("Hq", "Sq", config.d), tensor("Hkv", "Skv", config.d)
    v, o = tensor("Hkv", "Skv", config.value_dim), tensor("Hq", "Sq", config.value_dim)
    lse = f"tensor<{sizes['B']}x{sizes['Hq']}x{sizes['Sq']}xf32>"

    arguments = [("%q", q), ("%k", k), ("%v", v)]
    clauses = []
    if variant.runtime_scale:
        arguments.append(("%scale", "f32"))
        clauses.append("scale(%scale : f32)")
    if config.layout != "bhsd":
        clauses.append(f"layout({config.layout})")
    captures = [(f"%c{n}", f"tensor<{'?x' * len(c.dims)}{c.element}>") for n, c in enumerate(variant.captures)]
    arguments += captures
    if captures:
        listed = ", ".join(name for name, _ in captures), ", ".join(type for _, type in captures)
        clauses.append(f"captures({listed[0]} : {listed[1]})")
    if variant.lengths:
        arguments.append(("%n", f"tensor<{sizes['B']}xi32>"))
        clauses.append(f"lengths(%n : tensor<{sizes['B']}xi32>)")
    if variant.blocks:
        block = variant.blocks
        leading = f"{sizes['B'] if block.by_batch else 1}x{sizes['Hq'] if block.by_head else 1}x?x"
        lists = [(f"%{name}", f"tensor<{leading}{'?x' * name.endswith('index')}i32>") for name in block.names]
        arguments += lists
        listed = ", ".join(name for name, _ in lists), ", ".join(type for _, type in lists)
        clauses.append(f"blocks({listed[0]} : {listed[1]}, size = [{block.query}, {block.key}])")
    if variant.packed:
        arguments += [("%cu_q", "tensor<?xi32>"), ("%cu_k", "tensor<?xi32>")]
        clauses.append("packed(%cu_q, %cu_k : tensor<?xi32>, tensor<?xi32>)")
    if variant.sinks:
        arguments.append(("%sinks", f"tensor<{sizes['Hq']}xf32>"))
        clauses.append(f"sinks(%sinks : tensor<{sizes['Hq']}xf32>)")
    if variant.dropout:
        arguments += [("%seed", "i64"), ("%offset", "i64")]
        clauses.append(f"dropout({variant.dropout}, %seed, %offset)")
    coordinates = [f"%{name}: index" for name in "bhij"] + [f"%t{n}: {type}" for n, (_, type) in enumerate(captures)]
    if variant.score_mod:
        parameters = ", ".join(["%s: f32"] + coordinates)
        clauses.append(f"score_mod({parameters}) {{\n      {variant.score_mod}\n    }}")
    if variant.mask_mod:
        clauses.append(f"mask_mod({', '.join(coordinates)}) {{\n      {variant.mask_mod}\n    }}")

    parameters = ", ".join(f"{name}: {type}" for name, type in arguments)
    clauses = "".join(f"\n    {clause}" for clause in clauses)
    results, types = ("%o, %lse", f"{o}, {lse}") if with_lse else ("%o", o)
    return f"""func.func @{config.name}({parameters})
    -> ({types}) {{
  {results} = attn.forward %q, %k, %v{clauses}
    : {q}, {k}, {v}
    -> {types}
  return {results} : {types}
}}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", help="kernel to print")
    parser.add_argument("--list", action="store_true", help="print the variants' names")
    parser.add_argument("--no-lse", action="store_true", help="without the log-sum-exp result")
    args = parser.parse_args()
    if args.list or not args.name:
        print("\n".join(VARIANTS))
        return
    try:
        print(emit(Config.parse(args.name), not args.no_lse), end="")
    except ValueError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
