"""A captured tensor indexed by a captured number."""

FRONT_END = 'torch'

FORM = {'keys': 102, 'score_error': 7.486343383789062e-05}

CAPTURES = {'c0': {'dtype': 'f32', 'dims': (1,), 'contents': 'normal'},
 'c1': {'dtype': 'f32', 'dims': (102, 1), 'contents': 'normal'},
 'c2': {'dtype': 'i32', 'dims': (), 'contents': 'range', 'high': 8}}


def score_mod(score, b, h, q_idx, kv_idx):
    score += c0[h]
    return (score * c1[kv_idx, h]) + c1[c2][b]
