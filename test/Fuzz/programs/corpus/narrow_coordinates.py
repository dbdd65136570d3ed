"""MLIR folds index_cast to a narrow type and back, which loses the wrap-around: a cast to int8 of keys beyond 127."""

FRONT_END = 'torch'

FORM = {'keys': 151}

CAPTURES = {}


def mask_mod(b, h, q_idx, kv_idx):
    return ((kv_idx % 1) + q_idx) <= kv_idx.to(torch.int8)
