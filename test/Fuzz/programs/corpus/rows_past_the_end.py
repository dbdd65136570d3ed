"""Rows that don't exist counted as changed by a block that no row asked for."""

FRONT_END = "fovea"

FORM = {}

CAPTURES = {}


def mask_mod(b, h, q_idx, kv_idx):
    return q_idx > 0
