"""Checks forward kernels on a GPU against attention in f64.

    python test/GPU/run_forward.py --compiler build-portable/bin/fovea-compile
    python test/GPU/run_forward.py --kernels FOLDER      # compiled before
    python test/GPU/run_forward.py --target sm_90a --only-shapes quick
    python test/GPU/run_forward.py --random-programs 1000 --seed 7 --runtime build-portable/lib/libFoveaRuntime.so
    python test/GPU/run_forward.py --random-gradients 1000 --seed 7 --runtime build-portable/lib/libFoveaRuntime.so
    compute-sanitizer python test/GPU/run_forward.py --memcheck 8 --kernels FOLDER

Inputs are random numbers, different in each run. Outputs are views into larger buffers of NaN,
which must not change outside of the view. reference.py states the tolerance. The last lines are a
table and `N passed, N failed, N skipped`. Also collected by pytest.
"""

import argparse
import collections
import itertools
import math
import os
import pathlib
import random
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import repetition  # noqa: E402
import gpu_variants  # noqa: E402
import waiting  # noqa: E402
from gpu_variants import Config  # noqa: E402

HEAD_DIMS = (16, 32, 64, 80, 96, 128, 256)
LENGTHS = (1, 7, 64, 127, 1000, 4096)


class Case:
    """A launch: sizes, properties of the data, strides. `sampled` compares only a sample of the
    rows. A case that `repeats` is launched repeatedly, see repetition.py.
    """

    def __init__(self, b, hq, hkv, sq, skv, data="normal", strided=False, sampled=False, repeats=False):
        self.sizes = (b, hq, hkv, sq, skv)
        self.data, self.strided, self.sampled, self.repeats = data, strided, sampled, repeats

    def __str__(self):
        b, hq, hkv, sq, skv = self.sizes
        return f"B{b} Hq{hq} Hkv{hkv} Sq{sq} Skv{skv} {self.data}{' strided' if self.strided else ''}"


def kernel_grid(quick=False):
    """The kernels to compile."""
    head_dims = (64, 128) if quick else HEAD_DIMS
    grid = [
        Config(variant, dtype, d, 0, layout)
        for variant, dtype, d, layout in itertools.product(gpu_variants.REQUIRED, ("bf16", "f16"), head_dims, ("bhsd", "bshd"))
    ]
    outputs = [name for name in gpu_variants.VARIANTS if name.startswith("tma")]
    others = [name for name in gpu_variants.VARIANTS if name not in (*gpu_variants.REQUIRED, *outputs)]
    grid += [Config(name, dtype, d) for name in others for dtype, d in (("bf16", 64), ("f16", 128), ("bf16", 80))]
    grid += [Config("causal", "bf16", d, dv) for d, dv in ((64, 128), (192, 128), (96, 64), (128, 256))]
    # One query a sequence: query heads that share keys are the rows.
    grid += [Config(name, "bf16", 128, 0, "bhsd", (3, 32, 4, 1, 1000)) for name in ("dense", "lengths", "alibi", "sinks")]
    # Few queries: all of them, of those heads.
    grid += [
        Config(name, dtype, 128, 0, layout, (3, 32, heads, queries, 1000))
        for queries, heads, layout in ((2, 4, "bhsd"), (3, 8, "bshd"), (4, 4, "bshd"), (7, 8, "bhsd"), (16, 4, "bhsd"), (16, 8, "bshd"))
        for name, dtype in (("lengths", "bf16"), ("alibi", "f16"), ("sinks", "bf16"), ("causalbr", "bf16"))
    ]
    grid += [Config("tree", "bf16", 64, 0, "bhsd", (3, 32, 4, 16, 1000)), Config("dropout", "f16", 64, 0, "bhsd", (2, 8, 2, 4, 300))]
    # Output by TMA: panels of all widths.
    head_dims = (64, 128) if quick else (16, 32, 64, 72, 96, 128, 256)
    grid += [Config(name, dtype, d) for name in outputs for dtype, d in zip(itertools.cycle(("bf16", "f16")), head_dims)]
    grid += [Config(name, "bf16", 64, 0, "bshd") for name in outputs]
    # Row sums by the tensor cores, since there is no LSE (inference kernels).
    grid += [
        Config(name, dtype, d, lse=False)
        for name in ("dense", "causal", "softcap", "alibi", "window", "lengths", "sinks", "table", "bias", "empty")
        for dtype, d in (("bf16", 64), ("f16", 64), ("bf16", 128), ("bf16", 80), ("f16", 256))
    ]
    if not quick:
        grid += [Config("dense", dtype, d) for dtype in ("bf16", "f16") for d in (24, 40, 56, 72, 112, 160, 192, 224)]
        grid += [Config("causal", "bf16", 64, 0, layout, (2, 8, 2, 300, 300)) for layout in ("bhsd", "bshd")]
    return list(dict.fromkeys(grid))


# A few kernels run on slow cases: long sequences, more heads than the limit of a grid's y or z,
# more elements than a 32-bit index.
LARGE_KERNELS = ("causal_bf16_d128_bhsd", "dense_bf16_d128_bshd", "causal_bf16_d64_bhsd", "dense_f16_d64_bhsd")
LARGE_CASES = [
    Case(1, 4, 2, 16384, 16384, sampled=True),
    Case(1, 2, 1, 131072, 131072, sampled=True),
    Case(4400, 16, 16, 100, 100, sampled=True),
    # 2^31 elements and more, at head dim 128 and 64.
    Case(9000, 16, 16, 128, 128, sampled=True),
    Case(9000, 16, 16, 256, 100, sampled=True),
]


def cases_of(config, rng, shapes="full"):
    """The launches of one kernel."""
    if config.static:
        return [Case(*config.static), Case(*config.static, strided=True)]
    lengths = (1, 127, 1000) if shapes == "quick" else LENGTHS
    cases = [Case(1 if s > 1000 else 2, 8, rng.choice((8, 2, 1)), s, s) for s in lengths]
    cases += [
        Case(2, 8, 2, 300, 127),
        Case(2, 8, 2, 65, 513, strided=True),
        Case(1, 4, 2, 500, 500, "large"),
        Case(1, 2, 2, 900, 900, "low"),
        # One query and one key beyond whole blocks.
        Case(1, 4, 2, 1025, 1025),
    ]
    if shapes == "full":
        cases += [
            Case(1, 8, 8, 127, 300),
            Case(1, 8, 1, 1, 1000),
            Case(3, 4, 4, 200, 200, strided=True),
            Case(1, 2, 2, 900, 900, "rising"),
            Case(1, 2, 2, 900, 900, "falling"),
            # More tiles than resident CTAs, so that persistent kernels loop.
            Case(4, 40, 8, 600, 600, repeats=True),
        ]
    if config.variant in ("documents", "timed"):
        # More blocks of keys than are looked at together.
        cases += [Case(1, 2, 1, 9000, 9000)]
    if config.variant in ("dense", "causal", "window", "prefix", "empty"):
        cases += [Case(1, 4, 4, 700, 700, data) for data in ("nan_q", "nan_k", "negative_nan_k", "nan_v")]
    if shapes == "full" and config.name in LARGE_KERNELS:
        cases += LARGE_CASES
    return cases


def memcheck_grid(count):
    """Few small kernels and cases, for compute-sanitizer."""
    chosen = [
        Config("causal", "bf16", 64), Config("dense", "f16", 128, 0, "bshd"), Config("window", "bf16", 80),
        Config("alibi", "bf16", 64), Config("empty", "bf16", 64), Config("causal", "bf16", 64, 128),
        Config("prefix", "f16", 16), Config("lengths", "bf16", 64), Config("softcap", "bf16", 128, 0, "bshd"),
        Config("dense", "bf16", 256), Config("packed", "bf16", 64), Config("blocksparse", "bf16", 128),
        Config("blockmask", "bf16", 64), Config("documents", "bf16", 64), Config("timed", "f16", 128),
        Config("packedfull", "bf16", 64),
    ]  # fmt: skip
    return chosen[:count]


MEMCHECK_CASES = [
    Case(1, 2, 1, 1, 1), Case(2, 4, 2, 127, 127), Case(1, 2, 2, 65, 200, strided=True), Case(1, 2, 1, 200, 65),
]  # fmt: skip


class Tensors:
    """Inputs and outputs of a case, as the kernel gets them and as (B, H, S, D)."""

    def __init__(self, torch, config, case, device, generator):
        self.torch, self.config, self.case, self.device = torch, config, case, device
        self.generator = generator
        dtype = torch.bfloat16 if config.dtype == "bf16" else torch.float16
        b, hq, hkv, sq, skv = case.sizes
        variant = gpu_variants.VARIANTS[config.variant]
        if variant.packed:
            b = 1
        self.arguments = {}
        self.q = self.make_input("q", b, hq, sq, config.d, dtype)
        self.k = self.make_input("k", b, hkv, skv, config.d, dtype)
        self.v = self.make_input("v", b, hkv, skv, config.value_dim, dtype)
        self.o, self.o_buffer = self.make_output("o", b, hq, sq, config.value_dim, dtype)
        self.lse_buffer = torch.full((b, hq, sq + 8), torch.nan, device=device)
        self.lse = self.lse_buffer[:, :, :sq]
        if config.lse:
            self.arguments["lse"] = self.lse

        sizes = dict(zip(("B", "Hq", "Hkv", "Sq", "Skv"), case.sizes))
        self.captures = []
        for index, capture in enumerate(variant.captures):
            shape = [sizes.get(dim, dim) for dim in capture.dims]
            if capture.dtype == "bits":
                words = (*shape[:-1], -(-shape[-1] // 32))
                tensor = torch.randint(-(2**31), 2**31, words, device=device, generator=generator, dtype=torch.int32)
                self.captures.append(tensor)
                self.arguments[f"capture{index}"] = tensor
                continue
            # Rows of matrices start at multiples of 16 bytes, as TMA requires.
            rows = shape[:-1] + [-(-shape[-1] // 8) * 8] if len(shape) > 1 else shape
            tensor = torch.rand(rows, device=device, generator=generator)
            if capture.dtype in ("i1", "i32", "i64"):
                tensor = (tensor < 1 / gpu_variants.DOCUMENT).cumsum(-1, dtype=torch.int32)
                if capture.dtype == "i64":
                    # Numbers that differ in their high words only.
                    tensor = tensor.to(torch.int64) << 33
                elif capture.dtype == "i1":
                    tensor = tensor % 3 != 1
            elif capture.dtype == "bf16":
                tensor = (4 * tensor - 2).to(torch.bfloat16)
            else:
                tensor *= 0.5
            if shape:
                tensor = tensor[..., : shape[-1]]
            self.captures.append(tensor)
            self.arguments[f"capture{index}"] = tensor
        if variant.blocks:
            self.make_lists(variant.blocks)
        self.lengths = self.beyond = None
        if variant.lengths:
            self.lengths = torch.randint(0, skv + 1, (b,), device=device, generator=generator, dtype=torch.int32)
            self.arguments["lengths"] = self.lengths
            # Elements after a sequence's end must not affect any result.
            self.beyond = (torch.arange(skv, device=device) >= self.lengths[:, None])[:, None, :, None]
            self.k.masked_fill_(self.beyond, torch.nan)
            self.v.masked_fill_(self.beyond, torch.nan)
        self.packed = self.poisoned = None
        if variant.packed:
            # Mostly few, now and then some hundreds.
            self.pack(count=1 + int(torch.randint(0, 9, (1,), device=device, generator=generator)) ** 3)
        import reference

        self.extras = reference.Extras()
        if variant.sinks:
            sinks = 2 * torch.randn(hq, device=device, generator=generator)
            self.extras.sinks = self.arguments["sinks"] = sinks
        if variant.dropout:
            self.extras.seed, self.extras.offset = 0x123456789ABCDEF, 0x700000005
            self.arguments["dropout_seed"] = self.extras.seed
            self.arguments["dropout_offset"] = self.extras.offset
        self.scale = 1 / math.sqrt(config.d)
        if variant.runtime_scale:
            self.scale = 0.37
            self.arguments["scale"] = self.scale
        self.spoil()

    def make_lists(self, blocks):
        """Block lists with different numbers of blocks in any order, some of them outside of the
        sequence, and counts that may exceed the row. Even blocks are partial and odd ones full, so
        that no block is in both lists.
        """
        b, hq, _, sq, skv = self.case.sizes
        torch, rows = self.torch, -(-sq // blocks.query)
        shape = (b if blocks.by_batch else 1, hq if blocks.by_head else 1, rows)
        width = -(-skv // blocks.key) // 2 + 2
        for name in blocks.names:
            if name.endswith("count"):
                tensor = torch.randint(-1, width + 2, shape, device=self.device, generator=self.generator, dtype=torch.int32)
            else:
                order = torch.rand((*shape, width), device=self.device, generator=self.generator).argsort(-1)
                tensor = (2 * (order - 1) + name.startswith("full")).to(torch.int32)
            self.captures.append(tensor)
            self.arguments[name] = tensor

    def pack(self, count):
        """Cuts queries and keys into sequences, some of them empty. Values of one
        sequence are NaN, which must not reach the others."""
        torch = self.torch
        self.packed = []
        for name, total in (("cu_q", self.q.shape[2]), ("cu_k", self.k.shape[2])):
            inner = torch.randint(0, total + 1, (count - 1,), device=self.device, generator=self.generator)
            ends = torch.tensor([0, total], device=self.device)
            offsets = torch.cat([ends, inner]).sort().values.to(torch.int32)
            self.packed.append(offsets)
            self.arguments[name] = offsets
        if count >= 3:
            queries, keys = ([offsets.tolist() for offsets in self.packed])
            self.v[:, :, keys[1] : keys[2]] = torch.nan
            self.poisoned = slice(queries[1], queries[2])

    def lay_out(self, heads_first):
        """(B, H, S, D) to the kernel's layout, or back."""
        return heads_first if self.config.layout == "bhsd" else heads_first.transpose(1, 2)

    def allocate(self, b, h, s, d, dtype):
        """A buffer and a view (B, H, S, D) of it."""
        shape = (b, h, s, d) if self.config.layout == "bhsd" else (b, s, h, d)
        if not self.case.strided:
            buffer = self.torch.empty(shape, dtype=dtype, device=self.device)
            return buffer, self.lay_out(buffer)
        # Rows longer than a head, heads and sequences with gaps: 16 bytes stay
        # the alignment.
        buffer = self.torch.empty(shape[0], shape[1] + 1, shape[2] + 2, d + 24, dtype=dtype, device=self.device)
        return buffer, self.lay_out(buffer[:, : shape[1], 1 : shape[2] + 1, 8 : d + 8])

    def make_input(self, name, b, h, s, d, dtype):
        buffer, view = self.allocate(b, h, s, d, dtype)
        buffer.fill_(self.torch.nan)
        view.copy_(self.torch.randn(b, h, s, d, device=self.device, dtype=dtype, generator=self.generator))
        self.arguments[name] = self.lay_out(view)
        return view

    def make_output(self, name, b, h, s, d, dtype):
        buffer, view = self.allocate(b, h, s, d, dtype)
        buffer.fill_(self.torch.nan)
        self.arguments[name] = self.lay_out(view)
        return view, buffer

    def spoil(self):
        if self.case.data == "large":
            # Scores of about +-1e4 before the softmax.
            self.q.mul_(100)
            self.k.mul_(100)
        elif self.case.data == "low":
            # Every score far below zero.
            self.q.abs_().add_(1)
            self.k.abs_().add_(1).neg_()
        elif self.case.data in ("rising", "falling"):
            # A row's maximum grows from block to block, whichever end is first.
            ends = (0.1, 3) if self.case.data == "rising" else (3, 0.1)
            ramp = self.torch.linspace(*ends, self.k.shape[2], device=self.device)
            self.q.mul_(8)
            self.k.mul_(ramp.to(self.k.dtype).view(1, 1, -1, 1))
        elif self.case.data == "negative_nan_k":
            # All bits set: a NaN with a sign in either type.
            self.k.view(self.torch.int16)[:, :, 333, 3] = -1
        elif self.case.data == "nan_q":
            self.q[:, :, 5, 3] = self.torch.nan
        elif self.case.data == "nan_k":
            self.k[:, :, 333, 3] = self.torch.nan
        elif self.case.data == "nan_v":
            self.v[:, :, 333, 3] = self.torch.nan

    def damage(self):
        """Describes writes outside of the outputs; None if there are none."""
        for name, buffer, view in (("o", self.o_buffer, self.o), ("lse", self.lse_buffer, self.lse)):
            inside = self.torch.zeros_like(buffer, dtype=self.torch.bool)
            inside.as_strided(view.shape, view.stride(), view.storage_offset()).fill_(True)
            written = int((~buffer.isnan() & ~inside).sum())
            if written:
                return f"{written} elements beside '{name}' were overwritten"
        return None


def check_case(torch, reference, kernel, config, case, device, generator, stream):
    """A Verdict."""
    tensors = Tensors(torch, config, case, device, generator)
    variant = gpu_variants.VARIANTS[config.variant]
    kernel(stream=stream, **tensors.arguments)
    waiting.synchronize(torch)
    damage = tensors.damage()
    if damage:
        return reference.Verdict(False, float("inf"), damage)
    if case.repeats:
        difference = repetition.difference(torch, kernel, tensors, stream)
        if difference:
            return reference.Verdict(False, float("inf"), difference)
    if case.sampled:
        return reference.compare_sample(variant, tensors, generator)
    v, may_be_nan, must_be_nan = tensors.v, None, None
    if tensors.beyond is not None:
        v = v.masked_fill(tensors.beyond, 0)
    if case.data == "nan_v":
        v = v.clone()
        v[:, :, 333, 3] = 0
        sizes = reference.Sizes(*case.sizes)
        must_be_nan, may_be_nan = reference.nan_in_values(
            variant, sizes, tensors.captures, device, 333, 3, config.value_dim
        )
    if tensors.poisoned is not None:
        may_be_nan = torch.zeros(tensors.o.shape, dtype=torch.bool, device=device)
        may_be_nan[:, :, tensors.poisoned] = True
    attention, sequences = reference.attention, tensors.lengths
    if variant.packed:
        attention, sequences = reference.packed_attention, tensors.packed
    arguments = (tensors.scale, tensors.captures, sequences)
    extras = {"extras": tensors.extras} if variant.sinks or variant.dropout else {}
    exact, exact_lse = attention(variant, tensors.q, tensors.k, v, *arguments, torch.float64, **extras)
    plain, _ = attention(variant, tensors.q, tensors.k, v, *arguments, torch.float32, **extras)
    if must_be_nan is not None:
        exact = exact.masked_fill(must_be_nan, torch.nan)
        may_be_nan = may_be_nan & ~must_be_nan
    magnitude = reference.product_magnitude(tensors.q, tensors.k, arguments[0])
    magnitude = magnitude + variant.score_error / reference.LSE_OF_PRODUCTS
    lse = tensors.lse if config.lse else None
    length = reference.value_length(tensors.v)
    return reference.compare(tensors.o, lse, exact, exact_lse, plain, may_be_nan, magnitude, length)


def run(args):
    """0 if all passed, 1 if not; prints. None and the reason if it can't run."""
    import fovea_runtime
    import kernels

    torch, reason = kernels.find_torch()
    if torch is None:
        return None, reason
    import reference

    args.runtime = library = kernels.find_library(args.runtime)
    compiler = None if args.kernels else kernels.find_compiler(args.compiler)
    # libFovea.so, in the same folder as the runtime, compiles random programs.
    if not library or not (args.kernels or compiler or random_modes(args)):
        return None, "there is no libFoveaRuntime.so or no fovea-compile; name them with --runtime and --compiler"

    torch.backends.cuda.matmul.allow_tf32 = False
    torch.zeros(1, device="cuda")
    device = torch.device("cuda", torch.cuda.current_device())
    runtime = fovea_runtime.Runtime(library)
    facts = runtime.device_info()
    chip = f"sm_{facts['major']}{facts['minor']}"
    print(f"{facts['name'].decode()}, {chip}; torch {torch.__version__}; seed {args.seed}", flush=True)

    targets = args.target or kernels.default_targets(facts["major"], facts["minor"])
    if random_modes(args):
        import random_launches
        import random_programs

        place = random_launches.Device(torch, runtime, device, torch.cuda.current_stream().cuda_stream, chip)
        return max(random_programs.run(place, mode, count, args, targets) for mode, count in random_modes(args).items()), ""
    grid = memcheck_grid(args.memcheck) if args.memcheck else kernel_grid(args.quick)
    if args.filter:
        grid = [config for config in grid if args.filter in config.name]
        if not grid:
            print(f"--filter: no kernel's name contains '{args.filter}'")
            return 1, ""
    tally = Tally()
    everything = grid
    for target in targets:
        grid = [config for config in everything if target in (gpu_variants.VARIANTS[config.variant].targets or (target,))]
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as temporary:
            if args.kernels:
                compiled = read_kernels(args, target, grid)
            else:
                folder = pathlib.Path(args.work or temporary) / target
                compiled = kernels.compile_all(grid, folder, compiler, target, chip, args.jobs, args.option)
            print(f"{target}: {len(compiled)} kernels compiled in {time.monotonic() - started:.0f} s", flush=True)
            if not run_kernels(torch, reference, runtime, compiled, target, args, device, tally):
                break
    print_summary(tally, args)
    return 1 if tally.failures else 0, ""


def random_modes(args):
    """The number of random programs for each selected mode (random_jobs.py)."""
    counts = {"programs": args.random_programs, "gradients": args.random_gradients}
    return {mode: count for mode, count in counts.items() if count}


def read_kernels(args, target, grid):
    """Kernels compiled before, from the target's folder in the one named if it
    has one."""
    import kernels

    own = pathlib.Path(args.kernels) / target
    compiled = kernels.read_folder(own if own.is_dir() else args.kernels, target)
    if not args.memcheck and not args.filter:
        return compiled
    wanted = set(grid)
    return {config: result for config, result in compiled.items() if config in wanted}


class Tally:
    """Results of all targets."""

    def __init__(self):
        self.started = time.monotonic()
        # passed, failed, worst, kernels that spill
        self.table = collections.defaultdict(lambda: [0, 0, 0.0, 0])
        self.failures, self.skipped = [], 0

    def fail(self, row, message):
        row[1] += 1
        self.failures.append(message)


def run_kernels(torch, reference, runtime, compiled, target, args, device, tally):
    """Whether the context still works afterwards."""
    generator = torch.Generator(device)
    generator.manual_seed(args.seed)
    stream = torch.cuda.current_stream().cuda_stream
    rng = random.Random(args.seed)
    started = time.monotonic()
    for config, result in compiled.items():
        row = tally.table[target, config.variant, config.dtype]
        name = f"{target} {config.name}"
        if args.time and time.monotonic() - started > args.time:
            tally.skipped += 1
            continue
        if isinstance(result, Exception):
            tally.fail(row, f"{name}: {result}")
            continue
        image, metadata, facts = result
        row[3] += bool(facts.get("spill_stores") or facts.get("spill_loads"))
        try:
            kernel = runtime.load(image, metadata)
        except RuntimeError as error:
            tally.fail(row, f"{name}: {error}")
            continue
        for case in MEMCHECK_CASES if args.memcheck else cases_of(config, rng, args.only_shapes):
            try:
                verdict = check_case(torch, reference, kernel, config, case, device, generator, stream)
            except torch.OutOfMemoryError:
                torch.cuda.empty_cache()
                tally.skipped += 1
                continue
            except waiting.Hang as error:
                tally.fail(row, f"{name} {case}: {error}")
                print_summary(tally, args)
                print("the device hangs; nothing after this kernel ran")
                waiting.abandon(1)
            except RuntimeError as error:
                tally.fail(row, f"{name} {case}: {error}")
                if "illegal" in str(error) or "unspecified launch failure" in str(error) or "CUDA error" in str(error):
                    print("the context is lost; nothing after this kernel ran")
                    return False
                continue
            row[0] += verdict.ok
            row[2] = max(row[2], verdict.worst)
            if not verdict.ok:
                tally.fail(row, f"{name} {case}: {verdict.message}")
            if case.sampled:
                torch.cuda.empty_cache()
    return True


def print_summary(tally, args):
    for failure in tally.failures[: args.show]:
        print(f"FAILED: {failure}")
    if len(tally.failures) > args.show:
        print(f"... and {len(tally.failures) - args.show} more; --show=N shows more")
    print(f"\n{'target':<8} {'variant':<10} {'type':<5} {'passed':>7} {'failed':>7} {'worst':>7} {'spilling kernels':>17}")
    for (target, variant, dtype), (passed, failed, worst, spilled) in sorted(tally.table.items()):
        print(f"{target:<8} {variant:<10} {dtype:<5} {passed:>7} {failed:>7} {worst:>7.2f} {spilled:>17}")
    passed, failed = (sum(row[column] for row in tally.table.values()) for column in (0, 1))
    print(f"'worst' is the largest error of a row over what is allowed; {time.monotonic() - tally.started:.0f} s")
    print(f"{passed} passed, {failed} failed, {tally.skipped} skipped", flush=True)


def target_list(text):
    import kernels

    try:
        return kernels.parse_targets(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def make_parser():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", help="fovea-compile; found in the build folders by default")
    parser.add_argument("--kernels", help="folder with compiled kernels, named as gpu_variants.py names them")
    parser.add_argument("--runtime", help="libFoveaRuntime.so; found in the build folders by default")
    parser.add_argument("--target", type=target_list, metavar="LIST",
                        help="targets, comma-separated; sm_80 by default, and sm_90a if the device runs it")
    parser.add_argument("--option", action="append", default=[], help="further option of fovea-compile, repeatable")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="kernels to compile at once")
    parser.add_argument("--work", help="folder to keep what was compiled in")
    parser.add_argument("--filter", help="only kernels whose name contains this")
    parser.add_argument("--quick", action="store_true", help="fewer head dims")
    parser.add_argument("--only-shapes", choices=("quick", "full"), default="full", help="fewer and smaller cases, or all")
    parser.add_argument("--time", type=float, default=0, help="skip kernels after so many seconds of running")
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"), help="random by default")
    parser.add_argument("--random-programs", type=int, default=0, metavar="N",
                        help="so many random programs (test/Fuzz/README.md) in place of the grid; needs numpy")
    parser.add_argument("--random-gradients", type=int, default=0, metavar="N",
                        help="the gradients of so many random programs in place of the grid; needs numpy")
    parser.add_argument("--memcheck", type=int, default=0, metavar="N", help="few small cases of N kernels")
    parser.add_argument("--show", type=int, default=20, help="failures to print")
    return parser


def main(argv=None):
    code, reason = run(make_parser().parse_args(argv))
    if code is None:
        print(f"SKIP: {reason}")
        return 0
    return code


def test_forward():
    """For pytest."""
    import pytest

    code, reason = run(make_parser().parse_args(["--quick"]))
    if code is None:
        pytest.skip(reason)
    assert code == 0


if __name__ == "__main__":
    sys.exit(main())
