"""The contributions of pairs to a factor by relative position exceed f16, so they must not be
passed to another role in that type.
"""

FRONT_END = 'fovea'

FORM = {'dtype': 'f16',
 'heads': 2,
 'queries': 12,
 'keys': 63,
 'sequences': 'packed',
 'cu_q': [0, 6, 8, 12],
 'cu_k': [0, 31, 63, 63],
 'query_scale': 0.001,
 'value_scale': 10000.0,
 'schedule': 'tile_m=64,tile_n=32,warps=4',
 'accurate_tanh': True,
 'seed': 29518,
 'strided': True,
 'score_error': 0.00014615058898921352}

CAPTURES = {'c0': {'dtype': 'f32', 'dims': (3,), 'contents': 'grid'},
 'c1': {'dtype': 'f32', 'dims': (1, 33, 65), 'contents': 'normal'}}


def score_mod(score, b, h, q_idx, kv_idx, c0, c1):
    return 10.0 * fovea.tanh(((-(((c0[0] * fovea.cos((score + 2.0))) - score) + ((kv_idx | (-5)) * c1[h % 1, fovea.clip(h, 0, 32), fovea.clip((q_idx - kv_idx), -32, 32) + 32]))) / 10.0))


def mask_mod(b, h, q_idx, kv_idx):
    return (q_idx - kv_idx) < (-17)
