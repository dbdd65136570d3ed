"""A captured tensor read plainly and transposed: both blocks had the same stream name, which the
second one could not reuse.
"""

FRONT_END = 'fovea'

FORM = {'score_error': 0.013985932605659434}

CAPTURES = {'c0': {'dtype': 'bf16', 'dims': (1, 1), 'contents': 'normal'}}


def score_mod(score, b, h, q_idx, kv_idx, c0):
    return 20.0 * fovea.tanh((((((score * 2.0) + (fovea.where((kv_idx < 0), score, 2.0) * c0[kv_idx, q_idx])) + (score + score)) + c0[q_idx, kv_idx]) / 20.0))
