"""Machine code as text, where NVIDIA's programs for that are."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import tempfile
from typing import Optional

#: Programs and what comes before the file.
_PROGRAMS = (("nvdisasm", ("-c",)), ("cuobjdump", ("-sass",)))
_SECONDS = 60


def disassemble(cubin: bytes) -> Optional[str]:
    """SASS of machine code by the first of nvdisasm and cuobjdump on the PATH that
    can read it; None if none can."""
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
