"""Runs matrix products, hand-written tile programs, on a GPU or on the emulator.

    python test/GPU/run_products.py --compiler build-portable/bin/fovea-compile
    python test/GPU/run_products.py --driver build/lib/libFoveaPTXDriver.so --cases 3      # on the CPU

Sizes are not multiples of tiles. Rows begin at multiples of 16 bytes, so matrices are parts of
larger ones, whose other elements are NaN in the inputs and must not change in the output. Each
element of c is compared with f64, and ten launches must give the same bits. If TMA writes c, rows
of c that end within 16 bytes must be rejected. The last line is `N passed, N failed`; needs numpy,
no PyTorch.
"""

import argparse
import ctypes
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "benchmarks")]

import fovea_runtime  # noqa: E402
import kernels  # noqa: E402
from numpy_tensors import Tensor, from_bf16, to_bf16  # noqa: E402
from products import PROGRAMS, get_target, has_epilogue  # noqa: E402

# M, N, K.
CASES = [
    (1, 1, 1), (1, 8, 1), (130, 264, 67), (65, 7, 0), (65, 16, 0), (333, 704, 129), (130, 259, 67), (128, 256, 64), (1, 512, 1000),
    (1100, 40, 300), (2049, 515, 2051), (2049, 520, 2051), (1500, 2568, 777),
]  # fmt: skip
# The runtime's error for rows that end within 16 bytes, which TMA would write entirely.
REFUSAL = "as TMA writes no less"
TIMES = 10
NAN = 0x7FC1


class Part(Tensor):
    """A bf16 matrix with a row stride larger than its row length."""

    def __init__(self, runtime, values):
        rows, columns = values.shape
        whole = np.full((max(rows, 1), columns // 8 * 8 + 16), NAN, np.uint16)
        whole[:rows, :columns] = values
        super().__init__(runtime, whole)
        self.shape = values.shape

    def damage(self):
        """True if an element outside of the matrix has changed."""
        rows, columns = self.shape
        return bool((self.array[rows:] != NAN).any() or (self.array[:, columns:] != NAN).any())


def make_inputs(runtime, case, generator):
    m, n, k = case
    values = {
        "a": generator.standard_normal((m, k)), "b": generator.standard_normal((k, n)),
        "bias": generator.standard_normal(n), "scale": generator.standard_normal(m).astype(np.float32),
    }  # fmt: skip
    bits = {name: to_bf16(value).reshape(value.shape) for name, value in values.items() if name != "scale"}
    tensors = {"a": Part(runtime, bits["a"]), "b": Part(runtime, bits["b"]), "bias": Tensor(runtime, bits["bias"])}
    tensors["scale"] = Tensor(runtime, values["scale"])
    exact = {name: from_bf16(value).astype(np.float64) for name, value in bits.items()}
    return tensors, {**exact, "scale": values["scale"].astype(np.float64)}


def get_meaning(exact, epilogue):
    """The exact c and its tolerance: half a unit of bf16, sums in f32, and the GPU's tanh (2^-11 in
    the ISA).
    """
    x, error = exact["a"] @ exact["b"], 1e-5 * (np.abs(exact["a"]) @ np.abs(exact["b"]))
    if epilogue:
        x, scale = x + exact["bias"], exact["scale"][:, None]
        error = np.abs(scale) * (1.2 * error + 2.0**-12 * np.abs(x))
        x = scale * x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    return x, error + 2.0**-8 * np.abs(x) + 1e-38


def check(runtime, kernel, case, generator, times):
    """Runs one case; returns an error message or None."""
    tensors, exact = make_inputs(runtime, case, generator)
    used = {tensor["name"] for tensor in kernel.metadata["tensors"]}
    meaning, most = get_meaning(exact, has_epilogue(kernel.metadata))
    m, n, _ = case
    first = None
    for _ in range(times):
        output = Part(runtime, np.full((m, n), NAN, np.uint16))
        try:
            kernel(**{name: tensor for name, tensor in tensors.items() if name in used}, c=output)
        except fovea_runtime.FoveaError as error:
            return None if n % 8 and REFUSAL in str(error) else str(error)
        runtime.call("fovea_stream_wait", runtime.device, ctypes.c_void_p(0))
        found = output.read()[:m, :n].copy()
        if output.damage():
            return "writes beside the output"
        if first is not None and not np.array_equal(found, first):
            return "another launch gives other bits"
        first = found
    wrong = ~(np.abs(from_bf16(first) - meaning) <= most)
    if not wrong.any():
        return None
    place = tuple(int(index) for index in np.argwhere(wrong)[0])
    return f"{wrong.sum()} elements are wrong, the first at {place}: {from_bf16(first)[place]} instead of {meaning[place]}"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", help="fovea-compile; found in the build folders by default")
    parser.add_argument("--runtime", help="libFoveaRuntime.so; found in the build folders by default")
    parser.add_argument("--driver", help="stands for the system's CUDA driver")
    parser.add_argument("--programs", nargs="+", type=pathlib.Path, default=sorted(PROGRAMS.glob("product*.mlir")))
    parser.add_argument("--cases", type=int, default=len(CASES), help="the first so many")
    parser.add_argument("--times", type=int, default=TIMES, help="launches of each")
    return parser.parse_args()


def main():
    args = parse_arguments()
    compiler, library = kernels.find_compiler(args.compiler), kernels.find_library(args.runtime)
    if not compiler or not library:
        print("there is no fovea-compile or no libFoveaRuntime.so; name them with --compiler and --runtime")
        return 2
    try:
        runtime = fovea_runtime.Runtime(library, args.driver)
    except fovea_runtime.FoveaError as error:
        if error.status not in (fovea_runtime.NO_DRIVER, fovea_runtime.NO_DEVICE):
            raise
        print(f"SKIP: {error}")
        return 0
    info = runtime.device_info()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in args.programs:
            target = get_target(path.read_text())
            if target not in kernels.default_targets(info["major"], info["minor"]):
                continue
            ptx, metadata = (pathlib.Path(folder) / f"{path.stem}.{ending}" for ending in ("ptx", "json"))
            command = [compiler, path, f"--target={target}", "--emit=ptx", "-o", ptx, f"--metadata={metadata}"]
            subprocess.run(list(map(str, command)), check=True)
            kernel = runtime.load(ptx, metadata)
            generator = np.random.default_rng(1)
            for case in CASES[: args.cases]:
                problem = check(runtime, kernel, case, generator, args.times)
                passed, failed = passed + (not problem), failed + bool(problem)
                if problem:
                    print(f"FAILED: {path.stem} {case}: {problem}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
