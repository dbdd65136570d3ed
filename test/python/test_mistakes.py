"""Twelve common mistakes, each in several forms: the error has the line, the user's name of the
value, and advice."""

import linecache
import math
import os
import pathlib
import warnings

import numpy
import pytest

SLOPES = numpy.ones(4, numpy.float32)
TABLE = [1.0, 0.5, 0.25, 0.125]
LIBRARY = "use the functions of fovea (fovea.where, fovea.exp, ...)"
CAPTURE = "declare it, captures={%s: %s}, and take it as a parameter of that name"
AS_TENSOR = "make it a tensor on query's device, torch.as_tensor(...)"


def capture(name):
    """The advice for an array that a function reads as `name`."""
    return CAPTURE % (repr(name.split(".")[-1]), name)


class Table:
    """An object that holds arrays, like a PyTorch module."""

    def __init__(self, array):
        self.slopes = array


def traced(fovea, function, role="score_mod", **more):
    """The error of a function whose faulty line ends with the comment `wrong`."""
    with pytest.raises(fovea.TraceError) as error:
        fovea.attention(**{role: function}, head_dim=16, **more)
    return at_line(error.value)


def at_line(error):
    assert error.filename == __file__
    line = linecache.getline(__file__, error.lineno)
    assert line.rstrip().endswith("# wrong"), line
    return error.message


def traced_by_torch(fovea, torch, score_mod=None, block_mask=None):
    fovea_torch = pytest.importorskip("fovea.torch")
    x = torch.zeros(1, 4, 16, 16)
    with pytest.raises(fovea.TraceError) as error:
        fovea_torch.flex_attention(x, x, x, score_mod, block_mask, backend="interpret")
    return at_line(error.value)


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


# --- 1. A function that closes over an array -----------------------------------------


def closures(array):
    """Functions that read an array, with its name."""
    table = Table(array)

    def read(s, b, h, q, k):
        return s + array[h]  # wrong

    def whole(s, b, h, q, k):
        return s * array  # wrong

    def attribute(s, b, h, q, k):
        return s + table.slopes[h]  # wrong

    def over_lines(s, b, h, q, k):
        return (s - (q - k) *
                array[h])  # wrong

    def helper(h):
        return array[h]  # wrong

    def indirect(s, b, h, q, k):
        return s + helper(h)

    return [(read, "array"), (whole, "array"), (attribute, "table.slopes"), (over_lines, "array"), (indirect, "array")]


def test_arrays_of_numpy_that_functions_close_over(fovea):
    for function, name in closures(SLOPES):
        assert traced(fovea, function) == f"'{name}' is an array in the function's closure; {capture(name)}"


def test_without_a_text(fovea, run_python):
    """At a prompt and in a pipe Python has no source lines."""
    text = """import math, numpy, fovea
class Table: slopes = numpy.ones(4)
slopes, listed = numpy.ones(4), [1.0, 2.0]
for function in (lambda s, b, h, q, k: s + slopes[h], lambda s, b, h, q, k: s + Table.slopes[h], lambda s, b, h, q, k: s * listed[h],
                 lambda s, b, h, q, k: math.exp(s), lambda s, b, h, q, k: max(s, 0.0)):
    try:
        fovea.attention(function, head_dim=16)
    except fovea.TraceError as error:
        print(error.lineno, error.message.split(";")[0])
"""
    result = run_python(f"exec(compile({text!r}, '<stdin>', 'exec'))")
    closed = "is an array in the function's closure"
    assert result.stdout.splitlines() == [
        f"4 'slopes' {closed}", f"4 'Table.slopes' {closed}", "4 'listed' is a list, which a traced number can't index",
        "5 math.exp does not take traced numbers", "5 max() needs the truth value of traced numbers"], result


def test_arrays_of_torch_that_functions_close_over(fovea, torch):
    for function, name in closures(torch.ones(4)):
        assert traced(fovea, function) == f"'{name}' is an array in the function's closure; {capture(name)}"


def test_arrays_of_numpy_under_torch(fovea, torch):
    for function, name in closures(SLOPES):
        if function.__name__ == "whole":  # PyTorch converts it to a tensor of four elements
            continue
        assert traced_by_torch(fovea, torch, function) == f"'{name}' is an array in the function's closure; {AS_TENSOR}"


# --- 2. A list that is indexed ---------------------------------------------------------


def test_lists(fovea):
    def listed(s, b, h, q, k):
        return s + TABLE[h]  # wrong

    def literal(s, b, h, q, k):
        return s + (1.0, 0.5)[h]  # wrong

    def dictionary(s, b, h, q, k):
        return s + {0: 1.0}[h]  # wrong

    assert traced(fovea, listed) == ("'TABLE' is a list, which a traced number can't index; declare an array of its numbers "
                                     "in captures, and take that as a parameter")
    assert "capture an array in place of a list" in traced(fovea, literal)
    assert "captured tensors can be indexed by it" in traced(fovea, dictionary)


def test_loops(fovea):
    def counted(b, h, q, k):
        return sum(k == n for n in range(q))  # wrong

    assert traced(fovea, counted, "mask_mod").endswith("and use comparisons in place of a loop")


# --- Indices ---------------------------------------------------------------------------


def test_indices(fovea):
    captures = {"table": ("f32", (None, 8))}
    for function, message in (
        (lambda s, b, h, q, k, table: s + table[q - k],  # wrong
         "captured 'table' is a tensor; read an element of it, table[...], which takes 2 indices, found 1"),
        (lambda s, b, h, q, k, table: s + table,  # wrong
         "captured 'table' is a tensor; read an element of it, table[...], which takes 2 indices"),
        (lambda s, b, h, q, k, table: s + table[h][q, k],  # wrong
         "captured 'table' has 1 dimension left to index, found 2 indices"),
        (lambda s, b, h, q, k, table: s + table[h, (q - k) / 8],  # wrong
         "an index into 'table' must be an integer, found a float; // divides to integers, fovea.as_int converts"),
    ):
        assert traced(fovea, function, captures=captures) == message


def test_lists_under_torch(fovea, torch):
    def listed(s, b, h, q, k):
        return s + math.sqrt(2.0) * TABLE[h]  # wrong

    assert traced_by_torch(fovea, torch, listed).endswith(f"which a traced number can't index; {AS_TENSOR}")


# --- 3. Functions of other libraries -----------------------------------------------------


def test_functions_of_other_libraries(fovea):
    from math import tanh

    def exponential(s, b, h, q, k):
        return math.exp(s)  # wrong

    def by_name(s, b, h, q, k):
        return 20 * tanh(s / 20)  # wrong

    def greatest(s, b, h, q, k):
        return max(s, 0.0)  # wrong

    def number(s, b, h, q, k):
        return s + float(q)  # wrong

    def matrix(s, b, h, q, k):
        return s @ s  # wrong

    assert traced(fovea, matrix) == "a traced value is a single number and has no matrix product; * multiplies numbers"
    assert traced(fovea, exponential) == f"math.exp does not take traced numbers; {LIBRARY}"
    assert traced(fovea, by_name) == f"tanh does not take traced numbers; {LIBRARY}"
    assert traced(fovea, greatest).endswith("use fovea.maximum and fovea.minimum")
    assert "use the functions of fovea" in traced(fovea, number)


def test_functions_of_torch(fovea, torch):
    from torch import where
    from torch.nn import functional as F

    def select(s, b, h, q, k):
        return torch.where(q > k, s, 0.0)  # wrong

    def by_name(s, b, h, q, k):
        return where(q > k, s, 0.0)  # wrong

    def renamed(s, b, h, q, k):
        return F.relu(s)  # wrong

    for function, name in ((select, "torch.where"), (by_name, "where"), (renamed, "F.relu")):
        assert traced(fovea, function) == f"{name} does not take traced numbers; {LIBRARY}"


def test_functions_of_other_libraries_under_torch(fovea, torch):
    def exponential(s, b, h, q, k):
        return math.exp(s)  # wrong

    def numpys(s, b, h, q, k):
        return numpy.exp(s)  # wrong

    def ours(s, b, h, q, k):
        return fovea.exp(s)  # wrong

    def greatest(s, b, h, q, k):
        return max(s, 0.0)  # wrong

    for function, name in ((exponential, "math.exp"), (numpys, "numpy.exp"), (ours, "fovea.exp")):
        assert traced_by_torch(fovea, torch, function) == f"{name} does not take traced numbers; use the functions of torch"
    assert traced_by_torch(fovea, torch, greatest).endswith("use torch.maximum, torch.minimum or torch.clamp")


def test_what_torch_refuses_is_not_blamed_on_others(fovea, torch):
    """The line also calls math.sqrt, which is correct."""
    fovea_torch = pytest.importorskip("fovea.torch")
    x = torch.zeros(1, 4, 16, 16)
    with pytest.raises(RuntimeError, match="size of tensor|broadcast|must match"):
        fovea_torch.flex_attention(x, x, x, lambda s, b, h, q, k: s * math.sqrt(2.0) + torch.ones(3) * torch.ones(4),
                                   backend="interpret")


# --- 4. Control flow ---------------------------------------------------------------------


def control_flow():
    def branch(s, b, h, q, k):
        return s if q >= k else -s  # wrong

    def both(b, h, q, k):
        return q >= k and q - k < 4  # wrong

    def negated(b, h, q, k):
        return not q < k  # wrong

    def chained(b, h, q, k):
        return 0 <= q - k < 4  # wrong

    def member(b, h, q, k):
        return (q >= k) & (h in (0, 2))  # wrong

    def without_parentheses(b, h, q, k):
        return q >= k & q - k < 4  # wrong

    return [("score_mod", branch), ("mask_mod", both), ("mask_mod", negated), ("mask_mod", chained), ("mask_mod", member),
            ("mask_mod", without_parentheses)]


def test_control_flow(fovea):
    for role, function in control_flow():
        assert traced(fovea, function, role).endswith(
            "use &, |, ~ of comparisons in parentheses, (a >= b) & (c < d), and fovea.where(condition, a, b)")


def test_control_flow_under_torch(fovea, torch):
    for role, function in control_flow():
        place = {"score_mod": "score_mod", "mask_mod": "block_mask"}[role]
        assert traced_by_torch(fovea, torch, **{place: function}).endswith(
            "use &, |, ~ of comparisons in parentheses, (a >= b) & (c < d), and torch.where(condition, a, b)")


# --- 5. Parameters and results -----------------------------------------------------------


def test_parameters(fovea):
    captures = {"slopes": ("f32", (None,))}
    assert traced(fovea, lambda s, b, h, q: s) == (  # wrong
        "score_mod takes 4 parameters, is called with 5, (score, b, h, q_idx, kv_idx); a mask_mod takes (b, h, q_idx, kv_idx), and is passed as mask_mod=")
    assert traced(fovea, lambda s, b, h: s) == (  # wrong
        "score_mod takes 3 parameters, is called with 5, (score, b, h, q_idx, kv_idx)")
    assert traced(fovea, lambda s, b, h, q, k: q >= k, "mask_mod") == (  # wrong
        "mask_mod takes 'k', which is not among captures; it is called with (b, h, q_idx, kv_idx) and captures by name; a function of a score is a score_mod")
    assert traced(fovea, lambda b, h, q, k, one, two: q >= k, "mask_mod").endswith(  # wrong
        "captures by name, captures={'one': (dtype, shape)}")
    assert traced(fovea, lambda s, slopes, b, h, q, k: s, captures=captures).endswith(  # wrong
        "captures by name, which come last: 'slopes' is among the first 5 parameters")
    assert traced(fovea, lambda s, b, h, q, k, slope: s, captures=captures).startswith(  # wrong
        "score_mod takes 'slope', which is not among captures (slopes); it is called with")


def test_parameters_under_torch(fovea, torch):
    closed = "; it reads captured tensors from its closure"
    assert traced_by_torch(fovea, torch, lambda s, b, h, q: s) == (  # wrong
        "score_mod takes 4 parameters, is called with 5, (score, b, h, q_idx, kv_idx)" + closed)
    assert traced_by_torch(fovea, torch, None, lambda s, b, h, q, k: q > k) == (  # wrong
        "mask_mod takes 5 parameters, is called with 4, (b, h, q_idx, kv_idx)" + closed)

    def named(s, b, h, q, k, *, slopes):  # wrong
        return s + slopes[h]

    assert traced_by_torch(fovea, torch, named).startswith("score_mod needs the keyword argument 'slopes', and is called with 5, ")


def test_results(fovea):
    captures = {"slopes": ("f32", (None,))}
    assert traced(fovea, lambda s, b, h, q, k: q >= k) == (  # wrong
        "score_mod must return a number, found a boolean; return booleans from a mask_mod")
    assert traced(fovea, lambda b, h, q, k: q - k, "mask_mod") == (  # wrong
        "mask_mod must return a boolean, found an integer; a comparison gives one; a score_mod changes scores")
    assert traced(fovea, lambda s, b, h, q, k: None) == "score_mod must return a number, found None: is there a 'return'?"  # wrong
    assert traced(fovea, lambda b, h, q, k: "q", "mask_mod") == "mask_mod must return a boolean, found str"  # wrong
    assert traced(fovea, lambda s, b, h, q, k, slopes: slopes, captures=captures) == (  # wrong
        "score_mod must return a number, found captured 'slopes', a tensor; read an element of it")


def test_results_under_torch(fovea, torch):
    assert traced_by_torch(fovea, torch, lambda s, b, h, q, k: q >= k) == (  # wrong
        "score_mod must return a number, found torch.bool; return booleans from a mask_mod")
    assert traced_by_torch(fovea, torch, None, lambda b, h, q, k: q - k) == (  # wrong
        "mask_mod must return a boolean, found torch.int64")


# --- 6. Captured tensors at a call ---------------------------------------------------------


@pytest.mark.parametrize("level", ["attn", "tile", "ptx"])
def test_captures_at_a_call(fovea, level):
    spec = fovea.attention(lambda s, b, h, q, k, slopes: s + slopes[h], head_dim=16, dtype="f16",
                           captures={"slopes": ("f32", (None,))})
    kernel, x = fovea.compile(spec, target="sm_80"), numpy.zeros((1, 4, 8, 16), numpy.float16)
    wrong = (fovea.CompileError, fovea.LaunchError, TypeError)
    with pytest.raises(wrong, match="slopes"):
        kernel.interpret(x, x, x, level=level)
    with pytest.raises(wrong, match="slopes.0'? must be at least"):
        kernel.interpret(x, x, x, slopes=SLOPES[:2], level=level)
    with pytest.raises(wrong, match=r"takes no 'slope'"):
        kernel.interpret(x, x, x, slope=SLOPES, level=level)


@pytest.mark.parametrize("backend", ["interpret", "ptx:sm_80"])
def test_captures_under_torch(fovea, torch, backend):
    fovea_torch = pytest.importorskip("fovea.torch")
    slopes, table, x = torch.ones(2), Table(torch.ones(3)), torch.zeros(1, 4, 16, 16, dtype=torch.float16)
    wrong = (fovea.CompileError, fovea.LaunchError)
    with pytest.raises(wrong, match=r"\bslopes.0'? must be at least"):
        fovea_torch.flex_attention(x, x, x, lambda s, b, h, q, k: s + slopes[h], backend=backend)
    # The same program from another function: the message has both names.
    with pytest.raises(wrong, match=r"\bslopes\|table.slopes.0'? must be at least"):
        fovea_torch.flex_attention(x, x, x, lambda s, b, h, q, k: s + table.slopes[h], backend=backend)


# --- 7. Names and declarations of captured tensors ------------------------------------------


def test_declarations_of_captures(fovea):
    for name in ("q", "scale", "lse"):
        with pytest.raises(ValueError, match=f"can't be named '{name}', which is an argument of every kernel"):
            fovea.attention(head_dim=16, captures={name: ("f32", (None,))})
    for name in ("level", "seed", "self", "stream", "device", "check"):
        with pytest.raises(ValueError, match=f"can't be named '{name}', which is a parameter of Kernel.interpret or"):
            fovea.attention(head_dim=16, captures={name: ("f32", (None,))})
    for given, message in ((["x"], r"captures must be a dictionary, \{name: \(dtype, shape\)\}, found \['x'\]"),
                           ({"x": [1.0]}, r"capture 'x' must be an array, or \(dtype, shape\) .*, found \[1.0\]"),
                           ({"x": 5}, r"or \('i32', \(\)\) for a number that each call passes, found 5"),
                           ({"x": numpy.ones(4)}, r"capture 'x' must be of .*, found f64, numpy's default; declare 'f32' and pass x.astype\('float32'\)"),
                           ({"x": ("c64", (None,))}, "capture 'x': unknown dtype 'c64', expected one of")):
        with pytest.raises(ValueError, match=message):
            fovea.attention(head_dim=16, captures=given)


def test_gradients_by_captures(fovea):
    """Messages have the user's names of captured tensors."""
    described = {"head_dim": 16, "captures": {"window": ("i32", (None,)), "slopes": ("f32", (None,))}}
    for by, message in (("window", "captured value 'window' has no gradient: expected a float or a tensor of floats, found 'tensor<.xi32>'"),
                        ("slope", "expected a gradient among .* captured values such as 'window', found 'slope'")):
        with pytest.raises(fovea.CompileError, match=message):
            fovea.attention(lambda s, b, h, q, k, slopes: s + slopes[h], gradient=("q", by), **described)


def test_arguments_of_interpret(fovea):
    spec = fovea.attention(lambda s, b, h, q, k, slopes: s + slopes[h], head_dim=16, captures={"slopes": ("f32", (None,))})
    kernel, x = fovea.compile(spec, target="sm_80"), numpy.zeros((1, 4, 8, 16), numpy.float16)
    with pytest.raises(TypeError, match=r"passed by name, found 1 without a name: kernel.interpret\(q=q, k=k, v=v, slopes=slopes\)"):
        kernel.interpret(x, x, x, SLOPES)
    for level in ("attn", "ptx"):
        with pytest.raises(TypeError, match="takes no 'o'.*; it takes q, k, v, slopes"):
            kernel.interpret(x, x, x, slopes=SLOPES, o=x, level=level)
    with pytest.raises(fovea.CompileError, match="error: index of dimension 0 lies outside .0, 4., found 4"):
        fovea.reference(fovea.attention(lambda s, b, h, q, k, slopes: s + slopes[q + 1], head_dim=16,
                                        captures={"slopes": ("f32", (None,))}), x, x, x, slopes=SLOPES)


# --- 8. dtypes, heads and head dims ---------------------------------------------------------


def test_types_and_sizes(fovea):
    with pytest.raises(fovea.Error, match="'tf32' needs query, key and value of f32, found 'bf16'"):
        fovea.compile(fovea.attention(head_dim=64, tf32=True), target="sm_80")
    with pytest.raises(fovea.CompileError, match="head dims must be multiples of 8 up to 256 on 'sm_80', found 20"):
        fovea.compile(fovea.attention(head_dim=20), target="sm_80")
    with pytest.raises(ValueError, match="heads must be a multiple of kv_heads, found 6 and 4"):
        fovea.attention(head_dim=16, heads=6, kv_heads=4)


def test_types_and_sizes_under_torch(fovea, torch):
    flex = pytest.importorskip("fovea.torch").flex_attention
    x = torch.zeros(1, 4, 16, 16, dtype=torch.float16)
    for kind, message, arguments in (
        (NotImplementedError, "query is of torch.float64, expected torch.bfloat16, torch.float16, torch.float32", [x.double()] * 3),
        (ValueError, "query, key and value must be of one dtype, found torch.float16 and torch.float32", (x, x.float(), x)),
        (ValueError, "must have 4 dimensions .batch, heads, length, head_dim., found 3", (x[0], x[0], x[0])),
        (ValueError, "query has 4 heads, but key has 2: that needs enable_gqa=True", (x, x[:, :2], x[:, :2])),
    ):
        with pytest.raises(kind, match=message):
            flex(*arguments, backend="ptx")
    with pytest.raises(NotImplementedError, match='query is on cpu, but kernels run on CUDA; backend="interpret" runs'):
        flex(x, x, x)


# --- 9. Targets -----------------------------------------------------------------------------


def test_targets(fovea):
    spec = fovea.attention(head_dim=16)
    with pytest.warns(fovea.CompileWarning, match="neither wgmma nor TMA; kernels for sm_90a do"):
        fovea.compile(spec, target="sm_90")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fovea.compile(spec, target="sm_90a")
    with pytest.raises(fovea.CompileError, match="unknown target 'h100', expected one of 'sm_80',"):
        fovea.compile(spec, target="h100")
    for target, meant in (("sm90a", "sm_90a"), ("SM_90A", "sm_90a"), ("compute_80", "sm_80"), ("9.0a", "sm_90a"), ("100a", "sm_100a"), ("sm103a", "sm_103a")):
        with pytest.raises(fovea.CompileError, match=f"unknown target '{target}', expected one of .*, 'sm_120a'; did you mean '{meant}'\\?$"):
            fovea.compile(spec, target=target)
    with pytest.raises(fovea.CompileError, match="unknown target 'sm_70', expected one of .*, 'sm_120a'$"):
        fovea.compile(spec, target="sm_70")


# --- 10. Wrong objects in place of a program, a function or a tensor ---------------------------


def test_things_of_another_kind(fovea, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(fovea.Error, match=r"'a.mlir' is a path, not a program; pass pathlib.Path\('a.mlir'\)"):
        fovea.compile("a.mlir")
    with pytest.raises(FileNotFoundError, match="a.mlir"):
        fovea.compile(pathlib.Path("a.mlir"))
    for path in (tmp_path / "pipe", tmp_path):
        for read in (fovea.compile, fovea.Kernel.load):
            with pytest.raises(fovea.Error, match="is not a regular file"):
                read(path)
    with pytest.raises(fovea.Error, match="found function; fovea.attention makes a Spec of a function"):
        fovea.compile(lambda s, b, h, q, k: s)
    with pytest.raises(TypeError, match="mask_mod must be a function, found ndarray"):
        fovea.attention(mask_mod=numpy.ones((3, 3), bool), head_dim=16)


def test_things_of_another_kind_under_torch(fovea, torch):
    fovea_torch = pytest.importorskip("fovea.torch")
    x = torch.zeros(1, 4, 16, 16)
    for function in (fovea_torch.flex_attention, fovea_torch.scaled_dot_product_attention):
        for place, name in enumerate(("query", "key", "value")):
            given = [x.numpy() if at == place else x for at in range(3)]
            with pytest.raises(TypeError, match=f"{name} must be a PyTorch tensor, found ndarray"):
                function(*given, backend="interpret")
        with pytest.raises(ValueError, match="scale must be a finite number or None, found 'runtime'"):
            function(x, x, x, scale="runtime", backend="interpret")
    with pytest.raises(TypeError, match="block_mask must be a function or a BlockMask, found Tensor"):
        fovea_torch.flex_attention(x, x, x, block_mask=torch.ones(16, 16, dtype=torch.bool), backend="interpret")
    with pytest.raises(TypeError, match="attn_mask must be a PyTorch tensor, found ndarray"):
        fovea_torch.scaled_dot_product_attention(x, x, x, numpy.ones((16, 16), bool), backend="interpret")


def test_block_masks_of_other_lengths(torch):
    fovea_torch = pytest.importorskip("fovea.torch")
    from torch.nn.attention.flex_attention import create_block_mask

    x, mask = torch.zeros(1, 4, 16, 16), create_block_mask(lambda b, h, q, k: q >= k, 1, 1, 128, 128, device="cpu")
    with pytest.raises(ValueError, match="was created for 128 queries and 128 keys, found 16 and 16; create another"):
        fovea_torch.flex_attention(x, x, x, block_mask=mask, backend="interpret")


# --- 11. How a kernel is run -------------------------------------------------------------------


def test_kernels_that_are_called(fovea):
    def alibi(s, b, h, q, k, slopes):
        return s + slopes[h] * (k - q)

    kernel = fovea.compile(fovea.attention(alibi, head_dim=16, captures={"slopes": SLOPES}, name="alibi"), "sm_80")
    launch = "kernel.launch(q=q, k=k, v=v, slopes=slopes, o=o, lse=lse)"
    x = numpy.zeros((1, 4, 16, 16), numpy.float32)
    with pytest.raises(TypeError) as error:
        kernel(x, x, x, slopes=x)
    assert str(error.value) == ("kernel 'alibi' runs on a GPU and 'q' is in host memory: move the tensors to the GPU, or run "
                                "kernel.interpret(q=q, k=k, v=v, slopes=slopes) on the CPU")
    with pytest.raises(TypeError) as error:
        kernel(x, x, x, x)
    assert str(error.value) == ("captured tensors and other operands are passed by name, found 1 without a name: "
                                "kernel(q=q, k=k, v=v, slopes=slopes)")
    tensor = fovea.DeviceTensor(0x1000, (1, 4, 16, 16), "bf16")
    with pytest.raises(TypeError, match="a call allocates outputs for PyTorch tensors and CuPy arrays, found DeviceTensor as 'q': "
                                        "pass outputs to kernel.launch"):
        kernel(tensor, tensor, tensor, slopes=tensor)
    with pytest.raises(TypeError, match="takes no 'slope' here"):
        kernel(tensor, tensor, tensor, slope=tensor)
    with pytest.raises(TypeError) as error:
        kernel.launch(x, x, x, stream=0)
    assert str(error.value) == f"tensors are passed by name, found 3 without a name: {launch}"


def test_gradients_that_were_not_asked_for(fovea):
    kernel = fovea.compile(fovea.attention(head_dim=16, name="dense"), "sm_80")
    with pytest.raises(fovea.Error) as error:
        kernel.backward.launch()
    assert str(error.value) == ("kernel 'dense' was compiled without gradients: request them by "
                                "fovea.attention(..., gradient=('q', 'k', 'v')), or compile fovea.gradient(spec)")


def test_specs_that_are_called(fovea):
    spec, x = fovea.attention(head_dim=16), numpy.zeros((1, 4, 16, 16), numpy.float32)
    with pytest.raises(TypeError) as error:
        spec(x, x, x)
    assert str(error.value) == ("a Spec describes attention and can't be called: fovea.compile(spec) makes a kernel, whose launch "
                                "and interpret take q, k and v; fovea.reference(spec, q, k, v) needs no kernel")
    with pytest.raises(TypeError, match="score_mod must be a function, found Spec"):
        fovea.attention(spec, head_dim=16)


@pytest.mark.parametrize("given, named, message", [
    ((), {}, "attention needs head_dim, the elements of a row of q and k, such as head_dim=64"),
    ((SLOPES, SLOPES, SLOPES), {}, "attention takes two positional arguments, score_mod and mask_mod, found 3; "
     "tensors are passed to the kernel that fovea.compile returns"),
    ((), {"head_dim": 16, "causal": True}, "attention has no parameter 'causal', expected one of score_mod, mask_mod, dtype"),
])
def test_attention_by_other_arguments(fovea, given, named, message):
    with pytest.raises(TypeError) as error:
        fovea.attention(*given, **named)
    assert str(error.value).startswith(message)


def test_no_gpu(run_python):
    result = run_python(
        "import fovea\nkernel = fovea.compile(fovea.attention(head_dim=16), 'sm_80')\n"
        "try:\n    kernel.launch(q=None, k=None, v=None, o=None, lse=None)\n"
        "except fovea.LaunchError as error:\n    print(error)\n", CUDA_VISIBLE_DEVICES="")
    assert result.stdout.startswith("FOVEA_ERROR_NO_D"), result.stderr
    assert result.stdout.endswith("; Kernel.interpret runs kernels on the CPU, and with level='ptx' executes their PTX\n")


# --- 12. Packages that are missing -------------------------------------------------------------


def test_missing_packages(run_python):
    result = run_python(
        "import sys\nfor name in ('numpy', 'torch'):\n    sys.modules[name] = None\n"
        "import fovea\nkernel = fovea.compile(fovea.attention(head_dim=16), 'sm_80')\n"
        "for call in (lambda: kernel.interpret([], [], []), lambda: __import__('fovea.torch')):\n"
        "    try:\n        call()\n    except ImportError as error:\n        print(error)\n")
    assert result.stdout.splitlines() == ["running on the CPU needs numpy: pip install numpy (the extra fovea-attention[interpret])",
                                          "fovea.torch needs torch: pip install torch (the extra fovea-attention[torch])"], result.stderr
