"""Installs a wheel in a new environment and uses it as on a machine without LLVM, with an empty
PATH. tag_wheel.py checks the dependencies of its libraries.

Usage: try_wheel.py FOLDER-WITH-THE-WHEEL
"""

import pathlib
import subprocess
import sys
import tempfile
import venv

PROGRAM = """
import importlib.metadata, pathlib, sys, time
start = time.perf_counter()
import fovea
seconds = time.perf_counter() - start
spec = fovea.attention(mask_mod=lambda b, h, q, k: q >= k, head_dim=128)
kernel = fovea.compile(spec, target="sm_90a", cache=False)
assert ".target sm_90a" in kernel.ptx and kernel.metadata["kernel"] == "attention"
print(f"import {seconds * 1000:.0f} ms, compile {(time.perf_counter() - start - seconds) * 1000:.0f} ms")
assert importlib.metadata.version("fovea-attention") == fovea.__version__
package = pathlib.Path(fovea.__file__).parent
for name in ("py.typed", "explain/page.css", "explain/page.js", "torch/__init__.py", "bench/_command.py"):
    assert (package / name).is_file(), name
# There is no driver, or there is; what must not happen is that the library can't be loaded.
try:
    fovea.device_info()
except fovea.LaunchError as error:
    assert "DRIVER" in error.status or "DEVICE" in error.status, error
try:
    kernel.cubin
except fovea.Error as error:
    assert "ptxas" in str(error) and "nvidia-cuda-nvcc" in str(error), error
"""


def main():
    (wheel,) = pathlib.Path(sys.argv[1]).resolve().glob("fovea_attention-*-py3-none-manylinux_*_x86_64.whl")
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = pathlib.Path(folder) / "bin" / "python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", wheel], check=True)
        found = subprocess.run([python, "-I", "-c", PROGRAM], env={"HOME": folder}, check=True, capture_output=True, text=True)
        times = found.stdout.splitlines()[0]
        listed = subprocess.run([python, "-I", "-m", "fovea", "targets"], env={"HOME": folder}, check=True, capture_output=True, text=True)
        assert "sm_90a" in listed.stdout.split()
        print(f"{wheel.name}: {times}")


if __name__ == "__main__":
    main()
