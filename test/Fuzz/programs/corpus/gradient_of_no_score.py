"""A score_mod that takes no score, at head dim 160: derivatives are a constant, which one strip's role was to hold
for the other's."""

FRONT_END = 'fovea'

FORM = {'head_dim': 160, 'value_head_dim': 160, 'seed': 1}

CAPTURES = {}


def score_mod(score, b, h, q_idx, kv_idx):
    return kv_idx
