"""The compiler, the emulator and the drawing of results agree about chips."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def chips(fovea):
    from fovea import _chips

    return [chip for chip in vars(_chips).values() if isinstance(chip, _chips.Chip)]


def read(path, pattern):
    found = re.findall(pattern, (ROOT / path).read_text())
    assert len(found) >= 4, f"{path} lists chips in another form"
    return found


def test_shared_memory(chips):
    compiler = {int(name): int(kib) << 10
                for name, kib in read("lib/Support/Target.cpp", r'\{"sm_(\d+)", "[^"]*", (\d+) \* 1024')}
    emulator = {int(name): int(size) for name, size in read("lib/PTX/Driver/Context.cpp", r"\{(\d+), \d+, (\d{6})\}")}
    drawn = {int(chip.capability.replace(".", "")): chip.shared_memory
             for chip in chips}
    assert set(compiler) <= set(emulator)
    assert {name: emulator[name] for name in compiler} == compiler
    assert {name: compiler[name] for name in drawn} == drawn


def test_multiprocessors(chips):
    emulator = {int(name): int(count) for name, count in read("lib/PTX/Driver/Context.cpp", r"\{(\d+), (\d+), \d{6}\}")}
    for chip in chips:
        # The emulator has the largest part of each kind.
        assert chip.multiprocessors <= emulator[int(chip.capability.replace(".", ""))], chip.name
