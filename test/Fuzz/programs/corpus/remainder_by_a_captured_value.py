"""Like division_by_a_captured_value, with the element at the query, in a score."""

FRONT_END = "torch"

FORM = {"queries": 9}

CAPTURES = {"c0": {"dtype": "i64", "dims": (9,), "contents": "range", "low": 1, "high": 3}}


def score_mod(score, b, h, q_idx, kv_idx):
    return score + kv_idx % c0[q_idx]
