"""Like factor_before_distances, with one key: the dividend was the row of a block beyond the clamp.
"""

FRONT_END = 'fovea'

FORM = {'queries': 129, 'seed': 1, 'score_error': 1.1920928955078125e-07}

CAPTURES = {'c0': {'dtype': 'f32', 'dims': (33,), 'contents': 'grid'}}


def score_mod(score, b, h, q_idx, kv_idx, c0):
    return fovea.floor(c0[fovea.clip((q_idx - kv_idx), 0, 32)]) / 2.0
