"""Two buffers for the blocks that a tile meets do not fit chips with 99 KiB of shared memory."""

FRONT_END = "fovea"

FORM = {"head_dim": 256, "value_head_dim": 256, "seed": 1}

CAPTURES = {}


def score_mod(score, b, h, q_idx, kv_idx):
    return score
