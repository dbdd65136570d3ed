"""The package is typed: annotations in its sources, and py.typed."""

import importlib.util
import inspect
import pathlib
import subprocess
import sys
import types

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
USER = pathlib.Path(__file__).parent / "Inputs" / "typed_user.py"


def public_functions(module):
    """Yields (name, function) for functions and public methods of classes."""
    for name in module.__all__:
        thing = getattr(module, name)
        if isinstance(thing, types.ModuleType):
            yield from ((f"{name}.{inner}", function) for inner, function in public_functions(thing))
        elif inspect.isclass(thing):
            for key, member in vars(thing).items():
                member = getattr(member, "__func__", getattr(member, "fget", member))
                if not key.startswith("_") and inspect.isfunction(member):
                    yield f"{name}.{key}", member
        elif inspect.isfunction(thing):
            yield name, thing


def test_public_functions_are_annotated_and_explained(fovea):
    import fovea.bench
    import fovea.explain

    assert (ROOT / "python" / "fovea" / "py.typed").exists()
    found = [entry for module in (fovea, fovea.math, fovea.explain, fovea.bench) for entry in public_functions(module)]
    assert len(found) > 40
    for name, function in found:
        signature = inspect.signature(function)
        bare = [p.name for p in signature.parameters.values() if p.annotation is p.empty and p.name not in ("self", "cls")]
        assert not bare, f"{name}: {bare} have no type"
        assert signature.return_annotation is not signature.empty, f"{name} says nothing of what it returns"
        assert inspect.getdoc(function), f"{name} is not explained"


def mypy(*arguments):
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    # As for an installed package: errors inside of it are not reported.
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir", "/dev/null", *map(str, arguments)]
    return subprocess.run(command, env={"MYPYPATH": str(ROOT / "python"), "PATH": ""}, capture_output=True, text=True)


def test_a_typed_user(tmp_path):
    result = mypy(USER)
    assert result.returncode == 0, result.stdout + result.stderr


def test_wrong_types_are_noticed(tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import fovea\nkernel: int = fovea.compile('x')\nfovea.attention(head_dim='64')\n"
                     "def mask(b: fovea.Traced, h: fovea.Traced) -> bool:\n    return fovea.tanh(b + h)\n")
    result = mypy(wrong)
    assert result.returncode == 1 and all(f":{line}: error" in result.stdout for line in (2, 3, 5)), result.stdout
