"""The attention variants that benchmarks/variants.py times.

Each is defined twice: as bodies of attn regions, and as functions for flex_attention. The module
does not import torch: functions of torch and the sizes create captured tensors.
"""

import concurrent.futures
import dataclasses
import pathlib
import sys
import types

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "test" / "GPU"))

import kernels  # noqa: E402
from gpu_variants import CAP, CAUSAL, VARIANTS, Blocks, Capture, Config, Variant, emit, table_of_distances  # noqa: E402

HEAD_DIM, HEADS, TOKENS = 128, 16, 16384

WINDOW, PREFIX, CHUNK = 1024, 1024, 512
DOCUMENT = 700
DISTANCE = 128  # of T5's table, on either side
GRID, REACH = 64, 6  # natten-2d: a 64 x 64 image, 13 x 13 neighbours


@dataclasses.dataclass(frozen=True)
class Program:
    """A variant to time. `kind` is 'dense' if every block is processed (half of them if causal) and
    'sparse' if the mask skips blocks. `make` creates the captured tensors as functions of (torch,
    sizes). Block lists are random, with the fraction `kept` of the blocks.
    """

    variant: Variant
    kind: str = "dense"
    causal: bool = False
    make: tuple = ()
    length: int = 4096
    kept: float = 0.0


def causal(b, h, i, j, sizes, captures):
    return i >= j


def slopes(torch, sizes):
    return torch.exp2(-8.0 * (torch.arange(sizes.Hq, device="cuda", dtype=torch.float32) + 1) / sizes.Hq)


def distance_table(torch, sizes):
    """A bias for each head and distance."""
    return torch.randn(sizes.Hq, 2 * DISTANCE + 1, device="cuda")


def full_bias(torch, sizes):
    return torch.randn(sizes.Hq, sizes.Sq, sizes.Skv, device="cuda", dtype=torch.bfloat16)


def documents(torch, sizes):
    """Document numbers; lengths are random around DOCUMENT."""
    generator = torch.Generator().manual_seed(0)
    lengths = []
    while sum(lengths) < sizes.Skv:
        lengths.append(int(torch.randint(DOCUMENT // 2, 3 * DOCUMENT // 2, (1,), generator=generator)))
    ids = torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(lengths))[: sizes.Skv]
    return ids.to(device="cuda", dtype=torch.int32)


def block_lists(torch, sizes, blocks, kept):
    """Counts and indices of random blocks, for each head."""
    rows, columns = -(-sizes.Sq // blocks.query), -(-sizes.Skv // blocks.key)
    generator = torch.Generator("cuda").manual_seed(0)
    listed = torch.rand(1, sizes.Hq, rows, columns, device="cuda", generator=generator) < kept
    order = listed.int().argsort(dim=-1, descending=True, stable=True)
    return listed.sum(-1, dtype=torch.int32), order.to(torch.int32)


RELATIVE = """%d = arith.subi %j, %i : index
      %di = arith.index_cast %d : index to i32
      %df = arith.sitofp %di : i32 to f32
      %r = arith.addf %s, %df : f32
      attn.yield %r : f32"""

FULL_BIAS = """%bias = tensor.extract %t0[%h, %i, %j] : tensor<?x?x?xbf16>
      %wide = arith.extf %bias : bf16 to f32
      %r = arith.addf %s, %wide : f32
      attn.yield %r : f32"""

WINDOW_MASK = f"""%w = arith.constant {WINDOW} : index
      %d = arith.subi %i, %j : index
      %near = arith.cmpi slt, %d, %w : index
      %past = arith.cmpi sge, %i, %j : index
      %keep = arith.andi %near, %past : i1
      attn.yield %keep : i1"""

PREFIX_MASK = f"""%p = arith.constant {PREFIX} : index
      %in = arith.cmpi slt, %j, %p : index
      %past = arith.cmpi sge, %i, %j : index
      %keep = arith.ori %in, %past : i1
      attn.yield %keep : i1"""

CHUNK_MASK = f"""%c = arith.constant {CHUNK} : index
      %ic = arith.divui %i, %c : index
      %jc = arith.divui %j, %c : index
      %same = arith.cmpi eq, %ic, %jc : index
      %past = arith.cmpi sge, %i, %j : index
      %keep = arith.andi %same, %past : i1
      attn.yield %keep : i1"""

DOCUMENT_MASK = """%di = tensor.extract %t0[%i] : tensor<?xi32>
      %dj = tensor.extract %t0[%j] : tensor<?xi32>
      %same = arith.cmpi eq, %di, %dj : i32
      %past = arith.cmpi sge, %i, %j : index
      %keep = arith.andi %same, %past : i1
      attn.yield %keep : i1"""

NATTEN_MASK = f"""%w = arith.constant {GRID} : index
      %reach = arith.constant {REACH} : index
      %least = arith.constant -{REACH} : index
      %iy = arith.divui %i, %w : index
      %ix = arith.remui %i, %w : index
      %jy = arith.divui %j, %w : index
      %jx = arith.remui %j, %w : index
      %dy = arith.subi %iy, %jy : index
      %dx = arith.subi %ix, %jx : index
      %y0 = arith.cmpi sge, %dy, %least : index
      %y1 = arith.cmpi sle, %dy, %reach : index
      %x0 = arith.cmpi sge, %dx, %least : index
      %x1 = arith.cmpi sle, %dx, %reach : index
      %y = arith.andi %y0, %y1 : i1
      %x = arith.andi %x0, %x1 : i1
      %keep = arith.andi %y, %x : i1
      attn.yield %keep : i1"""


def natten(b, h, i, j, sizes, captures):
    dy, dx = i // GRID - j // GRID, i % GRID - j % GRID
    return (dy >= -REACH) & (dy <= REACH) & (dx >= -REACH) & (dx <= REACH)


def table_column(i, j):
    return (j - i + DISTANCE).clamp(0, 2 * DISTANCE)


def scored(body, score, captures=(), make=()):
    """A variant of the score, without a mask and with a causal one."""
    plain = Variant(score_mod=body, captures=captures, score=score)
    masked = dataclasses.replace(plain, mask_mod=CAUSAL, mask=causal)
    return Program(plain, make=make), Program(masked, causal=True, make=make)


def sparse(body, mask, captures=(), make=(), length=4096):
    return Program(Variant(mask_mod=body, captures=captures, mask=mask), "sparse", make=make, length=length)


def listed(kept, length=4096):
    """Random blocks, without a mask in them."""
    return Program(Variant(blocks=Blocks(128, 128, by_batch=False)), "sparse", length=length, kept=kept)


def window(b, h, i, j, sizes, captures):
    return (i >= j) & (i - j < WINDOW)


def make_programs():
    programs = {"dense": Program(Variant()), "causal": Program(Variant(mask_mod=CAUSAL, mask=causal), causal=True)}
    vector, matrix, cube = Capture("f32", ("Hq",)), Capture("f32", ("Hq", "n")), Capture("bf16", ("Hq", "Sq", "Skv"))
    for name, pair in {
        "softcap": scored(VARIANTS["softcap"].score_mod, lambda s, b, h, i, j, sizes, c: CAP * (s / CAP).tanh()),
        "relative": scored(RELATIVE, lambda s, b, h, i, j, sizes, c: s + (j - i)),
        "alibi": scored(VARIANTS["alibi"].score_mod, lambda s, b, h, i, j, sizes, c: s + c[0][h] * (j - i), (vector,), (slopes,)),
        "t5bias": scored(
            table_of_distances(DISTANCE), lambda s, b, h, i, j, sizes, c: s + c[0][h, table_column(i, j)], (matrix,), (distance_table,)
        ),
        "fullbias": scored(FULL_BIAS, lambda s, b, h, i, j, sizes, c: s + c[0][h, i, j], (cube,), (full_bias,)),
    }.items():
        programs[name], programs[f"{name}causal"] = pair
    programs["sinks"] = Program(Variant(sinks=True))
    programs["sinkscausal"] = Program(Variant(sinks=True, mask_mod=CAUSAL, mask=causal), causal=True)
    ids = Capture("i32", ("Skv",))

    def same_document(b, h, i, j, sizes, captures):
        return (captures[0][i] == captures[0][j]) & (i >= j)

    programs |= {
        "window": sparse(WINDOW_MASK, window),
        "prefix": sparse(PREFIX_MASK, lambda b, h, i, j, sizes, c: (j < PREFIX) | (i >= j)),
        "chunked": sparse(CHUNK_MASK, lambda b, h, i, j, sizes, c: (i // CHUNK == j // CHUNK) & (i >= j)),
        "documents": sparse(DOCUMENT_MASK, same_document, (ids,), (documents,)),
        "natten": sparse(NATTEN_MASK, natten),
        "random": listed(0.1),
        "windowlong": sparse(WINDOW_MASK, window, length=65536),
        "documentslong": sparse(DOCUMENT_MASK, same_document, (ids,), (documents,), length=65536),
        "randomlong": listed(0.01, length=65536),
        "windowlonger": sparse(WINDOW_MASK, window, length=131072),
        "documentslonger": sparse(DOCUMENT_MASK, same_document, (ids,), (documents,), length=131072),
    }
    return programs


PROGRAMS = make_programs()
TABLE_OF_VARIANTS = {name: program.variant for name, program in PROGRAMS.items()}


def sizes_of(program):
    batch = max(1, TOKENS // program.length)
    return types.SimpleNamespace(B=batch, Hq=HEADS, Hkv=HEADS, Sq=program.length, Skv=program.length)


def make_tensors(torch, program, sizes):
    """The kernel's inputs by name; captured tensors and block lists in order."""
    shape = (sizes.B, sizes.Hq, sizes.Sq, HEAD_DIM)
    tensors = {name: torch.randn(shape, device="cuda", dtype=torch.bfloat16) for name in "qkv"}
    captures = [make(torch, sizes) for make in program.make]
    tensors |= {f"capture{n}": capture for n, capture in enumerate(captures)}
    if program.variant.sinks:
        tensors["sinks"] = torch.randn(sizes.Hq, device="cuda")
    blocks, lists = program.variant.blocks, ()
    if blocks:
        lists = block_lists(torch, sizes, blocks, program.kept)
        tensors |= dict(zip(blocks.names, lists))
    return tensors, captures, lists


def compile_programs(names, args, chip, folder, schedule=None):
    """Images, metadata and facts, or exceptions, by name; compiled in parallel, with `schedule` in
    place of the argument's if given.
    """
    ptxas = kernels.find_ptxas()
    schedule = schedule or args.schedule

    def work(name):
        config = Config(name, "bf16", HEAD_DIM)
        options = [] if schedule == "auto" else [f"--schedule={schedule}"]
        place = pathlib.Path(folder) / name
        if args.kernels:
            return str(place / f"{name}.cubin"), str(place / f"{name}.json"), {}
        place.mkdir(parents=True, exist_ok=True)
        try:
            source = emit(config, False, TABLE_OF_VARIANTS)
            return kernels.compile_one(name, source, place, args.compiler, args.target, chip, ptxas, options)
        except Exception as error:  # noqa: BLE001: reported where it is timed
            return error

    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        return dict(zip(names, pool.map(work, names)))


def prepare_ours(torch, runtime, image, tensors):
    kernel = runtime.load(*image[:2])
    o = torch.full_like(tensors["q"], torch.nan)
    prepared = kernel.prepare(**tensors, o=o)
    stream = torch.cuda.current_stream().cuda_stream

    def launch():
        prepared.run(stream)

    facts = {**kernel.info(), **image[2]}
    del facts["name"]
    return launch, o, facts


def relative_error(found, expected):
    expected = expected.float()
    return ((found.float() - expected).norm() / expected.norm()).item()
