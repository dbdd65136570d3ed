"""With one softmax offset for all rows, probabilities were rounded relative to it: with one key the
output differed from its value.
"""

FRONT_END = "fovea"

FORM = {"queries": 80, "keys": 1, "head_dim": 64, "value_head_dim": 64, "accurate_tanh": True}

CAPTURES = {}


def score_mod(score, b, h, q_idx, kv_idx):
    return 10.0 * fovea.tanh(score / 10.0)
