"""Gradients of a table by relative position at head dim 144, padded to 192: the accumulating kernel
exceeded shared memory.
"""

FRONT_END = 'torch'

FORM = {'head_dim': 144, 'value_head_dim': 144, 'score_error': 1.5735626220703125e-05}

CAPTURES = {'c0': {'dtype': 'f32', 'dims': (33,), 'contents': 'normal'}}


def score_mod(score, b, h, q_idx, kv_idx):
    score += c0[((q_idx - kv_idx)).clamp(0, 32)]
    return score
