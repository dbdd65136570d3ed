"""The gradient of a captured float tensor that only the mask_mod reads is 0, without contributions.
"""

FRONT_END = 'fovea'

FORM = {'queries': 3, 'keys': 19, 'score_error': 1e-05}

CAPTURES = {'c0': {'dtype': 'f16', 'dims': (2, 19), 'contents': 'grid'}}


def mask_mod(b, h, q_idx, kv_idx, c0):
    return c0[fovea.clip(h, 0, 1), kv_idx] < 1.0
