"""As floor_of_a_quotient, in a mask."""

FRONT_END = "fovea"

FORM = {"queries": 100, "keys": 100}

CAPTURES = {}


def mask_mod(b, h, q_idx, kv_idx):
    return (kv_idx / 41 >= 1.0) | (q_idx / 49 != 1.0)
