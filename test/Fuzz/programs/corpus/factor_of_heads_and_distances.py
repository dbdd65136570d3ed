"""Like factor_before_distances, with a factor that is read per head."""

FRONT_END = "torch"

FORM = {"heads": 2, "queries": 200, "keys": 80, "schedule": "tile_m=64,tile_n=32,warps=4"}

CAPTURES = {
    "c0": {"dtype": "f32", "dims": (2,), "contents": "positive"},
    "c1": {"dtype": "f32", "dims": (2, 17), "contents": "normal"},
}


def score_mod(score, b, h, q_idx, kv_idx):
    return score * c0[h] + 0.1 * c1[h, (q_idx - kv_idx).clamp(0, 16)]
