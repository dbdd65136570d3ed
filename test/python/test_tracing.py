"""Tracing of Python functions: programs compute the same as the functions, and unsupported
operations raise with their line."""

import functools
import linecache
import math

import numpy
import package
import pytest


@pytest.fixture(scope="module")
def variants(fovea):
    import traced_variants

    return traced_variants


SCORES = [
    "alibi", "alibi_formula", "soft_cap", "relative_position", "relative_bias", "learned_bias", "temperature",
    "penalty", "cosine", "powers", "more_powers", "angles", "hyperbolic", "minus_infinity", "rounding", "float_modulo",
    "exponentials", "logarithms",
    "boolean_arithmetic", "bits", "negative_index", "long_integers", "kinds", "scalar", "numpys", "zero",
]
MASKS = [
    "causal", "sliding_window", "bidirectional_window", "prefix_lm", "document", "document_causal", "chunked",
    "dilated", "dilated_negative", "floor_negative", "natten", "not_self", "by_head", "keep", "strided", "by_float",
    "combined", "bitmask", "integer_powers", "everything", "nothing_in_row",
]


def specify(fovea, variants, role, function, **more):
    captures = variants.captured(function)
    return fovea.attention(
        **{role: function}, dtype="f16", head_dim=16, captures=variants.declared(captures), **more
    ), captures


def check(found, expected, tolerance):
    for a, b in zip(found, expected):
        assert a.shape == b.shape
        assert (numpy.isneginf(a) == numpy.isneginf(b)).all()
        finite = numpy.isfinite(b)
        numpy.testing.assert_allclose(a[finite], b[finite], rtol=tolerance, atol=tolerance)


def test_all_are_listed(variants):
    assert [f.__name__ for f in variants.SCORES] == SCORES
    assert [f.__name__ for f in variants.MASKS] == MASKS


@pytest.mark.parametrize("role, name", [("score_mod", n) for n in SCORES] + [("mask_mod", n) for n in MASKS])
def test_means_what_numpy_computes(fovea, variants, role, name):
    function = getattr(variants, name)
    spec, captures = specify(fovea, variants, role, function)
    q, k, v = package.random_inputs()
    expected = package.attention(q, k, v, **{role: function}, captures=captures)
    check(fovea.reference(spec, q, k, v, **captures), expected, 1e-5)


@pytest.mark.parametrize("role, name, level", [
    ("score_mod", "alibi", "tile"), ("score_mod", "float_modulo", "tile"), ("score_mod", "long_integers", "tile"),
    ("score_mod", "bits", "warp"), ("score_mod", "scalar", "warp"), ("mask_mod", "document", "warp"),
    ("mask_mod", "dilated_negative", "tile"), ("mask_mod", "natten", "tile"), ("mask_mod", "keep", "tile"),
    ("mask_mod", "bitmask", "tile"), ("mask_mod", "bitmask", "warp"), ("mask_mod", "integer_powers", "tile"),
])
def test_kernels_compute_it(fovea, variants, role, name, level):
    function = getattr(variants, name)
    spec, captures = specify(fovea, variants, role, function)
    kernel = fovea.compile(spec, target="sm_80")
    q, k, v = package.random_inputs()
    expected = package.attention(q, k, v, **{role: function}, captures=captures)
    check(kernel.interpret(q, k, v, level=level, **captures), expected, 5e-3)


@pytest.mark.parametrize("role, name", [
    ("score_mod", n) for n in ("powers", "more_powers", "angles", "hyperbolic", "rounding", "float_modulo", "exponentials", "logarithms", "bits", "scalar")
] + [("mask_mod", n) for n in ("dilated_negative", "natten", "combined")])
def test_ops_compile_for_hopper(fovea, variants, role, name):
    spec, _ = specify(fovea, variants, role, getattr(variants, name))
    assert ".entry attention(" in fovea.compile(spec, target="sm_90a", cache=False).ptx


@pytest.mark.parametrize("base", [3, 5, 10, -1, 1])
def test_powers_whose_exponents_may_be_negative(fovea, base):
    """Float powers, exact for integer results, which exp2 of a product with a logarithm would not be."""
    exponents = numpy.array([3, -2, 0, 5], numpy.int32)

    def mask(b, h, q, k, t):
        power = base ** t[h] if isinstance(t, fovea.TracedTensor) else float(base) ** t[h]
        return fovea.where(t[h] < 0, k - q < power, (q - k) % power == 0)

    spec = fovea.attention(mask_mod=mask, dtype="f16", head_dim=16, captures={"t": ("i32", (None,))})
    q, k, v = package.random_inputs()
    expected = package.attention(q, k, v, mask_mod=functools.partial(mask, t=exponents))
    check(fovea.reference(spec, q, k, v, t=exponents), expected, 1e-5)


@pytest.mark.parametrize("base", [2, 3, -7, 10**6, 2**63 - 1])
def test_powers_do_not_wrap_around(fovea, base):
    def mask(b, h, q, k):
        return (k - q < base ** (q * k)) == (base > 0)

    spec = fovea.attention(mask_mod=mask, dtype="f16", head_dim=16)
    q, k, v = package.random_inputs()
    power = numpy.vectorize(lambda n: int(max(min(base ** int(n), 2**62), -(2**62))), otypes=[numpy.int64])
    expected = package.attention(q, k, v, mask_mod=lambda b, h, q, k: (k - q < power(q * k)) == (base > 0))
    check(fovea.reference(spec, q, k, v), expected, 1e-5)


def test_both_functions_share_captures(fovea, variants):
    def mask(b, h, q, k, *, prefix):
        return k <= q + prefix[b]

    captures = {"prefix": variants.PREFIX, "slopes": variants.SLOPES}
    spec = fovea.attention(variants.alibi, mask, dtype="f16", head_dim=16, captures=variants.declared(captures))
    assert spec.captures == ("prefix", "slopes")
    q, k, v = package.random_inputs()
    score = functools.partial(variants.alibi, slopes=variants.SLOPES)
    expected = package.attention(q, k, v, score, functools.partial(mask, prefix=variants.PREFIX))
    check(fovea.reference(spec, q, k, v, **captures), expected, 1e-5)


def test_forms_of_the_program(fovea):
    q, k, v = package.random_inputs(value_dim=32)
    expected = package.attention(q, k, v, scale=0.5)
    common = {"dtype": "f16", "head_dim": 16, "value_head_dim": 32}
    for spec, extra in (
        (fovea.attention(scale=0.5, heads=4, kv_heads=2, batch=2, query_length=13, key_length=17, **common), {}),
        (fovea.attention(scale="runtime", **common), {"scale": 0.5}),
        (fovea.attention(scale=0.5, sequences="lengths", **common), {"lengths": numpy.array([17, 17], numpy.int32)}),
    ):
        check(fovea.reference(spec, q, k, v, **extra), expected, 1e-6)
    spec = fovea.attention(scale=0.5, layout="bshd", lse=False, output_dtype="f32", **common)
    o = fovea.reference(spec, *(x.swapaxes(1, 2) for x in (q, k, v)))
    check([o.swapaxes(1, 2)], expected[:1], 1e-6)


def test_lengths_of_sequences(fovea):
    def bottom_right(b, h, q, k):
        return k - fovea.key_length() <= q - fovea.query_length()

    spec = fovea.attention(mask_mod=bottom_right, dtype="f16", head_dim=16)
    q, k, v = package.random_inputs()
    expected = package.attention(q, k, v, mask_mod=lambda b, h, q, k: k - 17 <= q - 13)
    check(fovea.reference(spec, q, k, v), expected, 1e-6)
    with pytest.raises(fovea.TraceError, match="can be called only while"):
        fovea.query_length()


def test_packed_sequences(fovea):
    def bottom_right(b, h, q, k):
        return k - fovea.key_length() <= q - fovea.query_length()

    spec = fovea.attention(mask_mod=bottom_right, dtype="f16", head_dim=16, sequences="packed")
    q, k, v = package.random_inputs(batch=1)
    cu_q, cu_k = numpy.array([0, 4, 5, 13]), numpy.array([0, 9, 9, 17])
    found = fovea.reference(spec, q, k, v, cu_q=cu_q, cu_k=cu_k)
    for n in range(3):
        rows, keys = slice(cu_q[n], cu_q[n + 1]), slice(cu_k[n], cu_k[n + 1])
        if keys.start == keys.stop:
            assert (found[0][:, :, rows] == 0).all()
            continue
        length = keys.stop - keys.start - (rows.stop - rows.start)
        expected = package.attention(
            q[:, :, rows], k[:, :, keys], v[:, :, keys], mask_mod=lambda b, h, q, k: k - length <= q
        )
        check([part[:, :, rows] for part in found], expected, 1e-6)


@pytest.mark.parametrize("layout", ["bhsd", "bshd"])
def test_pages(fovea, layout):
    """Keys in pages, in any order, give the results of contiguous keys at each level."""
    page, lengths, table = 32, numpy.array([50, 7], "int32"), numpy.array([[4, 1], [0, -1]], "int32")
    described = {"mask_mod": lambda b, h, q, k: k - fovea.key_length() <= q - fovea.query_length(), "dtype": "f16",
                 "head_dim": 16, "layout": layout}
    spec = fovea.attention(sequences=fovea.Paged(page), **described)
    order = (0, 1, 2, 3) if layout == "bhsd" else (0, 2, 1, 3)
    generator = numpy.random.default_rng(0)
    q, k, v = (generator.standard_normal(shape).astype("float16") for shape in ((2, 4, 5, 16), (2, 2, 64, 16), (2, 2, 64, 16)))
    pools = [numpy.full((5, 2, page, 16), numpy.nan, "float16") for _ in range(2)]
    for pool, rows in zip(pools, (k, v)):
        for b, length in enumerate(lengths):
            for j in range(length):
                pool[table[b, j // page], :, j % page] = rows[b, :, j]
    q, k, v, *pools = (one.transpose(order).copy() for one in (q, k, v, *pools))
    expected = fovea.reference(fovea.attention(sequences="lengths", **described), q, k, v, lengths=lengths)
    check(fovea.reference(spec, q, *pools, page_table=table, lengths=lengths), expected, 1e-12)
    kernel = fovea.compile(spec, target="sm_80")
    for level in ("warp", "ptx"):
        check(kernel.interpret(q, *pools, page_table=table, lengths=lengths, level=level), expected, 1e-2)


@pytest.mark.parametrize("full", [False, True])
def test_lists_of_blocks(fovea, full):
    blocks = fovea.Blocks(8, 4, full=full, per_head=False)
    spec = fovea.attention(mask_mod=lambda b, h, q, k: q >= k, dtype="f16", head_dim=16, blocks=blocks)
    q, k, v = package.random_inputs()
    # In the first entry, keys 0 to 7 and 16 are visible to rows 0 to 7, and keys 4 to 7 to the others; in the second, none.
    lists = {"partial_count": [[[2, 1]], [[0, 0]]], "partial_index": [[[[1, 0], [1, 9]]], [[[3, 3], [3, 3]]]]}
    if full:
        lists.update(full_count=[[[1, 0]], [[0, 0]]], full_index=[[[[4], [0]]], [[[0], [0]]]])
    lists = {name: numpy.array(value, numpy.int32) for name, value in lists.items()}

    def seen(b, h, q, k):
        partial = numpy.where(q < 8, k < 8, (k >= 4) & (k < 8)) & (q >= k)
        return (b == 0) & (partial | (full & (q < 8) & (k == 16)))

    check(fovea.reference(spec, q, k, v, **lists), package.attention(q, k, v, mask_mod=seen), 1e-6)
    with pytest.raises(fovea.CompileError, match="must be multiples of 16"):
        fovea.compile(spec)
    pair = fovea.attention(head_dim=64, blocks=(64, 32))
    names = {tensor["name"] for tensor in fovea.compile(pair).metadata["tensors"]}
    assert names == {"q", "k", "v", "o", "lse", "partial_count", "partial_index", "full_count", "full_index"}


def test_sinks(fovea):
    spec = fovea.attention(None, lambda b, h, q, k: q >= k, dtype="f16", head_dim=16, sinks=True)
    assert "sinks(%sinks : tensor<?xf32>)" in spec.mlir
    rng = numpy.random.default_rng(3)
    q, k, v = (rng.standard_normal((1, 2, 40, 16)).astype(numpy.float16) for _ in range(3))
    sinks = numpy.array([0.5, -numpy.inf], numpy.float32)
    scores = numpy.einsum("bhid,bhjd->bhij", q.astype(numpy.float64), k.astype(numpy.float64)) / 4
    weights = numpy.where(numpy.tri(40, dtype=bool), numpy.exp(scores), 0)
    total = weights.sum(-1) + numpy.exp(sinks.astype(numpy.float64))[:, None]
    expected = numpy.einsum("bhij,bhjd->bhid", weights, v.astype(numpy.float64)) / total[..., None]
    for level in ("attn", "warp"):
        o, lse = fovea.compile(spec, target="sm_90a").interpret(q, k, v, sinks=sinks, level=level)
        numpy.testing.assert_allclose(o, expected, atol=3e-3)
        numpy.testing.assert_allclose(lse, numpy.log(total), atol=2e-3)
    with pytest.raises(Exception, match="sinks"):
        fovea.compile(spec, target="sm_90a").interpret(q, k, v)
    with pytest.raises(ValueError, match="sinks"):
        fovea.attention(dtype="f16", head_dim=16, captures={"sinks": ("f32", (None,))})


def test_dropout(fovea):
    spec = fovea.attention(dtype="f16", head_dim=16, dropout=0.25)
    q, k, _ = package.random_inputs(queries=64, keys=16)
    # With unit vectors as values the output is the probabilities.
    v = numpy.broadcast_to(numpy.eye(16, dtype=numpy.float16), (2, 2, 16, 16))
    plain, lse = package.attention(q, k, v)
    found = fovea.reference(spec, q, k, v, dropout_seed=3, dropout_offset=4)
    kept = found[0] != 0
    assert abs(kept.mean() - 0.75) < 0.02
    check(found, (numpy.where(kept, plain / 0.75, 0), lse), 1e-5)
    for numbers, same in (((3, 4), True), ((3, 8), False), ((-5, 4), False)):
        other = fovea.reference(spec, q, k, v, **dict(zip(("dropout_seed", "dropout_offset"), numbers)))
        assert ((other[0] != 0) == kept).all() == same


def test_rows_without_keys(fovea):
    spec = fovea.attention(mask_mod=lambda b, h, q, k: q < 0, dtype="f16", head_dim=16)
    o, lse = fovea.reference(spec, *package.random_inputs())
    assert (o == 0).all() and numpy.isneginf(lse).all()


def test_captured_tensors(fovea):
    seen = {}

    def score(s, b, h, q, k, t):
        seen["shape"], seen["ndim"], seen["len"] = t.shape, t.ndim, len(t)
        return s + t[0][k] + t[-1, t.shape[1] - 1]

    spec = fovea.attention(score, dtype="f16", head_dim=16, captures={"t": ("f32", (2, None))})
    assert seen["shape"][0] == 2 and seen["ndim"] == 2 and seen["len"] == 2
    q, k, v = package.random_inputs()
    t = numpy.arange(34, dtype=numpy.float32).reshape(2, 17) / 10
    check(fovea.reference(spec, q, k, v, t=t), package.attention(q, k, v, lambda s, b, h, i, j: s + t[0][j] + 3.3), 1e-5)


def test_programs_do_not_depend_on_where_functions_stand(fovea):
    one = fovea.attention(mask_mod=lambda b, h, q, k: q >= k, head_dim=16)
    two = fovea.attention(mask_mod=lambda b, h, x, y: x >= y, head_dim=16)
    assert one.mlir == two.mlir and one == two
    assert "test_tracing.py" in one.located and "test_tracing.py" not in one.mlir


def refused(fovea, function, message, role="score_mod", **more):
    """The line number of the error, which must be in this file."""
    with pytest.raises(fovea.TraceError) as error:
        fovea.attention(**{role: function}, head_dim=16, **more)
    assert message in str(error.value), error.value
    assert error.value.filename == __file__
    return linecache.getline(__file__, error.value.lineno).strip()


def test_control_flow_is_refused(fovea):
    def branch(s, b, h, q, k):
        if q > k:  # the line
            return s
        return s * 2

    def loop(s, b, h, q, k):
        while s > 0:
            s = s - 1
        return s

    assert refused(fovea, branch, "truth value") == "if q > k:  # the line"
    assert refused(fovea, loop, "fovea.where(") == "while s > 0:"
    refused(fovea, lambda s, b, h, q, k: s if q > k else 0.0, "truth value")
    refused(fovea, lambda b, h, q, k: q >= k and k > 2, "&, |, ~", role="mask_mod")
    refused(fovea, lambda b, h, q, k: not q >= k, "truth value", role="mask_mod")
    refused(fovea, lambda b, h, q, k: 0 <= k < 4, "chained comparisons", role="mask_mod")
    refused(fovea, lambda s, b, h, q, k: min(s, 1.0), "truth value")
    refused(fovea, lambda s, b, h, q, k: sum(s for _ in range(q)), "needs a number")


@pytest.mark.parametrize("function, message", [
    (lambda s, b, h, q, k: math.exp(s), "fovea.exp"),
    (lambda s, b, h, q, k: float(q), "conversion to float"),
    (lambda s, b, h, q, k: int(s), "int() needs a number"),
    (lambda s, b, h, q, k: s.view(-1), "has no 'view'"),
    (lambda s, b, h, q, k: s[0], "can't be indexed"),
    (lambda s, b, h, q, k: [1, 2][h], "an index into something that is not captured"),
    (lambda s, b, h, q, k: {q: 1}[q], "key of a dictionary"),
    (lambda s, b, h, q, k: len(s), "no length"),
    (lambda s, b, h, q, k: next(iter(s)), "iterated"),
    (lambda s, b, h, q, k: s(1), "called"),
    (lambda s, b, h, q, k: s + "x", "found str"),
    (lambda s, b, h, q, k: s + numpy.ones(3), "found ndarray; name it in captures"),
    (lambda s, b, h, q, k: numpy.hypot(s, s), "numpy.hypot"),
    (lambda s, b, h, q, k: numpy.exp(s, where=True), "numpy.exp with options"),
    (lambda s, b, h, q, k: s & 1, "found a float"),
    (lambda s, b, h, q, k: ~s, "found a float"),
    (lambda s, b, h, q, k: s << 1, "shifts need integers"),
    (lambda s, b, h, q, k: s + (q << k), "0 to 63 bits, found an integer without such bounds; fovea.clip(n, 0, 63) and n % 64 have them; 2 ** n"),
    (lambda s, b, h, q, k: s + (q >> 64), "0 to 63 bits, found 64"),
    (lambda s, b, h, q, k: s + q // 0, "division by zero"),
    (lambda s, b, h, q, k: s + (1 << 70), "does not fit 64 bits"),
    (lambda s, b, h, q, k: s + h ** (q - k), "positive constant base, or an exponent that can't be negative; fovea.as_float"),
    (lambda s, b, h, q, k: s + (-3) ** (q - k), "positive constant base, or an exponent that can't be negative"),
    (lambda s, b, h, q, k: s == None, "None"),  # noqa: E711
    (lambda s, b, h, q, k: None, "must return a number, found None"),
    (lambda s, b, h, q, k: s > 0, "score_mod must return a number, found a boolean"),
    (lambda s, b, h, q, k: True, "score_mod must return a number, found a boolean"),
    (lambda s, b, h, q: s, "takes 5 arguments or more, found 4"),
    (lambda s, b, h, q, k, other: s, "'other', which is not among captures"),
    (lambda s, b, h, q, k, t: s + t, "is a tensor; read an element"),
    (lambda s, b, h, q, k, t: s + t[q, k], "1 dimension left to index, found 2"),
    (lambda s, b, h, q, k, t: s + t[s], "must be an integer, found a float; // divides to integers, fovea.as_int makes one"),
    (lambda s, b, h, q, k, t: s + t[1:], "must be an integer, found slice"),
    (lambda s, b, h, q, k, t: s + t[4], "out of range"),
    (lambda s, b, h, q, k, t: s + t.sum(), "has no 'sum'"),
    (lambda s, b, h, q, k, t: t, "must return a number"),
])
def test_what_cannot_be_traced(fovea, function, message):
    takes_t = "t" in function.__code__.co_varnames
    line = refused(fovea, function, message, captures={"t": ("f32", (4,))} if takes_t else {})
    assert line.startswith("(lambda s, b, h, q")


def test_traced_values_stay_inside(fovea):
    kept = []
    fovea.attention(lambda s, b, h, q, k: kept.append(s) or s, head_dim=16)
    with pytest.raises(fovea.TraceError, match="outside of the function"):
        kept[0] + 1


def test_masks_are_booleans(fovea):
    refused(fovea, lambda b, h, q, k: q - k, "must return a boolean, found an integer", role="mask_mod")


@pytest.mark.parametrize("arguments, message", [
    ({"head_dim": 0}, "head_dim must be a positive integer"), ({"heads": True}, "heads must be"),
    ({"dtype": "f7"}, "unknown dtype 'f7', expected one of f16"), ({"layout": "sbhd"}, "layout must be"),
    ({"scale": float("inf")}, "finite"), ({"scale": 10**400}, "finite"), ({"sequences": "ragged"}, "one of dense, lengths, packed"), ({"sequences": "packed", "batch": 2}, "one batch entry"),
    ({"scale": "often"}, "'runtime'"), ({"name": "a b"}, "identifier"),
    ({"captures": {"q": ("f32", (1,))}}, "can't be named 'q'"), ({"captures": {"a": 3}}, r"must be an array, or \(dtype, shape\)"), ({"captures": {"a": ("f32", 3)}}, r"must be an array, or \(dtype, shape\)"),
    ({"captures": {"a": ("f32", (0,))}}, "positive integer or None"),
    ({"captures": {"a": ("bf16", ())}}, "must be f32, i32 or i64"), ({"sequences": "paged"}, r"or fovea.Paged\(page=...\), found 'paged'"),
    ({"page": 0}, "page must be a positive integer"), ({"page": 64, "key_length": 128}, "key_length is the rows of a page, 64, found 128"),
    ({"page": 64, "gradient": True}, "pages have no gradients"),
    ({"blocks": 64}, r"blocks must be fovea.Blocks, \(queries, keys\) or None"),
    ({"blocks": (64, 0)}, "blocks' keys must be a positive integer"), ({"blocks": (64, 64), "sequences": "packed"}, "blocks need sequences 'dense', 'lengths' or fovea.Paged, and queries that are not packed, found 'packed'"),
    ({"dropout": 1.0}, "a probability below 1"), ({"dropout": float("nan")}, "a probability below 1"),
])
def test_wrong_descriptions(fovea, arguments, message):
    pages = {"sequences": fovea.Paged(arguments["page"])} if "page" in arguments else {}
    with pytest.raises(ValueError, match=message):
        fovea.attention(**{"head_dim": 16, **pages, **{name: value for name, value in arguments.items() if name != "page"}})


# --- Common mistakes ----------------------------------------------------------------


def test_arrays_that_functions_close_over(fovea):
    import numpy

    slopes = numpy.ones(4, numpy.float32)
    refused(fovea, lambda s, b, h, q, k: s + slopes[h], "'slopes' is an array in the function's closure; declare it, captures={'slopes': slopes}")
    refused(fovea, lambda s, b, h, q, k: numpy.linalg.norm(s), "numpy.linalg.norm does not take traced numbers; use the functions of fovea")
    with pytest.raises(IndexError):  # other errors are not replaced
        fovea.attention(lambda s, b, h, q, k: s + [1.0][3], head_dim=16)
    torch = pytest.importorskip("torch")
    biases = torch.ones(4)
    refused(fovea, lambda s, b, h, q, k: s + biases[h], "'biases' is an array in the function's closure")
    refused(fovea, lambda s, b, h, q, k: torch.where(q > k, s, 0.0), r"torch.where does not take traced numbers; use .*fovea.where")
    fovea_torch = pytest.importorskip("fovea.torch")
    x = torch.zeros(1, 1, 16, 16)
    with pytest.raises(fovea.TraceError, match="'slopes' is an array .*make it a tensor on query's device"):
        fovea_torch.flex_attention(x, x, x, lambda s, b, h, q, k: s + slopes[h], backend="interpret")
    with pytest.raises(TypeError, match="query must be a PyTorch tensor, found ndarray"):
        fovea_torch.flex_attention(x.numpy(), x, x, backend="interpret")


def test_arguments_that_beginners_give(fovea):
    for name in ("level", "seed", "self", "stream", "device", "check"):
        with pytest.raises(ValueError, match=f"can't be named '{name}', which is a parameter of Kernel.interpret"):
            fovea.attention(head_dim=16, captures={name: ("f32", (None,))})
    with pytest.raises(ValueError, match="captures must be a dictionary"):
        fovea.attention(head_dim=16, captures=["x"])
    with pytest.raises(ValueError, match="heads must be a multiple of kv_heads, found 6 and 4"):
        fovea.attention(head_dim=16, heads=6, kv_heads=4)
    with pytest.raises(fovea.Error, match=r"'examples/causal.mlir' is a path, not a program; pass pathlib.Path"):
        fovea.compile("examples/causal.mlir")
    with pytest.warns(fovea.CompileWarning, match="kernels for sm_90a do"):
        fovea.compile(fovea.attention(head_dim=16), target="sm_90")


def test_captures_are_named_at_run_time(fovea):
    import numpy

    def alibi(score, b, h, q_idx, kv_idx, slopes):
        return score + slopes[h]

    spec = fovea.attention(alibi, head_dim=16, dtype="f16", captures={"slopes": ("f32", (None,))})
    kernel, x = fovea.compile(spec, target="sm_80"), numpy.zeros((1, 4, 8, 16), numpy.float16)
    for level in ("attn", "tile", "ptx"):
        with pytest.raises(TypeError, match="needs .slopes., which is missing"):
            kernel.interpret(x, x, x, level=level)
    with pytest.raises(TypeError, match="needs .slopes., which is missing"):
        fovea.reference(spec, x, x, x)
    with pytest.raises(fovea.CompileError, match="slopes.0 must be at least 4"):
        kernel.interpret(x, x, x, slopes=numpy.zeros(2, numpy.float32))


def test_without_numpy(fovea, run_python):
    """Functions with an optional dependency raise an ImportError with its name."""
    result = run_python(
        "import sys\nfor name in ('numpy', 'torch', 'matplotlib'):\n    sys.modules[name] = None\n"
        "import fovea, fovea.bench, fovea.explain\nspec = fovea.attention(head_dim=16)\nkernel = fovea.compile(spec, 'sm_80')\n"
        "for call in (lambda: fovea.reference(spec, [], [], []), lambda: kernel.interpret([], [], [], level='ptx'),\n"
        "             lambda: fovea.explain.page(spec), lambda: fovea.explain.block_map(spec),\n"
        "             lambda: fovea.bench.plot({'tables': {'forward': [{'cell': 'a', 'name': 'fovea', 'tflops': 1.0}]}}, 'x.png'),\n"
        "             lambda: __import__('fovea.torch')):\n"
        "    try:\n        call()\n    except ImportError as error:\n        print(error, isinstance(error, fovea.Error))\n")
    assert result.stdout.splitlines() == [
        "running on the CPU needs numpy: pip install numpy (the extra fovea-attention[interpret]) True",
        "running on the CPU needs numpy: pip install numpy (the extra fovea-attention[interpret]) True",
        "explain needs numpy: pip install numpy (the extra fovea-attention[interpret]) True",
        "explain needs numpy: pip install numpy (the extra fovea-attention[interpret]) True",
        "drawing needs matplotlib: pip install matplotlib (the extra fovea-attention[plot]) True",
        "fovea.torch needs torch: pip install torch (the extra fovea-attention[torch]) True",
    ], result.stderr
