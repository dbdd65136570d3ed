"""PyTorch's examples of flex_attention: score_mods and mask_mods."""

from __future__ import annotations

from typing import Any, Iterator, Tuple

import torch
from torch.nn.attention.flex_attention import and_masks, or_masks

BATCH, HEADS, LENGTH, DIM = 4, 16, 4096, 128


def causal(b, h, q_idx, kv_idx):  # type: ignore[no-untyped-def]
    """Keys up to the query."""
    return q_idx >= kv_idx


def relative_position(score, b, h, q_idx, kv_idx):  # type: ignore[no-untyped-def]
    """A bias by relative position."""
    return score + (q_idx - kv_idx)


def soft_cap(score, b, h, q_idx, kv_idx):  # type: ignore[no-untyped-def]
    """Scores capped to [-20, 20]."""
    return 20 * torch.tanh(score / 20)


def sliding_window(b, h, q_idx, kv_idx):  # type: ignore[no-untyped-def]
    """Keys at most 1024 positions before the query."""
    return q_idx - kv_idx <= 1024


def natten(b, h, q_idx, kv_idx):  # type: ignore[no-untyped-def]
    """A window of 13 x 13 in an image of 64 x 64, shifted inwards at its borders."""
    width, kernel = 64, 13
    q_x, q_y, kv_x, kv_y = q_idx // width, q_idx % width, kv_idx // width, kv_idx % width
    center_x = q_x.clamp(kernel // 2, (width - 1) - kernel // 2)
    center_y = q_y.clamp(kernel // 2, (width - 1) - kernel // 2)
    return ((center_x - kv_x).abs() <= kernel // 2) & ((center_y - kv_y).abs() <= kernel // 2)


def examples() -> Iterator[Tuple[str, Any, Any, int]]:
    """Yields (name, score_mod, mask_mod, key heads)."""
    slopes = torch.exp2(-torch.arange(1, HEADS + 1, device="cuda") * 8.0 / HEADS)
    lengths = torch.tensor([700, 1300, 96, 2000], device="cuda")
    documents = torch.repeat_interleave(torch.arange(4, device="cuda"), lengths)
    prefixes = torch.tensor([1024, 2048, 17, 512], device="cuda")

    def alibi(score, b, h, q_idx, kv_idx):  # type: ignore[no-untyped-def]
        return score + slopes[h] * (kv_idx - q_idx)

    def prefix(b, h, q_idx, kv_idx):  # type: ignore[no-untyped-def]
        return kv_idx <= prefixes[b]

    def document(b, h, q_idx, kv_idx):  # type: ignore[no-untyped-def]
        return documents[q_idx] == documents[kv_idx]

    yield "dense", None, None, HEADS
    yield "causal", None, causal, HEADS
    yield "relative position", relative_position, None, HEADS
    yield "ALiBi", alibi, causal, HEADS
    yield "soft cap", soft_cap, None, HEADS
    yield "sliding window", None, and_masks(causal, sliding_window), HEADS
    yield "prefix LM", None, or_masks(prefix, causal), HEADS
    yield "document", None, and_masks(document, causal), HEADS
    yield "NATTEN", None, natten, HEADS
    yield "GQA, causal", None, causal, HEADS // 4


def depends_on_batch(name: str) -> bool:
    """Whether an example's mask differs between batch entries."""
    return name == "prefix LM"
