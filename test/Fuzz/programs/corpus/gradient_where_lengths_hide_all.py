"""A mask that hides all keys, with lengths, and a gradient that processes all pairs again: the
copied keys have no reader, but a role still waits for them to zero the rows past the end.
"""

FRONT_END = 'fovea'

FORM = {'keys': 15, 'sequences': 'lengths', 'lengths': [0], 'score_error': 1.6689300537109375e-05}

CAPTURES = {'c0': {'dtype': 'f32', 'dims': (33,), 'contents': 'normal'}}


def score_mod(score, b, h, q_idx, kv_idx, c0):
    return score + c0[fovea.clip((q_idx + kv_idx), 0, 32)]


def mask_mod(b, h, q_idx, kv_idx):
    return fovea.as_float(kv_idx) == 2.5
