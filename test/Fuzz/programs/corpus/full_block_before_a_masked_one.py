"""Under a soft cap, a row whose first block has no mask got another softmax offset at the next
masked block.
"""

FRONT_END = 'torch'

FORM = {'queries': 76, 'keys': 127, 'schedule': 'tile_m=64,tile_n=32,warps=4', 'score_error': 0.007475846985342828}

CAPTURES = {'c0': {'dtype': 'f32', 'dims': (76,), 'contents': 'normal'}}


def score_mod(score, b, h, q_idx, kv_idx):
    return 20.0 * torch.tanh(((score + c0[q_idx]) / 20.0))


def mask_mod(b, h, q_idx, kv_idx):
    return ~(q_idx >= kv_idx)
