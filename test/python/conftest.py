"""Fixtures of the Python tests: the build folder, its tools, and the package with the
libraries of that build."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def pytest_addoption(parser):
    parser.addoption("--fovea-build", default=str(ROOT / "build"), help="build folder with the tools to test")


@pytest.fixture(scope="session")
def source_root():
    return ROOT


@pytest.fixture(scope="session")
def build(request):
    return pathlib.Path(request.config.getoption("--fovea-build"))


@pytest.fixture(scope="session")
def run_tool(build):
    """Runs a tool of the build; skips the test where it was not built."""
    binaries = build / "bin"

    def run(name, *args, stdin=""):
        tool = binaries / name
        if not tool.exists():
            pytest.skip(f"{name} is not built")
        return subprocess.run([tool, *map(str, args)], input=stdin, capture_output=True, text=True, timeout=300)

    return run


@pytest.fixture(scope="session")
def package_environment(build, tmp_path_factory):
    """Environment of a process that imports the package: the source tree's, with
    the build's libraries and an empty cache."""
    if not (build / "lib" / "libFovea.so").exists():
        pytest.skip("libFovea.so is not built")
    if build.name == "build-asan":
        pytest.skip("a library with a sanitizer needs a process with one")
    return {
        **os.environ, "PYTHONPATH": str(ROOT / "python"), "FOVEA_LIBRARY_PATH": str(build / "lib"),
        "XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache")),
    }


@pytest.fixture(scope="session")
def fovea(package_environment):
    """The package."""
    for name in ("FOVEA_LIBRARY_PATH", "XDG_CACHE_HOME"):
        os.environ[name] = package_environment[name]
    sys.path.insert(0, str(ROOT / "python"))
    import fovea

    return fovea


@pytest.fixture
def run_python(package_environment):
    """Runs Python text in a process of its own."""

    def run(text, *args, **environment):
        return subprocess.run(
            [sys.executable, "-c", text, *map(str, args)], env={**package_environment, **environment},
            capture_output=True, text=True, timeout=300,
        )

    return run


@pytest.fixture
def run_command(package_environment):
    """Runs ``python -m fovea``."""

    def run(*args, cwd=None, **environment):
        return subprocess.run(
            [sys.executable, "-m", "fovea", *map(str, args)], env={**package_environment, **environment}, cwd=cwd,
            capture_output=True, text=True, timeout=300,
        )

    return run
