"""A slot of packed sequences that has no queries: bounds were asked for a last query of -1, and divided by 0."""

FRONT_END = 'fovea'

FORM = {'sequences': 'packed', 'cu_q': [0, 1], 'cu_k': [0, 1]}

CAPTURES = {}


def mask_mod(b, h, q_idx, kv_idx):
    return (q_idx // (q_idx + 1)) <= kv_idx
