"""`pip install .` and `python -m build`, without compiling: the contents of the source archive, which
include all inputs of a wheel, and the wheel's metadata."""

import pathlib
import shutil
import subprocess
import sys
import tarfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Both are in scripts/requirements.txt. An isolated build environment, the default, would download
# from an index.
build = pytest.importorskip("build")
pytest.importorskip("scikit_build_core")


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", folder, ROOT], check=True, timeout=300)
    (path,) = folder.iterdir()
    return path


@pytest.fixture(scope="module")
def sources(archive, tmp_path_factory):
    """The unpacked archive."""
    folder = tmp_path_factory.mktemp("sources")
    with tarfile.open(archive) as opened:
        opened.extractall(folder)
    (path,) = folder.iterdir()
    return path


def test_files(archive, sources):
    assert archive.name == "fovea_attention-0.1.0.tar.gz" and archive.stat().st_size < 10_000_000
    for name in ("CMakeLists.txt", "CMakePresets.json", "LICENSE", "README.md", "PKG-INFO", "pyproject.toml", "python/README.md",
                 "python/fovea/py.typed"):
        assert (sources / name).is_file(), name
    held = {str(path.relative_to(sources)) for path in sources.rglob("*") if path.is_file()}
    built = {name for name in held if name.startswith(("build", "dist/", ".venv")) or name.endswith((".o", ".so", ".pyc"))}
    assert built == set()


def test_files_are_the_repository_s(sources):
    """Source folders are complete, and contain only files of the repository."""
    if not shutil.which("git") or not (ROOT / ".git").exists():
        pytest.skip("this is no checkout")
    folders = ["cmake", "include", "lib", "python", "tools", "examples", "docs", "scripts"]
    command = ["git", "-c", f"safe.directory={ROOT}", "ls-files", "--cached", "--others", "--exclude-standard", "--", *folders]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    known = {name for name in listed if (ROOT / name).exists()}
    held = {str(path.relative_to(sources)) for folder in folders for path in (sources / folder).rglob("*") if path.is_file()}
    assert sorted(held ^ known) == []


def test_wheel_can_be_built_of_it(sources):
    """CMake configures the archive, and Ninja finds every input of the wheel's libraries."""
    for tool in ("cmake", "ninja", "clang++-22", "ccache"):
        if not shutil.which(tool):
            pytest.skip(f"there is no {tool}")
    subprocess.run(["cmake", "--preset=portable"], cwd=sources, check=True, capture_output=True, timeout=300)
    # Renamed, since Ninja would otherwise first regenerate its own file.
    folder = sources / "build-portable"
    shutil.copy(folder / "build.ninja", folder / "plan.ninja")
    planned = subprocess.run(["ninja", "-C", folder, "-f", "plan.ninja", "-n", "Fovea", "FoveaRuntime", "FoveaPTXDriver"],
                             capture_output=True, text=True, timeout=300)
    assert planned.returncode == 0, planned.stdout[-2000:] + planned.stderr
    for library in ("libFovea.so", "libFoveaRuntime.so", "libFoveaPTXDriver.so"):
        assert library in planned.stdout


def test_metadata(archive, tmp_path):
    """The metadata of a wheel and of the source archive are equal."""
    folder = pathlib.Path(build.ProjectBuilder(ROOT).prepare("wheel", tmp_path))
    text = (folder / "METADATA").read_text()
    with tarfile.open(archive) as opened:
        assert opened.extractfile("fovea_attention-0.1.0/PKG-INFO").read().decode() == text
    head, _, page = text.partition("\n\n")
    lines = head.splitlines()
    assert {"Name: fovea-attention", "Version: 0.1.0", "Requires-Python: >=3.9", "License: Apache-2.0 WITH LLVM-exception",
            "Description-Content-Type: text/markdown"} <= set(lines)
    extras = {line.split()[1] for line in lines if line.startswith("Provides-Extra:")}
    assert extras == {"interpret", "torch", "transformers", "plot", "ptxas"}
    required = [line for line in lines if line.startswith("Requires-Dist:")]
    assert required and all("; extra == " in line.replace(";extra", "; extra") for line in required), "the package alone needs nothing"
    # test_wheel.py checks its links.
    assert page == (ROOT / "python" / "README.md").read_text()
    assert "fovea = fovea.__main__:main" in (folder / "entry_points.txt").read_text()
    tags = [line for line in (folder / "WHEEL").read_text().splitlines() if line.startswith("Tag:")]
    assert tags and all(line.startswith("Tag: py3-none-") for line in tags)
