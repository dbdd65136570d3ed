"""Like shared_key_past_the_end.py, for a packed sequence that the mask hides entirely."""

FRONT_END = 'fovea'

FORM = {'keys': 15,
 'sequences': 'packed',
 'cu_q': [0, 0, 0, 0, 1],
 'cu_k': [0, 0, 0, 0, 15],
 'score_error': 1.6689300537109375e-05}

CAPTURES = {'c0': {'dtype': 'i64', 'dims': (15,), 'contents': 'sorted', 'high': 1},
 'c1': {'dtype': 'f32', 'dims': (1, 33), 'contents': 'normal'}}


def score_mod(score, b, h, q_idx, kv_idx, c1):
    return score + c1[kv_idx // 64, fovea.clip((q_idx - kv_idx), 0, 32)]


def mask_mod(b, h, q_idx, kv_idx, c0):
    return (c0[q_idx] == c0[kv_idx]) & (kv_idx < 0)
