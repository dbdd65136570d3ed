"""Like rows_past_the_end, for packed sequences."""

FRONT_END = "fovea"

FORM = {"sequences": "packed", "cu_q": [0, 0, 0, 0, 1], "cu_k": [0, 0, 0, 0, 1]}

CAPTURES = {}


def mask_mod(b, h, q_idx, kv_idx):
    return q_idx > 0
