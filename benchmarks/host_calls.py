#!/usr/bin/env python3
"""Times the host's cost of a repeated call of fovea.torch.flex_attention up to the launch, which is
excluded: with the same function objects, and with new functions for each call, as a module's
forward creates them.

Needs no GPU but the tests' fake driver:

    LD_LIBRARY_PATH=build/test/Runtime/fake-driver PYTHONPATH=python:test/python python3 benchmarks/host_calls.py
"""

import functools
import time

import torch
import torch_on_stand_in  # noqa: F401 (tensors in host memory are taken for a device's)
from fovea.runtime import _launch
from fovea.torch import flex_attention

#: Calls of a batch, and batches, of which the fastest counts.
CALLS, BATCHES = 200, 30

_launch.PreparedLaunch.entry = lambda self: (lambda *_: 0, self._count)


class Attention(torch.nn.Module):
    """Makes its functions in ``forward``, of parameters, a buffer, attributes and numbers."""

    def __init__(self):
        super().__init__()
        self.slopes, self.window = torch.nn.Parameter(torch.ones(4), requires_grad=False), 64
        self.register_buffer("documents", torch.zeros(64, dtype=torch.int32))

    def score(self, s, b, h, i, j):
        return s + self.slopes[h] * (i - j)

    def functions(self, kind):
        slopes, window, documents = self.slopes, self.window, self.documents
        if kind == "closures":
            return (lambda s, b, h, i, j: s + slopes[h] * (i - j)), (lambda b, h, i, j: (i - j < window) & (documents[i] == documents[j]))
        if kind == "attributes":
            return ((lambda s, b, h, i, j: s + self.slopes[h] * (i - j)),
                    (lambda b, h, i, j: (i - j < self.window) & (self.documents[i] == self.documents[j])))
        if kind == "partial":
            return functools.partial(lambda slopes, s, b, h, i, j: s + slopes[h] * (i - j), slopes), None
        return self.score, None


def microseconds(call):
    for _ in range(20):
        call()
    best = float("inf")
    for _ in range(BATCHES):
        start = time.thread_time()
        for _ in range(CALLS):
            call()
        best = min(best, (time.thread_time() - start) / CALLS)
    return 1e6 * best


def main():
    torch.set_grad_enabled(False)
    module, (q, k, v) = Attention(), (torch.zeros(1, 4, 64, 64).half() for _ in range(3))
    print(f"{'functions':12}{'the same':>12}{'made anew':>12}   microseconds a call")
    for kind in ("closures", "attributes", "partial", "method"):
        kept = module.functions(kind)
        same = microseconds(lambda: flex_attention(q, k, v, *kept))
        print(f"{kind:12}{same:12.1f}{microseconds(lambda: flex_attention(q, k, v, *module.functions(kind))):12.1f}")


if __name__ == "__main__":
    main()
