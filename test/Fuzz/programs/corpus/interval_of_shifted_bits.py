"""An interval of bits spread by a shift of 32, in a kernel whose index had 32: NaN on GPUs and in
PTX, right at all levels above."""

FRONT_END = 'torch'

FORM = {'heads': 3,
 'queries': 16,
 'keys': 129,
 'accurate_tanh': True,
 'seed': 25926,
 'strided': True,
 'score_error': 1.6689300537109375e-05}

CAPTURES = {'c0': {'dtype': 'i64', 'dims': (129,), 'contents': 'sorted', 'high': 4},
 'c1': {'dtype': 'f32', 'dims': (201,), 'contents': 'normal'}}


def score_mod(score, b, h, q_idx, kv_idx):
    return c1[(torch.bitwise_or(torch.bitwise_left_shift(kv_idx, 2), (h % (q_idx + 1)))).clamp(-100, 100) + 100] + score


def mask_mod(b, h, q_idx, kv_idx):
    return c0[q_idx] <= c0[kv_idx]
