"""Every mlir example of the documentation parses and verifies, except for sketches in the
descriptions of passes."""

import pathlib

import mlir_examples
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def collect():
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        if page.exists():
            for line, source in mlir_examples.examples(page.read_text()):
                if page.name.endswith("Passes.md") and mlir_examples.is_sketch(source):
                    continue
                yield pytest.param(source, id=f"{page.relative_to(ROOT)}:{line}")


@pytest.mark.parametrize("source", list(collect()))
def test_example(source, run_tool):
    def parse(text):
        return run_tool("fovea-opt", "--allow-unregistered-dialect", "-", stdin=text).stderr

    program, errors = mlir_examples.complete(source, parse)
    assert not errors, f"{errors}\nin\n{program}"


def test_a_broken_example_is_noticed(run_tool):
    def parse(text):
        return run_tool("fovea-opt", "--allow-unregistered-dialect", "-", stdin=text).stderr

    for source in ("%y = arith.addf %x, %x : tensor<4xi32>\n", "!t = tensor<4xi32>\n%y = arith.addf %x, %x : !t\n"):
        assert "floating-point-like" in mlir_examples.complete(source, parse)[1]


def test_gradients_inside_a_compiler(run_tool):
    """The page's output is that of its program, and the host's gradients that call the functions
    compile."""
    page = [source for _, source in mlir_examples.examples((ROOT / "docs/Guides/EmbeddingInACompiler.md").read_text())]
    host, made, gradients = (next(source for source in page if name in source)
                             for name in ("%twice", "func.func @f_forward_forward", "@f_gradients"))

    def opt(text, *passes):
        done = run_tool("fovea-opt", *passes, "-", stdin=text)
        assert not done.returncode, done.stderr
        return done.stdout

    assert opt(host, "--attn-outline", "--attn-make-gradient") == opt(made)
    types, declared, called = 2, 4, gradients.splitlines(keepends=True)
    whole = made + "".join(called[declared:])
    assert called[types].startswith("func.func private") and opt(whole, "--fovea-to-nvvm").count("launch.abi") >= 3
