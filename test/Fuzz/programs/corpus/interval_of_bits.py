"""An interval of bits, with signs of 64 bits, in a kernel whose index had 32: wrong numbers on GPUs
and in PTX, right at all levels above."""

FRONT_END = 'fovea'

FORM = {'dtype': 'f16',
 'batch': 3,
 'heads': 2,
 'kv_heads': 2,
 'queries': 17,
 'keys': 8,
 'layout': 'bshd',
 'static': ('batch',),
 'seed': 48048,
 'strided': True}

CAPTURES = {'c0': {'dtype': 'f32', 'dims': (2,), 'contents': 'positive', 'static': True}}


def score_mod(score, b, h, q_idx, kv_idx, c0):
    x0 = (kv_idx - q_idx)
    return c0[fovea.clip((x0 | fovea.as_int((q_idx >= kv_idx))), 0, 1)]


def mask_mod(b, h, q_idx, kv_idx):
    return (q_idx - kv_idx) >= (h & h)
