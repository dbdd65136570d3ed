"""Indices were reshaped after the end of tracing."""

FRONT_END = "torch"

FORM = {"keys": 5}

CAPTURES = {"c0": {"dtype": "f32", "dims": (5,), "contents": "normal"}}


def score_mod(score, b, h, q_idx, kv_idx):
    return score + torch.index_select(c0, 0, kv_idx.reshape(1))[0]
