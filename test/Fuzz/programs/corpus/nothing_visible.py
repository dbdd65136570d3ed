"""A mask that hides every key: the copied data had no reader, so its stages had no consumer to
release them (sm_90a rejected the program).
"""

FRONT_END = 'fovea'

FORM = {'heads': 2, 'queries': 2, 'static': ('batch', 'heads', 'kv_heads', 'query_length', 'key_length')}

CAPTURES = {}


def mask_mod(b, h, q_idx, kv_idx):
    return q_idx < 0
