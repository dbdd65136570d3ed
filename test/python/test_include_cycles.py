"""scripts/include_cycles.py: units, resolution of includes, and that the sources have no cycles."""

import importlib.util
import pathlib
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "include_cycles.py"


@pytest.fixture(scope="module")
def cycles():
    spec = importlib.util.spec_from_file_location("include_cycles", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def write(tmp_path):
    """Writes files that include the given names."""

    def write(files):
        for folder in ("lib", "include", "tools"):
            (tmp_path / folder).mkdir(exist_ok=True)
        for name, included in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f'#include "{header}"\n' for header in included))
        return tmp_path

    return write


@pytest.mark.parametrize("files, expected", [
    # Headers.
    ({"lib/A/X.h": ["Y.h"], "lib/A/Y.h": ["X.h"]}, [["lib/A/X", "lib/A/Y"]]),
    # A source file belongs to its header.
    ({"lib/A/X.h": [], "lib/A/X.cpp": ["X.h", "Y.h"], "lib/A/Y.h": ["X.h"]}, [["lib/A/X", "lib/A/Y"]]),
    ({"lib/A/X.h": [], "lib/A/X.c": ["X.h", "Y.h"], "lib/A/Y.h": ["X.h"]}, [["lib/A/X", "lib/A/Y"]]),
    # So does one in a folder below that of a public header.
    ({"include/fovea/A/X.h": [], "lib/A/B/X.cpp": ["B/Y.h"], "lib/A/B/Y.h": ["fovea/A/X.h"]}, [["include/fovea/A/X", "lib/A/B/Y"]]),
    # Not one of another library, or in a folder with a header of its own.
    ({"include/fovea/A/X.h": [], "lib/B/X.cpp": ["Y.h"], "lib/B/Y.h": ["fovea/A/X.h"]}, []),
    ({"include/fovea/A/X.h": [], "lib/A/X.h": ["fovea/A/X.h"], "lib/A/X.cpp": ["X.h"]}, []),
    # A longer cycle, and units that only lead to it.
    ({"tools/t/main.cpp": ["X.h"], "tools/t/X.h": ["Y.h"], "tools/t/Y.cpp": ["Y.h", "Z.h"], "tools/t/Y.h": [],
      "tools/t/Z.h": ["X.h", "W.h"], "tools/t/W.h": []}, [["tools/t/X", "tools/t/Y", "tools/t/Z"]]),
    # Two cycles; headers of other projects.
    ({"lib/X.h": ["Y.h", "llvm/X.h"], "lib/Y.h": ["X.h", "V.h"], "lib/V.h": ["W.h"], "lib/W.h": ["V.h"]},
     [["lib/V", "lib/W"], ["lib/X", "lib/Y"]]),
    # A header of a library that adds another one's folder.
    ({"lib/A/B/X.h": ["Unique.h"], "lib/C/Unique.h": ["A/B/X.h"]}, [["lib/A/B/X", "lib/C/Unique"]]),
])
def test_what_is_found(cycles, write, files, expected):
    root = write(files)
    includes = cycles.include_lines(root)
    assert cycles.components(cycles.edges(includes, cycles.units(includes, root))) == expected


def test_output(cycles, write, capsys):
    root = write({"lib/X.h": [], "lib/X.cpp": ["X.h", "Y.h"], "lib/Y.h": ["X.h"]})
    assert cycles.main([f"--root={root}", "--graph"]) == 1
    assert capsys.readouterr().out == (
        "lib/X -> lib/Y\n"
        "lib/Y -> lib/X\n"
        "cycle of 2 units: lib/X, lib/Y\n"
        "  lib/X.cpp:2: includes lib/Y.h\n"
        "  lib/Y.h:1: includes lib/X.h\n"
        "3 files, 2 units, 1 cycles\n")


def test_sources_have_no_cycles():
    result = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout
