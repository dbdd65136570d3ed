"""Error messages for unsupported calls and functions, in addition to test_mistakes.py."""

import hashlib
import json
import operator

import numpy
import pytest

SLOPES = numpy.ones(4, numpy.float32)


@pytest.mark.parametrize("function, message", [
    (lambda s, b, h, i, j: s if s > 0 else s * 2, "the truth value of a traced boolean is not known"),
    (lambda s, b, h, i, j: s(), "a traced value can't be called"),
    (lambda s, b, h, i, j: round(s, 2), "round() takes no digits while it is traced"),
    (lambda s, b, h, i, j: s << 1, "shifts need integers, found a float"),
    (lambda s, b, h, i, j: s + (j == None), "a traced value can't be compared with None"),  # noqa: E711
    (lambda s, b, h, i, j: s + "one", "expected a number or a traced value, found str"),
    (lambda s, b, h, i, j, slopes: operator.setitem(slopes, 0, s), "captured 'slopes' can't be written"),
    (lambda s, b, h, i, j, slopes: list(iter(slopes))[0], "captured 'slopes' can't be iterated over while the function is traced"),
    (lambda s, b, h, i, j, slopes: s if slopes else 0.0, "captured 'slopes' is a tensor and has no truth value"),
    (lambda s, b, h, i, j, slopes: s + slopes.mean,
     "captured 'slopes' has no 'mean' while it is traced; its elements can be read by indices"),
])
def test_traced_functions(fovea, function, message):
    captures = {"slopes": SLOPES} if function.__code__.co_argcount == 6 else None
    with pytest.raises(fovea.TraceError) as error:
        fovea.attention(function, head_dim=16, captures=captures)
    assert message in str(error.value)


@pytest.mark.parametrize("arguments, message", [
    ({"captures": {"a b": SLOPES}}, "a capture's name must be an identifier, found 'a b'"),
    ({"name": "a b"}, "name must be an identifier, found 'a b'"),
    ({"sequences": "packed", "batch": 2}, "packed sequences are one batch entry, found batch 2"),
    ({"lse": False, "gradient": True}, "gradients need the log-sum-exp of the forward pass, found lse=False"),
])
def test_descriptions(fovea, arguments, message):
    with pytest.raises(ValueError) as error:
        fovea.attention(head_dim=16, **arguments)
    assert str(error.value) == message


def test_kernels(fovea):
    from fovea.runtime import _emulator

    kernel = fovea.compile(fovea.attention(head_dim=16, name="dense"), "sm_80")
    with pytest.raises(fovea.Error, match="^kernel 'dense' was compiled without line_info=True$"):
        kernel.source_of(1)
    x = numpy.zeros((1, 1, 4, 16), numpy.float32)
    with pytest.raises(ValueError, match="^level must be 'attn', 'tile', 'warp' or 'ptx', found 'gpu'$"):
        kernel.interpret(x, x, x, level="gpu")
    with pytest.raises(fovea.Error, match="^the PTX driver has no frob 1$"):
        _emulator._set("frob", 1)


def with_header(data, **changes):
    """A kernel's file with a changed header and a valid checksum."""
    magic, body = data.split(b"\n", 2)[0] + b"\n", data.split(b"\n", 2)[2]
    text, _, rest = body.partition(b"\n")
    body = json.dumps({**json.loads(text), **changes}).encode() + b"\n" + rest
    return magic + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def test_kernel_files(fovea):
    data = fovea.compile(fovea.attention(head_dim=16), "sm_80").to_bytes()
    for broken, message in (
        (b"text", "not a kernel of this version of Fovea"),
        (data[:-1], "the kernel is damaged: its checksum is wrong"),
        (with_header(data, sizes=[0] * 6), "the kernel is malformed: it has 2 kernels of gradients"),
        (with_header(data, name=3), "the kernel is malformed: its names are not strings"),
    ):
        with pytest.raises(fovea.Error) as error:
            fovea.Kernel.from_bytes(broken)
        assert str(error.value) == message


def test_benchmarks(fovea, tmp_path, run_python):
    from fovea.bench import _plot

    with pytest.raises(fovea.Error, match="^the results have nothing to plot$"):
        _plot.read({"rows": []})
    path = tmp_path / "results.json"
    path.write_text("{")
    result = run_python(f"import sys, fovea.__main__\nsys.argv = ['fovea', 'bench', '--plot', {str(path)!r}]\nsys.exit(fovea.__main__.main())")
    assert f"{path} is not JSON: " in result.stdout + result.stderr


def flex(fovea, score_mod=None, **options):
    """FlexAttention on the CPU, with four heads of 16 queries and keys."""
    torch = pytest.importorskip("torch")
    fovea_torch = pytest.importorskip("fovea.torch")
    x = torch.zeros(1, 4, 16, 16)
    return fovea_torch.flex_attention(x, x, x, score_mod, backend="interpret", **options)


@pytest.mark.parametrize("make, message", [
    (lambda torch: lambda s, b, h, i, j: s + (h.to(torch.complex64) * 0).real, "a kernel can't compute with torch.complex64"),
    (lambda torch: lambda s, b, h, i, j: torch.where(s > 0)[0], "torch.where needs three operands in a kernel"),
    (lambda torch: lambda s, b, h, i, j: s + j ** -1, "an integer can't be raised to a negative power, found -1"),
    (lambda torch: lambda s, b, h, i, j: s << 2, "aten.__lshift__.Scalar can't be part of a kernel for tensors of torch.float32"),
    (lambda torch: lambda s, b, h, i, j: s + torch.hypot(i, j), "aten.hypot.default can't be part of a kernel for tensors of torch.int64, torch.int64"),
    (lambda torch: lambda s, b, h, i, j: s + torch.stack([s, s]).unsqueeze_(0)[0, 0],
     "aten.unsqueeze_.default: a result of shape [1, 2] can't be written to a tensor of shape [2]"),
    (lambda torch: lambda s, b, h, i, j: s + torch.bucketize(s, torch.arange(300.0)), "bucketize searches 300 elements, expected at most 256"),
    (lambda torch: lambda s, b, h, i, j: s + torch.searchsorted(torch.zeros(2, 3), torch.stack([s, s])[:, None])[0, 0],
     "searchsorted searches a tensor of shape [2, 3], expected one dimension"),
    (lambda torch: lambda s, b, h, i, j: s + torch.ones(4, 4).max(1).values[h], "max with a dimension finds indices too"),
    (lambda torch: lambda s, b, h, i, j: s + torch.zeros(300).unbind()[3], "unbind makes 300 tensors, expected at most 256"),
    (lambda torch: lambda s, b, h, i, j: torch.erfinv(s), "aten.erfinv.default can't be part of a kernel"),
    (lambda torch: lambda s, b, h, i, j: s + (1 << j), "a shift must be by 0 to 63 bits, found an integer without such bounds"),
    (lambda torch: lambda s, b, h, i, j: s + torch.ones(4)[s > 0].sum(), "a tensor is indexed by a boolean in a kernel, expected integers"),
    (lambda torch: lambda s, b, h, i, j: s + torch.ones(4)[h, i], "too many indices for a tensor of 1 dimensions: 2"),
    (lambda torch: lambda s, b, h, i, j: s + torch.ones(4096).sum(), "a kernel does it for every score"),
    (lambda torch: lambda s, b, h, i, j: s + torch.ones(9).cumsum(0)[j], "aten.cumsum.default can't be part of a kernel; compute it outside of the function"),
    (lambda torch: lambda s, b, h, i, j: torch.lgamma(s), "aten.lgamma.default can't be part of a kernel"),
    (lambda torch: lambda s, b, h, i, j: s + torch.nn.functional.softshrink(j),
     "aten.softshrink.default can't be part of a kernel for tensors of torch.int64: torch.finfo() requires a floating point"),
    (lambda torch: lambda s, b, h, i, j: "one", "expected a tensor or a number, found str"),
])
def test_functions_of_torch(fovea, make, message):
    torch = pytest.importorskip("torch")
    with pytest.raises(fovea.TraceError) as error:
        flex(fovea, make(torch))
    assert message in str(error.value)


def test_captured_tensors_have_their_names(fovea):
    torch = pytest.importorskip("torch")
    gains, far, counts = torch.ones(4, dtype=torch.float64), torch.ones(4, device="meta"), torch.zeros(4)

    def writes(s, b, h, i, j):
        counts[h] = 1
        return s

    for function, message in (
        (lambda s, b, h, i, j: s * gains[h], "captured tensor 'gains' is of torch.float64, expected one of float16, "
                                             "bfloat16, float32, bool, int8, int16, int32, int64, uint8, uint16, uint32; .float() makes it float32"),
        (lambda s, b, h, i, j: s * far[h], "captured tensor 'far' is on meta, but query is on cpu; .to(query.device) moves it"),
        (writes, "captured tensor 'counts' can't be written in a function: kernels only read captured tensors; write it before the "
                 "call, or compute a new tensor, as in 'counts + 1' and torch.where(condition, a, b)"),
    ):
        with pytest.raises(fovea.TraceError) as error:
            flex(fovea, function)
        assert f": {message}\n" in str(error.value)


def test_calls_from_torch(fovea):
    torch = pytest.importorskip("torch")
    fovea_torch = pytest.importorskip("fovea.torch")
    from torch.nn.attention.flex_attention import AuxRequest

    with pytest.raises(NotImplementedError, match="^return_aux requests max_scores, which is not supported$"):
        flex(fovea, return_aux=AuxRequest(max_scores=True))
    one, two = torch.zeros(16), torch.zeros(16, 16)
    with pytest.raises(ValueError, match=r"^query must have 2 dimensions \(queries, head_dim\) or more, found 1$"):
        fovea_torch.scaled_dot_product_attention(one, one, one, backend="interpret")
    with pytest.raises(ValueError, match="^attn_mask must not have more dimensions than query, found 3 and 2$"):
        fovea_torch.scaled_dot_product_attention(two, two, two, torch.zeros(1, 16, 16), backend="interpret")
    from torch.nn.attention.flex_attention import BlockMask

    lists = torch.ones(1, 1, 1, dtype=torch.int32), torch.zeros(1, 1, 1, 1, dtype=torch.int32)
    elsewhere = BlockMask.from_kv_blocks(*lists, BLOCK_SIZE=16, seq_lengths=(16, 16))
    elsewhere.kv_indices = elsewhere.kv_indices.to("meta")
    with pytest.raises(ValueError, match="^block_mask is on meta, but query is on cpu$"):
        flex(fovea, block_mask=elsewhere)


def test_traced_numbers_can_be_formatted(fovea):
    seen = []
    fovea.attention(lambda s, b, h, i, j: (seen.append(f"{s:.3f} {i:5}"), s)[1], head_dim=16)
    assert seen == ["<traced float> <traced integer>"]
    flex(fovea, lambda s, b, h, i, j: (seen.append(f"{s:.3f}"), s)[1])
    assert seen[1] == "<traced float32>"
