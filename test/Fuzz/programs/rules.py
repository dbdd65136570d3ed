"""Tolerances for arrays of numpy.

Rows: the rule of docs/Guides/Debugging.md. In each row |found - meaning| is at most three times
that of the direct evaluation plus two units in the last place of each element, both as L2 norms.
The error of the scores (`score_error`, accumulated while the program was drawn) changes
probabilities by the same fraction, and the row by at most that times twice the longest value. A
probability may also be wrong by the smallest step of its type (2^-24 in f16, visible in an f32
output if all other keys were dropped). The error of the scores also adds to the tolerance of the
log-sum-exp, 1e-3 + 1e-6 of its magnitude.

Mean: over all rows, the average error in units of the row's last place is at most 1.1 times that of
the direct evaluation, plus four standard errors of the difference, plus 0.01. It is not checked for
fewer than MEAN_ROWS rows.
"""

import dataclasses
import typing

import numpy

SLACK, ULPS, MEAN, MEAN_ROWS, MEAN_DEVIATIONS, MEAN_ABSOLUTE, NEARLY = 3.0, 2.0, 1.1, 64, 4.0, 0.01, 16
LSE_ABSOLUTE, LSE_RELATIVE = 1e-3, 1e-6
#: Mantissa bits with the hidden one, the exponent of the least step.
FORMATS = {"bf16": (8, -133), "f16": (11, -24), "f32": (24, -149)}


@dataclasses.dataclass
class Verdict:
    #: "" if all is right, else "o", "mean" or "lse".
    kind: str = ""
    message: str = ""
    #: The largest ratio of error to tolerance, and the mean error relative to the baseline's.
    worst: float = 0.0
    mean: typing.Optional[float] = None


def step(magnitude, dtype):
    """The spacing of a type at a magnitude; kernels take numbers below 2^-126 for 0."""
    bits, least = FORMATS[dtype]
    _, exponent = numpy.frexp(magnitude)
    return numpy.ldexp(1.0, numpy.where(magnitude == 0, least, numpy.maximum(exponent - bits, least)))


def resolution(magnitude, output, weights):
    """The relative precision of the coarser of two types."""
    relative = 2.0 ** (1 - FORMATS[weights][0])
    return numpy.maximum(numpy.maximum(step(magnitude, output), magnitude * relative), 2.0**-126)


def norms(rows):
    """L2 norms that do not overflow f64."""
    scale = numpy.abs(rows).max(-1, initial=0.0)
    scale = numpy.where(scale == 0, 1.0, scale)
    return numpy.sqrt(((rows / scale[..., None]) ** 2).sum(-1)) * scale


def check_output(found, meaning, plain, output, weights, score_error=0.0, length=0.0):
    """Checks O: arrays (..., rows, columns) of f64."""
    columns = found.shape[-1]
    found, meaning, plain = (array.reshape(-1, columns) for array in (found, meaning, plain))
    limit = {"f16": 65520.0}.get(output, 3.4e38)
    expected = numpy.where(numpy.abs(meaning) >= limit, numpy.copysign(numpy.inf, meaning), meaning)
    skipped = (~numpy.isfinite(plain)).any(-1) & numpy.isfinite(expected).all(-1)
    finite = numpy.isfinite(expected) & numpy.isfinite(found)
    same = finite | (numpy.isnan(expected) & numpy.isnan(found)) | (expected == found)
    wrong = ~same.all(-1) & ~skipped
    if wrong.any():
        row = int(wrong.argmax())
        column = int((~same[row]).argmax())
        return Verdict("o", f"row {row}, column {column} is {found[row, column]}, expected {meaning[row, column]}; "
                       f"{int(wrong.sum())} of {len(wrong)} rows have NaN or infinity where none belong, or lack them", float("inf"))
    zero = numpy.zeros(())
    magnitude = numpy.where(finite, numpy.abs(meaning), zero).max(-1, initial=0.0)
    error = norms(numpy.where(finite, found - numpy.where(finite, meaning, zero), zero))
    baseline = norms(numpy.where(finite & numpy.isfinite(plain), plain - meaning, zero))
    unit = resolution(magnitude, output, weights) * columns**0.5
    allowed = SLACK * baseline + ULPS * unit + (2 * score_error + 2.0 ** FORMATS[weights][1]) * length
    ratio = numpy.where(skipped, zero, error / allowed)
    worst = float(ratio.max(initial=0.0))
    if worst > 1:
        row = int(ratio.argmax())
        return Verdict("o", f"row {row} is off by {error[row]:.3g} where {allowed[row]:.3g} is allowed ({baseline[row]:.3g} is the "
                       f"baseline's); {int((ratio > 1).sum())} of {len(ratio)} rows", worst)
    error, baseline = average_equal_rows(meaning[~skipped], error[~skipped] / unit[~skipped], baseline[~skipped] / unit[~skipped])
    return check_mean(error, baseline, worst,
                      float(2 * score_error * length / numpy.median(unit)) if len(unit) else 0.0)


def average_equal_rows(rows, *errors):
    """Errors of nearly equal rows, within a part in NEARLY of their largest element, are one
    observation.
    """
    if not len(rows):
        return errors
    with numpy.errstate(invalid="ignore", divide="ignore"):
        steps = numpy.nan_to_num(numpy.round(NEARLY * rows / numpy.abs(rows).max(-1, keepdims=True)))
    _, kind = numpy.unique(steps, axis=0, return_inverse=True)
    count = numpy.bincount(kind.reshape(-1))
    return [numpy.bincount(kind.reshape(-1), error) / count for error in errors]


def check_mean(error, baseline, worst, score_error):
    # Rows with equal errors, as where rows have equal weights, are one observation.
    error, baseline = numpy.unique(numpy.stack([error, baseline], -1), axis=0).T
    if len(error) < MEAN_ROWS:
        return Verdict("", "", worst)
    difference = error - MEAN * baseline
    deviation = difference.std() / len(difference) ** 0.5
    mean = float(error.mean() / baseline.mean()) if baseline.mean() else None
    if difference.mean() > MEAN_DEVIATIONS * deviation + MEAN_ABSOLUTE + score_error:
        return Verdict("mean", f"rows are off by {error.mean():.3f} units on average, the baseline's by {baseline.mean():.3f}; "
                       f"{len(error)} rows", worst, mean)
    return Verdict("", "", worst, mean)


def check_lse(found, meaning, score_error=0.0):
    found, meaning = found.reshape(-1), meaning.reshape(-1)
    with numpy.errstate(invalid="ignore"):
        same = (found == meaning) | (numpy.isnan(found) & numpy.isnan(meaning))
        off = numpy.where(same, 0.0, numpy.abs(found - meaning))
        bad = ~(off <= LSE_ABSOLUTE + LSE_RELATIVE * numpy.abs(meaning) + score_error)
    if bad.any():
        row = int(numpy.nan_to_num(off, nan=numpy.inf).argmax())
        return Verdict("lse", f"the log-sum-exp of row {row} is {found[row]}, expected {meaning[row]}; {int(bad.sum())} of "
                       f"{len(bad)} rows", float("inf"))
    return Verdict()


def check_close(found, meaning, tolerance):
    """Compares two evaluations in f64; returns a message or ""."""
    with numpy.errstate(invalid="ignore"):
        same = (found == meaning) | (numpy.isnan(found) & numpy.isnan(meaning))
        off = numpy.where(same, 0.0, numpy.abs(found - meaning))
    bad = ~(off <= tolerance)
    if not bad.any():
        return ""
    place = tuple(int(one) for one in numpy.argwhere(bad)[0])
    return f"element {list(place)} is {found[place]}, PyTorch's is {meaning[place]}; {int(bad.sum())} of {bad.size}"
