"""score_mod and its derivative read a per-query value in two roles, but a stream has one consumer
role.
"""

FRONT_END = 'torch'

FORM = {'queries': 12, 'blocks': {'queries': 128, 'keys': 64}, 'score_error': 1.621246337890625e-05}

CAPTURES = {'c0': {'dtype': 'i1', 'dims': (1,), 'contents': 'bool'}}


def score_mod(score, b, h, q_idx, kv_idx):
    return score.masked_fill(c0[q_idx // 32], 0.25)


def mask_mod(b, h, q_idx, kv_idx):
    return q_idx < 0
