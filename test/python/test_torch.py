"""fovea.torch: FlexAttention's functions compute the same as in PyTorch; unsupported ones raise
with the reason."""

import re
import warnings

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
flex = pytest.importorskip("torch.nn.attention.flex_attention")

import torch_variants as variants  # noqa: E402
from conftest import ROOT  # noqa: E402


@pytest.fixture(scope="module")
def ours(fovea):
    import fovea.torch

    return fovea.torch


@pytest.mark.parametrize("level", ["attn", "warp"])
def test_hard_cases(ours, level, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "test" / "GPU"))
    from hard_cases import check_hard_cases

    assert not check_hard_cases(ours.flex_attention, "cpu", 141, backend=f"interpret:{level}")


def inputs(dtype=torch.float32, dim=variants.DIM, value_dim=variants.DIM, heads=variants.HEADS,
           kv_heads=variants.KV_HEADS, queries=variants.QUERIES, keys=variants.KEYS):
    generator = torch.Generator().manual_seed(1)
    shapes = ((variants.BATCH, heads, queries, dim), (variants.BATCH, kv_heads, keys, dim),
              (variants.BATCH, kv_heads, keys, value_dim))
    return tuple(torch.randn(shape, generator=generator).to(dtype) for shape in shapes)


def eager(query, key, value, score_mod=None, mask_mod=None, **options):
    """PyTorch's eager flex_attention, which warns that it is slow."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        block_mask = mask_mod
        if callable(mask_mod):
            block_mask = flex.create_block_mask(mask_mod, variants.BATCH, variants.HEADS, query.shape[2], key.shape[2],
                                                device="cpu", BLOCK_SIZE=16)
        options = {"enable_gqa": True, **options}
        return flex.flex_attention(query, key, value, score_mod, block_mask, return_lse=True, **options), block_mask


def check(found, expected, tolerance):
    for a, b in zip(found, expected):
        assert a.shape == b.shape and a.dtype == b.dtype
        torch.testing.assert_close(a.double(), b.double(), rtol=tolerance, atol=tolerance)


NAMES = [("mask_mod", name) for name in variants.MASKS] + [("score_mod", name) for name in variants.SCORES]


@pytest.mark.parametrize("role, name", NAMES)
def test_means_what_pytorch_computes(ours, role, name):
    function = (variants.MASKS if role == "mask_mod" else variants.SCORES)[name]
    q, k, v = inputs()
    expected, block_mask = eager(q, k, v, **{role: function})
    found = ours.flex_attention(
        q, k, v, block_mask=block_mask, enable_gqa=True, return_lse=True, backend="interpret",
        **({"score_mod": function} if role == "score_mod" else {}),
    )
    check(found, expected, 3e-5)


@pytest.mark.parametrize("role, name, level", [
    ("score_mod", "alibi", "tile"), ("score_mod", "quotients", "tile"), ("score_mod", "bias_of_halves", "warp"),
    ("score_mod", "casts", "tile"), ("score_mod", "bytes_and_shorts", "tile"), ("score_mod", "bytes_and_shorts", "warp"),
    ("score_mod", "unsigned", "warp"), ("score_mod", "norms", "warp"), ("score_mod", "joined", "tile"), ("mask_mod", "document_causal", "warp"), ("mask_mod", "natten", "tile"),
    ("mask_mod", "near", "tile"), ("mask_mod", "long_document", "tile"), ("mask_mod", "long_document", "warp"),
    ("mask_mod", "long_counts", "tile"), ("mask_mod", "long_counts", "warp"),
])
def test_kernels_compute_it(ours, role, name, level):
    function = (variants.MASKS if role == "mask_mod" else variants.SCORES)[name]
    q, k, v = inputs(torch.float16)
    expected, _ = eager(q.float(), k.float(), v.float(), **{role: function})
    given = {"score_mod": function} if role == "score_mod" else {"block_mask": function}
    o, lse = ours.flex_attention(q, k, v, enable_gqa=True, return_lse=True, backend=f"interpret:{level}", **given)
    check((o.float(), lse), expected, 5e-3)


@pytest.mark.parametrize("backend", ["ptx", "ptx:sm_80"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_ptx_computes_it(ours, backend, dtype):
    q, k, v = inputs(dtype)
    expected, _ = eager(q.float(), k.float(), v.float(), variants.SCORES["alibi"])
    found = ours.flex_attention(q, k, v, variants.SCORES["alibi"], enable_gqa=True, return_lse=True, backend=backend)
    check([one.float() for one in found], expected, 5e-3 if dtype == torch.float16 else 4e-2)
    expected, _ = eager(q.float(), k.float(), v.float(), mask_mod=variants.MASKS["document_causal"])
    o = ours.flex_attention(q, k, v, block_mask=variants.MASKS["document_causal"], enable_gqa=True, backend=backend)
    check([o.float()], expected, 5e-3 if dtype == torch.float16 else 4e-2)
    assert o.dtype == dtype


def test_ptx_takes_what_kernels_take(ours):
    q, k, v = inputs(torch.float32)
    with pytest.raises(NotImplementedError, match="query is of torch.float64, expected torch.bfloat16, torch.float16, torch.float32"):
        ours.flex_attention(q.double(), k.double(), v.double(), enable_gqa=True, backend="ptx")
    with pytest.raises(ValueError, match="backend must be .* ptx:sm_80"):
        ours.flex_attention(q, k, v, enable_gqa=True, backend="ptx:sm_70")


def test_clamped_distances_beside_other_terms(ours):
    """At large relative positions a block reads one element, whose derived values are uniform in the block."""
    def score(score, b, h, q_idx, kv_idx):
        near = variants.TABLE[h, (kv_idx - q_idx).clamp(-16, 16) + 16]
        return (score + 0.01 * q_idx) * near + near * variants.SLOPES[h]

    q, k, v = inputs(torch.float16, queries=40, keys=300)
    expected, _ = eager(q.float(), k.float(), v.float(), score)
    o, lse = run(ours, score, tensors=(q, k, v), return_lse=True)
    check((o.float(), lse), expected, 5e-3)
    for level in ("tile", "warp"):
        o, lse = ours.flex_attention(q, k, v, score, enable_gqa=True, return_lse=True, backend=f"interpret:{level}")
        check((o.float(), lse), expected, 5e-3)


@pytest.mark.parametrize("name", ["quotients", "functions", "casts", "powers", "negative_index", "near", "tiled_natten",
                                  "packed_positions", "dilated_negative", "long_counts",
                                  "bytes_and_shorts", "unsigned", "flipped", "products", "norms", "joined"])
def test_compiles_for_hopper(fovea, ours, name):
    from fovea.torch.cache._programs import Facts, build

    facts = Facts(torch.bfloat16, torch.device("cpu"), 64, 64, None, False)
    program = build(variants.SCORES.get(name), variants.MASKS.get(name), facts)
    assert ".entry attention(" in fovea.compile(program.spec, target="sm_90a", cache=False).ptx


@pytest.mark.parametrize("name", ["document_of_batch", "long_document"])
def test_documents_have_summaries(fovea, ours, name):
    """With document ids in int64 or int32, blocks of other documents are skipped."""
    from fovea.torch.cache._programs import Facts, build

    program = build(None, variants.MASKS[name], Facts(torch.bfloat16, torch.device("cpu"), 64, 64, None, False))
    kernel = fovea.compile(program.spec, target="sm_90a", cache=False)
    assert [one["kernel"] for one in kernel.metadata["prologue"]] == ["attention_summaries"]


def run(ours, *functions, tensors=None, **options):
    return ours.flex_attention(*(tensors or inputs()), *functions, enable_gqa=True, backend="interpret", **options)


# --- Options ------------------------------------------------------------------


def test_forms_of_the_call(ours):
    q, k, v = inputs(value_dim=24)
    (o, lse), _ = eager(q, k, v, variants.soft_cap, scale=0.3)
    check([run(ours, variants.soft_cap, tensors=(q, k, v), scale=0.3)], [o], 1e-5)
    found, aux = run(ours, variants.soft_cap, tensors=(q, k, v), scale=0.3, return_aux=flex.AuxRequest(lse=True))
    check([found, aux.lse], [o, lse], 1e-5)
    # The output has the query's order of dimensions in memory.
    q = q.transpose(1, 2).contiguous().transpose(1, 2)
    assert run(ours, tensors=(q, k, v)).stride(1) < run(ours, tensors=(q, k, v)).stride(2)
    run(ours, kernel_options={"BLOCK_M": 64, "num_warps": 4, "recurrence": "deferred"})


@pytest.mark.parametrize("options", [
    {}, {"is_causal": True}, {"scale": 0.2}, {"attn_mask": variants.KEEP[:1]}, {"attn_mask": variants.KEEP[:, None, None]},
    {"attn_mask": variants.draw(variants.QUERIES, variants.KEYS)},
    {"attn_mask": variants.draw(variants.BATCH, variants.HEADS, variants.QUERIES, variants.KEYS)},
])
def test_scaled_dot_product_attention(ours, options):
    q, k, v = inputs(value_dim=24)
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=True, **options)
    found = ours.scaled_dot_product_attention(q, k, v, enable_gqa=True, backend="interpret", **options)
    check([found], [expected], 1e-5)


def test_scaled_dot_product_attention_of_three_dimensions(ours):
    q, k, v = (x[:, 0] for x in inputs(kv_heads=variants.HEADS))
    mask = variants.draw(variants.BATCH, variants.QUERIES, variants.KEYS) > 0
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    check([ours.scaled_dot_product_attention(q, k, v, attn_mask=mask, backend="interpret")], [expected], 1e-5)


def test_dropout(ours):
    q, k, _ = inputs(queries=64, keys=16)
    # With unit vectors as values the output is the probabilities.
    v = torch.eye(16).expand(variants.BATCH, variants.KV_HEADS, 16, 16)
    options = {"enable_gqa": True, "backend": "interpret"}
    plain = ours.scaled_dot_product_attention(q, k, v, **options)
    torch.manual_seed(3)
    first, second = (ours.scaled_dot_product_attention(q, k, v, dropout_p=0.25, **options) for _ in range(2))
    kept = first != 0
    assert abs(kept.float().mean().item() - 0.75) < 0.02
    check([first], [torch.where(kept, plain / 0.75, 0)], 1e-5)
    assert not torch.equal(first, second)
    torch.manual_seed(3)
    assert torch.equal(ours.scaled_dot_product_attention(q, k, v, dropout_p=0.25, **options), first)
    # With a mask; the interpreter also runs kernels.
    causal = ours.scaled_dot_product_attention(q.half(), k.half(), v.half(), None, 0.25, True, enable_gqa=True,
                                               backend="interpret:tile")
    assert not causal.triu(1)[:, :, :16].any() and abs((causal[:, :, 15:] != 0).float().mean().item() - 0.75) < 0.03
    class Model(torch.nn.Module):
        def forward(self, q, k, v):
            return ours.scaled_dot_product_attention(q, k, v, dropout_p=0.25, **options)

    with pytest.raises(NotImplementedError, match="its seed would be a constant of the graph"):
        torch.export.export(Model(), (q, k, v), strict=False)
    with pytest.raises(Exception, match="dropout_p can't be given under torch.compile"):
        torch.compile(lambda: ours.scaled_dot_product_attention(q, k, v, dropout_p=0.25, **options), backend="eager",
                      fullgraph=True)()


# --- What functions refer to ----------------------------------------------------


def test_captured_tensors_are_read_at_each_call(ours):
    slopes = torch.zeros(variants.HEADS)

    def biased(score, b, h, q_idx, kv_idx):
        return score + slopes[h] * kv_idx

    before = run(ours, biased)
    slopes += 1
    expected = eager(*inputs(), biased)[0][0]
    check([run(ours, biased)], [expected], 1e-5)
    assert not torch.allclose(before, expected, atol=1e-2)
    slopes = torch.full((variants.HEADS,), -0.5)  # noqa: F841 (another tensor in the same cell)
    check([run(ours, biased)], [eager(*inputs(), biased)[0][0]], 1e-5)


def test_what_changes_is_traced_again(ours):
    class Window:
        size = 3

        def mask(self, b, h, q_idx, kv_idx):
            return (q_idx - kv_idx).abs() <= self.size

    window, inner = Window(), [variants.causal]
    functions = [lambda b, h, q, k: window.mask(b, h, q, k), lambda b, h, q, k: inner[0](b, h, q, k), variants.sliding_window]
    before = [run(ours, None, function) for function in functions]
    window.size, inner[0], variants.WINDOW = 7, variants.by_head, 2
    try:
        for function, old in zip(functions, before):
            found = run(ours, None, function)
            check([found], [eager(*inputs(), mask_mod=function)[0][0]], 1e-5)
            assert not torch.allclose(found, old, atol=1e-2)
    finally:
        variants.WINDOW = 6


def test_functions_are_traced_once(ours, monkeypatch):
    from fovea.torch.cache import _programs

    calls = []
    original = _programs.build
    monkeypatch.setattr(_programs, "build", lambda *args: calls.append(1) or original(*args))
    offset, causal = torch.tensor(2), variants.causal

    def near_diagonal(b, h, q_idx, kv_idx):
        return causal(b, h, q_idx, kv_idx + offset)

    for queries in (5, 9, 30):  # and all lengths share a program
        q, k, v = inputs(queries=queries)
        check([run(ours, None, near_diagonal, tensors=(q, k, v))], [eager(q, k, v, mask_mod=near_diagonal)[0][0]], 1e-5)
    assert len(calls) == 1


def test_what_was_traced_goes_with_its_function(ours):
    import gc
    import weakref

    def once():
        bias = torch.ones(3)
        run(ours, lambda score, b, h, q_idx, kv_idx: score + bias[0])
        return weakref.ref(bias)

    bias = once()
    gc.collect()
    assert bias() is None


# --- Promotion ------------------------------------------------------------------


def test_promotion_is_pytorchs(ours):
    import itertools

    from fovea.torch.trace._promotion import Kind, broadcast, promoted
    from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND, elementwise_dtypes

    dtypes = (torch.bool, torch.int8, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64)
    operands = [torch.ones(shape, dtype=dtype) for dtype in dtypes for shape in ((), (2,))] + [True, 2, 1.5]
    for kind in Kind:
        theirs = getattr(ELEMENTWISE_TYPE_PROMOTION_KIND, kind.name)
        for count in (1, 2, 3):
            for chosen in itertools.combinations(operands[:: 1 if count < 3 else 3], count):
                assert promoted(chosen, kind) == elementwise_dtypes(*chosen, type_promotion_kind=theirs), (kind, chosen)
    for shapes in (((),), ((3, 1), (4,)), ((2, 1, 5), (3, 1), ()), ((0, 1), (1, 7))):
        assert broadcast(*shapes) == torch.broadcast_shapes(*shapes)
    with pytest.raises(RuntimeError, match=r"can't be broadcast together: \[3\], \[4\]"):
        broadcast((3,), (4,))


def test_tracing_imports_little(run_python):
    """sympy and torch._dynamo take seconds to import; a first call must not import them."""
    result = run_python(
        "import sys, torch\n"
        "before = set(sys.modules)\n"
        "import fovea.torch, torch_variants as variants\n"
        "from fovea.torch.cache._programs import Facts, build\n"
        "facts = Facts(torch.bfloat16, torch.device('cpu'), 64, 64, None, False)\n"
        "for name in ('alibi', 'soft_cap', 'relative_table', 'bias_of_halves', 'functions'):\n"
        "    build(variants.SCORES[name], variants.MASKS['document_causal'], facts)\n"
        "print(sorted(name for name in set(sys.modules) - before if name in ('sympy', 'torch._dynamo', 'torch._inductor')))",
        PYTHONPATH=f"{ROOT / 'python'}:{ROOT / 'test' / 'python'}",
    )
    assert result.returncode == 0 and result.stdout.strip() == "[]", result.stderr + result.stdout


# --- As an op -------------------------------------------------------------------


def test_stays_in_the_graph(ours):
    graphs = []

    def keep(graph, _):
        graphs.append(graph)
        return graph

    def model(q, k, v, function):
        return ours.flex_attention(q * 2, k, v, function, block_mask, enable_gqa=True, backend="interpret") + 1

    def make(slopes):
        return lambda score, b, h, q_idx, kv_idx: score + slopes[h] * kv_idx

    block_mask = flex.create_block_mask(variants.causal, None, None, variants.QUERIES, variants.KEYS, device="cpu")
    compiled = torch.compile(model, backend=keep, fullgraph=True)
    with torch.no_grad():
        for _ in range(3):  # the same code, other tensors
            function = make(torch.randn(variants.HEADS))
            check([compiled(*inputs(), function)], [model(*inputs(), function)], 1e-6)
    targets = [node.target for node in graphs[0].graph.nodes]
    assert torch.ops.fovea.attention in targets or torch.ops.fovea.attention.default in targets


def test_errors_while_compiling(ours):
    """Errors start with the cause, and are torch.compile's class for user errors."""
    table, (q, k, v) = variants.TABLE, inputs()

    def sorted_table(score, b, h, q_idx, kv_idx):
        return score + torch.sort(table[h]).values[0]

    def double(score, b, h, q_idx, kv_idx):
        return score + doubles[h]

    doubles = torch.zeros(variants.HEADS, dtype=torch.float64)
    for function, message in ((sorted_table, f"^{re.escape(__file__)}:\\d+: aten.sort.default can't be part of a kernel"),
                              (double, f"^{re.escape(__file__)}:\\d+: captured tensor 'doubles' is of torch.float64")):
        compiled = torch.compile(lambda: run(ours, function, tensors=(q, k, v)), backend="eager", fullgraph=True)
        with torch.no_grad(), pytest.raises(torch._dynamo.exc.UserError, match=message):
            compiled()


def test_op(ours):
    from fovea.torch.ops import _op
    from fovea.torch.cache._programs import Facts, build

    q, k, v = inputs(torch.float16)
    program = build(variants.alibi, None, Facts(torch.float16, q.device, variants.DIM, variants.DIM, None, False))
    arguments = (q, k, v, program.captures, [], program.text)
    torch.library.opcheck(torch.ops.fovea.attention.default, arguments, test_utils=("test_schema", "test_faketensor"))


def test_targets_of_a_device(ours, monkeypatch):
    """A program that the best target refuses gets a kernel of the next one; errors are the best target's."""
    import fovea
    from fovea.torch.ops import _op

    spec, tried = fovea.attention(dtype="f16", head_dim=8), []

    def compile(spec, target, **options):
        tried.append(target)
        if target in refused:
            raise fovea.CompileError([f"{target} refuses"])
        return target

    monkeypatch.setattr(_op._kernel, "compile", compile)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (10, 0))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "B200")
    for refused, found in ((), "sm_100a"), (("sm_100a",), "sm_100"):
        assert _op.compiled(spec, 0, {}) == found
    assert tried == ["sm_100a", "sm_100a", "sm_100"]
    refused = "sm_100a", "sm_100"
    with pytest.raises(fovea.CompileError, match="^sm_100a refuses$"):
        _op.compiled(spec, 0, {})
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (7, 5))
    with pytest.raises(fovea.Error, match="^B200 runs no kernels for sm_80, sm_86, "):
        _op.compiled(spec, 0, {})


# --- Errors ---------------------------------------------------------------------


def branches(score, b, h, q_idx, kv_idx):
    if q_idx > kv_idx:
        return score
    return -score


def asks(score, b, h, q_idx, kv_idx):
    return score * q_idx.item()


def sorts(score, b, h, q_idx, kv_idx):
    return score + torch.sort(variants.TABLE[h]).values[0]


def writes(score, b, h, q_idx, kv_idx):
    variants.SLOPES.add_(1)
    return score


def whole(score, b, h, q_idx, kv_idx):
    return score + variants.TABLE[h]


def float_index(score, b, h, q_idx, kv_idx):
    return score + variants.SLOPES[score]


def by_zero(score, b, h, q_idx, kv_idx):
    return score + q_idx // 0


def inverse_power(score, b, h, q_idx, kv_idx):
    return score + q_idx ** -2


def complex_tensor(score, b, h, q_idx, kv_idx):
    return score + torch.ones(4, dtype=torch.complex64)[h].real


def long_sum(score, b, h, q_idx, kv_idx):
    return score + variants.BIAS.sum()


@pytest.mark.parametrize("function, message", [
    (branches, "the value of a traced tensor is not known"), (asks, "the value of a traced tensor is not known"),
    (sorts, "aten.sort"), (writes, "captured tensor 'variants.SLOPES' can't be written in a function"),
    (float_index, "indexed by torch.float32"), (by_zero, "division of integers by zero"),
    (inverse_power, "an integer can't be raised to a negative power, found -2"), (complex_tensor, "complex64"),
    (long_sum, "sum reduces 1320 elements"),
])
def test_functions_that_are_refused(fovea, ours, function, message):
    with pytest.raises(fovea.TraceError, match=message) as caught:
        run(ours, function)
    first = function.__code__.co_firstlineno
    assert caught.value.filename == __file__ and first < caught.value.lineno <= first + 3


def test_custom_ops(fovea, ours):
    """Custom ops are traced by their decompositions."""
    library = torch.library.Library("fovea_test", "FRAGMENT")
    for name in ("implicit", "registered", "opaque"):
        library.define(f"{name}(Tensor x) -> Tensor")
        library.impl(name, lambda x: x * 2 + 1, "CompositeImplicitAutograd" if name == "implicit" else "CPU")
    torch._decomp.register_decomposition(torch.ops.fovea_test.registered.default)(lambda x: x * 2 + 1)
    expected = run(ours, lambda s, b, h, i, j: (s * 2 + 1) * 2 + 1 + variants.SLOPES[h] * 2 + 1)
    found = run(ours, lambda s, b, h, i, j: torch.ops.fovea_test.implicit(torch.ops.fovea_test.registered(s)) + (
        torch.ops.fovea_test.registered(variants.SLOPES)[h]))
    torch.testing.assert_close(found, expected)
    with torch.inference_mode():
        torch.testing.assert_close(run(ours, lambda s, b, h, i, j: torch.ops.fovea_test.implicit(s)),
                                   run(ours, lambda s, b, h, i, j: s * 2 + 1))
    with pytest.raises(fovea.TraceError, match="fovea_test.opaque.default can't be part of a kernel: it has no decomposition"):
        run(ours, lambda s, b, h, i, j: torch.ops.fovea_test.opaque(s))


def test_long_captures(fovea, ours):
    """An element's linear index may need 64 bits."""
    from fovea.torch.cache._programs import Facts, build

    flat = torch.zeros(1, dtype=torch.float16).expand(3_000_000_000)
    wide = torch.zeros(1, dtype=torch.float16).expand(2, 3_000_000_000)
    for function in (lambda s, b, h, i, j: s + flat[i * 70_000 + j], lambda s, b, h, i, j: s + wide[b, i * 70_000 + j],
                     lambda s, b, h, i, j: s + flat.view(3_000, 1_000_000)[i, j]):
        program = build(function, None, Facts(torch.bfloat16, torch.device("cpu"), 64, 64, None, False))
        for target in ("sm_90a", "sm_80"):
            kernel = fovea.compile(program.spec, target=target)
            capture = next(one for one in kernel.metadata["tensors"] if one["name"] == "capture0")
            assert capture["shape"][-1] == 3_000_000_000
            assert not [p for p in kernel.metadata["parameters"] if p.get("tensor") == "capture0" and p.get("type") == "i32"]
            # Elements are counted in 64 bits.
            assert re.search(r"[us]64\s+%\w+, %rd\d+, (3000000000|2999999999);", kernel.ptx), target


def test_results_that_are_refused(fovea, ours):
    with pytest.raises(fovea.TraceError, match="score_mod must return a number, found torch.bool") as caught:
        run(ours, lambda s, b, h, i, j: s > 0)
    assert caught.value.filename == __file__ and caught.value.lineno == test_results_that_are_refused.__code__.co_firstlineno + 2
    with pytest.raises(fovea.TraceError, match="score_mod must return a number, found torch.bool"):
        run(ours, lambda s, b, h, i, j: True)
    with pytest.raises(fovea.TraceError, match=r"single element, found a tensor of shape \[33\]"):
        run(ours, whole)
    with pytest.raises(fovea.TraceError, match="mask_mod must return a boolean, found torch.int64"):
        run(ours, None, lambda b, h, q_idx, kv_idx: q_idx)
    with pytest.raises(fovea.TraceError, match="must return a tensor, found NoneType"):
        run(ours, lambda score, b, h, q_idx, kv_idx: None)
    kept = []
    run(ours, lambda score, b, h, q_idx, kv_idx: kept.append(score) or score)
    with pytest.raises(fovea.TraceError, match="outside of the function"):
        kept[0] + 1


def test_arguments_that_are_refused(ours):
    q, k, v = inputs()

    def refuse(kind, message, tensors=(q, k, v), **options):
        options = {"enable_gqa": True, "backend": "interpret", **options}
        with pytest.raises(kind, match=message):
            ours.flex_attention(*tensors, **options)

    refuse(NotImplementedError, "query is on cpu, but kernels run on CUDA", backend="cuda")
    refuse(NotImplementedError, "query is of torch.float64", tensors=(q.double(), k.double(), v.double()))
    refuse(ValueError, "must be of one dtype", tensors=(q, k.half(), v))
    refuse(ValueError, "must have 4 dimensions", tensors=(q[0], k, v))
    refuse(ValueError, "one head_dim, found 16 and 8", tensors=(q, k[..., :8], v))
    refuse(ValueError, "that needs enable_gqa=True", enable_gqa=False)
    refuse(ValueError, "multiple of key heads", tensors=(q[:, :3], k, v))
    refuse(ValueError, "key must have query's batch size or 1, found 2 and 3", tensors=(torch.cat((q, q[:1])), k, v))
    refuse(ValueError, "key and value must agree", tensors=(q, k, v[:, :, :5]))
    refuse(NotImplementedError, "max_scores", return_aux=flex.AuxRequest(max_scores=True))
    refuse(ValueError, "kernel_options has no 'tile'", kernel_options={"tile": 3})
    refuse(ValueError, "backend must be", backend="triton")
    refuse(ValueError, "scale must be a finite number", scale=float("nan"))
    refuse(TypeError, "score_mod must be a function", score_mod=3)
    refuse(TypeError, "block_mask must be a function or a BlockMask", block_mask=torch.ones(3))
    for message, options in (
        ("dropout_p must be a probability below 1, found 1.0", {"dropout_p": 1.0}),
        ("dropout_p must be a probability below 1, found -0.1", {"dropout_p": -0.1}),
        ("can't both be given", {"is_causal": True, "attn_mask": variants.KEEP[0]}),
        ("attn_mask must broadcast to", {"attn_mask": variants.KEEP[0][:7]}),
        ("attn_mask is of torch.int16", {"attn_mask": variants.KEEP[0].short()}),
    ):
        with pytest.raises((NotImplementedError, ValueError), match=message):
            ours.scaled_dot_product_attention(q, k, v, enable_gqa=True, backend="interpret", **options)


def test_programs_that_are_refused(fovea, ours):
    q, k, v = inputs(torch.float16, dim=264)
    with pytest.raises(fovea.CompileError, match="head dims must be multiples of 8 up to 256 .* found 264 for the query"):
        ours.flex_attention(q, k, v, enable_gqa=True, backend="interpret:warp")


# --- scaled_dot_product_attention's other forms -----------------------------------


@pytest.mark.parametrize("lead, mask", [
    ((), None), ((), (5, 7)), ((), (1, 7)), ((3,), (5, 7)), ((3,), (3, 5, 7)), ((3,), (1, 5, 1)), ((2, 3, 4), None),
    ((2, 3, 4), (7,)), ((2, 3, 4), (4, 5, 7)), ((2, 3, 4), (3, 1, 5, 7)), ((2, 3, 4), (2, 1, 1, 5, 7)), ((2, 3), ()),
])
def test_leading_dimensions(ours, lead, mask):
    generator = torch.Generator().manual_seed(2)
    q, k, v = (torch.randn(*lead, length, dim, generator=generator) for length, dim in ((5, 16), (7, 16), (7, 8)))
    attn_mask = None if mask is None else torch.randn(mask, generator=generator)
    # PyTorch does not accept masks of fewer than two dimensions, although they broadcast.
    theirs = attn_mask.expand(5, 7) if mask is not None and len(mask) < 2 else attn_mask
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, theirs)
    found = ours.scaled_dot_product_attention(q, k, v, attn_mask, backend="interpret")
    assert found.shape == expected.shape
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("queries, keys", [(12, 12), (12, 20), (1, 20)])
def test_causal_biases(ours, queries, keys):
    from torch.nn.attention import bias

    q, k, v = inputs(kv_heads=variants.HEADS, queries=queries, keys=keys)
    for make in (bias.causal_upper_left, bias.causal_lower_right):
        expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, make(queries, keys))
        for level in ("interpret", "interpret:tile"):
            given = [one if level == "interpret" else one.half() for one in (q, k, v)]
            found = ours.scaled_dot_product_attention(*given, make(queries, keys), backend=level)
            torch.testing.assert_close(found.float(), expected, rtol=5e-3, atol=5e-3)


def test_other_forms_are_refused(ours):
    from torch.nn.attention import bias

    q, k, v = inputs(kv_heads=variants.HEADS, queries=12, keys=20)
    nine = q.expand(9, *q.shape)
    for message, tensors, options in (
        ("2 dimensions .* or more, found 1", (q[0, 0, 0], k, v), {}), ("the same number of dimensions, found 3 and 4", (q[0], k, v[0]), {}),
        ("query and key must agree in leading dimensions", (nine, k[None], v[None]), {}),
        ("more dimensions than query", (q[0], k[0], v[0]), {"attn_mask": torch.ones(1, 1, 12, 20)}),
        ("attn_mask must broadcast to the leading", (nine, k.expand(9, *k.shape), v.expand(9, *v.shape)),
         {"attn_mask": torch.ones(4, 1, 1, 12, 20)}),
        ("CausalBias of 12 queries and 12 keys, found 12 and 20", (q, k, v), {"attn_mask": bias.causal_upper_left(12, 12)}),
        ("can't both be given", (q, k, v), {"attn_mask": bias.causal_upper_left(12, 20), "is_causal": True}),
    ):
        with pytest.raises(ValueError, match=message):
            ours.scaled_dot_product_attention(*tensors, backend="interpret", **options)


# --- Launches with the tests' fake driver ----------------------------------------

LAUNCH = """
import sys, torch
import fovea, fovea.torch
from fovea.torch.ops import _launches, _op
from fovea.torch.cache._programs import Facts, program_of

# The image is a text for the fake driver, not for ptxas.
fovea.compiler._kernel.find_ptxas = lambda: None
_op.targets_of, _launches.current_stream = lambda device: ("sm_80",), lambda device: 0x77
slopes, gain, offset = torch.ones(4, device=sys.argv[1]), torch.tensor(0.5), torch.tensor(3)

def score(score, b, h, q_idx, kv_idx):
    return score * gain + slopes[h] * offset

q, k, v = (torch.zeros(2, 32, 4, 16).half().transpose(1, 2) for _ in range(3))
facts = Facts(torch.float16, torch.device(sys.argv[1]), 16, 16, None, False)
program, _ = program_of(score, None, facts)
text = program.text
kernel = fovea.compile(program.spec, target="sm_80")
# The parts of an image that the fake driver reads: a kernel's name, the types of its arguments.
types = [p.get("type", "pointer") for p in kernel.metadata["parameters"]]
kernel._ptx = f"// arguments: {' '.join(types)}\\n.visible .entry attention()".encode()
captures = [torch.ones(4) if tensor.is_meta else tensor for tensor in program.captures]
call = _op.Call(captures, (), text)
o, lse = _op.launcher(call, 0).prepared(q, k, v, tuple(captures)).run(q, k, v, tuple(captures))
assert o.shape == q.shape and o.stride() == q.stride() and lse.shape == (2, 4, 32), (o.stride(), lse.shape)
print("expected:", *(hex(t.data_ptr()) for t in (q, k, v, o, lse, captures[1], gain, offset)))
assert _op.launcher(call, 0) is _op.launcher(_op.Call(captures, (), text), 0)
"""


@pytest.mark.parametrize("device, scalars", [("cpu", ()), ("meta", ("0.5", "3"))])
def test_launches(run_python, build, device, scalars):
    """Kernels get every tensor; scalars in host memory are passed as numbers if the query is on a
    device."""
    result = run_python(LAUNCH, device, LD_LIBRARY_PATH=str(build / "test" / "Runtime" / "fake-driver"))
    assert result.returncode == 0, result.stderr
    line = next(line for line in result.stdout.splitlines() if line.startswith("arguments:"))
    expected = next(line for line in result.stdout.splitlines() if line.startswith("expected:")).split()[1:]
    wanted = expected[:6] + (list(scalars) or expected[6:])
    assert "stream 0x77" in result.stdout
    for value in wanted:
        assert f" {value} " in line + " ", (value, line)


# --- Head dims --------------------------------------------------------------------


@pytest.mark.parametrize("dim, value_dim", [(1, 1), (3, 5), (20, 20), (12, 300), (16, 512), (65, 12)])
@pytest.mark.parametrize("level", ["attn", "warp"])
def test_any_head_dim(ours, dim, value_dim, level):
    """Head dims that are not multiples of 8, and value head dims above the maximum."""
    q, k, v = inputs(torch.float32 if level == "attn" else torch.float16, dim=dim, value_dim=value_dim)
    expected, _ = eager(q.float(), k.float(), v.float(), variants.soft_cap)
    o, lse = ours.flex_attention(q, k, v, variants.soft_cap, enable_gqa=True, return_lse=True, backend=f"interpret:{level}")
    assert o.dtype == q.dtype and o.shape == expected[0].shape
    check((o.float(), lse), expected, 1e-4 if level == "attn" else 5e-3)
    found = ours.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.4, enable_gqa=True, backend=f"interpret:{level}")
    wanted = torch.nn.functional.scaled_dot_product_attention(
        q.float(), k.float(), v.float(), is_causal=True, scale=0.4, enable_gqa=True)
    check([found.float()], [wanted], 1e-4 if level == "attn" else 5e-3)


def test_any_head_dim_in_the_graph(ours):
    def model(q, k, v):
        return ours.flex_attention(q, k, v, variants.alibi, enable_gqa=True, backend="interpret") + 1

    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    with torch.no_grad():
        for dim, value_dim in ((20, 20), (16, 300)):
            tensors = [x.transpose(1, 2).contiguous().transpose(1, 2) for x in inputs(dim=dim, value_dim=value_dim)]
            found, expected = compiled(*tensors), model(*tensors)
            torch.testing.assert_close(found, expected)
            assert found.stride() == expected.stride() and found.stride(1) < found.stride(2)


def test_what_functions_hold_in_the_graph(ours):
    """Tuples in closures, default arguments; other values give another graph."""
    q, k, v = (torch.randn(1, 1, 16, 16) for _ in range(3))

    def read(places):
        return lambda score, b, h, i, j: score + table[tuple((i, j)[place] for place in places)]

    def shifted(by):
        def shift(j, by=(by, 0.5)):
            return j * by[1] + by[0]

        return lambda score, b, h, i, j, table=table: score + shift(j) * table[j, i]

    table = torch.randn(16, 16)
    for make, values in ((read, ((0, 1), (1, 0))), (shifted, (1.0, 2.0))):
        torch.compiler.reset()
        function = None

        def call():
            return ours.flex_attention(q, k, v, function, backend="interpret")

        compiled = torch.compile(call, backend="eager", fullgraph=True)
        for value in values:
            function = make(value)
            torch.testing.assert_close(compiled(), call())


@pytest.mark.parametrize("level", ["attn", "tile", "warp"])
def test_no_keys(ours, level):
    q, k, v = inputs(torch.float16, keys=0)
    for given in ({}, {"score_mod": variants.alibi}, {"block_mask": variants.document}, {"block_mask": variants.causal}):
        o, lse = ours.flex_attention(q, k, v, enable_gqa=True, return_lse=True, backend=f"interpret:{level}", **given)
        assert o.shape == q.shape and not o.any() and (lse == -torch.inf).all()
    found = ours.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True, backend=f"interpret:{level}")
    assert found.shape == q.shape and not found.any()


def test_dropout_of_wide_values(ours):
    """Each launch drops the same keys."""
    q, k, _ = inputs(queries=8, keys=16)
    v = torch.eye(16).repeat(1, 20).expand(variants.BATCH, variants.KV_HEADS, 16, 320)
    o = ours.scaled_dot_product_attention(q, k, v, dropout_p=0.5, enable_gqa=True, backend="interpret")
    assert (o[..., :16] == 0).any() and all(torch.equal(o[..., :16], o[..., n:n + 16]) for n in range(0, 320, 16))


# --- Unsupported derivatives, and transformations ----------------------------------


def test_derivatives_are_refused(fovea, ours):
    """Unsupported derivatives raise; they are neither zeros nor None. test_torch_gradients.py has the others."""
    from torch.autograd import forward_ad

    from fovea.torch.cache._programs import Facts, build

    q, k, v = inputs()
    slopes = variants.SLOPES
    program = build(None, None, Facts(torch.float32, q.device, variants.DIM, variants.DIM, None, False))
    biased = build(variants.alibi, None, Facts(torch.float32, q.device, variants.DIM, variants.DIM, None, False))

    def attend(query, bias=slopes):
        return ours.flex_attention(query, k, v, lambda s, b, h, i, j: s + bias[h], enable_gqa=True, backend="interpret")

    def op(query, bias=slopes):
        return torch.ops.fovea.attention(query, k, v, [bias], [], biased.text)[0] + torch.ops.fovea.attention(
            query, k, v, [], [], program.text)[0]

    def dual(function, *tensors):
        with forward_ad.dual_level():
            return function(*(forward_ad.make_dual(one, one) for one in tensors))

    kinds = (NotImplementedError, fovea.TraceError)
    for function in (attend, op):
        for transformed in (
            lambda: torch.func.jvp(function, (q,), (q,)), lambda: torch.func.jvp(lambda b: function(q, b), (slopes,), (slopes,)),
            lambda: dual(function, q), lambda: dual(lambda b: function(q, b), slopes), lambda: torch.func.jacfwd(function)(q),
            lambda: torch.func.linearize(function, q),
        ):
            with pytest.raises(NotImplementedError, match="has a tangent .*there are no derivatives in forward mode"):
                transformed()
        for transformed in (
            lambda: torch.func.grad(lambda x: function(x).sum())(q), lambda: torch.func.vjp(function, q),
            lambda: torch.func.grad(lambda b: function(q, b).sum())(slopes),
        ):
            with pytest.raises(kinds, match="under transformations of torch.func|belongs to a transformation"):
                transformed()
        expected = function(q)
        wanted = q.clone().requires_grad_()
        for quiet in (torch.no_grad, torch.inference_mode):
            with quiet():
                torch.testing.assert_close(function(wanted), expected)
    with pytest.raises(NotImplementedError, match="attn_mask has a tangent"):
        dual(lambda mask: ours.scaled_dot_product_attention(q, k, v, mask, enable_gqa=True, backend="interpret"),
             torch.zeros(variants.QUERIES, variants.KEYS))


def test_vmap(ours):
    from fovea.torch.cache._programs import Facts, build

    q, k, v = inputs()
    stacked = torch.stack([q, 2 * q])

    def attend(query):
        return ours.flex_attention(query, k, v, variants.alibi, enable_gqa=True, return_lse=True, backend="interpret")

    for found, expected in zip(torch.func.vmap(attend)(stacked), zip(*map(attend, stacked))):
        torch.testing.assert_close(found, torch.stack(expected))
    moved = torch.func.vmap(attend, in_dims=2, out_dims=1)(stacked.movedim(0, 2))[0]
    torch.testing.assert_close(moved, torch.stack([attend(one)[0] for one in stacked], 1))
    with pytest.raises(Exception, match="belongs to a transformation"):
        torch.func.vmap(lambda bias: run(ours, lambda s, b, h, i, j: s + bias[h], tensors=(q, k, v)))(torch.ones(2, variants.HEADS))
    program = build(None, None, Facts(torch.float32, q.device, variants.DIM, variants.DIM, None, False, dropout=0.5))

    def leave_out(query):
        return torch.ops.fovea.attention(query, k, v, [], [], program.text, True, 1, 2)[0]

    with pytest.raises(NotImplementedError, match="randomness='same'"):
        torch.func.vmap(leave_out, randomness="different")(stacked)
    torch.testing.assert_close(torch.func.vmap(leave_out, randomness="same")(stacked), torch.stack([*map(leave_out, stacked)]))
