"""Facts about GPUs agree between the compiler, the emulator and the plots."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def gpus(fovea):
    from fovea.runtime import _gpus

    return [gpu for gpu in vars(_gpus).values() if isinstance(gpu, _gpus.Gpu)]


def read(path, pattern):
    found = re.findall(pattern, (ROOT / path).read_text())
    assert len(found) >= 4, f"{path} lists GPUs in another format"
    return found


def test_shared_memory(gpus):
    compiler = {int(name): int(kib) << 10
                for name, kib in read("lib/Support/Target.cpp", r'\{"sm_(\d+)a?", "[^"]*", (\d+) \* 1024')}
    emulator = {int(name): int(size) for name, size in read("lib/PTX/Driver/Context.cpp", r"\{(\d+), \d+, (\d{6})\}")}
    drawn = {int(gpu.capability.replace(".", "")): gpu.shared_memory
             for gpu in gpus}
    assert set(compiler) <= set(emulator)
    assert {name: emulator[name] for name in compiler} == compiler
    assert {name: compiler[name] for name in drawn} == drawn


def test_multiprocessors(gpus):
    emulator = {int(name): int(count) for name, count in read("lib/PTX/Driver/Context.cpp", r"\{(\d+), (\d+), \d{6}\}")}
    for gpu in gpus:
        # The emulator models the largest GPU of each capability.
        assert gpu.multiprocessors <= emulator[int(gpu.capability.replace(".", ""))], gpu.name


def test_targets(fovea):
    """The facts about targets agree with the compiler."""
    from fovea.runtime import _gpus

    facts = {one.name: one for one in _gpus.target_facts()}
    assert [*facts] == read("lib/Support/Target.cpp", r'\{"(sm_\d+a?)", "\+ptx')
    assert [*facts] == fovea.targets()
    units = {"mma.sync": "#warp.mma_sync_unit", "wgmma": "#warp.wgmma_unit", "tcgen05": "#warp.tcgen05_unit"}
    spec = fovea.attention(head_dim=64)
    for name in ("sm_80", "sm_90a", "sm_100a", "sm_103a", "sm_120a"):
        assert units[facts[name].unit] in fovea.compile(spec, name).ir("tile")


def test_targets_command(fovea, capsys):
    from fovea.__main__ import main

    assert main(["targets"]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["TARGET", "UNIT", "GPUS"]
    rows = {row.split()[0]: row for row in rows}
    assert re.fullmatch(r"sm_90a +wgmma +H100, H200, GH200", rows["sm_90a"])
    assert re.fullmatch(r"sm_100a +tcgen05 +B200, GB200", rows["sm_100a"])
    assert [*rows] == fovea.targets()


def test_targets_of_a_device(fovea):
    """A target that only this capability runs comes first, then the newest one of older ones."""
    from fovea.runtime import _gpus

    for capability, targets in (((7, 5), ()), ((8, 0), ("sm_80",)), ((8, 9), ("sm_89",)), ((9, 0), ("sm_90a", "sm_90")),
                                ((10, 0), ("sm_100a", "sm_100")), ((10, 3), ("sm_103a", "sm_100")), ((11, 0), ("sm_100",)),
                                ((12, 0), ("sm_120a", "sm_120")), ((12, 1), ("sm_120",))):
        assert _gpus.targets_of_capability(*capability) == targets
