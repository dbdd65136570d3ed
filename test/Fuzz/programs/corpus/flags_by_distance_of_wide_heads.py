"""Warps of the gradient kernel share columns, so no warp has a whole row of flags by relative
position.
"""

FRONT_END = "torch"

FORM = {"head_dim": 160, "value_head_dim": 160, "queries": 15, "seed": 1}

CAPTURES = {"c0": {"dtype": "i1", "dims": (33,), "contents": "bool"}}


def score_mod(score, b, h, q_idx, kv_idx):
    return torch.where(q_idx >= kv_idx, score.masked_fill(c0[(q_idx - kv_idx).clamp(0, 32)], 0.25), score)
