"""A score_mod that ignores the score, at head dim 160: dS is a constant, which one M-chunk's role
had to keep for the other's.
"""

FRONT_END = 'fovea'

FORM = {'head_dim': 160, 'value_head_dim': 160, 'seed': 1}

CAPTURES = {}


def score_mod(score, b, h, q_idx, kv_idx):
    return kv_idx
