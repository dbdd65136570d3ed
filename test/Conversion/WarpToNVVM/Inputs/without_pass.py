"""Runs warp-to-nvvm after fovea-to-warp without some of its passes.

    without_pass.py FOVEA_OPT FILE OPTIONS PASS...

OPTIONS are those of fovea-to-warp. Prints the first error.
"""

import re
import subprocess
import sys


def main():
    opt, file, options, *without = sys.argv[1:]
    dump = subprocess.run([opt, file, f"--fovea-to-warp={options}", "--dump-pass-pipeline", "-o", "/dev/null"],
                          capture_output=True, text=True, check=True).stderr
    whole = "".join(line.strip() for line in dump[dump.index("builtin.module("):].splitlines())
    for name in without:
        whole, count = re.subn(rf"(?<=[(,]){name}(\{{[^}}]*\}})?(,|(?=\)))", "", whole)
        assert count, f"the pipeline has no '{name}'"
    pipeline = whole[:-1].replace(",)", ")") + ",gpu.module(warp-to-nvvm))"
    result = subprocess.run([opt, file, f"--pass-pipeline={pipeline}", "-o", "/dev/null"],
                            capture_output=True, text=True)
    errors = re.findall(r"error: .*", result.stderr)
    print(errors[0] if errors else f"no error, {result.returncode}")


if __name__ == "__main__":
    main()
