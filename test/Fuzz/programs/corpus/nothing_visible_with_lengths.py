"""As nothing_visible.py, with lengths and dropout."""

FRONT_END = 'fovea'

FORM = {'head_dim': 128,
 'value_head_dim': 128,
 'batch': 2,
 'keys': 13,
 'sequences': 'lengths',
 'lengths': [0, 0],
 'dropout': 0.25,
 'seed': 43354,
 'score_error': 1.5258789062500003e-05}

CAPTURES = {}


def score_mod(score, b, h, q_idx, kv_idx):
    return score


def mask_mod(b, h, q_idx, kv_idx):
    return (q_idx // 64) < 0
