"""Two buffers for the blocks of a tile's loop do not fit GPUs with 99 KiB of shared memory."""

FRONT_END = "fovea"

FORM = {"head_dim": 256, "value_head_dim": 256, "seed": 1}

CAPTURES = {}


def score_mod(score, b, h, q_idx, kv_idx):
    return score
