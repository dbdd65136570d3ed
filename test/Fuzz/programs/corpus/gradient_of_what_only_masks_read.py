"""A captured tensor of floats that no score_mod reads has a gradient without a contribution: 0."""

FRONT_END = 'fovea'

FORM = {'queries': 3, 'keys': 19, 'score_error': 1e-05}

CAPTURES = {'c0': {'dtype': 'f16', 'dims': (2, 19), 'contents': 'grid'}}


def mask_mod(b, h, q_idx, kv_idx, c0):
    return c0[fovea.clip(h, 0, 1), kv_idx] < 1.0
