"""fovea.gradient: programs of gradients, ahead of time."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


def soft_cap(s, b, h, i, j, slopes):
    import fovea

    return fovea.tanh(s) + slopes[h] * (i - j)


def expected(q, k, v, slopes, do):
    q, k, v, slopes = (one.double().requires_grad_() for one in (q, k, v, slopes))
    i, j = torch.arange(q.shape[2])[:, None], torch.arange(k.shape[2])
    s = torch.tanh(q @ k.mT * q.shape[-1] ** -0.5) + slopes[:, None, None] * (i - j)
    s = s.masked_fill(j > i + 20, -torch.inf)
    o = s.softmax(-1) @ v
    return o.detach(), s.logsumexp(-1).detach(), torch.autograd.grad((o * do).sum(), (q, k, v, slopes))


@pytest.fixture(scope="module")
def spec(fovea):
    return fovea.attention(soft_cap, lambda b, h, i, j, slopes: j <= i + 20, head_dim=16, captures={"slopes": ("f32", (None,))})


def arrays(dtype=torch.bfloat16):
    torch.manual_seed(1)
    q, k, v, do = (torch.randn(1, 2, n, 16).to(dtype) for n in (40, 70, 70, 40))
    slopes = torch.tensor([0.1, -0.05])
    o, lse, wanted = expected(q, k, v, slopes, do)
    return dict(q=q, k=k, v=v, o=o.to(dtype), lse=lse.float(), do=do, slopes=slopes), wanted


def check(found, wanted):
    for a, b in zip(found, wanted):
        assert (torch.from_numpy(a).double() - b).abs().max() < 2e-2 * b.abs().max()


@pytest.mark.parametrize("target, deterministic", [("sm_80", False), ("sm_80", True), ("sm_90a", False), ("sm_90a", True)])
def test_kernels(fovea, spec, target, deterministic):
    """One artefact with all kernels, which the runtime launches by name. With deterministic=True, CTAs with warp roles
    accumulate in a fixed order (semaphores), and others use no atomics."""
    given, wanted = arrays()
    kernel = fovea.compile(fovea.gradient(spec, by=("q", "k", "v"), deterministic=deterministic), target=target)
    adds = "cp.reduce.async.bulk" in kernel.ptx or "red.global.add" in kernel.ptx
    takes_turns = "ld.acquire.gpu" in kernel.ptx and "red.release.gpu" in kernel.ptx
    assert (adds, takes_turns) == (target == "sm_90a" or not deterministic, target == "sm_90a" and deterministic)
    again = fovea.Kernel.from_bytes(kernel.to_bytes())
    for level in ("attn", "tile", "ptx"):
        check(again.interpret(given["q"], given["k"], given["v"], level=level,
                              **{name: one for name, one in given.items() if name not in "qkv"}), wanted)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_kernels_of_all(fovea, spec, target):
    """The gradient of a captured tensor is accumulated in zero-initialised memory, and converted by the postprocess
    kernel."""
    given, wanted = arrays()
    kernel = fovea.compile(fovea.gradient(spec), target=target)
    assert kernel.metadata["version"] == 4 and kernel.metadata["epilogue"][-1]["kernel"] == f"{kernel.name}_dslopes"
    for level in ("tile", "warp", "ptx"):
        check(kernel.interpret(given["q"], given["k"], given["v"], level=level,
                               **{name: one for name, one in given.items() if name not in "qkv"}), wanted)


@pytest.fixture(scope="module")
def both(fovea):
    return fovea.attention(soft_cap, lambda b, h, i, j, slopes: j <= i + 20, head_dim=16,
                           captures={"slopes": ("f32", (None,))}, gradient=("q", "k", "v", "slopes"))


def test_one_file(fovea, spec, both, tmp_path):
    """A kernel and the kernel of its gradients are compiled and saved together."""
    given, wanted = arrays()
    kernel = fovea.compile(both, target="sm_80")
    kernel.save(tmp_path / "both")
    kernel = fovea.Kernel.load(tmp_path / "both")
    q, k, v = (given[name] for name in "qkv")
    o, lse = kernel.interpret(q, k, v, level="ptx", slopes=given["slopes"])
    found = kernel.backward.interpret(q, k, v, level="ptx", o=torch.from_numpy(o).bfloat16(), lse=torch.from_numpy(lse),
                                      do=given["do"], slopes=given["slopes"])
    check(found, wanted)
    assert kernel.has_backward and not kernel.backward.has_backward and not fovea.compile(spec, target="sm_80").has_backward


def test_names(fovea, both):
    """The gradient of a captured tensor is named after it, also in errors."""
    backward = fovea.compile(both, target="sm_80").backward
    assert backward._named({"dslopes": 1}, ["dslopes"]) == {"dslopes": 1}
    with pytest.raises(TypeError, match="takes no 'dother'"):
        backward._named({"dother": 1}, ["dslopes"])


def test_cache_of_both(fovea, both, spec):
    """A kernel with gradients differs from one without them in the cache."""
    assert both.mlir == spec.mlir and both != spec
    assert fovea.compile(both, target="sm_80") is fovea.compile(both, target="sm_80")
    assert fovea.compile(both, target="sm_80").has_backward and not fovea.compile(spec, target="sm_80").has_backward


def test_schedules_of_both(fovea, both):
    """A user-specified schedule applies to the forward kernel only."""
    kernel = fovea.compile(both, target="sm_90a", schedule="stages=2")
    assert kernel.metadata["schedule"]["stages"] == 2
    assert kernel.backward.metadata == fovea.compile(both, target="sm_90a").backward.metadata


@pytest.mark.parametrize("more, error, message", [
    ({"gradient": True, "lse": False}, ValueError, "need the log-sum-exp"),
    ({"gradient": "q"}, TypeError, "must be True or a list of names, found 'q'"),
    ({"gradient": 1}, TypeError, "must be True or a list of names, found 1"),
    ({"gradient": ()}, ValueError, "must name a tensor, found none"),
])
def test_bad_gradients(fovea, more, error, message):
    with pytest.raises(error, match=message):
        fovea.attention(head_dim=16, **more)


def test_unknown_gradients(fovea):
    with pytest.raises(fovea.CompileError, match="expected a gradient among 'q', 'k', 'v'.* found 'w'"):
        fovea.attention(head_dim=16, gradient=["w"])
    assert fovea.attention(head_dim=16, gradient=False).backward is None


@pytest.mark.parametrize("query_blocks", [False, True])
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_blocks(fovea, target, query_blocks):
    """Block-sparse lists, compiled ahead of time: full blocks, empty rows and columns; transposed lists of the caller."""
    torch.manual_seed(1)
    listed = fovea.attention(head_dim=16, blocks=fovea.Blocks(64, 128, full=False, per_batch=False, per_head=False))
    q, k, v, do = (torch.randn(1, 2, n, 16).bfloat16() for n in (150, 400, 400, 150))
    seen = torch.tensor([[1, 0, 0, 1], [0, 0, 0, 0], [0, 0, 1, 1]]).repeat_interleave(64, 0).repeat_interleave(128, 1)[:150, :400]
    made = [one.double().requires_grad_() for one in (q, k, v)]
    s = (made[0] @ made[1].mT * 0.25).masked_fill(seen == 0, -torch.inf)
    empty = (seen == 0).all(-1)
    o = s.masked_fill(empty[:, None], 0).softmax(-1).masked_fill(empty[:, None], 0) @ made[2]
    wanted = torch.autograd.grad((o * do).sum(), made)
    lists = {"partial_count": torch.tensor([[[2, 0, 2]]], dtype=torch.int32),
             "partial_index": torch.tensor([[[[3, 0], [9, 9], [2, 3]]]], dtype=torch.int32)}
    if query_blocks:
        lists |= {"partial_query_count": torch.tensor([[[1, 0, 1, 2]]], dtype=torch.int32),
                  "partial_query_index": torch.tensor([[[[0, 0], [9, 9], [2, 0], [2, 0]]]], dtype=torch.int32)}
    kernel = fovea.compile(fovea.gradient(listed, query_blocks=query_blocks), target=target)
    assert ("attention_backward_lists" in kernel.ptx) != query_blocks
    for level in ("attn", "tile", "ptx"):
        check(kernel.interpret(q, k, v, level=level, o=o.detach().bfloat16(), lse=s.logsumexp(-1).detach().float(), do=do, **lists), wanted)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_packed(fovea, target):
    """The gradients of a sequence don't depend on the next one's rows, even if those are NaN."""
    torch.manual_seed(1)
    spec = fovea.attention(head_dim=16, sequences="packed")
    q, k, v, do = (torch.randn(1, 2, n, 16).bfloat16() for n in (80, 90, 90, 80))
    made = [one[:, :, :n].double().requires_grad_() for one, n in ((q, 33), (k, 50), (v, 50))]
    s = made[0] @ made[1].mT * 0.25
    o = torch.zeros(1, 2, 80, 16)
    o[:, :, :33] = s.softmax(-1) @ made[2]
    lse = torch.zeros(1, 2, 80)
    lse[:, :, :33] = s.logsumexp(-1)
    wanted = torch.autograd.grad((s.softmax(-1) @ made[2] * do[:, :, :33]).sum(), made)
    for one, n in ((q, 33), (k, 50), (v, 50), (do, 33), (lse, 33), (o, 33)):
        one.detach()[:, :, n:] = torch.nan
    offsets = {"cu_q": torch.tensor([0, 33, 80], dtype=torch.int32), "cu_k": torch.tensor([0, 50, 90], dtype=torch.int32)}
    kernel = fovea.compile(fovea.gradient(spec), target=target)
    found = kernel.interpret(q, k, v, level="ptx", o=o.detach().bfloat16(), lse=lse.detach(), do=do, **offsets)
    check([one[:, :, :n] for one, n in zip(found, (33, 50, 50))], wanted)


def test_all(fovea, spec):
    """The reference computes gradients of captured tensors, too."""
    given, wanted = arrays()
    check(fovea.reference(fovea.gradient(spec), given["q"], given["k"], given["v"],
                          **{name: one for name, one in given.items() if name not in "qkv"}), wanted)
    by_slopes = fovea.reference(fovea.gradient(spec, by=["slopes"]), given["q"], given["k"], given["v"],
                                **{name: one for name, one in given.items() if name not in "qkv"})
    check([by_slopes], wanted[3:])


def test_errors(fovea, spec):
    with pytest.raises(fovea.CompileError, match="expected a gradient among 'q', 'k', 'v'.* found 'w'"):
        fovea.gradient(spec, by=["w"])
    shared = fovea.attention(lambda s, b, h, i, j, bias: s + bias[i, j], head_dim=16, captures={"bias": ("f32", (None, None))})
    with pytest.raises(fovea.CompileError, match="'dbias' is to be deterministic, but its elements"):
        fovea.compile(fovea.gradient(shared, deterministic=True), target="sm_80")
    named = fovea.attention(lambda s, b, h, i, j, dq: s + dq[h], head_dim=16, captures={"dq": ("f32", (None,))})
    with pytest.raises(ValueError, match="can't be named 'dq'"):
        fovea.gradient(named)
    integers = fovea.attention(lambda s, b, h, i, j, table: s + table[h], head_dim=16, captures={"table": ("i32", (None,))})
    with pytest.raises(fovea.CompileError, match="has no gradient: expected a float"):
        fovea.gradient(integers, by=["table"])


def test_scalars_of_one_kernel(fovea):
    """A scalar that only the preprocess kernel reads, since it occurs in a term of the query only."""
    def by_query(s, b, h, i, j, step):
        return s + fovea.tanh(i * step)

    spec = fovea.attention(by_query, head_dim=16, captures={"step": ("i32", ())})
    kernel = fovea.compile(fovea.gradient(spec), "sm_90a")
    names = {one["kernel"]: {other.get("name") for other in one["parameters"] if other["kind"] == "scalar"}
             for one in (kernel.metadata, *kernel.metadata["prologue"])}
    assert "step" not in names.pop(kernel.name) and any("step" in one for one in names.values())
    torch.manual_seed(1)
    q, k, v, do = (torch.randn(1, 1, 20, 16).bfloat16() for _ in range(4))
    plain = torch.nn.functional.scaled_dot_product_attention
    given = [one.double().requires_grad_() for one in (q, k, v)]
    o = plain(*given)
    wanted = torch.autograd.grad((o * do).sum(), given)
    scores = given[0] @ given[1].mT / 4 + torch.tanh(3.0 * torch.arange(20))[:, None]
    found = kernel.interpret(q, k, v, level="ptx", o=o.detach().bfloat16(), lse=scores.logsumexp(-1).detach().float(), do=do, step=3)
    check(found, wanted)
    with pytest.raises(TypeError, match="step=step"):
        kernel(q, k, v, do)


CONSTANT = """
!t = tensor<1x2x?x16xbf16>
func.func @f(%q: !t, %k: !t, %v: !t) -> !t {
  %w = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %o = attn.forward %q, %k, %v captures(%w : tensor<2xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: tensor<2xf32>) {
      %a = tensor.extract %t[%h] : tensor<2xf32>
      %x = arith.mulf %s, %a : f32
      attn.yield %x : f32
    } : !t, !t, !t -> !t
  return %o : !t
}
"""


def test_constants_beside(fovea, tmp_path):
    """A program with constants has gradients of all other operands; a file is accepted as a program."""
    file = tmp_path / "f.mlir"
    file.write_text(CONSTANT)
    made = fovea.gradient(file, by=("q",))
    assert "attn.backward" in made.mlir and "attn.forward" not in made.mlir
    given = [one["name"] for one in fovea.compile(made, target="sm_80").metadata["tensors"]]
    assert "do" in given and "dq" in given and "dv" not in given
    with pytest.raises(fovea.CompileError, match="expected a gradient among 'q', 'k', 'v'.* found 'foo'"):
        fovea.gradient(file, by=("foo",))


def test_no_gradients(fovea):
    """Errors raise and never return the original program."""
    two = CONSTANT.replace("return %o", "%p = attn.forward %o, %k, %v : !t, !t, !t -> !t\n  return %p")
    with pytest.raises(fovea.CompileError, match="found another attn.forward"):
        fovea.gradient(two)
    with pytest.raises(ValueError, match="one attn.forward, found none"):
        fovea.gradient("func.func @f(%q: tensor<1x2x?x16xbf16>) -> tensor<1x2x?x16xbf16> {\n  return %q : tensor<1x2x?x16xbf16>\n}")
    once = fovea.gradient(fovea.attention(head_dim=16), by=("q",))
    with pytest.raises(ValueError, match="a program of gradients has no gradients"):
        fovea.gradient(once, by=("v",))


def test_names_that_collide(fovea):
    both = {"slopes": ("f32", (None,)), "dslopes": ("f32", (None,))}
    spec = fovea.attention(lambda s, b, h, i, j, slopes, dslopes: s + slopes[h] * dslopes[h], head_dim=16, captures=both)
    with pytest.raises(fovea.CompileError, match="the gradient of captured value 'slopes' would have the name 'dslopes' of another tensor"):
        fovea.gradient(spec)
    assert "attn.backward" in fovea.gradient(spec, by=("q", "dslopes")).mlir


def test_kernels_that_would_have_one_name(fovea):
    """The gradient of 'elta' is called as the kernel of delta is."""
    spec = fovea.attention(lambda s, b, h, i, j, elta: s * elta[h], head_dim=16, captures={"elta": ("f32", (None,))})
    metadata = fovea.compile(fovea.gradient(spec), target="sm_90a").metadata
    names = [one["kernel"] for one in (metadata, *metadata["prologue"], *metadata["epilogue"])]
    assert len(set(names)) == len(names) and {f"{names[0]}_delta", f"{names[0]}_delta_"} <= set(names)


def test_names_twice(fovea, spec):
    for name in ("q", "slopes"):
        with pytest.raises(fovea.CompileError, match=f"gradient '{name}' is requested twice"):
            fovea.gradient(spec, by=(name, "v", name))


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("by", [None, ("v",)])
def test_output_in_f32(fovea, target, by):
    """o is read in f32, and its gradient in the dtype of the products."""
    spec = fovea.attention(soft_cap, lambda b, h, i, j, slopes: j <= i + 20, head_dim=16, output_dtype="f32",
                           captures={"slopes": ("f32", (None,))}, gradient=by or True)
    given, wanted = arrays()
    given["o"] = expected(*(given[name] for name in ("q", "k", "v", "slopes", "do")))[0].float()
    kernel = fovea.compile(spec, target=target).backward
    assert {one["name"]: one["dtype"] for one in kernel.metadata["tensors"]}.items() >= {"o": "f32", "do": "bf16"}.items()
    for level in ("attn", "tile", "warp", "ptx"):
        found = kernel.interpret(given["q"], given["k"], given["v"], level=level,
                                 **{name: one for name, one in given.items() if name not in "qkv"})
        check(found if by is None else [found], wanted if by is None else [wanted[2]])


@pytest.mark.parametrize("level", ["attn", "tile", "ptx"])
def test_types_of_outputs(fovea, spec, level):
    """Outputs are not converted silently, except if all arrays have the same dtype."""
    given, wanted = arrays()
    kernel = fovea.compile(fovea.gradient(spec, by=("q", "k", "v")), target="sm_80")

    def run(**changed):
        return kernel.interpret(**{**given, **changed}, level=level)

    for name, dtype, message in (("do", torch.float32, "the output's type bf16, found float32"),
                                 ("do", torch.float64, "the output's type bf16, found float64"),
                                 ("o", torch.float16, "type bf16, found float16"), ("lse", torch.float64, "type f32, found float64")):
        with pytest.raises(TypeError, match=f"'{name}' must be of {message}"):
            run(**{name: given[name].to(dtype)})
    halves = {name: one.float().numpy() for name, one in given.items()}
    check(run(**halves), wanted)
    check(run(o=halves["o"]), wanted)
    with pytest.raises(TypeError, match="'do' must be of the output's type bf16, found float32"):
        run(do=halves["do"])
    with pytest.raises(TypeError, match="'o' must be of type bf16, found float64"):
        run(**{**halves, "o": halves["o"].astype("float64")})
    check(run(**{name: one.astype("float64") for name, one in halves.items()}), wanted)
