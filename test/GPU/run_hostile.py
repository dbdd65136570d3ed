"""Launches kernels with invalid integers: no access may be outside of a tensor, and the runtime's
check must report them.

    PYTORCH_NO_CUDA_MEMORY_CACHING=1 compute-sanitizer \\
        python test/GPU/run_hostile.py --compiler build-portable/bin/fovea-compile

Lengths, offsets of packed sequences, block lists and captured integers contain garbage; captured
tensors are shorter than the keys; there are no keys, queries or batch entries. Without the
sanitizer only writes next to the outputs are detected. The last line is `N passed, N failed`.
"""

import argparse
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import gpu_variants  # noqa: E402
import run_forward  # noqa: E402
import waiting  # noqa: E402
from gpu_variants import Config  # noqa: E402
from run_forward import Case  # noqa: E402

EXTREMES = (-(2**31), 2**31 - 1, -1, 0, 1, 2**30, 2**16, 7)

CONFIGS = [
    Config(name, dtype, d)
    for name in ("lengths", "packed", "packedfull", "blocksparse", "blockmask", "documents", "rounds", "bitmask", "tree", "distances")
    for dtype, d in (("bf16", 64), ("f16", 128))
] + [Config("lengths", "bf16", 128, 0, "bhsd", (3, 32, 4, 1, 1000)), Config("tree", "bf16", 64, 0, "bhsd", (3, 32, 4, 16, 1000))]

CASES = [Case(2, 4, 2, 200, 300), Case(1, 2, 1, 65, 1000), Case(2, 2, 2, 513, 127)]

EMPTY_CONFIGS = [Config(name, "bf16", 64) for name in ("dense", "causal", "alibi", "lengths", "documents", "blockmask")]
EMPTY_CASES = [Case(2, 4, 2, 200, 0), Case(2, 4, 2, 0, 200), Case(0, 4, 2, 200, 200)]

#: Which tensors the runtime's check reads.
CHECKED = ("lengths", "cu_q", "cu_k", *gpu_variants.Blocks(64, 64, full=True).names)


def spoil(torch, tensors, garbage, generator):
    """Fills integer tensors with extreme values (one value or cycling through all) or random ones.
    Returns whether the runtime must report an error.
    """
    # Small numbers are lengths and offsets; not several times in a list of blocks.
    possible = {0, 1} if tensors.arguments.get("partial_count") is not None else {0, 1, 7}
    found = False
    for name, tensor in tensors.arguments.items():
        if not hasattr(tensor, "data_ptr") or tensor.dtype != torch.int32:
            continue
        if garbage == "random":
            values = torch.randint(-(2**31), 2**31, tensor.shape, device=tensor.device, generator=generator)
        elif garbage == "turns":
            values = torch.tensor(EXTREMES, device=tensor.device).repeat(tensor.numel() // len(EXTREMES) + 1)
            values = values[: tensor.numel()].view(tensor.shape)
        else:
            values = torch.full(tensor.shape, garbage, device=tensor.device)
        tensor.copy_(values.to(torch.int32))
        found |= name in CHECKED and garbage not in possible
    return found


def shorten(tensors, config):
    """Cuts captured tensors off along the last dimension, which a mask that reads
    them there does not allow."""
    refused = False
    for index, capture in enumerate(gpu_variants.VARIANTS[config.variant].captures):
        tensor = tensors.arguments[f"capture{index}"]
        tensors.arguments[f"capture{index}"] = tensor[..., : max(tensor.shape[-1] // 2, 1)].clone()
        refused |= config.variant in ("documents", "rounds") and tensor.shape[-1] > 1
    return refused


def check_case(torch, runtime, kernel, config, case, garbage, device, generator):
    """Runs one case; returns an error message or None."""
    tensors = run_forward.Tensors(torch, config, case, device, generator)
    is_bad = spoil(torch, tensors, garbage, generator)
    is_short = garbage == "random" and shorten(tensors, config)
    try:
        kernel.check(**tensors.arguments)
        if is_bad or is_short:
            return "the check finds nothing"
    except runtime.FoveaError as error:
        if not is_bad and not is_short:
            return f"the check refuses what is possible: {error}"
    if is_short:
        return None  # it can't be launched either
    kernel(**tensors.arguments)
    waiting.synchronize(torch)
    return tensors.damage()


def check_empty(torch, kernel, config, case, device, generator):
    """Runs a case with sizes of 0: rows without visible keys have results too."""
    tensors = run_forward.Tensors(torch, config, case, device, generator)
    kernel(**tensors.arguments)
    waiting.synchronize(torch)
    if not bool((tensors.o == 0).all()) or not bool((tensors.lse == -float("inf")).all()):
        return "rows without keys must have an output of 0 and a log-sum-exp of -inf"
    return tensors.damage()


def checks(torch, runtime, kernel, config, count, device, generator):
    """Yields (name, error message or None) for each check."""
    if config in EMPTY_CONFIGS:
        for case in EMPTY_CASES:
            yield str(case), check_empty(torch, kernel, config, case, device, generator)
    if config not in CONFIGS:
        return
    for case in [Case(*config.static)] if config.static else CASES[:count]:
        for garbage in ("random", "turns", *EXTREMES):
            problem = check_case(torch, runtime, kernel, config, case, garbage, device, generator)
            yield f"{case} {garbage}", problem


def run(args):
    """0 if all passed, 1 if not. None and the reason if it can't run."""
    import fovea_runtime
    import kernels

    torch, reason = kernels.find_torch()
    if torch is None:
        return None, reason

    library, compiler = kernels.find_library(args.runtime), kernels.find_compiler(args.compiler)
    if not library or not compiler:
        return None, "there is no libFoveaRuntime.so or no fovea-compile; name them with --runtime and --compiler"
    torch.zeros(1, device="cuda")
    device = torch.device("cuda", torch.cuda.current_device())
    runtime = fovea_runtime.Runtime(library)
    facts = runtime.device_info()
    chip = f"sm_{facts['major']}{facts['minor']}"
    generator = torch.Generator(device)
    generator.manual_seed(1)
    passed = failed = 0
    for target in args.target or kernels.default_targets(facts["major"], facts["minor"]):
        with tempfile.TemporaryDirectory() as folder:
            configs = list(dict.fromkeys(CONFIGS + EMPTY_CONFIGS))
            compiled = kernels.compile_all(configs, pathlib.Path(folder), compiler, target, chip, args.jobs, [])
            for config, result in compiled.items():
                if isinstance(result, Exception):
                    failed += 1
                    print(f"FAILED: {target} {config.name}: {result}", flush=True)
                    continue
                kernel = runtime.load(*result[:2])
                for name, problem in checks(torch, fovea_runtime, kernel, config, args.cases, device, generator):
                    passed, failed = passed + (not problem), failed + bool(problem)
                    if problem:
                        print(f"FAILED: {target} {config.name} {name}: {problem}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0, ""


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", help="fovea-compile; found in the build folders by default")
    parser.add_argument("--runtime", help="libFoveaRuntime.so; found in the build folders by default")
    parser.add_argument("--target", type=run_forward.target_list, metavar="LIST", help="targets, comma-separated")
    parser.add_argument("--jobs", type=int, default=4, help="kernels to compile at once")
    parser.add_argument("--cases", type=int, default=len(CASES), help="fewer cases of each kernel")
    code, reason = run(parser.parse_args(argv))
    if code is None:
        print(f"SKIP: {reason}")
        return 0
    return code


def test_hostile():
    """For pytest."""
    import pytest

    code, reason = run(argparse.Namespace(compiler=None, runtime=None, target=None, jobs=4, cases=1))
    if code is None:
        pytest.skip(reason)
    assert code == 0


if __name__ == "__main__":
    sys.exit(main())
