"""The checks of CI besides the tests detect errors: clang-tidy on files, and checks of the portable build."""

import importlib.util
import json
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def repository(tmp_path):
    """A repository with two commits, of which the second has one file, and the project's checks."""

    def git(*arguments):
        identity = ["-c", "user.name=n", "-c", "user.email=n@localhost"]
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True)

    shutil.copy(ROOT / ".clang-tidy", tmp_path)
    (tmp_path / "lib").mkdir()
    git("init", "-q", "-b", "main")
    for name, text in (("Old", "int makeOne() { return 1; }\n"), ("New", "int make_two() { return 2; }\n")):
        (tmp_path / "lib" / f"{name}.cpp").write_text(text)
        git("add", ".")
        git("commit", "-q", "-m", name)
    commands = [{"directory": str(tmp_path), "command": f"clang++-22 -c {file}", "file": str(file)} for file in tmp_path.glob("lib/*.cpp")]
    (tmp_path / "compile_commands.json").write_text(json.dumps(commands))
    return tmp_path


@pytest.fixture
def lint(repository, monkeypatch):
    if not shutil.which("clang-tidy-22"):
        pytest.skip("there is no clang-tidy-22")
    module = script("lint")
    monkeypatch.setattr(module, "ROOT", repository)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["lint", f"--build={repository}", *arguments])
        return module.main()

    run.module = module
    return run


def test_lint_finds(lint, capfd):
    assert lint("--scope=all") == 1
    printed = capfd.readouterr().out
    assert "New.cpp:1:5: error: invalid case style for function 'make_two'" in printed
    assert printed.endswith("lint: 2 files, 1 with findings\n")


def test_lint_by_commit(lint, repository, capfd):
    assert lint() == 0
    assert capfd.readouterr().out == "lint: 0 files, 0 with findings\n"
    assert lint("--scope=HEAD~1") == 1
    assert lint.module.sources("HEAD~1") == ["lib/New.cpp"]
    (repository / "lib" / "Newest.cpp").write_text("")
    assert lint.module.sources("main") == ["lib/Newest.cpp"]
    assert lint("--scope=nowhere") == 2
    assert "found no base 'nowhere', expected all, recent or a commit" in capfd.readouterr().err


def test_lint_begins_with_the_last_commit(lint, capfd):
    assert lint.module.sources("recent") == ["lib/New.cpp", "lib/Old.cpp"]
    assert lint("--scope=recent", "--limit=0") == 0
    assert capfd.readouterr().out == "lint: 2 files, 0 with findings, 2 left out after 0 minutes\n"


def test_another_compilers_header(lint, repository):
    commands = repository / "compile_commands.json"
    commands.write_text('[{"command": "g++ -include-pch a.pch -c b.cpp"}]')
    folder = lint.module.database(repository)
    assert folder != repository
    assert (folder / "compile_commands.json").read_text() == '[{"command": "g++ -c b.cpp"}]'


def test_portable_needs_nothing(tmp_path):
    """The check fails for a compiler that needs uncommon shared libraries, or does not compile."""
    if not shutil.which("clang-22"):
        pytest.skip("there is no clang-22")
    module = script("try_portable")
    (tmp_path / "none.c").write_text("")
    (tmp_path / "main.c").write_text("int main(void) { return 3; }\n")
    other, compiler = tmp_path / "libOther.so", tmp_path / "fovea-compile"
    subprocess.run(["clang-22", "-shared", "-Wl,-soname=libOther.so", "-o", other, tmp_path / "none.c"], check=True)
    subprocess.run(["clang-22", "-Wl,--no-as-needed", tmp_path / "main.c", other, "-o", compiler], check=True)
    (problem,) = module.tool_problems(compiler)
    assert problem == "fovea-compile needs libOther.so, which other machines may not have"
    (problem,) = module.compile_example(compiler)
    assert problem.startswith("fovea-compile failed on examples/causal.mlir with code")
