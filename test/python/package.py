"""Inputs, and attention in numpy, for the tests of the package."""

import numpy

def attention(q, k, v, score_mod=None, mask_mod=None, scale=None, captures=None):
    """(output, log-sum-exp) in f64; the functions are called on grids of coordinates."""
    q, k, v = (numpy.asarray(x, numpy.float64) for x in (q, k, v))
    captures = captures or {}
    group = q.shape[1] // k.shape[1]
    k, v = numpy.repeat(k, group, axis=1), numpy.repeat(v, group, axis=1)
    scores = (1 / numpy.sqrt(q.shape[-1]) if scale is None else scale) * q @ k.swapaxes(-1, -2)
    b, h, i, j = numpy.ogrid[tuple(slice(extent) for extent in scores.shape)]
    with numpy.errstate(all="ignore"):
        if score_mod:
            scores = numpy.broadcast_to(score_mod(scores, b, h, i, j, **captures), scores.shape).astype(float)
        if mask_mod:
            scores = numpy.where(mask_mod(b, h, i, j, **captures), scores, -numpy.inf)
        most = scores.max(-1, keepdims=True)
        weights = numpy.where(scores > -numpy.inf, numpy.exp(scores - numpy.where(most > -numpy.inf, most, 0)), 0)
        total = weights.sum(-1, keepdims=True)
        lse = numpy.where(total > 0, numpy.log(total) + most, -numpy.inf)
    return (weights / numpy.where(total > 0, total, 1)) @ v, lse[..., 0]


def random_inputs(seed=0, batch=2, heads=4, kv_heads=2, queries=13, keys=17, dim=16, value_dim=16):
    """Random q, k, v in f16."""
    generator = numpy.random.default_rng(seed)
    shapes = ((batch, heads, queries, dim), (batch, kv_heads, keys, dim), (batch, kv_heads, keys, value_dim))
    return tuple(generator.standard_normal(shape).astype(numpy.float16) for shape in shapes)
