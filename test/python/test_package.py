"""The package as installed from a wheel, without building one; `make wheel` runs the same on the
real wheel."""

import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def installed(build, tmp_path):
    """A folder with the package and its libraries as in site-packages."""
    if not (build / "lib" / "libFovea.so").exists() or build.name == "build-asan":
        pytest.skip("there is no libFovea.so that another process can load")
    package = tmp_path / "site" / "fovea"
    shutil.copytree(ROOT / "python" / "fovea", package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "lib").mkdir()
    for name in ("libFovea.so", "libFoveaRuntime.so"):
        (package / "lib" / name).symlink_to((build / "lib" / name).resolve())
    return package


def run(installed, *arguments):
    """Runs Python with only that folder on its path, and a minimal environment."""
    program = f"import sys; sys.path.insert(0, {str(installed.parent)!r}); sys.argv[0] = 'fovea'\n"
    code, *rest = arguments
    return subprocess.run([sys.executable, "-I", "-S", "-c", program + code, *rest], capture_output=True, text=True,
                          env={"HOME": str(installed.parent)}, timeout=120)


def test_installed_package(installed):
    result = run(installed, "import fovea\nk = fovea.compile(fovea.attention(head_dim=64), 'sm_80', cache=False)\n"
                            "print(fovea.__file__, '.target sm_80' in k.ptx)")
    assert result.stdout == f"{installed / '__init__.py'} True\n", result.stderr
    result = run(installed, "from fovea.__main__ import main; sys.exit(main())", "targets")
    assert "sm_90a" in result.stdout.split(), result.stderr


def test_without_ptxas(installed):
    """No toolkit is found with this path: the error says what to install."""
    result = run(installed, "import fovea, os\nfovea.compiler._kernel.find_ptxas = lambda: None\n"
                            "k = fovea.compile(fovea.attention(head_dim=64), 'sm_80', cache=False)\n"
                            "try:\n    k.cubin\nexcept fovea.Error as error:\n    print(error)")
    assert result.stdout == "no ptxas was found; install CUDA's, or pip install nvidia-cuda-nvcc\n", result.stderr


def test_ptxas_of_a_package(installed):
    """The ptxas of the package nvidia-cuda-nvcc is found."""
    ptxas = installed.parent / "nvidia" / "cu13" / "bin" / "ptxas"
    ptxas.parent.mkdir(parents=True)
    ptxas.write_text("#!/bin/sh\n")
    ptxas.chmod(0o755)
    result = run(installed, "import fovea, glob, shutil\nshutil.which = lambda name: None\n"
                            "found = fovea.compiler._kernel.find_ptxas()\nprint(found)")
    # A toolkit in /usr/local takes precedence.
    assert result.stdout.strip() in (str(ptxas), "/usr/local/cuda/bin/ptxas") or "/usr/local/cuda-" in result.stdout, result.stderr


def test_versions_agree(fovea):
    project = re.search(r'^version = "(.*)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)[1]
    cmake = re.search(r"project\(fovea .*VERSION ([\d.]+)\)", (ROOT / "CMakeLists.txt").read_text())[1]
    assert project == cmake == fovea.__version__ == fovea.version()


def test_star_imports_leave_builtins_alone(installed):
    """`from fovea import *` does not replace builtins or the module math. The functions are attributes of fovea,
    fovea.math and fovea.functions."""
    result = run(installed, "import builtins, math\nfrom fovea import *\n"
                            "print([name for name in dir(builtins) if name[0] != '_' and name in globals()])\n"
                            "print(math.__name__, attention.__module__)")
    assert result.stdout == "[]\nmath fovea.frontend._spec\n", result.stderr
    result = run(installed, "import fovea\nfrom fovea.functions import where\nfrom fovea.math import where as same\n"
                            "print(where is same is fovea.where, set(fovea.functions.__all__) == set(fovea.math.__all__))")
    assert result.stdout == "True True\n", result.stderr
