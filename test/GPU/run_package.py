"""Checks the Python package on a GPU: its launches and their times.

    pip install fovea_attention-*.whl; python test/GPU/run_package.py
    PYTHONPATH=python FOVEA_LIBRARY_PATH=build-portable/lib python test/GPU/run_package.py

Needs PyTorch. Outputs are compared with attention in f64 on the device, with an absolute tolerance:
this test is for arguments, strides and captured tensors, run_forward.py for the kernels. Prints
times: trace, compile, first launch, load from the disk cache, and the host's time per launch. The
last line is `N passed, N failed`.
"""

import os
import subprocess
import sys
import tempfile
import time

import torch

import fovea

FIRST = """
import os, sys, time
start = time.perf_counter()
import torch
torch.zeros(1, device="cuda"); torch.cuda.synchronize()
torch_up = time.perf_counter()
import fovea
imported = time.perf_counter()
spec = fovea.attention(mask_mod=lambda b, h, q, k: q >= k, head_dim=128)
kernel = fovea.compile(spec, target=sys.argv[1])
compiled = time.perf_counter()
q, k, v, o = (torch.randn(1, 8, 512, 128, device="cuda").bfloat16() for _ in range(4))
lse = torch.empty(1, 8, 512, device="cuda")
torch.cuda.synchronize()
ready = time.perf_counter()
kernel.launch(q=q, k=k, v=v, o=o, lse=lse)
torch.cuda.synchronize()
launched = time.perf_counter()
print(f"import {1000 * (imported - torch_up):.0f} ms, trace and compile {1000 * (compiled - imported):.0f} ms, "
      f"assemble, load and launch {1000 * (launched - ready):.0f} ms, "
      f"together {1000 * (compiled - imported + launched - ready):.0f} ms")
"""


def target():
    major, minor = torch.cuda.get_device_capability()
    return "sm_90a" if (major, minor) == (9, 0) else f"sm_{major}{minor}"


def alibi(score, b, h, q_idx, kv_idx, slopes):
    return score + slopes[h] * (kv_idx - q_idx)


def causal(b, h, q_idx, kv_idx):
    return q_idx >= kv_idx


def document(b, h, q_idx, kv_idx, documents):
    return documents[b, q_idx] == documents[b, kv_idx]


def soft_cap(score, b, h, q_idx, kv_idx):
    return 20 * fovea.tanh(score / 20)


def dilated(b, h, q_idx, kv_idx):
    return (q_idx - kv_idx) % 3 == 0


def bias(score, b, h, q_idx, kv_idx, table, gain):
    return score * gain + table[h, fovea.clip(kv_idx - q_idx, -16, 16) + 16]


def cases():
    generator = torch.Generator("cuda").manual_seed(0)
    draw = lambda *shape: torch.randn(*shape, device="cuda", generator=generator)  # noqa: E731
    documents = torch.randint(0, 4, (2, 1000), device="cuda", generator=generator).sort(dim=1).values.int()
    yield "dense", {}, {}, None, None
    yield "causal", {"mask_mod": causal}, {}, None, lambda b, h, q, k: q >= k
    yield "dilated", {"mask_mod": dilated}, {}, None, lambda b, h, q, k: (q - k) % 3 == 0
    slopes = 2.0 ** -torch.arange(1, 9, device="cuda").float()
    yield ("alibi", {"score_mod": alibi, "mask_mod": causal}, {"slopes": slopes},
           lambda s, b, h, q, k: s + slopes.double()[h] * (k - q), lambda b, h, q, k: q >= k)
    yield ("soft cap", {"score_mod": soft_cap}, {}, lambda s, b, h, q, k: 20 * torch.tanh(s / 20), None)
    yield ("documents", {"mask_mod": document}, {"documents": documents}, None,
           lambda b, h, q, k: documents[b, q] == documents[b, k])
    table = draw(8, 33)
    yield ("bias table", {"score_mod": bias}, {"table": table, "gain": 0.5},
           lambda s, b, h, q, k: s * 0.5 + table.double()[h, (k - q).clip(-16, 16) + 16], None)


def expected(q, k, v, score_mod, mask_mod):
    q, k, v = (x.double() for x in (q, k, v))
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    scores = q @ k.mT / q.shape[-1] ** 0.5
    b, h, i, j = (torch.arange(n, device="cuda").view([-1 if d == e else 1 for e in range(4)])
                  for d, n in enumerate(scores.shape))
    if score_mod:
        scores = score_mod(scores, b, h, i, j)
    if mask_mod:
        scores = scores.masked_fill(~mask_mod(b, h, i, j), -float("inf"))
    return torch.softmax(scores, -1).nan_to_num() @ v, torch.logsumexp(scores, -1)


def check(name, functions, captures, score_mod, mask_mod):
    def declare(value):
        return ("f32", ()) if isinstance(value, float) else value

    spec = fovea.attention(**functions, head_dim=64, captures={n: declare(v) for n, v in captures.items()})
    kernel = fovea.compile(spec, target=target())
    q = torch.randn(2, 1000, 8, 64, device="cuda").bfloat16().transpose(1, 2)  # strided
    k, v = (torch.randn(2, 2, 1000, 64, device="cuda").bfloat16() for _ in range(2))
    o, lse = torch.full_like(q, float("nan")), torch.full((2, 8, 1000), float("nan"), device="cuda")
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    kernel.launch(q=q, k=k, v=v, o=o, lse=lse, stream=stream.cuda_stream, **captures)
    stream.synchronize()
    o_expected, lse_expected = expected(q, k, v, score_mod, mask_mod)
    error = (o.double() - o_expected).abs().max().item()
    lse_error = (lse.double() - lse_expected).abs().nan_to_num().max().item()
    ok = error < 2e-2 and lse_error < 1e-2
    print(f"{'ok    ' if ok else 'FAILED'} {name}: o {error:.2e}, lse {lse_error:.2e}")
    return ok


def check_graph():
    """A launch can be captured into a graph and replayed on new data."""
    kernel = fovea.compile(fovea.attention(mask_mod=causal, head_dim=64), target=target())
    q, k, v = (torch.randn(1, 4, 256, 64, device="cuda").bfloat16() for _ in range(3))
    o, lse = torch.empty_like(q), torch.empty(1, 4, 256, device="cuda")
    arguments = {"q": q, "k": k, "v": v, "o": o, "lse": lse}
    kernel.launch(**arguments)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernel.launch(stream=torch.cuda.current_stream().cuda_stream, **arguments)
    q.copy_(torch.randn_like(q))
    graph.replay()
    torch.cuda.synchronize()
    ok = (o.double() - expected(q, k, v, None, lambda b, h, i, j: i >= j)[0]).abs().max().item() < 2e-2
    print("ok     graph" if ok else "FAILED graph")
    return ok


def measure(run, count=2000):
    """Microseconds of the host for a call, while the device keeps up."""
    best = float("inf")
    for _ in range(10):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(count // 10):
            run()
        best = min(best, (time.perf_counter() - start) / (count // 10) * 1e6)
    torch.cuda.synchronize()
    return best


def time_launches():
    kernel = fovea.compile(fovea.attention(head_dim=64), target=target())
    q, k, v, o = (torch.zeros(1, 1, 16, 64, device="cuda").bfloat16() for _ in range(4))
    lse = torch.zeros(1, 1, 16, device="cuda")
    loaded = kernel.loaded(0)
    named = {"q": q, "k": k, "v": v, "o": o, "lse": lse}
    row = [named[name] for name in loaded.tensors]
    words = []
    for tensor in row:
        words += [tensor.data_ptr(), *tensor.shape, *tensor.stride()]
    packed = loaded._row.pack(*words)
    bare = measure(lambda: loaded.launch_packed(0, packed))
    print(f"host time of a launch: {bare:.1f} us packed before, {measure(lambda: loaded.launch_torch(0, row)):.1f} us by "
          f"launch_torch, {measure(lambda: kernel.launch(**named)):.1f} us by name; "
          f"torch.empty_like {measure(lambda: torch.empty_like(q)):.1f} us")


def time_first_call():
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "XDG_CACHE_HOME": folder}
        for what in ("nothing cached", "from the disk cache"):
            result = subprocess.run([sys.executable, "-c", FIRST, target()], env=environment, capture_output=True, text=True)
            print(f"{what}: {result.stdout.strip() or result.stderr}")


def main():
    print(torch.cuda.get_device_name(), target(), "ptxas:", fovea.find_ptxas())
    results = [check(*case) for case in cases()] + [check_graph()]
    time_launches()
    time_first_call()
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
