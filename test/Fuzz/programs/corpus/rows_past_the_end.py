"""Nonexistent rows counted as changed by a block that no row needed."""

FRONT_END = "fovea"

FORM = {}

CAPTURES = {}


def mask_mod(b, h, q_idx, kv_idx):
    return q_idx > 0
