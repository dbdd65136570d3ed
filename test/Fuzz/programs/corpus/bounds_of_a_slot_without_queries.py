"""A packed slot without queries: bounds were computed for a last query of -1, with a division by 0.
"""

FRONT_END = 'fovea'

FORM = {'sequences': 'packed', 'cu_q': [0, 1], 'cu_k': [0, 1]}

CAPTURES = {}


def mask_mod(b, h, q_idx, kv_idx):
    return (q_idx // (q_idx + 1)) <= kv_idx
