"""Kernels for the GPU tests and benchmarks: compiles attn IR in parallel.

If available, ptxas (of a CUDA toolkit or of Triton) runs in the worker processes, since the
driver's own compiler handles one kernel at a time. Without ptxas the driver compiles the PTX.
"""

import concurrent.futures
import glob
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import time

import gpu_variants

# The targets that run_forward.py and the benchmarks support. The 'a' targets run on their own
# architecture only.
TARGETS = ("sm_80", "sm_90a")


def parse_targets(text):
    """The targets of a comma-separated list; raises ValueError."""
    targets = [target.strip() for target in text.split(",")]
    for target in targets:
        if not re.fullmatch(r"sm_\d+[af]?", target):
            raise ValueError(f"'{target}' is no target, expected for example {','.join(TARGETS)}")
    return list(dict.fromkeys(targets))


def default_targets(major, minor):
    """All that a device of this compute capability runs and that we test."""
    return list(TARGETS) if (major, minor) == (9, 0) else ["sm_80"]


def ptxas_chip(target, chip):
    """The architecture for ptxas: that of the device, with architecture-specific features if the
    target uses them (sm_90a on sm_90).
    """
    return target if target[-1].isalpha() else chip


def find_ptxas():
    found = shutil.which("ptxas")
    if found:
        return found
    candidates = sorted(glob.glob("/usr/local/cuda*/bin/ptxas"), reverse=True)
    for package in ("triton", "nvidia"):
        spec = importlib.util.find_spec(package)
        for root in (spec.submodule_search_locations or []) if spec else []:
            candidates += glob.glob(os.path.join(root, "**", "bin", "ptxas"), recursive=True)
    return next((path for path in candidates if os.access(path, os.X_OK)), None)


class CompileError(RuntimeError):
    pass


def _run(command, what):
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if result.returncode:
        text = (result.stderr + result.stdout).strip()
        raise CompileError(f"{what} exited with {result.returncode}: {text[:2000]}")
    return result.stderr + result.stdout


def ptxas_facts(said):
    """Registers and spills of the kernel, from the output of `ptxas -v`; with a prologue, the
    maximum over all kernels.
    """
    facts = {}
    for key, pattern in {
        "registers": r"Used (\d+) registers",
        "spill_stores": r"(\d+) bytes spill stores",
        "spill_loads": r"(\d+) bytes spill loads",
        "static_shared_memory": r"(\d+) bytes smem",
    }.items():
        found = re.findall(pattern, said)
        if found:
            facts[key] = max(map(int, found))
    # Products that ptxas did not leave asynchronous, for example.
    warnings = [line for line in said.splitlines() if "warning" in line.lower() or "serializ" in line]
    if warnings:
        facts["ptxas_warnings"] = warnings
    return facts


def compile_one(name, source, folder, compiler, target, chip, ptxas, options=()):
    """Compiles one program. Returns the image, the metadata and facts: registers and spills
    reported by ptxas, and the seconds of both compilers.
    """
    folder = pathlib.Path(folder)
    program, ptx, metadata = (folder / f"{name}.{ending}" for ending in ("mlir", "ptx", "json"))
    program.write_text(source)
    base = [str(compiler), str(program), f"--target={target}", *options]
    started = time.monotonic()
    _run([*base, "--emit=ptx", "-o", str(ptx), f"--metadata={metadata}"], "fovea-compile")
    facts = {"fovea_compile_s": round(time.monotonic() - started, 3)}
    if not ptxas:
        return str(ptx), str(metadata), facts
    cubin = folder / f"{name}.cubin"
    started = time.monotonic()
    said = _run([ptxas, "-v", f"-arch={ptxas_chip(target, chip)}", str(ptx), "-o", str(cubin)], "ptxas")
    facts |= {"ptxas_s": round(time.monotonic() - started, 3), **ptxas_facts(said)}
    return str(cubin), str(metadata), facts


def compile_all(configs, folder, compiler, target, chip, jobs, options=()):
    """Compiles configurations in parallel. Returns a dictionary from each configuration to the
    result of compile_one or to an exception. Threads suffice, since the work is done in
    subprocesses.
    """
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    ptxas = find_ptxas()

    def work(config):
        try:
            own = [*options, *gpu_variants.VARIANTS[config.variant].options]
            return compile_one(config.name, gpu_variants.emit(config), folder, compiler, target, chip, ptxas, own)
        except (CompileError, subprocess.TimeoutExpired, OSError) as error:
            return error

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return dict(zip(configs, pool.map(work, configs)))


def read_folder(folder, target=None):
    """Loads compiled kernels by file name, see gpu_variants.Config. With a target, only those whose
    metadata names that target.
    """
    result = {}
    for metadata in sorted(pathlib.Path(folder).glob("*.json")):
        if target and json.loads(metadata.read_text()).get("target") != target:
            continue
        for ending in (".cubin", ".ptx"):
            image = metadata.with_suffix(ending)
            if image.exists():
                result[gpu_variants.Config.parse(metadata.stem)] = str(image), str(metadata), {}
                break
    return result


def find_torch():
    """PyTorch with a device, or None and the reason."""
    try:
        import torch
    except ImportError:
        return None, "torch is not installed"
    if not torch.cuda.is_available():
        return None, "there is no CUDA device"
    return torch, ""


def start_torch(seed):
    """torch, its random numbers from `seed` unless that is None. None after saying why it can't run."""
    torch, reason = find_torch()
    if torch is None:
        print(f"SKIP: {reason}")
    elif seed is not None:
        torch.manual_seed(seed)
    return torch


def find_library(argument):
    """libFoveaRuntime.so: the argument, or one in a build folder above."""
    if argument:
        return argument
    root = pathlib.Path(__file__).resolve().parents[2]
    for build in ("build-portable", "build"):
        candidate = root / build / "lib" / "libFoveaRuntime.so"
        if candidate.exists():
            return str(candidate)
    return None


def find_compiler(argument):
    """fovea-compile: the argument, or one in a build folder above."""
    if argument:
        return argument
    root = pathlib.Path(__file__).resolve().parents[2]
    for build in ("build-portable", "build"):
        candidate = root / build / "bin" / "fovea-compile"
        if candidate.exists():
            return str(candidate)
    return shutil.which("fovea-compile")
