"""A value shared by a chunk of keys was read for chunks that begin past the last key."""

FRONT_END = "fovea"

FORM = {}

CAPTURES = {"c0": {"dtype": "f32", "dims": (1,), "contents": "normal"}}


def score_mod(score, b, h, q_idx, kv_idx, c0):
    return score + c0[kv_idx // 32]
