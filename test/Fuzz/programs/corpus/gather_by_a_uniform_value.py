"""A load outside of the loop used an index that was computed inside."""

FRONT_END = "fovea"

FORM = {}

CAPTURES = {
    "c0": {"dtype": "i32", "dims": (1,), "contents": "range", "high": 8},
    "c1": {"dtype": "f32", "dims": (32,), "contents": "normal"},
}


def score_mod(score, b, h, q_idx, kv_idx, c0, c1):
    return score + c1[c0[h] % 32]
