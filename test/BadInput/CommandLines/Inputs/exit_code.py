"""exit_code.py CODE COMMAND...: succeeds if the command exits with CODE."""

import subprocess
import sys

code, *command = sys.argv[1:]
found = subprocess.run(command, timeout=60).returncode
if found != int(code):
    sys.exit(f"exit code {found}, expected {code}")
