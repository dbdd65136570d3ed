"""One value per 64 keys, read at a narrowed index: in a block-sparse list's block that extends past
the last key, the read was past the tensor's end.
"""

FRONT_END = 'torch'

FORM = {'blocks': {'queries': 16, 'keys': 128}, 'score_error': 1.6689300537109375e-05}

CAPTURES = {'c0': {'dtype': 'f32', 'dims': (1, 33), 'contents': 'normal'}}


def score_mod(score, b, h, q_idx, kv_idx):
    return score + c0[kv_idx // 64, ((q_idx - kv_idx)).clamp(0, 32)]


def mask_mod(b, h, q_idx, kv_idx):
    return kv_idx <= kv_idx
