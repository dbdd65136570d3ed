"""Ops whose decomposition ends in ops that were not known."""

FRONT_END = "torch"

FORM = {"queries": 20, "keys": 30, "score_error": 0.001}

CAPTURES = {"c0": {"dtype": "f32", "dims": (30,), "contents": "positive"}}


def score_mod(score, b, h, q_idx, kv_idx):
    near = score.clamp(-2.0, 2.0)
    first = torch.hypot(score, c0[kv_idx]) + torch.sinh(near) - torch.cosh(near)
    return first + torch.copysign(score, c0[kv_idx] - 1.0625) + torch.logaddexp(near, c0[kv_idx]) + torch.logaddexp2(near, near)
