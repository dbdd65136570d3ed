"""All scores are equal and bounded, so all weights are, and one rounding decides about all rows: that of a weight
relative to the fixed reference, where the baseline's weights are exactly one. A mean is tried again with other data; with
these, most fail."""

EXPECTED = "mean at level tile for sm_90a"

FRONT_END = 'fovea'

FORM = {'queries': 80, 'keys': 67, 'dropout': 0.25, 'score_error': 3.933906555175781e-06}

CAPTURES = {'c0': {'dtype': 'i32', 'dims': (80,), 'contents': 'sorted', 'high': 1, 'shift': 33},
 'c1': {'dtype': 'f32', 'dims': (1,), 'contents': 'normal'}}


def score_mod(score, b, h, q_idx, kv_idx, c1):
    return fovea.sin(c1[h])


def mask_mod(b, h, q_idx, kv_idx, c0):
    return c0[q_idx] == c0[kv_idx]
