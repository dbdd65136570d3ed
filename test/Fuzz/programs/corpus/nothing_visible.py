"""A mask that hides every key: nobody reads what is copied, and its stages had nobody to empty them (sm_90a refused
the program)."""

FRONT_END = 'fovea'

FORM = {'heads': 2, 'queries': 2, 'static': ('batch', 'heads', 'kv_heads', 'query_length', 'key_length')}

CAPTURES = {}


def mask_mod(b, h, q_idx, kv_idx):
    return q_idx < 0
