"""The table variants: PyTorch's examples through fovea.torch, against the compiled flex_attention."""

from __future__ import annotations

import random
import statistics
from typing import Any, Dict, List

from ._timing import Progress, first_line, take_turns

NAMES = ("dense", "causal", "relative position", "ALiBi", "soft cap", "sliding window", "prefix LM", "document", "NATTEN",
         "GQA, causal")
RELATIVE_ERROR = 1e-2


def visible_pairs(torch: Any, mask_mod: Any, batch: int, heads: int, length: int) -> float:
    """The number of visible pairs of all heads and batch entries; the mask must not depend on
    the head."""
    if mask_mod is None:
        return float(batch) * heads * length * length
    j = torch.arange(length, device="cuda")[None, :]
    total, head = 0, torch.tensor(0, device="cuda")
    for b in range(batch):
        entry = torch.tensor(b, device="cuda")
        for first in range(0, length, 512):
            i = torch.arange(first, min(first + 512, length), device="cuda")[:, None]
            total += int(mask_mod(entry, head, i, j).expand(i.shape[0], length).sum().item())
    return float(total) * heads


def run(torch: Any, rounds: int, progress: Progress, only: str = "") -> List[Dict[str, Any]]:
    """A row for each example: times, and FLOP/s of the visible pairs."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    import fovea.torch

    from ._examples import BATCH, DIM, HEADS, LENGTH, depends_on_batch, examples

    rng, rows = random.Random(0), []
    progress.print(f"{'example':<18} {'fovea ms':>9} {'flex ms':>9} {'faster':>7} {'TFLOP/s':>8} {'error':>9}")
    for name, score_mod, mask_mod, kv_heads in examples():
        if only and only not in name:
            continue
        progress.show(name)
        q, k, v = (torch.randn(BATCH, n, LENGTH, DIM, device="cuda", dtype=torch.bfloat16)
                   for n in (HEADS, kv_heads, kv_heads))
        arguments: Dict[str, Any] = dict(score_mod=score_mod, enable_gqa=kv_heads != HEADS)
        torch.compiler.reset()
        compiled = torch.compile(flex_attention, dynamic=False)
        contestants: Dict[str, Any] = {}
        row: Dict[str, Any] = {"name": name}
        expected = None
        with torch.no_grad():
            if mask_mod is not None:
                batch = BATCH if depends_on_batch(name) else None
                arguments["block_mask"] = create_block_mask(mask_mod, batch, None, LENGTH, LENGTH, device="cuda")
            for who, function in (("flex_attention", compiled), ("fovea", fovea.torch.flex_attention)):
                def call(function=function, arguments=arguments, q=q, k=k, v=v):  # type: ignore[no-untyped-def]
                    return function(q, k, v, **arguments)
                try:
                    output = call().float()
                    torch.cuda.synchronize()
                except Exception as error:  # noqa: BLE001: its compilers may raise any exception
                    progress.print(f"  {name}: {who} does not run: {first_line(error)}")
                    continue
                contestants[who] = call
                if expected is None:
                    expected = output
                elif who == "fovea":
                    row["error"] = ((output - expected).norm() / expected.norm()).item()
            if row.get("error", 0.0) > RELATIVE_ERROR:
                progress.print(f"  {name}: fovea is wrong by {row['error']:.3g} of the norm of flex_attention's output")
                del contestants["fovea"]
            flops = 4.0 * DIM * visible_pairs(torch, mask_mod, BATCH, HEADS, LENGTH)
            for who, times in take_turns(torch, contestants, rounds, rng).items():
                row[f"{who}_ms"] = statistics.median(times)
                row[f"{who}_tflops"] = flops / row[f"{who}_ms"] * 1e-9
        ours, theirs = row.get("fovea_ms"), row.get("flex_attention_ms")
        row["faster"] = theirs / ours if ours and theirs else None
        progress.print(" ".join([f"{name:<18}"] + [
            f"{value:>{width}.{digits}f}" if value is not None else f"{'-':>{width}}"
            for value, width, digits in ((ours, 9, 4), (theirs, 9, 4), (row["faster"], 7, 2),
                                         (row.get("fovea_tflops"), 8, 1), (row.get("error"), 9, 5))]))
        rows.append(row)
        progress.advance()
        torch.cuda.empty_cache()
    return rows
