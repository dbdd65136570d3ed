"""A division by a constant became a product with its reciprocal: 41 * (1 / 41) is below 1."""

FRONT_END = "fovea"

FORM = {"queries": 60, "keys": 60}

CAPTURES = {}


def score_mod(score, b, h, q_idx, kv_idx):
    return score + fovea.floor(kv_idx / 41)
