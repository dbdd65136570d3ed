"""With one softmax offset for all rows, probabilities may be as small as exp(-20): products with
values near 2^-120 are flushed to 0.
"""

EXPECTED = "is off by"  # values below 2^-97; larger ones are right

FRONT_END = "fovea"

FORM = {"heads": 2, "queries": 20, "keys": 1, "query_scale": 100.0, "value_scale": 1e-36, "accurate_tanh": True, "score_error": 0.001}

CAPTURES = {}


def score_mod(score, b, h, q_idx, kv_idx):
    return 20.0 * fovea.tanh(score / 20.0)
