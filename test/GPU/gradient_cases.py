"""Compares gradients of fovea.torch and of PyTorch's compiled FlexAttention with attention in f64.
"""

import contextlib
import functools

import torch
from torch.nn.attention.flex_attention import create_block_mask

from hard_cases import exact


def gradients(attend, given, do):
    made = [one.detach().requires_grad_() for one in given]
    with torch.enable_grad():
        return torch.autograd.grad(attend(*made), made, do)


@contextlib.contextmanager
def deterministic():
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


def errors(found, expected):
    return [(a.double() - b).abs().nan_to_num(torch.inf).max().item() for a, b in zip(found, expected)]


def check_case(name, score_mod, mask_mod, group, compiled, ours, device="cuda", length=1024, dim=64):
    """Checks one example. The error of each gradient against f64 must be at most twice PyTorch's
    (or two units in the last place, if that is more), also for a broadcast and a transposed
    gradient of the output and with deterministic algorithms, which must reproduce the same bits.
    Returns messages.
    """
    generator = torch.Generator(device).manual_seed(2)
    q, k, v, do = (torch.randn(2, n, length, dim, device=device, generator=generator).bfloat16() for n in (4, 4 // group, 4 // group, 4))
    block_mask = None if mask_mod is None else create_block_mask(mask_mod, 2, 4, length, length, device=device)
    theirs = functools.partial(compiled, score_mod=score_mod, block_mask=block_mask, enable_gqa=group > 1)
    mine = functools.partial(ours, score_mod=score_mod, block_mask=mask_mod, enable_gqa=group > 1)
    # Blocks that the compiler finds, and those of the BlockMask's lists.
    forms = {"": mine} if mask_mod is None else {"": mine, " by lists": functools.partial(mine, block_mask=block_mask)}
    wrong = []
    for kind, one in (("plain", do), ("broadcast", do[:1, :1, :1, :1].expand(do.shape)), ("transposed", do.mT.contiguous().mT)):
        given = [each.double() for each in (q, k, v)]
        expected = gradients(lambda *made: exact(*made, score_mod, mask_mod)[0], given, one.double())
        bounds = errors(gradients(theirs, (q, k, v), one), expected)
        for form, attend in forms.items():
            first = gradients(attend, (q, k, v), one)
            with deterministic():
                found, again = gradients(attend, (q, k, v), one), gradients(attend, (q, k, v), one)
            for by, bound, wanted, *made in zip("qkv", bounds, expected, errors(first, expected), errors(found, expected), found, again):
                bound = max(2 * bound, 2 * wanted.abs().max().item() * 2.0**-8)
                for error, when in zip(made, ("", " where it is deterministic")):
                    if error > bound:
                        wrong.append(f"{name}, {kind}: d{by}{form} is off by {error:.2e}{when}, at most {bound:.2e}")
                if not torch.equal(*made[2:]):
                    wrong.append(f"{name}, {kind}: d{by}{form} has other bits the second time")
    return wrong


def check_gradients(ours, compiled, examples):
    wrong = []
    for name, score_mod, mask_mod, kv_heads in examples:
        torch.compiler.reset()
        wrong += check_case(name, score_mod, mask_mod, 4 if name.startswith("GQA") else 1, compiled, ours)
    for line in wrong:
        print("       ", line)
    return not wrong


def check_repeats(ours, device="cuda", repeats=10, length=4096):
    """With deterministic algorithms, ten runs with as many CTAs as the GPU holds must give the same
    bits. Prints the spread of the other kernels' results.
    """
    masks = {"full": None, "causal": lambda b, h, i, j: i >= j, "window": lambda b, h, i, j: (i >= j) & (i - j < 700)}
    equal = True
    for dim in (64, 128, 256):
        generator = torch.Generator(device).manual_seed(dim)
        q, k, v, do = (torch.randn(2, 8, length, dim, device=device, generator=generator).bfloat16() for _ in range(4))
        for name, mask in masks.items():
            attend = functools.partial(ours, block_mask=mask)
            with deterministic():
                first = gradients(attend, (q, k, v), do)
                others = [gradients(attend, (q, k, v), do) for _ in range(repeats - 1)]
            same = all(torch.equal(a, b) for other in others for a, b in zip(first, other))
            any_order = torch.stack([gradients(attend, (q, k, v), do)[0].float() for _ in range(repeats)])
            spread = (any_order.amax(0) - any_order.amin(0)).max().item() / any_order.abs().max().item()
            print(f"        d {dim} {name}: {repeats} times {'the same' if same else 'OTHER'} bits; in any order dq within {spread:.1e} of its largest")
            equal &= same
    return equal


def check_repeated_sums(ours, device="cuda", repeats=10, length=2048):
    """Gradients with respect to the tensors that score_mods read: with deterministic algorithms ten
    runs give the same bits, and the result is within 1e-3 of the other kernels'.
    """
    generator = torch.Generator(device).manual_seed(7)
    q, k, v, do = (torch.randn(2, 8, length, 64, device=device, generator=generator).bfloat16() for _ in range(4))
    made = {"a number for each head": torch.randn(8, device=device, generator=generator),
            "a table by relative position": torch.randn(8, 2 * length, device=device, generator=generator),
            "a few buckets": torch.randn(4, device=device, generator=generator),
            "a number for each key": torch.randn(length, device=device, generator=generator),
            "a bias for each pair": torch.randn(2, 8, length, length, device=device, generator=generator).bfloat16()}
    mods = {"a number for each head": lambda t: lambda s, b, h, i, j: s + t[h] * (j - i) * 1e-3,
            "a table by relative position": lambda t: lambda s, b, h, i, j: s + t[h, i - j + length],
            "a few buckets": lambda t: lambda s, b, h, i, j: s + t[torch.clamp((i - j) // 512, 0, 3)],
            "a number for each key": lambda t: lambda s, b, h, i, j: s * torch.tanh(t[j]),
            "a bias for each pair": lambda t: lambda s, b, h, i, j: s + t[b, h, i, j]}
    right = True
    for name, read in made.items():
        read.requires_grad_()

        def by_read():
            with torch.enable_grad():
                return torch.autograd.grad((ours(q, k, v, mods[name](read)).float() * do.float()).sum(), read)[0]

        plain = by_read()
        with deterministic():
            found = [by_read() for _ in range(repeats)]
        same = all(torch.equal(found[0], other) for other in found[1:])
        difference = ((found[0].double() - plain.double()).norm() / plain.double().norm()).item()
        print(f"        {name}: {repeats} times {'the same' if same else 'OTHER'} bits, {difference:.1e} from sums in any order")
        right &= same and difference < 1e-3
    return right


def check_training(ours, device="cuda"):
    """A step under torch.compile, and one in a CUDA graph, must equal a plain step."""
    def step(attend, x, weight):
        q, k, v = (torch.nn.functional.linear(x, one).unflatten(-1, (4, -1)).transpose(1, 2) for one in weight)
        return torch.autograd.grad(attend(q, k, v).float().square().sum(), weight)[0]

    def nearer(s, b, h, i, j):
        return s + 0.01 * (j - i)

    def causal(b, h, i, j):
        return i >= j

    def attend(q, k, v):
        return ours(q, k, v, nearer, causal)

    with torch.enable_grad():
        x = torch.randn(2, 256, 64, device=device).bfloat16()
        weight = torch.randn(3, 256, 64, device=device).bfloat16().requires_grad_()
        with deterministic():
            expected = step(attend, x, weight)
        torch.compiler.reset()
        found = step(torch.compile(attend, fullgraph=True), x, weight)
        difference = ((found.float() - expected.float()).norm() / expected.float().norm()).item()
        stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
        with deterministic(), torch.cuda.stream(stream):
            step(attend, x, weight)
        torch.cuda.synchronize()
        with deterministic(), torch.cuda.graph(graph, stream=stream):
            recorded = step(attend, x, weight)
        recorded.zero_()
        graph.replay()
        torch.cuda.synchronize()
    # Both round to bf16 in between.
    if not difference < 1e-2:
        print(f"under torch.compile a step's gradient is off by {difference:.2e} of its norm")
    if not torch.equal(recorded, expected):
        print(f"a replayed step's gradient has other bits: {(recorded.float() - expected.float()).abs().max().item():.2e}")
    return difference < 1e-2 and torch.equal(recorded, expected)
