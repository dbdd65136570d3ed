"""Creates the scores of softmax-recurrences.mlir, and checks the results."""

import pathlib
import sys

import numpy as np

KEYS, SCALE = 200, 0.25
PROGRAMS = ["structured", "three-pass", "normalized", "deferred", "conditional", "lazy"]


def make_scores(rng):
    """Rows of scores by kind; 16 rows of each but the last."""
    normal = rng.standard_normal((16, KEYS))
    ramp = np.linspace(-400, 400, KEYS)
    masked = normal.copy()
    masked[0] = -np.inf  # no key at all
    masked[1, :64] = -np.inf  # the first block empty
    masked[2, 64:] = -np.inf  # all but the first
    masked[3, :-1] = -np.inf  # one key, the last
    masked[4, 64:128] = -np.inf
    masked[5, ::2] = -np.inf
    signs = np.where(normal < 0, -0.0, normal) * (rng.random((16, KEYS)) < 0.2)
    # Finite numbers that hide: the first block, all but the last, a whole row; steep slopes.
    large = []
    for number in (-1e9, -1e10, 3e10, -1e30, np.finfo(np.float32).min):
        rows = normal[:4].copy()
        rows[0, :64] = number
        rows[1, :-1] = number
        rows[2] = number
        rows[3] = np.where(np.arange(KEYS) % 3 == 1, number, number * 0.75)
        large.append(rows)
    large.append(np.stack([ramp * 1e8, -ramp * 1e20]))
    special = normal[:7].copy()
    special[0, 70] = np.nan
    special[1, 3] = np.inf
    special[2, 199] = np.nan
    special[3] = -np.inf
    special[3, 130] = np.nan
    special[4] = 0
    special[5] = 4e4
    return np.concatenate(
        [
            normal * 4,
            ramp + normal,  # the maximum grows with every block
            -ramp + normal,
            np.round(ramp / 40) * 3 + normal,  # by less than tau at a time
            normal * 4e4,
            masked,
            -np.abs(normal) * 30 - 50,  # every score below zero by more than tau
            -np.abs(normal) * 1e-3,  # just below zero, and zeros of both signs
            signs,
            normal * 1e-30,
            *large,
            special,
        ]
    ).astype(np.float32)


def reference(scores, values):
    with np.errstate(all="ignore"):
        s = scores.astype(np.float64) * SCALE
        m = s.max(axis=1, keepdims=True)
        p = np.exp(s - np.where(m == -np.inf, 0, m))
        l = p.sum(axis=1, keepdims=True)
        o = np.where(l == 0, 0, p @ values.astype(np.float64) / l)
        lse = np.where(l == 0, -np.inf, m + np.log(l))
    return o, lse[:, 0]


def compare(name, found, expected, tolerance):
    """An error text, or nothing."""
    if not np.array_equal(np.isnan(found), np.isnan(expected)):
        return f"{name}: NaN in rows {np.unique(np.argwhere(np.isnan(found) != np.isnan(expected))[:, 0])}"
    if not np.array_equal(np.isinf(found), np.isinf(expected)):
        return f"{name}: infinities differ"
    finite = np.isfinite(expected)
    error = np.abs(found[finite] - expected[finite]) / np.maximum(1, np.abs(expected[finite]))
    if error.size and error.max() > tolerance:
        return f"{name}: error {error.max():.2e}, allowed {tolerance:.2e}"
    return ""


def main(command, folder, *programs):
    folder = pathlib.Path(folder)
    if command == "make":
        rng = np.random.default_rng(1)
        np.save(folder / "s.npy", make_scores(rng))
        np.save(folder / "v.npy", rng.standard_normal((KEYS, 32)).astype(np.float16))
        return
    expected = reference(np.load(folder / "s.npy"), np.load(folder / "v.npy"))
    for program in programs or PROGRAMS:
        for kernel in ["whole", "halves"]:
            o = np.load(folder / f"{program}-{kernel}-o.npy")
            lse = np.load(folder / f"{program}-{kernel}-lse.npy")
            # Weights are rounded to f16; the log-sum-exp never is.
            error = compare("o", o, expected[0], 2e-3) or compare("lse", lse, expected[1], 1e-6)
            print(f"{program} {kernel}: {error or 'ok'}")


main(*sys.argv[1:])
