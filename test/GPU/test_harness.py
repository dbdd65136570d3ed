"""Tests the harness itself on the CPU: a correct kernel passes, wrong ones fail.

Needs torch, no GPU. `pytest test/GPU/test_harness.py`, or as a plain script.
"""

import dataclasses
import pathlib
import random
import sys
import tempfile
import types

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

try:
    import torch
except ImportError:
    torch = None

if torch is not None:
    import gpu_variants
    import kernels
    import reference
    import run_forward


class TorchKernel:
    """Behaves as a kernel: writes attention of its arguments into `o`, `lse`."""

    def __init__(self, config, spoil=None):
        self.config, self.spoil = config, spoil

    def prepare(self, **arguments):
        kernel = self

        class Launch:
            def run(self, stream):
                kernel(stream, **arguments)

        return Launch()

    def __call__(self, stream=0, *, q, k, v, o, lse=None, scale=None, lengths=None, cu_q=None, cu_k=None, sinks=None,
                 dropout_seed=0, dropout_offset=0, **captured):
        variant = gpu_variants.VARIANTS[self.config.variant]
        if (lse is not None) != self.config.lse:
            raise RuntimeError(f"{'takes no' if lse is not None else 'needs a'} tensor named 'lse'")
        if self.config.layout == "bshd":
            q, k, v, o = (tensor.transpose(1, 2) for tensor in (q, k, v, o))
        captures = list(captured.values())
        if lengths is not None:
            v = v.nan_to_num(0.0)
        scale = scale or self.config.d**-0.5
        if cu_q is not None:
            results = reference.packed_attention(variant, q, k, v, scale, captures, (cu_q, cu_k), torch.float32)
        else:
            extras = reference.Extras(sinks, dropout_seed, dropout_offset)
            results = reference.attention(variant, q, k, v, scale, captures, lengths, torch.float32, extras=extras)
        o.copy_(results[0])
        if lse is not None:
            lse.copy_(results[1])
        if self.spoil:
            self.spoil(o, lse)


def check(config, case, spoil=None):
    torch.cuda.synchronize = lambda: None
    generator = torch.Generator()
    generator.manual_seed(1)
    return run_forward.check_case(
        torch, reference, TorchKernel(config, spoil), config, case, torch.device("cpu"), generator, 0
    )


def skip_without_torch():
    if torch is None:
        import pytest

        pytest.skip("torch is not installed")


def test_right_kernels_pass():
    skip_without_torch()
    rng = random.Random(0)
    for name in gpu_variants.VARIANTS:
        for dtype, layout in (("bf16", "bhsd"), ("f16", "bshd")):
            config = gpu_variants.Config(name, dtype, 32, 48, layout)
            for case in run_forward.cases_of(config, rng):
                if case.repeats or max(case.sizes) > 700 or (max(case.sizes) > 500 and name != "causal"):
                    continue  # slow here
                if case.data == "nan_v":
                    continue  # a plain product spreads a NaN in V over all rows
                verdict = check(config, case)
                assert verdict.ok, f"{config.name} {case}: {verdict.message}"


def test_wrong_kernels_fail():
    skip_without_torch()
    config = gpu_variants.Config("causal", "bf16", 64)
    case = run_forward.Case(1, 2, 2, 100, 100, strided=True)

    def one_element(o, lse):
        o[0, 1, 50, 7] += 0.25

    def unwritten_row(o, lse):
        o[0, 0, 99] = torch.nan

    def wrong_lse(o, lse):
        lse[0, 0, 3] += 0.01

    def outside(o, lse):
        o.as_strided((1,), (1,), o.storage_offset() - 1).fill_(0)

    for spoil in (one_element, unwritten_row, wrong_lse, outside):
        assert not check(config, case, spoil).ok, spoil.__name__


def test_samples():
    skip_without_torch()
    for name, layout in (("causal", "bhsd"), ("window", "bshd")):
        config = gpu_variants.Config(name, "bf16", 32, 0, layout)
        case = run_forward.Case(9, 8, 2, 300, 260, sampled=True)
        verdict = check(config, case)
        assert verdict.ok, verdict.message

        def unwritten_row(o, lse):
            o[3, 5, 123] = torch.nan

        def last_row(o, lse):
            o[-1, -1, -1] += 0.1

        for spoil in (unwritten_row, last_row):
            assert not check(config, case, spoil).ok, spoil.__name__


def test_repetitions():
    skip_without_torch()
    torch.cuda.Stream = lambda: types.SimpleNamespace(cuda_stream=0)
    config, case = gpu_variants.Config("causal", "bf16", 32), run_forward.Case(1, 2, 2, 50, 50, repeats=True)
    assert check(config, case).ok
    without = dataclasses.replace(config, lse=False)
    assert check(without, case).ok
    assert not check(without, case, lambda o, lse: o.as_strided((1,), (1,), o.storage_offset() + 40).fill_(9)).ok
    # In sequence, after kernels that change the inputs, on two streams.
    for after, expected in ((5, "repetition"), (25, "after other kernels"), (35, "two streams")):
        launches = 0

        def changes(o, lse, after=after):
            nonlocal launches
            launches += 1
            if launches > after:
                o[0, 1, 7, 3] += 0.01

        verdict = check(config, case, changes)
        assert not verdict.ok and expected in verdict.message, verdict.message


def test_cases():
    skip_without_torch()
    config = gpu_variants.Config("causal", "bf16", 128)
    full, quick = (run_forward.cases_of(config, random.Random(0), shapes) for shapes in ("full", "quick"))
    assert max(case.sizes[3] for case in full) == 131072 and max(case.sizes[3] for case in quick) <= 1025
    assert any(b * h > 65535 for b, h, *_ in (case.sizes for case in full))
    elements = [case.sizes[0] * case.sizes[1] * case.sizes[3] * config.d for case in full]
    assert max(elements) > 2**31
    grid = {config.name for config in run_forward.kernel_grid()}
    assert grid.issuperset(run_forward.LARGE_KERNELS)
    parse = run_forward.make_parser().parse_args
    assert parse([]).target is None and parse(["--target", "sm_80,sm_90a"]).target == ["sm_80", "sm_90a"]


def test_targets_of_a_folder():
    skip_without_torch()
    with tempfile.TemporaryDirectory() as folder:
        for name, target in (("causal_bf16_d64_bhsd", "sm_80"), ("dense_bf16_d64_bhsd", "sm_90a")):
            (pathlib.Path(folder) / f"{name}.json").write_text(f'{{"target": "{target}"}}')
            (pathlib.Path(folder) / f"{name}.ptx").write_text("")
        assert [config.variant for config in kernels.read_folder(folder, "sm_90a")] == ["dense"]
        assert len(kernels.read_folder(folder)) == 2


def test_names_round_trip():
    skip_without_torch()
    for config in run_forward.kernel_grid():
        parsed = gpu_variants.Config.parse(config.name)
        assert (parsed.name, parsed.value_dim) == (config.name, config.value_dim)


if __name__ == "__main__":
    if torch is None:
        print("SKIP: torch is not installed")
    else:
        tests = [function for name, function in sorted(globals().items()) if name.startswith("test_")]
        for test in tests:
            test()
        print(f"{len(tests)} passed, 0 failed")
