"""Requirements of package indexes and other machines on the wheel: metadata, tag, and the glibc
symbols of its libraries."""

import csv
import ctypes
import hashlib
import importlib.util
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

#: Uses the features of a compiler: threads, the loader, files, math, exceptions, random numbers.
LIBRARY = r"""
#include <cmath>
#include <dlfcn.h>
#include <random>
#include <stdexcept>
#include <sys/stat.h>
#include <thread>
extern "C" int used(double x) {
  int sum = 0;
  std::thread([&] { sum += 1; }).join();
  struct stat facts;
  sum += stat("/", &facts) == 0 && S_ISDIR(facts.st_mode) ? 10 : 0;
  sum += dlsym(nullptr, "malloc") ? 100 : 0;
  sum += std::exp(x) > 2.7 && std::pow(x, 0.5) == 1.0 ? 1000 : 0;
  try {
    throw std::runtime_error("found");
  } catch (const std::exception &) {
    sum += 10000;
  }
  std::random_device device;
  return sum + (device() != device() || device() != device() ? 100000 : 0);
}
"""


@pytest.fixture(scope="module")
def tag_wheel():
    spec = importlib.util.spec_from_file_location("tag_wheel", ROOT / "scripts" / "tag_wheel.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compiled(folder, *more):
    """The library, linked as a portable build links."""
    for tool in ("clang-22", "clang++-22", "objdump"):
        if shutil.which(tool) is None:
            pytest.skip(f"there is no {tool}")
    source, result = folder / "used.cpp", folder / "libused.so"
    source.write_text(LIBRARY)
    subprocess.run(["clang++-22", "-O2", "-fPIC", "-shared", "-fuse-ld=lld", "-static-libstdc++", "-static-libgcc", "-Wl,--gc-sections",
                    source, *more, "-o", result], check=True)
    return result


def portable(folder):
    """The library with the additions of a portable build."""
    older = folder / "OlderGlibc.o"
    subprocess.run(["clang-22", "-O2", "-fPIC", "-ffunction-sections", "-Wall", "-Wextra", "-Werror", "-c", ROOT / "cmake" / "OlderGlibc.c",
                    "-o", older], check=True)
    return compiled(folder, older, "-Wl,--no-as-needed", "-l:libpthread.so.0", "-l:libdl.so.2")


def wheel_of(folder, library):
    """A wheel with one library, with the name and the tag of a build."""
    files = {
        "used/__init__.py": b"", "used/lib/libused.so": library.read_bytes(),
        "used-1.dist-info/METADATA": b"Metadata-Version: 2.1\nName: used\nVersion: 1\n",
        "used-1.dist-info/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\nTag: py3-none-linux_x86_64\n",
    }
    path = folder / "used-1-py3-none-linux_x86_64.whl"
    with zipfile.ZipFile(path, "w") as archive:
        lines = []
        for name, data in files.items():
            archive.writestr(name, data)
            lines.append(f"{name},sha256={'0' * 43},{len(data)}" if name.endswith("METADATA") else f"{name},,")
        archive.writestr("used-1.dist-info/RECORD", "\n".join([*lines, "used-1.dist-info/RECORD,,"]) + "\n")
    return path


def test_older_glibc(tag_wheel, tmp_path):
    """The replacements of newer glibc symbols behave like them."""
    library = portable(tmp_path)
    assert list(tag_wheel.problems(library)) == []
    assert ctypes.CDLL(str(library)).used(ctypes.c_double(1.0)) == 111111


def test_newer_glibc_is_refused(tag_wheel, tmp_path):
    """If the linker uses the newest symbols, the script reports them."""
    library = compiled(tmp_path)
    newest = max(tag_wheel.glibc_symbols(library))
    if newest <= tag_wheel.NEWEST:
        pytest.skip("this system's glibc is an old one itself")
    found = "\n".join(tag_wheel.problems(library))
    assert re.search(rf"libused.so needs glibc {newest[0]}\.{newest[1]} for \w+", found), found
    wheel = wheel_of(tmp_path, library)
    result = subprocess.run([sys.executable, ROOT / "scripts" / "tag_wheel.py", wheel], capture_output=True, text=True)
    assert result.returncode == 1 and found.splitlines()[0] in result.stderr and wheel.exists()


def test_tag(tmp_path):
    wheel = wheel_of(tmp_path, portable(tmp_path))
    result = subprocess.run([sys.executable, ROOT / "scripts" / "tag_wheel.py", wheel], capture_output=True, text=True, check=True)
    tagged = pathlib.Path(result.stdout.strip())
    tag = re.fullmatch(r"used-1-py3-none-manylinux_2_(\d+)_x86_64\.whl", tagged.name)
    assert tag and 17 <= int(tag[1]) <= 28 and not wheel.exists()
    with zipfile.ZipFile(tagged) as archive:
        facts = archive.read("used-1.dist-info/WHEEL")
        assert facts.endswith(f"\nTag: py3-none-manylinux_2_{tag[1]}_x86_64\n".encode())
        rows = {row[0]: row for row in csv.reader(archive.read("used-1.dist-info/RECORD").decode().splitlines())}
        digest = tag_digest(facts)
        assert rows["used-1.dist-info/WHEEL"] == ["used-1.dist-info/WHEEL", f"sha256={digest}", str(len(facts))]
        assert rows["used-1.dist-info/METADATA"][1] == "sha256=" + "0" * 43, "lines of other files stay"
        assert sorted(rows) == sorted(archive.namelist())
    packaging = pytest.importorskip("packaging.utils")
    assert packaging.parse_wheel_filename(tagged.name)[0] == "used"


def tag_digest(data):
    import base64

    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def test_portable_libraries(tag_wheel):
    """The libraries of the wheel, if they were built."""
    folder = ROOT / "build-portable" / "lib"
    libraries = [folder / name for name in ("libFovea.so", "libFoveaRuntime.so", "libFoveaPTXDriver.so")]
    if not all(library.exists() for library in libraries):
        pytest.skip("there is no portable build")
    assert [problem for library in libraries for problem in tag_wheel.problems(library)] == []


def test_metadata(fovea):
    tomllib = pytest.importorskip("tomllib")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {"name", "description", "readme", "license", "authors", "classifiers", "requires-python"} <= set(project)
    # An index shows only the page, so links must be absolute.
    page = (ROOT / project["readme"]).read_text()
    relative = [link for link in re.findall(r"\]\(([^)]*)\)", page) if not link.startswith("https://")]
    assert relative == []
    # Every extra in an error or on a page exists, and is on the index's page.
    sources = [*(ROOT / "python").rglob("*.py"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    named = {extra for path in sources for extra in re.findall(r"\bfovea-attention\[(\w+)\]", path.read_text())}
    named |= {extra for path in (ROOT / "python").rglob("*.py") for extra in re.findall(r'\bneed\("\w+", "(\w+)"', path.read_text())}
    extras = set(project["optional-dependencies"])
    assert named <= extras and {"interpret", "torch", "transformers", "plot", "ptxas"} == extras
    assert extras == set(re.findall(r"fovea_attention-[^ ]*\.whl\[(\w+)\]", page))


def test_names_of_the_wheel():
    """Pages have the file name of a build, with this version and the tag in Support.md."""
    version = re.search(r'^version = "(.*)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)[1]
    glibc = re.search(r"needs glibc ([\d.]+)", (ROOT / "docs" / "Support.md").read_text())[1].replace(".", "_")
    for page in (ROOT / "python" / "README.md", ROOT / "docs" / "Guides" / "Python.md"):
        names = set(re.findall(r"fovea_attention-[^ \[`']*whl", page.read_text()))
        assert names == {f"fovea_attention-{version}-py3-none-manylinux_{glibc}_x86_64.whl"}


def test_no_text_names_the_other_project():
    """"fovea" on PyPI is another project: no text recommends installing it or an extra of it."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "Makefile", *(ROOT / "docs").rglob("*.md")]
    pages += [path for folder in ("python", "scripts", "examples", "test", "benchmarks") for path in (ROOT / folder).rglob("*")
              if path.suffix in (".py", ".md", ".sh", ".txt", ".test") and path != pathlib.Path(__file__)]
    wrong = re.compile(r"pip install [^\n`#;,]*(?<![\w/-])fovea(?![\w.-])|(?<![\w-])fovea\[(?:interpret|torch|plot|ptxas)\]")
    found = [f"{page.relative_to(ROOT)}: {match[0]}" for page in pages for match in wrong.finditer(page.read_text(errors="replace"))]
    assert found == []
