"""The mean error was larger than that of the direct evaluation."""

FRONT_END = "torch"

FORM = {"heads": 4, "queries": 80, "keys": 150, "head_dim": 64, "value_head_dim": 64}

CAPTURES = {}


def score_mod(score, b, h, q_idx, kv_idx):
    return score * score
