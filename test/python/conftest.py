"""What the Python tests share: where the build is, and how to run its tools."""

import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def pytest_addoption(parser):
    parser.addoption("--fovea-build", default=str(ROOT / "build"), help="build folder with the tools to test")


@pytest.fixture(scope="session")
def source_root():
    return ROOT


@pytest.fixture(scope="session")
def run_tool(request):
    """Runs a tool of the build; skips the test where it was not built."""
    binaries = pathlib.Path(request.config.getoption("--fovea-build")) / "bin"

    def run(name, *args, stdin=""):
        tool = binaries / name
        if not tool.exists():
            pytest.skip(f"{name} is not built")
        return subprocess.run([tool, *map(str, args)], input=stdin, capture_output=True, text=True, timeout=120)

    return run
