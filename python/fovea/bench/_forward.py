"""The table forward: dense and causal attention against the backends of PyTorch's."""

from __future__ import annotations

import argparse
import random
import statistics
from typing import Any, Callable, Dict, List

from ._timing import Progress, first_line, take_turns

DEFAULT_CELLS = [f"{d}:{s}:{mask}" for d in (64, 128, 256) for mask in ("full", "causal") for s in (1024, 4096, 16384)]
TOKENS, WIDTH = 16384, 2048
# Tolerance for O against PyTorch's; both round P to bf16.
RELATIVE_ERROR = 1e-2


class Cell:
    """One size: HEAD_DIM:LENGTH:full or HEAD_DIM:LENGTH:causal; HEAD_DIM may be 192/128, with the
    head dim of the values. There are 16k tokens in total; heads times head dim is 2048."""

    def __init__(self, text: str):
        try:
            dims, s, mask = text.split(":")
            d, _, dv = dims.partition("/")
            self.d, self.dv, self.s, self.causal = int(d), int(dv or d), int(s), {"full": False, "causal": True}[mask]
            if self.d < 1 or self.dv < 1 or self.s < 1:
                raise ValueError
        except (ValueError, KeyError):
            raise argparse.ArgumentTypeError(
                f"'{text}' is not HEAD_DIM:LENGTH:full or HEAD_DIM:LENGTH:causal, with HEAD_DIM or HEAD_DIM/VALUE_HEAD_DIM") from None
        self.text, self.b, self.h = text, max(1, TOKENS // self.s), max(1, WIDTH // self.d)

    @property
    def flops(self) -> float:
        """2 * (d + dv) per pair of query and key; a causal mask counts half of the pairs."""
        return 2 * self.b * self.h * self.s * self.s * (self.d + self.dv) * (0.5 if self.causal else 1)


def torch_contestants(torch: Any, cell: Cell, q: Any, k: Any, v: Any, flex: bool,
                      say: Callable[[str], Any]) -> Dict[str, Callable[[], Any]]:
    """PyTorch's kernels that run, by name."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    def sdpa(backend: Any) -> Callable[[], Any]:
        def call() -> Any:
            with sdpa_kernel(backend):
                return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=cell.causal)

        return call

    result = {}
    for name in ("FLASH_ATTENTION", "CUDNN_ATTENTION"):
        try:
            call = sdpa(getattr(SDPBackend, name))
            call()
            torch.cuda.synchronize()
            result[name] = call
        except (RuntimeError, AttributeError) as error:
            say(f"  {name} does not run: {first_line(error)}")
    if flex:
        try:
            from torch.nn.attention.flex_attention import create_block_mask, flex_attention

            # Without a reset, it would run uncompiled after eight sizes.
            torch.compiler.reset()
            compiled = torch.compile(flex_attention, dynamic=False)
            mask = None
            if cell.causal:
                mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, cell.s, cell.s, device="cuda")
            compiled(q, k, v, block_mask=mask)
            torch.cuda.synchronize()
            result["flex_attention"] = lambda: compiled(q, k, v, block_mask=mask)
        except Exception as error:  # noqa: BLE001: its compiler may raise any exception
            say(f"  flex_attention does not run: {first_line(error)}")
    return result


def make_inputs(torch: Any, cell: Cell) -> List[Any]:
    """Random q, k and v."""
    return [torch.randn(cell.b, cell.h, cell.s, d, device="cuda", dtype=torch.bfloat16) for d in (cell.d, cell.d, cell.dv)]


def our_contestant(torch: Any, cell: Cell, target: str, q: Any, k: Any, v: Any) -> Callable[[], Any]:
    """A launch of Fovea's kernel without LSE. Raises RuntimeError if its output is wrong."""
    import fovea

    mask = (lambda b, h, q_idx, kv_idx: q_idx >= kv_idx) if cell.causal else None
    spec = fovea.attention(mask_mod=mask, dtype="bf16", head_dim=cell.d, value_head_dim=cell.dv, lse=False,
                           name="causal" if mask else "dense")
    loaded = fovea.compile(spec, target=target).loaded(torch.cuda.current_device())
    o, stream = q.new_full((*q.shape[:3], cell.dv), float("nan")), torch.cuda.current_stream().cuda_stream
    given = {"q": q, "k": k, "v": v, "o": o}
    words: List[Any] = []
    for name in loaded.tensors:
        words += [given[name].data_ptr(), *given[name].shape, *given[name].stride()]

    def launch() -> None:
        loaded.launch(stream, words)

    launch()
    torch.cuda.synchronize()
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=cell.causal).float()
    error = ((o.float() - expected).norm() / expected.norm()).item()
    if not error < RELATIVE_ERROR:
        raise RuntimeError(f"the relative error is {error:.3g}")
    return launch


def run(torch: Any, cells: List[Cell], target: str, rounds: int, flex: bool, progress: Progress) -> List[Dict[str, Any]]:
    """A row for each kernel of each cell."""
    rng, rows = random.Random(0), []
    progress.print(f"{'cell':<18} {'kernel':<20} {'TFLOP/s':>8} {'ms':>9}")
    for cell in cells:
        progress.show(cell.text)
        q, k, v = make_inputs(torch, cell)
        contestants = torch_contestants(torch, cell, q, k, v, flex, progress.print)
        try:
            contestants["fovea"] = our_contestant(torch, cell, target, q, k, v)
        except Exception as error:  # noqa: BLE001: the other kernels are still timed
            progress.print(f"  fovea does not run: {first_line(error)}")
        times = take_turns(torch, contestants, rounds, rng, lambda name, cell=cell: progress.show(f"{cell.text} {name}"))
        found = []
        for name, values in times.items():
            median = statistics.median(values)
            found.append({"cell": cell.text, "name": name, "tflops": cell.flops / median * 1e-9, "median_ms": median,
                          "times_ms": values})
        for row in sorted(found, key=lambda row: -row["tflops"]):
            progress.print(f"{cell.text:<18} {row['name']:<20} {row['tflops']:>8.1f} {row['median_ms']:>9.4f}")
        rows += found
        progress.advance()
        torch.cuda.empty_cache()
    return rows
