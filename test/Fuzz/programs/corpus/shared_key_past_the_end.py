"""One value for 64 keys, read at a place that narrows: of a listed block that reaches past the last key it was read
past the tensor."""

FRONT_END = 'torch'

FORM = {'blocks': {'queries': 16, 'keys': 128}, 'score_error': 1.6689300537109375e-05}

CAPTURES = {'c0': {'dtype': 'f32', 'dims': (1, 33), 'contents': 'normal'}}


def score_mod(score, b, h, q_idx, kv_idx):
    return score + c0[kv_idx // 64, ((q_idx - kv_idx)).clamp(0, 32)]


def mask_mod(b, h, q_idx, kv_idx):
    return kv_idx <= kv_idx
