"""All scores are equal and bounded, so all probabilities are equal and have the same rounding
error: relative to the fixed softmax offset, while the direct evaluation's are exactly one. A
failing mean is repeated with other data; with these, most repetitions fail.
"""

EXPECTED = "mean at level tile for sm_90a"

FRONT_END = 'fovea'

FORM = {'queries': 80, 'keys': 67, 'dropout': 0.25, 'score_error': 3.933906555175781e-06}

CAPTURES = {'c0': {'dtype': 'i32', 'dims': (80,), 'contents': 'sorted', 'high': 1, 'shift': 33},
 'c1': {'dtype': 'f32', 'dims': (1,), 'contents': 'normal'}}


def score_mod(score, b, h, q_idx, kv_idx, c1):
    return fovea.sin(c1[h])


def mask_mod(b, h, q_idx, kv_idx, c0):
    return c0[q_idx] == c0[kv_idx]
