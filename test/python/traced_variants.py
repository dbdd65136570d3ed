"""score_mods and mask_mods as users write them: traced by Fovea, and called on numpy arrays by the
tests."""

import numpy

import fovea

RNG = numpy.random.default_rng(1)
SLOPES = (2.0 ** -numpy.arange(1, 5)).astype(numpy.float32)
DOCUMENTS = numpy.sort(RNG.integers(0, 4, (2, 17)), axis=1).astype(numpy.int32)
PREFIX = numpy.array([3, 9], numpy.int32)
TABLE = RNG.standard_normal((4, 33)).astype(numpy.float32)
BIAS = RNG.standard_normal((13, 17)).astype(numpy.float16)
KEEP = RNG.random((2, 17)) > 0.3
LONG = RNG.integers(-(1 << 40), 1 << 40, 17)
KINDS = RNG.integers(-3, 3, 17).astype(numpy.int8)
WORDS = RNG.integers(-(1 << 31), 1 << 31, (2, 13, 1)).astype(numpy.int32)


def causal(b, h, q, k):
    return q >= k


def sliding_window(b, h, q, k):
    return (q >= k) & (q - k < 5)


def bidirectional_window(b, h, q, k):
    return abs(q - k) <= 3


def prefix_lm(b, h, q, k, prefix):
    return (k < prefix[b]) | (q >= k)


def document(b, h, q, k, documents):
    return documents[b, q] == documents[b, k]


def document_causal(b, h, q, k, documents):
    return (documents[b, q] == documents[b, k]) & (q >= k)


def chunked(b, h, q, k):
    return (q // 4 == k // 4) & (q >= k)


def dilated(b, h, q, k):
    return (q - k) % 3 == 0


def dilated_negative(b, h, q, k):
    return (k - q) % -3 == -1


def floor_negative(b, h, q, k):
    return (k - q) // 4 >= -1


def natten(b, h, q, k):
    qx, qy, kx, ky = q // 4, q % 4, k // 4, k % 4
    cx, cy = fovea.clip(qx, 1, 3), fovea.clip(qy, 1, 2)
    return (fovea.abs(cx - kx) <= 1) & (fovea.abs(cy - ky) <= 1)


def not_self(b, h, q, k):
    return ~(q == k) ^ (h > 1)


def by_head(b, h, q, k):
    return fovea.where(h % 2 == 0, q >= k, q <= k)


def keep(b, h, q, k, keep):
    return keep[b, k]


def strided(b, h, q, k):
    return ((q & 3) == (k & 3)) | ((q >> 2) == (k >> 2))


def by_float(b, h, q, k):
    return k <= q * 0.5 + 1.5


def combined(b, h, q, k, documents):
    inner = fovea.and_masks(causal, lambda b, h, q, k: documents[b, q] == documents[b, k])
    return fovea.or_masks(inner, lambda b, h, q, k: k == 0)(b, h, q, k)


def bitmask(b, h, q, k, words):
    return ((words[b, q, k // 32] >> (k % 32)) & 1) == 1


def integer_powers(b, h, q, k):
    return ((q - k) % 3**h < 2) & (k * 7 - 20 < q + 5**h) | ((-1) ** q > 0) & (q < 2**k)


def everything(b, h, q, k):
    return True


def nothing_in_row(b, h, q, k):
    return q > k


def alibi(score, b, h, q, k, slopes):
    return score + slopes[h] * (k - q)


def alibi_formula(score, b, h, q, k):
    return score + 2.0 ** (-(h + 1) * 2) * (k - q)


def soft_cap(score, b, h, q, k):
    return 20 * fovea.tanh(score / 20)


def relative_position(score, b, h, q, k):
    return score + (q - k)


def relative_bias(score, b, h, q, k, table):
    return score + table[h, fovea.clip(k - q, -16, 16) + 16]


def learned_bias(score, b, h, q, k, bias):
    return score + bias[q, k] / 2


def temperature(score, b, h, q, k):
    return score * fovea.log2(fovea.as_float(q) + 2) / 3


def penalty(score, b, h, q, k):
    return fovea.where(q // 4 == k // 4, score, score - fovea.sqrt(fovea.as_float(abs(q - k))))


def cosine(score, b, h, q, k):
    return score + fovea.cos((q - k) * 0.25) - fovea.sin(h * 1.0)


def powers(score, b, h, q, k):
    return score**3 / 4 - abs(score) ** 0.5 + (q - k) ** 2 * 0.01


def more_powers(score, b, h, q, k):
    return (abs(score) + 1) ** 0.3 + (abs(score) + 1) ** (h * 0.25) - (k + 1.0) ** score * 0.01


def angles(score, b, h, q, k):
    bounded = fovea.tanh(score)
    return fovea.asin(bounded) + fovea.acos(bounded) * 0.5 - fovea.atan(score) + fovea.atan2(q - k, h + 1.0) + fovea.tan(bounded)


def hyperbolic(score, b, h, q, k):
    inverse = fovea.asinh(score) + fovea.acosh(abs(score) + 1) + fovea.atanh(score * 0.1)
    return fovea.where(fovea.signbit(score), inverse, fovea.sinh(score * 0.25) - fovea.cosh(score * 0.25))


def minus_infinity(score, b, h, q, k):
    return fovea.where(q >= k, score, -float("inf"))


def rounding(score, b, h, q, k):
    return fovea.round(score * 4) / 4 + fovea.floor(score) - fovea.ceil(score) + fovea.trunc(score * 2)


def float_modulo(score, b, h, q, k):
    return score % 0.75 + (score // 0.5) * 0.1


def exponentials(score, b, h, q, k):
    return fovea.exp(-fovea.abs(score)) + fovea.exp2(fovea.minimum(score, 1.0)) - fovea.sigmoid(score)


def logarithms(score, b, h, q, k):
    return fovea.log1p(fovea.abs(score)) + fovea.expm1(fovea.maximum(score, -1)) + fovea.log(k + 1)


def boolean_arithmetic(score, b, h, q, k):
    return score + (q >= k) * 2 - fovea.as_float(h == 1)


def bits(score, b, h, q, k):
    return score + ((q ^ k) & 7) * 0.125 + ((q << 1) | 1) % 5


def negative_index(score, b, h, q, k, slopes):
    return score * slopes[-1] + slopes[-2]


def long_integers(score, b, h, q, k, long):
    return score + (long[k] % 7) - (long[k] // (1 << 38))


def kinds(score, b, h, q, k, kinds):
    return score + kinds[k] % 3 + kinds[k] // 2


def scalar(score, b, h, q, k, gain, window):
    return fovea.where(abs(q - k) < window, score * gain, score)


def numpys(score, b, h, q, k):
    return numpy.where(q >= k, numpy.tanh(score), numpy.minimum(score, numpy.float32(0.5))) + numpy.exp(-1.0)


def zero(score, b, h, q, k):
    return 0


FIXED = {"slopes": SLOPES, "documents": DOCUMENTS, "prefix": PREFIX, "table": TABLE, "bias": BIAS, "keep": KEEP,
         "words": WORDS,
         "long": LONG, "kinds": KINDS, "gain": numpy.float32(0.75), "window": numpy.int32(4)}

MASKS = [causal, sliding_window, bidirectional_window, prefix_lm, document, document_causal, chunked, dilated,
         dilated_negative, floor_negative, natten, not_self, by_head, keep, strided, by_float, combined, bitmask, integer_powers,
         everything,
         nothing_in_row]
SCORES = [alibi, alibi_formula, soft_cap, relative_position, relative_bias, learned_bias, temperature, penalty, cosine,
          powers, more_powers, angles, hyperbolic, minus_infinity, rounding, float_modulo, exponentials, logarithms,
          boolean_arithmetic, bits, negative_index, long_integers, kinds, scalar, numpys, zero]


def captured(function):
    """The captured tensors that a function takes, by the names of its parameters."""
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return {name: FIXED[name] for name in names if name in FIXED}


def declared(captures):
    """Captured tensors as (dtype, shape)."""
    return {name: (value.dtype, tuple(value.shape)) for name, value in captures.items()}
