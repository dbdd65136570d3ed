"""Times kernels against PyTorch's on one GPU, and plots the results.

forward: dense and causal attention with head dims 64, 128 and 256 and 1k, 4k and 16k
tokens, against the backends of PyTorch's scaled_dot_product_attention. variants: PyTorch's
examples of flex_attention through fovea.torch, against the compiled flex_attention.
The kernels alternate in random order, each for 30 ms and then for seven timed launches. The
result is the median of all launches.

Exit codes: 0 for success; 2 for bad arguments or files; 3 without PyTorch or a GPU.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
from typing import Any, Dict, List, Optional

from ..errors import Error
from . import TABLES, plot
from ._forward import DEFAULT_CELLS, Cell

NO_DEVICE = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=f"{' or '.join(TABLES)} (default: both)")
    parser.add_argument("--cells", nargs="+", type=Cell, help="sizes of the table forward: HEAD_DIM:LENGTH:full or HEAD_DIM:LENGTH:causal")
    parser.add_argument("--only", default="", help="run only examples of the table variants whose names contain this")
    parser.add_argument("--target", help="target to compile for (default: the device's best)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each kernel (default: %(default)s)")
    parser.add_argument("--flex", action="store_true", help="also time flex_attention in the table forward")
    parser.add_argument("--json", metavar="FILE", help="write the results to a file")
    parser.add_argument("--output", "-o", metavar="FILE", help="the plot, .png, .svg or .pdf (default: bench.png)")
    parser.add_argument("--plot", metavar="FILE.json", help="plot results of --json; needs no GPU")


def _draw(results: Dict[str, Any], output: Optional[str]) -> None:
    path = output or "bench.png"
    counts = plot(results, path)
    print(f"{path}: " + ", ".join(f"{count} bars of {name}" for name, count in counts.items()))


def _device(torch: Any) -> Dict[str, Any]:
    import fovea

    facts = fovea.device_info()
    return {"name": torch.cuda.get_device_name(), "capability": f"sm_{facts['major']}{facts['minor']}",
            "driver": facts["driver_version"], "torch": torch.__version__, "fovea": fovea.__version__}


def default_target(capability: str) -> str:
    """The best target that a device of a capability ("sm_90") runs. Raises Error."""
    from ..runtime._gpus import target_facts, targets_of_capability

    targets = targets_of_capability(int(capability[3:-1]), int(capability[-1]))
    if not targets:
        raise Error(f"no target runs on {capability}; there are {', '.join(one.name for one in target_facts())}")
    return targets[0]


def run(arguments: argparse.Namespace) -> int:
    """Runs tables, or plots results."""
    if arguments.plot:
        try:
            results = json.loads(pathlib.Path(arguments.plot).read_text())
        except ValueError as error:
            raise Error(f"{arguments.plot} is not JSON: {error}") from None
        if not isinstance(results, dict):
            raise Error(f"{arguments.plot}: not the results of a benchmark")
        _draw(results, arguments.output)
        return 0
    for name in arguments.tables:
        if name not in TABLES:
            raise Error(f"there is no table '{name}', only {' and '.join(TABLES)}")
    if arguments.rounds < 1:
        raise Error("--rounds must be at least 1")
    try:
        import torch
    except ImportError:
        print("fovea bench: PyTorch is not installed", file=sys.stderr)
        return NO_DEVICE
    if not torch.cuda.is_available():
        print("fovea bench: PyTorch finds no CUDA device", file=sys.stderr)
        return NO_DEVICE
    return _run_tables(torch, arguments)


def _run_tables(torch: Any, arguments: argparse.Namespace) -> int:
    from . import _forward, _variants
    from ._timing import Progress

    torch.zeros(1, device="cuda")
    device = _device(torch)
    target = arguments.target or default_target(device["capability"])
    tables = list(dict.fromkeys(arguments.tables)) or list(TABLES)
    cells = arguments.cells or [Cell(text) for text in DEFAULT_CELLS]
    steps = {"forward": len(cells), "variants": sum(arguments.only in name for name in _variants.NAMES)}
    progress = Progress(sum(steps[name] for name in tables))
    progress.print(f"{device['name']}, {target}, driver {device['driver']}, PyTorch {device['torch']}")
    results: Dict[str, Any] = {"device": device, "target": target, "tables": {}}
    for name in tables:
        if name == "forward":
            results["tables"][name] = _forward.run(torch, cells, target, arguments.rounds, arguments.flex, progress)
        else:
            results["tables"][name] = _variants.run(torch, arguments.rounds, progress, arguments.only)
        if arguments.json:  # after each table, in case a later one ends the process
            pathlib.Path(arguments.json).write_text(json.dumps(results, indent=1) + "\n")
    progress.end()
    try:
        _draw(results, arguments.output)
    except Error as error:
        # The numbers were printed; a missing matplotlib is no failure.
        print(f"no plot: {error}")
    return 0
