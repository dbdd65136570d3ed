"""A factor was applied to a term after the term was created: for blocks of keys beyond the clamp,
the two versions of the block were inconsistent.
"""

FRONT_END = "fovea"

FORM = {"queries": 200, "keys": 80, "head_dim": 16, "schedule": "tile_m=64,tile_n=32,warps=4"}

CAPTURES = {"c0": {"dtype": "f32", "dims": (33,), "contents": "normal"}}


def score_mod(score, b, h, q_idx, kv_idx, c0):
    return 2 * c0[fovea.clip(q_idx - kv_idx, 0, 32)] + score
