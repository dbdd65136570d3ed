"""`torch.add(score, half, alpha=3)`: 3 * half was rounded to f16, which PyTorch does not do."""

FRONT_END = 'torch'

FORM = {'heads': 4,
 'kv_heads': 2,
 'queries': 296,
 'keys': 128,
 'value_scale': 10000.0,
 'accurate_tanh': True,
 'seed': 31669,
 'score_error': 2.4557113647460938e-05}

CAPTURES = {'c0': {'dtype': 'f32', 'dims': (), 'contents': 'normal'},
 'c1': {'dtype': 'f16', 'dims': (128, 5), 'contents': 'normal'},
 'c2': {'dtype': 'f16', 'dims': (19,), 'contents': 'normal', 'view': 'offset'}}


def score_mod(score, b, h, q_idx, kv_idx):
    score += c0
    x1 = (1.0 + (c1[kv_idx, (h).clamp(0, 4)].float() - score))
    return torch.add(x1, torch.index_select(c2, 0, (q_idx // 16).reshape(1))[0], alpha=3)

