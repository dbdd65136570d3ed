"""Disassembles machine code with NVIDIA's tools, if they are installed."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import tempfile
from typing import Optional

#: Tools with their arguments before the file.
_PROGRAMS = (("nvdisasm", ("-c",)), ("cuobjdump", ("-sass",)))
_SECONDS = 60


def disassemble(cubin: bytes) -> Optional[str]:
    """SASS by nvdisasm or cuobjdump on the PATH, the first that can read the code; None if
    neither can."""
    for name, arguments in _PROGRAMS:
        program = shutil.which(name)
        if program is None:
            continue
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "kernel.cubin")
            file.write_bytes(cubin)
            try:
                done = subprocess.run([program, *arguments, str(file)], capture_output=True, timeout=_SECONDS)
            except (OSError, subprocess.TimeoutExpired):
                continue
        if done.returncode == 0 and done.stdout.strip():
            return done.stdout.decode(errors="replace")
    return None
