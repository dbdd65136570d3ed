"""80 rows with the same three probabilities are one observation of their rounding, not 80. The rule
was wrong.
"""

FRONT_END = 'fovea'

FORM = {'queries': 80, 'keys': 80, 'output_dtype': 'f32', 'query_scale': 0.001, 'score_error': 9.131431579589843e-06}

CAPTURES = {'c0': {'dtype': 'f32', 'dims': (1,), 'contents': 'normal'}}


def score_mod(score, b, h, q_idx, kv_idx, c0):
    return fovea.where(((kv_idx / 1) <= 2.5), (((score * c0[h]) + kv_idx) * 0.1), float('-inf'))
