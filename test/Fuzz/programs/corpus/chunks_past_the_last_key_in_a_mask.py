"""As chunks_past_the_last_key, in a mask, for both targets."""

FRONT_END = "torch"

FORM = {"batch": 3, "queries": 21, "keys": 19}

CAPTURES = {"c0": {"dtype": "i1", "dims": (2,), "contents": "bool"}}


def mask_mod(b, h, q_idx, kv_idx):
    return c0[kv_idx // 16]
