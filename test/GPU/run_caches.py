"""Checks fovea.torch.append and fovea.torch.merge on a GPU, and times them.

    FOVEA_LIBRARY_PATH=build/lib PYTHONPATH=python python test/GPU/run_caches.py

Results are compared with PyTorch: append bit for bit, also with hostile integers, in a replayed
CUDA graph with other slots, and under torch.compile; merge in f64. Prints a line for each check and
bandwidths of replayed graphs over tensors beyond L2; exits with 1 if a check failed.
"""

import sys

import torch

import fovea.torch as ours

FAILED = []


def report(name, passed, more=""):
    print(f"{name}: {'passed' if passed else 'FAILED'}{more}", flush=True)
    if not passed:
        FAILED.append(name)


def caches(pages, page, heads, dims, dtype):
    return [torch.randn(pages, page, heads, dim, device="cuda").to(dtype) for dim in dims]


def written(kept, given, slots):
    """The caches after an append, by PyTorch; slots are (tokens,)."""
    expected = [one.clone() for one in kept]
    rows = kept[0].shape[0] * kept[0].shape[1]
    valid = (slots >= 0) & (slots < rows)
    for cache, new in zip(expected, given):
        cache.view(rows, *cache.shape[2:])[slots[valid].long()] = new.reshape(-1, *new.shape[-2:])[valid]
    return expected


def equal(found, expected):
    return all(torch.equal(a.view(torch.uint8), b.view(torch.uint8)) for a, b in zip(found, expected))


def check_append():
    for tokens, pages, page, heads, dims, dtype in (
            (1, 3, 16, 8, (128, 128), torch.bfloat16), (1000, 40, 64, 8, (128, 128), torch.float16), (513, 70, 9, 1, (576, 512), torch.bfloat16),
            (300, 20, 32, 32, (64, 256), torch.float32), (77, 100, 1, 3, (24, 8), torch.bfloat16)):
        kept, given = caches(pages, page, heads, dims, dtype), [torch.randn(tokens, heads, dim, device="cuda").to(dtype) for dim in dims]
        slots = torch.randperm(pages * page, device="cuda")[:tokens]
        given = [one[:slots.shape[0]] for one in given]
        hostile = torch.tensor([-1, pages * page, 2**32, -2**63, 2**63 - 1], device="cuda")
        slots[:: 7] = hostile[torch.arange(slots[:: 7].shape[0], device="cuda") % 5]
        expected = written(kept, given, slots)
        ours.append(*given, *kept, slots=slots)
        report(f"append slots {tokens}x{heads}x{dims} {dtype}", equal(kept, expected))
    lengths = torch.tensor([0, 15, 63, 130], dtype=torch.int32, device="cuda")
    table = torch.randperm(40, device="cuda")[:16].view(4, 4).int()
    given, kept = [torch.randn(4, 9, 8, 128, device="cuda").bfloat16() for _ in range(2)], caches(40, 32, 8, (128, 128), torch.bfloat16)
    n = lengths[:, None].long() + torch.arange(9, device="cuda")
    slots = torch.where(n < 128, table.gather(1, (n // 32).clamp(max=3)).long() * 32 + n % 32, -1).flatten()
    expected = written(kept, given, slots)
    by_heads = [one.transpose(1, 2).contiguous().transpose(1, 2) for one in kept]
    packed = [one.clone() for one in kept]
    ours.append(*given, *kept, lengths=lengths, page_table=table)
    report("append pages", equal(kept, expected))
    ours.append(*given, *by_heads, lengths=lengths, page_table=table)
    report("append pages, heads first in memory", all(map(torch.equal, by_heads, expected)))
    starts = torch.arange(0, 45, 9, dtype=torch.int32, device="cuda")
    ours.append(*[one.flatten(0, 1) for one in given], *packed, lengths=lengths, page_table=table, cu_seq=starts)
    report("append packed", equal(packed, expected))
    before = [one.clone() for one in kept]
    bad = torch.tensor([2**31 - 1, -2**31, 128, -100], dtype=torch.int32, device="cuda")
    ours.append(*given, *kept, lengths=bad, page_table=table)
    ours.append(*given, *kept, lengths=lengths, page_table=torch.full_like(table, -5))
    report("append hostile integers", equal(kept, before))
    # Offsets that do not ascend: rows go anywhere in the caches.
    ours.append(*[one.flatten(0, 1) for one in given], *kept, lengths=lengths, page_table=table,
                cu_seq=torch.tensor([500, -3, 2**31 - 1, -2**31, 7], dtype=torch.int32, device="cuda"))
    torch.cuda.synchronize()


def check_graphs():
    given, kept = [torch.randn(64, 8, 128, device="cuda").bfloat16() for _ in range(2)], caches(40, 32, 8, (128, 128), torch.bfloat16)
    slots = torch.arange(64, device="cuda")
    ours.append(*given, *kept, slots=slots)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        ours.append(*given, *kept, slots=slots)
    slots.copy_(torch.randperm(1280, device="cuda")[:64])
    expected = written(kept, given, slots)
    graph.replay()
    report("append in a graph", equal(kept, expected))
    function = torch.compile(lambda k, v, kc, vc, s: ours.append(k + 1, v, kc, vc, slots=s), fullgraph=True)
    expected = written(kept, [given[0] + 1, given[1]], slots)
    function(*given, *kept, slots)
    report("append under torch.compile", equal(kept, expected))


def check_merge():
    for count, shape, dtype, tolerance in ((7, (2, 8, 70, 128), torch.bfloat16, 2e-2), (1, (3, 4, 1, 64), torch.float16, 2e-3),
                                           (3, (1, 2, 300, 512), torch.float32, 1e-4), (0, (2, 2, 5, 128), torch.bfloat16, 0)):
        lse = torch.randn(count, *shape[:3], device="cuda") * 10
        lse[torch.rand_like(lse) < 0.3] = -torch.inf
        o = torch.randn(count, *shape, device="cuda").to(dtype)
        o[lse == -torch.inf] = torch.nan
        weights = torch.softmax(lse.double(), 0).nan_to_num() if count else lse.double()
        expected = (weights[..., None] * torch.where(lse[..., None] == -torch.inf, 0.0, o.double())).sum(0)
        total = torch.logsumexp(lse.double(), 0) if count else torch.full(shape[:3], -torch.inf, device="cuda", dtype=torch.double)
        for given in ([(o, lse)] if not count else [(o, lse), (list(o), list(lse))]):
            found = ours.merge(*given)
            error = (found[0].double() - expected).abs().max().item()
            report(f"merge {count} of {shape} {dtype}", error <= tolerance and torch.allclose(found[1].double(), total, atol=1e-4),
                   f", error {error:.1e}")


def timed(call, sets):
    """Microseconds of a call, by replayed graphs over several sets of tensors."""
    for one in sets:
        call(*one)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for one in sets:
            call(*one)
    times = []
    for _ in range(20):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) * 1e3 / len(sets))
    return sorted(times)[len(times) // 2]


def measure():
    for tokens in (1, 64, 256, 8192, 65536):
        sets = []
        for _ in range(max(1, min(32, 2**28 // (tokens * 8192)))):
            given = [torch.randn(tokens, 8, 128, device="cuda").bfloat16() for _ in range(2)]
            sets.append((*given, *caches(max(tokens // 32, 4), 64, 8, (128, 128), torch.bfloat16),
                         torch.randperm(max(tokens // 32, 4) * 64, device="cuda")[:tokens]))
        took = timed(lambda k, v, kc, vc, s: ours.append(k, v, kc, vc, slots=s), sets)
        copied = timed(lambda k, v, kc, vc, s: (kc.view(-1, 8, 128)[:tokens].copy_(k), vc.view(-1, 8, 128)[:tokens].copy_(v)), sets)
        print(f"append {tokens} tokens of 8x128: {took:.1f} us, {tokens * 8192 / took / 1e6:.2f} TB/s; two copies by PyTorch {copied:.1f} us")
    for count, shape in ((8, (16, 32, 1, 128)), (2, (4, 32, 2048, 128)), (8, (1, 32, 4096, 128))):
        sets = [(torch.randn(count, *shape, device="cuda").bfloat16(), torch.randn(count, *shape[:3], device="cuda")) for _ in range(4)]
        took = timed(ours.merge, sets)
        size = (count + 1) * (sets[0][0][0].numel() * 2 + sets[0][1][0].numel() * 4)
        print(f"merge {count} parts of {shape}: {took:.1f} us, {size / took / 1e6:.2f} TB/s")


if __name__ == "__main__":
    torch.manual_seed(0)
    check_append()
    check_graphs()
    check_merge()
    measure()
    sys.exit(1 if FAILED else 0)
