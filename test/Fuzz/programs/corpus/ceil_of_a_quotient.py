"""As floor_of_a_quotient; the product was above the integer."""

FRONT_END = "torch"

FORM = {"queries": 13, "keys": 97}

CAPTURES = {}


def score_mod(score, b, h, q_idx, kv_idx):
    return score + torch.ceil(kv_idx / 7)
