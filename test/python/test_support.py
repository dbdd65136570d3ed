"""docs/Support.md and the README's table agree with the compiler and the package, and the listed
combinations compile: all of them for one target with each MMA unit, a few for each other one."""

import importlib.util
import pathlib
import re
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FULLY = ("sm_80", "sm_90a", "sm_100a")
TARGETS = re.findall(r'^    \{"(sm_\w+)"', (ROOT / "lib" / "Support" / "Target.cpp").read_text(), re.MULTILINE)


@pytest.fixture(scope="module")
def support(fovea):
    pytest.importorskip("numpy")
    place = importlib.util.spec_from_file_location("support", ROOT / "scripts" / "support.py")
    module = importlib.util.module_from_spec(place)
    place.loader.exec_module(module)
    module.PROBED = FULLY
    yield module
    sys.modules.pop("support_facts", None)


@pytest.mark.filterwarnings("ignore:kernels for sm_90 ")
@pytest.mark.parametrize("target", TARGETS)
def test_target(support, target):
    """MMA unit, PTX version and the emulator's output for each target, and a combination that varies with the target."""
    assert target in support.all_targets() and support.unit(target)
    assert support.ptx_version(target) in support.facts.DRIVERS
    assert support.status(target).startswith("emulator")
    index = TARGETS.index(target)
    form, head_dim, part = (choices[index % len(choices)] for choices in (support.FORMS[:3], support.TAKEN, support.PARTS))
    assert support.compiles(target, sequences=form, gradient=True, dtype="bf16")
    assert support.compiles(target, **{"head_dim": head_dim, **part})
    assert not support.compiles(target, head_dim=support.REFUSED[index % 3])


@pytest.mark.parametrize("target", FULLY)
def test_programs(support, target):
    """The page's entries about programs; results are kept for the test of the page."""
    assert support.types_of(target) == ("bf16", "f16", "f32") and support.head_dims_hold(target) and support.parts_compile(target)
    assert support.forms_of(target, False) == support.FORMS == ("dense", "lengths", "packed", "paged")
    assert support.forms_of(target, True) == ("dense", "lengths", "packed")


@pytest.mark.filterwarnings("ignore:kernels for sm_90 ")
def test_pages_are_current(support, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["support.py", "--check"])
    assert support.main() == 0, capsys.readouterr().err


@pytest.mark.filterwarnings("ignore:kernels for sm_90 ")
def test_a_stale_page_is_noticed(support, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["support.py", "--check"])
    monkeypatch.setattr(support, "ROOT", tmp_path)
    monkeypatch.setattr(support, "PAGE", tmp_path / "Support.md")
    monkeypatch.setattr(support, "project", lambda: {"python": "3.9", "torch": "2.5", "transformers": "5"})
    monkeypatch.setattr(support, "tested", lambda package, requirements: {"torch": "2.13.0", "transformers": "5.24.0"}[package])
    (tmp_path / "Support.md").write_text(support.render().replace("sm_89", "sm_99"))
    assert support.main() == 1
    assert capsys.readouterr().err == "Support.md is stale: run scripts/support.py\n"


def test_facts(support):
    """The table of facts has these targets and versions, and other pages agree with it."""
    facts = support.facts
    assert list(facts.GPUS) == TARGETS and set(facts.MEASURED) <= set(TARGETS)
    assert sorted(target for targets in facts.GENERATIONS.values() for target in targets) == sorted(TARGETS)
    page = " ".join((ROOT / "docs" / "Guides" / "PyTorch.md").read_text().split())
    tested = re.search(r"The tests use PyTorch (\S+); other versions that were run: (.*?)\. On (.*?) `torch.compile` breaks", page)
    assert support.tested_torch().startswith(tested[1]) and tested[2].split(", ") == list(facts.TORCH_ALSO_RUN)
    assert tested[3].split(" and ") == list(facts.TORCH_GRAPH_BREAKS)
    glibc = ".".join(map(str, facts.WHEEL_GLIBC))
    assert f"glibc {glibc} or later" in (ROOT / "docs" / "Guides" / "Python.md").read_text()
    assert facts.MEASURED_WITH in (ROOT / "docs" / "Performance.md").read_text()


def test_what_is_missing(fovea, support):
    """The page's last table: each entry gives an error message."""
    with pytest.raises(fovea.CompileError, match="does not support elements of 8 bits"):
        fovea.compile(fovea.attention(dtype="f8E4M3FN", head_dim=64), target="sm_80", cache=False)
    with pytest.raises(fovea.CompileError, match="no gradients of quantized attention"):
        fovea.compile(fovea.attention(dtype="f8E4M3FN", head_dim=64, gradient=True), target="sm_90a", cache=False)
    with pytest.raises(ValueError, match="unknown dtype 'f8E5M2'"):
        fovea.attention(dtype="f8E5M2", head_dim=64)
    with pytest.raises(fovea.CompileError, match="up to 256"):
        fovea.compile(fovea.attention(head_dim=576), target="sm_90a", cache=False)
