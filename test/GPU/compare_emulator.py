"""Compares the PTX emulator with a GPU: the same PTX on the same inputs.

    python test/GPU/compare_emulator.py emulate --build build --results emulator.npz
    python test/GPU/compare_emulator.py compare --build build --results emulator.npz --table table.md

`emulate` compiles kernels of the device grid for all targets, executes them on the CPU and saves
their outputs. `compare` compiles them again (the PTX must be identical), runs them on the GPU with
the same inputs, and writes a table. It needs fovea-compile, libFoveaRuntime.so, Python and numpy.
--driver selects another CUDA driver, for example the emulator itself, whose approximations
--perturb changes within their error bounds.

Each kernel runs on two inputs:

- Integers. A query's score is 0 for the keys of its own class and so low for all others that their
  probabilities are 0. All values of a class are equal small integers. Probabilities, sums and
  products are then exact, independently of how a GPU computes exponentials and reciprocals, so a
  row that sees a key of its class must equal the class's values exactly. Rows that do so in the
  emulator are compared bitwise.
- Random numbers. A row may differ from the emulator's by BOUND units in the last place of the row's
  largest magnitude, as a root mean square; the same holds for inexact rows of the integer input. A
  log-sum-exp may differ by LSE_BOUND times the larger of 1 and its magnitude, plus the effect of
  the GPU's tanh on the variant's scores.
"""

import argparse
import collections
import ctypes
import hashlib
import itertools
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import fovea_runtime  # noqa: E402
import gpu_variants  # noqa: E402
from gpu_variants import Config  # noqa: E402
from numpy_tensors import Tensor, from_bf16, to_bf16  # noqa: E402

TARGETS = ("sm_80", "sm_90a")
CLASSES = 8
FAR = 64
# For random inputs, one row out of KEPT is saved.
KEPT = 4
BOUND, LSE_BOUND = 1.0, 2.0**-19
SIZES = {"B": 1, "Hq": 2, "Hkv": 1, "Sq": 70, "Skv": 150}
PACKED = {"cu_q": (0, 20, 20, 70), "cu_k": (0, 30, 37, 150)}


def grid():
    """The kernels: all variants, element types, head dims and layouts, few of
    them together."""
    shapes = itertools.cycle(itertools.product((64, 128, 80), ("bf16", "f16"), ("bhsd", "bshd")))
    kernels = []
    for name in gpu_variants.VARIANTS:
        for _ in range(2):
            d, dtype, layout = next(shapes)
            kernels.append(Config(name, dtype, d, 0, layout))
    for name, dtype in (("dense", "bf16"), ("causal", "f16"), ("window", "bf16"), ("lengths", "f16")):
        kernels += [Config(name, dtype, d) for d in (16, 32, 96, 256)]
    kernels += [Config("causal", "bf16", d, dv) for d, dv in ((64, 128), (192, 128), (96, 64), (128, 256))]
    kernels += [Config(name, "bf16", 64, lse=False) for name in ("dense", "causal", "softcap", "alibi", "lengths", "sinks")]
    decode = ((1, 8, 2, 1, 300), (1, 8, 2, 3, 300), (1, 16, 2, 4, 200))
    kernels += [Config(name, "bf16", 128, 0, "bhsd", sizes) for name in ("dense", "lengths", "causalbr") for sizes in decode]
    return list(dict.fromkeys(kernels))


class Inputs:
    """Inputs of a kernel, by name, drawn from its name; outputs to fill."""

    def __init__(self, config, random):
        self.config = config
        self.variant = gpu_variants.VARIANTS[config.variant]
        self.rng = np.random.default_rng(list(config.name.encode()))
        names = ("B", "Hq", "Hkv", "Sq", "Skv")
        self.sizes = dict(zip(names, config.static)) if config.static else dict(SIZES)
        self.tensors, self.scalars = {}, {}
        (self.draw_random if random else self.draw_integers)()
        self.add_captures()
        self.add_rest()
        self.outputs = {"o": np.zeros(self.lay_out(self.shape("Hq", "Sq", config.value_dim)), self.element())}
        if config.lse:
            self.outputs["lse"] = np.zeros(tuple(self.sizes[n] for n in ("B", "Hq", "Sq")), np.float32)

    def element(self):
        return np.uint16 if self.config.dtype == "bf16" else np.float16

    def encode(self, values):
        return to_bf16(values) if self.config.dtype == "bf16" else values.astype(np.float16)

    def decode(self, bits):
        return from_bf16(bits) if bits.dtype == np.uint16 else bits.astype(np.float32)

    def shape(self, heads, sequence, d):
        return (self.sizes["B"], self.sizes[heads], self.sizes[sequence], d)

    def lay_out(self, value):
        """(B, H, S, D), a shape or an array, to the kernel's layout or back."""
        if self.config.layout == "bhsd":
            return value
        if isinstance(value, tuple):
            return (value[0], value[2], value[1], value[3])
        return value.transpose(0, 2, 1, 3)

    def set(self, name, values):
        self.tensors[name] = np.ascontiguousarray(self.lay_out(self.encode(values)))

    def draw_random(self):
        c = self.config
        for name, heads, sequence, d in (("q", "Hq", "Sq", c.d), ("k", "Hkv", "Skv", c.d), ("v", "Hkv", "Skv", c.value_dim)):
            self.set(name, self.rng.standard_normal(self.shape(heads, sequence, d)))
        self.exact = None

    def draw_integers(self):
        c, sizes = self.config, self.sizes
        q, k = np.zeros(self.shape("Hq", "Sq", c.d)), np.zeros(self.shape("Hkv", "Skv", c.d))
        rows, keys = np.arange(sizes["Sq"]), np.arange(sizes["Skv"])
        q[:, :, rows, rows % CLASSES] = FAR
        k[..., :CLASSES] = -FAR
        k[:, :, keys, keys % CLASSES] = 0
        self.set("q", q)
        self.set("k", k)

        def values(batch, head, positions):
            columns = np.arange(c.value_dim)
            mixed = 7 * (positions[..., None] % CLASSES) + 3 * columns + columns // 16 + 5 * head[..., None] + 11 * batch[..., None]
            return mixed % 17 - 8.0

        b, h, j = np.ix_(np.arange(sizes["B"]), np.arange(sizes["Hkv"]), keys)
        self.set("v", values(*np.broadcast_arrays(b, h, j)))
        b, h, i = np.ix_(np.arange(sizes["B"]), np.arange(sizes["Hq"]) // (sizes["Hq"] // sizes["Hkv"]), rows)
        self.exact = self.encode(values(*np.broadcast_arrays(b, h, i)))

    def add_captures(self):
        for index, capture in enumerate(self.variant.captures):
            shape = tuple(self.sizes.get(dim, dim) for dim in capture.dims)
            if capture.dtype == "bits":
                words = (*shape[:-1], -(-shape[-1] // 32))
                drawn = self.rng.integers(-(2**31), 2**31, words, dtype=np.int64).astype(np.int32)
            else:
                # Rows of matrices start at multiples of 16 bytes.
                full = (*shape[:-1], -(-shape[-1] // 8) * 8) if len(shape) > 1 else shape
                drawn = self.rng.random(full)
                if capture.dtype in ("i1", "i32", "i64"):
                    drawn = (drawn < 4 / gpu_variants.DOCUMENT).cumsum(-1).astype(np.int32)
                    if capture.dtype == "i64":
                        drawn = drawn.astype(np.int64) << 33
                    elif capture.dtype == "i1":
                        drawn = drawn % 3 != 1
                elif capture.dtype == "bf16":
                    drawn = to_bf16(4 * drawn - 2)
                else:
                    drawn = (drawn * 0.5).astype(np.float32)
                if len(shape) > 1 and capture.dtype in ("f32", "bf16") and shape[-1] % 8:
                    # A view of longer rows.
                    self.tensors[f"capture{index}"] = (drawn, shape)
                    continue
                drawn = drawn[..., : shape[-1]] if shape else drawn
            self.tensors[f"capture{index}"] = np.ascontiguousarray(drawn)

    def add_rest(self):
        variant, sizes = self.variant, self.sizes
        if variant.blocks:
            block = variant.blocks
            lead = (sizes["B"] if block.by_batch else 1, sizes["Hq"] if block.by_head else 1, -(-sizes["Sq"] // block.query))
            width = -(-sizes["Skv"] // block.key) // 2 + 2
            for name in block.names:
                if name.endswith("count"):
                    drawn = self.rng.integers(-1, width + 2, lead)
                else:
                    order = self.rng.random((*lead, width)).argsort(-1)
                    drawn = 2 * (order - 1) + name.startswith("full")
                self.tensors[name] = drawn.astype(np.int32)
        if variant.lengths:
            self.tensors["lengths"] = self.rng.integers(0, sizes["Skv"] + 1, sizes["B"]).astype(np.int32)
        if variant.packed:
            for name, offsets in PACKED.items():
                self.tensors[name] = np.array(offsets, np.int32)
        if variant.sinks:
            self.tensors["sinks"] = (2 * self.rng.standard_normal(sizes["Hq"])).astype(np.float32)
        if variant.dropout:
            self.scalars = {"dropout_seed": 0x123456789ABCDEF, "dropout_offset": 0x700000005}
        if variant.runtime_scale:
            self.scalars["scale"] = 0.37


class View(Tensor):
    """The first columns of a matrix with longer rows."""

    def __init__(self, runtime, array, shape):
        super().__init__(runtime, array)
        self.shape = shape


def launch(runtime, image, metadata, inputs):
    """Runs the kernel and returns its outputs, heads first."""
    kernel = fovea_runtime.Kernel(runtime, image, metadata)
    tensors = {}
    for name, array in inputs.tensors.items():
        tensors[name] = View(runtime, *array) if isinstance(array, tuple) else Tensor(runtime, array)
    outputs = {name: Tensor(runtime, array.copy()) for name, array in inputs.outputs.items()}
    known = {tensor["name"] for tensor in kernel.metadata["tensors"]}
    arguments = {name: tensor for name, tensor in {**tensors, **outputs}.items() if name in known}
    kernel(**arguments, **inputs.scalars)
    runtime.call("fovea_stream_wait", runtime.device, ctypes.c_void_p())
    found = {name: tensor.read().copy() for name, tensor in outputs.items()}
    found["o"] = inputs.lay_out(found["o"])
    return found


def compile_kernel(build, config, target, folder):
    """PTX and metadata, or None if the target does not support the configuration."""
    variant = gpu_variants.VARIANTS[config.variant]
    if variant.targets and target not in variant.targets:
        return None
    source, ptx, metadata = (pathlib.Path(folder) / f"kernel.{suffix}" for suffix in ("mlir", "ptx", "json"))
    source.write_text(gpu_variants.emit(config))
    command = [str(pathlib.Path(build) / "bin/fovea-compile"), source, f"--target={target}", "-o", ptx, f"--metadata={metadata}"]
    subprocess.run([*map(str, command), *variant.options], check=True)
    return ptx.read_bytes(), metadata.read_bytes()


def open_runtime(arguments):
    build = pathlib.Path(arguments.build)
    driver = arguments.driver
    if driver == "emulator":
        driver = build / "lib/libFoveaPTXDriver.so"
    runtime = fovea_runtime.Runtime(build / "lib/libFoveaRuntime.so", driver)
    if arguments.perturb:
        emulator = ctypes.CDLL(str(driver))
        assert emulator.foveaPTXDriverSet(b"perturb", ctypes.c_uint64(1)) == 0
        assert emulator.foveaPTXDriverSet(b"seed", ctypes.c_uint64(arguments.perturb)) == 0
    return runtime


def each_kernel(arguments):
    """Configurations with target, PTX and metadata."""
    chosen = [config for config in grid() if arguments.only in config.name]
    with tempfile.TemporaryDirectory() as folder:
        for config in chosen[:: arguments.every]:
            for target in TARGETS:
                compiled = compile_kernel(arguments.build, config, target, folder)
                if compiled:
                    yield config, target, compiled


def digest(ptx):
    # The first lines say which LLVM has made it.
    return hashlib.sha256(b"\n".join(line for line in ptx.split(b"\n") if not line.startswith(b"//"))).digest()


def emulate(arguments):
    runtime = open_runtime(arguments)
    results, start, count = {}, time.time(), 0
    for config, target, (ptx, metadata) in each_kernel(arguments):
        key = f"{target}/{config.name}"
        results[f"{key}/ptx"] = np.frombuffer(digest(ptx), np.uint8)
        for random in (False, True):
            inputs = Inputs(config, random)
            found = launch(runtime, ptx, metadata, inputs)
            kind = "random" if random else "integers"
            o = found["o"].reshape(-1, config.value_dim)
            results[f"{key}/{kind}/o"] = (o[::KEPT] if random else o).view(np.uint16)
            if "lse" in found:
                results[f"{key}/{kind}/lse"] = found["lse"]
        count += 1
        if arguments.verbose:
            print(f"{key}: {time.time() - start:.0f} s", flush=True)
    np.savez_compressed(arguments.results, **results)
    size = pathlib.Path(arguments.results).stat().st_size
    print(f"{count} kernels in {time.time() - start:.0f} s, {size / 2**20:.1f} MiB")
    return 0


class Tally:
    """Statistics of one variant."""

    def __init__(self, score_error=0.0):
        self.score_error = score_error
        self.kernels = self.exact_rows = self.exact_equal = self.rows = self.elements = self.different = 0
        self.worst = self.worst_lse = 0.0

    def add_rows(self, inputs, found, known):
        found, known = (inputs.decode(a).astype(np.float64) for a in (found, known))
        nan = np.isnan(found) | np.isnan(known)
        if (np.isnan(found) != np.isnan(known)).any():
            self.worst = np.inf
        found, known = np.where(nan, 0, found), np.where(nan, 0, known)
        self.rows += len(known)
        self.elements += known.size
        self.different += int((found != known).sum())
        digits = 7 if inputs.config.dtype == "bf16" else 10
        largest = np.maximum(np.abs(known).max(-1), 2.0**-14)
        ulp = 2.0 ** (np.floor(np.log2(largest)) - digits)
        error = np.sqrt(np.mean((found - known) ** 2, -1)) / ulp
        self.worst = max(self.worst, float(error.max(initial=0)))

    def add_lse(self, found, known):
        same = (found == known) | (np.isnan(found) & np.isnan(known))
        with np.errstate(invalid="ignore"):
            error = np.abs(found - known) / np.maximum(1, np.abs(known))
        self.worst_lse = max(self.worst_lse, float(np.where(same, 0, np.where(np.isfinite(error), error, np.inf)).max(initial=0)))

    def passed(self):
        lse_bound = LSE_BOUND + self.score_error
        return self.exact_equal == self.exact_rows and self.worst <= BOUND and self.worst_lse <= lse_bound


def compare_kernel(runtime, config, key, ptx, metadata, results, tally):
    if digest(ptx) != results[f"{key}/ptx"].tobytes():
        raise SystemExit(f"{key}: the PTX is not what was emulated")
    for random in (False, True):
        inputs = Inputs(config, random)
        found = launch(runtime, ptx, metadata, inputs)
        prefix = f"{key}/{'random' if random else 'integers'}"
        o = found["o"].reshape(-1, config.value_dim)
        known = results[f"{prefix}/o"].view(o.dtype)
        if random:
            o = o[::KEPT]
        else:
            bits = known.view(np.uint16)
            exact = (bits == inputs.exact.reshape(known.shape).view(np.uint16)).all(-1)
            tally.exact_rows += int(exact.sum())
            tally.exact_equal += int((o.view(np.uint16) == bits)[exact].all(-1).sum())
            o, known = o[~exact], known[~exact]
        tally.add_rows(inputs, o, known)
        if "lse" in found:
            tally.add_lse(found["lse"], results[f"{prefix}/lse"])
    tally.kernels += 1


def write_table(path, tallies, device):
    total = Tally()
    lines = [
        "| variant | kernels | exact rows, of them equal | other rows | elements that differ | worst row | worst LSE |",
        "|---|---|---|---|---|---|---|",
    ]

    def line(name, t):
        part = 100 * t.different / max(t.elements, 1)
        lines.append(
            f"| {name} | {t.kernels} | {t.exact_rows}, {t.exact_equal} | {t.rows} | {part:.2f}% | {t.worst:.3f} | {t.worst_lse:.1e} |"
        )

    for name, t in tallies.items():
        line(f"`{name}`", t)
        for field in ("kernels", "exact_rows", "exact_equal", "rows", "elements", "different"):
            setattr(total, field, getattr(total, field) + getattr(t, field))
        total.worst, total.worst_lse = max(total.worst, t.worst), max(total.worst_lse, t.worst_lse)
    line("all", total)
    text = f"On {device}:\n\n" + "\n".join(lines) + "\n"
    if path:
        pathlib.Path(path).write_text(text)
    else:
        print(text)


def compare(arguments):
    runtime = open_runtime(arguments)
    results = np.load(arguments.results)
    tallies, failed, start = collections.defaultdict(Tally), [], time.time()
    for config, target, (ptx, metadata) in each_kernel(arguments):
        key, single = f"{target}/{config.name}", Tally(gpu_variants.VARIANTS[config.variant].score_error)
        tally = tallies[config.variant]
        compare_kernel(runtime, config, key, ptx, metadata, results, single)
        for field, value in vars(single).items():
            old = getattr(tally, field)
            setattr(tally, field, max(old, value) if field.startswith(("worst", "score")) else old + value)
        if not single.passed():
            failed.append(key)
            print(f"{key}: FAILED {json.dumps(vars(single))}", flush=True)
        elif arguments.verbose:
            print(f"{key}: passed", flush=True)
    write_table(arguments.table, tallies, runtime.device_info()["name"].decode())
    count = sum(t.kernels for t in tallies.values())
    print(f"{count - len(failed)} of {count} kernels agree, {time.time() - start:.0f} s")
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=("emulate", "compare"))
    parser.add_argument("--build", default="build", help="with bin/fovea-compile and lib/libFoveaRuntime.so")
    parser.add_argument("--results", default="emulator.npz")
    parser.add_argument("--table", help="the table's file; otherwise it is printed")
    parser.add_argument("--driver", help="instead of the system's: a path, or 'emulator', the build's")
    parser.add_argument("--perturb", type=int, default=0, help="a seed that moves the emulator's approximations")
    parser.add_argument("--only", default="", help="kernels whose name contains this")
    parser.add_argument("--every", type=int, default=1, help="each so many-th kernel")
    parser.add_argument("-v", "--verbose", action="store_true")
    arguments = parser.parse_args()
    if arguments.what == "emulate" and not arguments.driver:
        arguments.driver = "emulator"
    return {"emulate": emulate, "compare": compare}[arguments.what](arguments)


if __name__ == "__main__":
    sys.exit(main())
