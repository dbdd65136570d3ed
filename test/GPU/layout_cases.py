"""Calls of fovea.torch with tensors that kernels do not support directly: strides and addresses
that are not multiples of 16 bytes, head dims that are not multiples of 8, values of 512, blocks of
few query rows, captured types. Each result is compared with `exact`, on a GPU (run_torch.py, which
also captures the calls in graphs and compiles them) and in the interpreter
(test/python/test_torch_layouts.py).
"""

import torch
from torch.nn.attention.flex_attention import create_block_mask

from hard_cases import exact


def causal(b, h, q_idx, kv_idx):
    return q_idx >= kv_idx


def layout_cases(device, length):
    """Yields (name, tensors, score_mod, mask_mod, reference mask) for each case."""
    generator = torch.Generator(device).manual_seed(3)

    def draw(*shape):
        return torch.randn(*shape, device=device, generator=generator).bfloat16()

    def tensors(dim=64, value_dim=64, queries=length):
        return draw(2, 4, queries, dim), draw(2, 2, length, dim), draw(2, 2, length, value_dim)

    def biased(bias, *places):
        return lambda score, b, h, q, k: score + bias[tuple((b, h, q, k)[place] for place in places)]

    odd = length | 1
    assert odd % 8
    for name, bias in (("of odd rows", draw(odd, odd)), ("of every second column", draw(length, 2 * length)[:, ::2]),
                       ("from an odd address", draw(length + 1, length + 8 + length % 8)[1:, 3:length + 3]),
                       ("of one column", draw(length, 1).expand(length, length))):
        yield f"a bias {name}", tensors(), biased(bias, 2, 3), None, None
    yield "a bias of each head", tensors(), biased(draw(2, 4, odd, odd), 0, 1, 2, 3), None, None

    def offset(x, by):
        moved = torch.empty(x.numel() + by, dtype=x.dtype, device=device)[by:].view(x.shape)
        return moved.copy_(x)

    def wide(x):
        made = torch.empty(*x.shape[:3], x.shape[3] + 1, dtype=x.dtype, device=device)[..., :-1]
        return made.copy_(x)

    yield "odd addresses", [offset(x, n + 1) for n, x in enumerate(tensors())], None, causal, causal
    yield "rows of 65", [*map(wide, tensors())], None, causal, causal
    yield "columns", [x.mT.contiguous().mT for x in tensors()], None, causal, causal
    yield "tokens of odd rows", [wide(x.transpose(1, 2)).transpose(1, 2) for x in tensors()], None, causal, causal
    for dims in ((20, 20), (65, 3), (64, 512), (72, 300)):
        yield f"head dims {dims[0]} and {dims[1]}", tensors(*dims), None, causal, causal
    for rows, queries in ((1, 1), (1, 7), (40, length)):
        blocks = create_block_mask(causal, None, None, queries, length, device=device, BLOCK_SIZE=(rows, 64))
        yield f"blocks of {rows} rows, {queries} queries", tensors(queries=queries), biased(draw(2, 4), 0, 1), causal, blocks
    small = torch.arange(length, device=device)
    # PyTorch reads no element of a uint16 tensor on CUDA, so that `exact` can't.
    unsigned = [torch.uint16] if device == "cpu" else []
    for dtype in (torch.uint8, torch.int16, *unsigned):
        table = (small * 37 % 251).to(dtype)
        yield f"captured {dtype}", tensors(), (
            lambda score, b, h, q, k, table=table: score + table[k].to(torch.float32) / 64), None, None


def check_layout_cases(ours, device="cuda", length=333, wrapped=(), **options):
    """Returns the names of failing cases. `wrapped` are additional ways to call: each maps a
    function without arguments to another one, all of whose calls are checked.
    """
    wrong = []
    for name, (q, k, v), score_mod, mask_mod, mask in layout_cases(device, length):
        o_exact, lse_exact = exact(q, k, v, score_mod, mask_mod)

        def call():
            return ours(q, k, v, score_mod, mask, enable_gqa=True, return_lse=True, **options)

        for way in (lambda run: run, lambda run: run, *wrapped):
            try:
                o, lse = way(call)()
                o_error = (o.double() - o_exact).abs().max().item()
                lse_error = (lse.double() - lse_exact).abs().max().item()
                problem = None if o.shape == o_exact.shape and o_error < 4e-2 and lse_error < 2e-2 else (
                    f"{tuple(o.shape)}, {o_error:.2g}, log-sum-exp {lse_error:.2g}")
            except Exception as error:  # noqa: BLE001 (the other cases still count)
                problem = f"{type(error).__name__}: {error}"
            if problem:
                wrong.append(f"{name}: {problem}")
    return wrong
