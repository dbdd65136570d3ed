"""A score_mod that is NaN for hidden pairs, inside tanh: its derivative was assumed to be finite.
"""

FRONT_END = 'torch'

FORM = {'queries': 19, 'keys': 20, 'accurate_tanh': True, 'seed': 11967, 'score_error': 3.358721732586405e-05}

CAPTURES = {'c0': {'dtype': 'f32', 'dims': (33, 20), 'contents': 'grid'},
 'c1': {'dtype': 'f16', 'dims': (20,), 'contents': 'normal'},
 'c2': {'dtype': 'i8', 'dims': (33,), 'contents': 'range', 'high': 1, 'view': 'every_other'},
 'c3': {'dtype': 'i8', 'dims': (3, 19, 20), 'contents': 'range', 'low': 1, 'high': 3, 'view': 'every_other'},
 'c4': {'dtype': 'f32', 'dims': (20,), 'contents': 'grid', 'view': 'transposed'}}


def score_mod(score, b, h, q_idx, kv_idx):
    x0 = (kv_idx % (q_idx + 1))
    return 2.0 * torch.tanh((((((c1[kv_idx].float() * torch.floor(c0[(kv_idx).clamp(-16, 16) + 16, kv_idx])) - score) + (0.25 * torch.arange(-3, 15, 2)[b].float())) + (c4[kv_idx] * torch.ceil((c2[((kv_idx - q_idx)).clamp(-16, 16) + 16] / c3[1, q_idx, kv_idx])))) / 2.0))


def mask_mod(b, h, q_idx, kv_idx):
    return kv_idx <= 14
