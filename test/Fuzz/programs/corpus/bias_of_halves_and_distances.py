"""For sm_90a: "can't carry a pipeline's state through this loop"."""

FRONT_END = "fovea"

FORM = {"queries": 96, "keys": 96, "head_dim": 64, "value_head_dim": 64}

CAPTURES = {"c0": {"dtype": "f16", "dims": (96, 96), "contents": "normal"}, "c1": {"dtype": "f32", "dims": (33,), "contents": "normal"}}


def score_mod(score, b, h, q_idx, kv_idx, c0, c1):
    return score + c0[q_idx, kv_idx] + c1[fovea.clip(q_idx - kv_idx, 0, 32)]
