"""A deterministic gradient of sequences of a single block, without a loop:
warp-split-semaphore-roles created the release pipeline after its first use.
"""

FRONT_END = 'fovea'

FORM = {'head_dim': 128,
 'value_head_dim': 128,
 'static': ('batch', 'heads', 'kv_heads', 'query_length', 'key_length'),
 'score_error': 1.5258789062500003e-05}

CAPTURES = {}


def score_mod(score, b, h, q_idx, kv_idx):
    return score
