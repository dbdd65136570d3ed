"""The distribution is `fovea-attention`; `fovea` on PyPI is another project with a package of the
same name. These tests simulate installations of both, in every order."""

import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOREIGN = {"fovea/__init__.py": "__version__ = '0.1.1'\n", "fovea/learn/__init__.py": ""}
REPAIR = "pip uninstall fovea, then install fovea-attention again with --force-reinstall"


def install(site, name, files, metadata="dist-info", record=True):
    """Writes a distribution's files, overwriting others, as pip does."""
    for path, text in files.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_text(text)
    folder = site / f"{name}.{metadata}"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\n")
    if record:
        (folder / "RECORD").write_text("".join(f"{path},,\n" for path in files))
    return folder


def install_ours(site):
    shutil.copytree(ROOT / "python" / "fovea", site / "fovea", ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    install(site, "fovea_attention-0.1.0", {})


def run(code, *path, arguments=()):
    """Runs Python with these folders first on its path, without PyTorch, as only the imported package matters."""
    program = f"import sys; sys.path[:0] = {[str(folder) for folder in path]!r}\nsys.modules['torch'] = None\n{code}"
    return subprocess.run([sys.executable, "-I", "-S", "-c", program, *arguments], capture_output=True, text=True, timeout=120)


def last_line(result):
    assert result.returncode == 1, result.stdout + result.stderr
    return result.stderr.splitlines()[-1]


def test_alone(tmp_path):
    install_ours(tmp_path)
    install(tmp_path, "fovea_tools-2.0", {"fovea_tools.py": ""})
    install(tmp_path, "fovea-tools-2.0", {})
    result = run("import fovea; print(fovea.attention.__module__)", tmp_path)
    assert result.stdout == "fovea.frontend._spec\n", result.stderr


@pytest.mark.parametrize("name, metadata, record", [
    ("fovea-0.1.1", "dist-info", True), ("Fovea-0.2.0", "dist-info", True), ("fovea-0.1.1", "dist-info", False),
    ("fovea-0.1.1-py3.9", "egg-info", False)])
def test_installed_over_the_other_project(tmp_path, name, metadata, record):
    folder = install(tmp_path, name, FOREIGN, metadata, record)
    install_ours(tmp_path)
    version = name.split("-")[1]
    assert last_line(run("import fovea", tmp_path)) == (
        f"ImportError: the distribution 'fovea' {version} ({folder}) is not 'fovea-attention' and installs into its folder, "
        f"{tmp_path / 'fovea'}; each overwrites the other's files: {REPAIR}")


def test_hidden_module(tmp_path):
    """A package of the other project hides a module of ours: the check runs before the module is imported."""
    install(tmp_path, "fovea-0.1.1", {**FOREIGN, "fovea/cache/__init__.py": "raise SystemExit('theirs')\n"})
    install_ours(tmp_path)
    assert "is not 'fovea-attention'" in last_line(run("import fovea", tmp_path))


def test_other_project_installed_later(tmp_path):
    """`import fovea` then imports the other project; importing our subpackages raises."""
    install_ours(tmp_path)
    install(tmp_path, "fovea-0.1.1", FOREIGN)
    expected = (f"the package 'fovea' belongs to another project ({tmp_path / 'fovea' / '__init__.py'}), "
                f"its subpackages belong to 'fovea-attention': {REPAIR}")
    assert last_line(run("from fovea.torch import flex_attention", tmp_path)) == f"ImportError: {expected}"
    result = run("from fovea.__main__ import main; sys.exit(main())", tmp_path, arguments=["targets"])
    assert (result.returncode, result.stderr) == (2, f"fovea: {expected}\n")


def test_other_project_removed_later(tmp_path):
    """Removing the other project removes `__init__.py`, too."""
    install_ours(tmp_path)
    (tmp_path / "fovea" / "__init__.py").unlink()
    assert last_line(run("from fovea.torch import flex_attention", tmp_path)) == (
        f"ImportError: the package 'fovea' has no __init__.py, its subpackages belong to 'fovea-attention': {REPAIR}")


def test_other_folders(tmp_path):
    """Without mixed files the package works: the other project in a later folder, or in an editable installation."""
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    ours.mkdir()
    theirs.mkdir()
    install_ours(ours)
    install(theirs, "fovea-0.1.1", FOREIGN)
    install(ours, "fovea-0.1.1", {"__editable__.fovea-0.1.1.pth": "/elsewhere\n"})
    result = run("import fovea; print(fovea.attention.__module__)", ours, theirs)
    assert result.stdout == "fovea.frontend._spec\n", result.stderr


def test_name():
    project = re.search(r'^name = "(.*)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)[1]
    distribution = re.search(r'^DISTRIBUTION = "(.*)"', (ROOT / "python/fovea/_distribution.py").read_text(), re.MULTILINE)[1]
    assert project == distribution == "fovea-attention"
