"""The gradient was rejected: a block's relative-position values were read before the wait for them.
"""

FRONT_END = "torch"

FORM = {"head_dim": 128, "value_head_dim": 128, "batch": 2, "queries": 207, "keys": 16, "recurrence": "deferred", "accurate_tanh": True, "seed": 14431}

CAPTURES = {"c0": {"dtype": "f32", "dims": (1,), "contents": "normal"}, "c1": {"dtype": "bf16", "dims": (9, 1), "contents": "normal"}}


def score_mod(score, b, h, q_idx, kv_idx):
    score += c0[h]
    return score - torch.atan2(score, torch.abs(c1[((q_idx - kv_idx)).clamp(-4, 4) + 4, h].float()) + 0.25)


def mask_mod(b, h, q_idx, kv_idx):
    return q_idx >= kv_idx
