"""The gradient was rejected: the mask hides everything, so the table's stream had no reader and its
pipeline no consumer.
"""

FRONT_END = "torch"

FORM = {"heads": 4, "kv_heads": 2, "queries": 282, "keys": 2, "accurate_tanh": True, "seed": 39309}

CAPTURES = {"c0": {"dtype": "bf16", "dims": (4, 65), "contents": "normal"}}


def score_mod(score, b, h, q_idx, kv_idx):
    return ((q_idx - kv_idx) + (0.25 * score)) + c0.detach().abs()[h, ((kv_idx - q_idx)).clamp(0, 64)]


def mask_mod(b, h, q_idx, kv_idx):
    return (q_idx >= kv_idx) ^ (q_idx >= kv_idx)
