"""A value that one element of a captured tensor determines for all pairs is read after the table by
relative position: the helper role that computes values sends nothing to others.
"""

FRONT_END = 'torch'

FORM = {'head_dim': 32,
 'value_head_dim': 32,
 'heads': 2,
 'kv_heads': 2,
 'queries': 60,
 'keys': 11,
 'scale': 0.37,
 'seed': 4368,
 'score_error': 7.233552799533702e-05}

CAPTURES = {'c0': {'dtype': 'f32', 'dims': (9,), 'contents': 'positive'},
 'c1': {'dtype': 'f32', 'dims': (), 'contents': 'normal'},
 'c2': {'dtype': 'i1', 'dims': (1,), 'contents': 'bool', 'view': 'offset'}}


def score_mod(score, b, h, q_idx, kv_idx):
    return torch.where(c2[b], (-((score * c0[((q_idx - kv_idx)).clamp(-4, 4) + 4]) + c1)), float('-inf'))
