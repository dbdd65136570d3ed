"""Runs the forward pass with tensor memory as PTX, in many schedules.

    run_schedules.py FOVEA_RUN SEEDS [HEAD_DIM...]

Head dims are written as 64 or 192/128. Each is compiled dense and causal for one and two row tiles,
each recurrence, and each order of work, and launched on a length that uses every ring several times;
with the default schedule also on ragged lengths, rows without keys, and for sm_103a. Prints a line
for each failure and the number of runs; exits with 1 if one is wrong.
"""

import itertools
import pathlib
import subprocess
import sys
import tempfile

REUSES = "B=1,Hq=2,Hkv=1,Sq=200,Skv=1100"
RAGGED = "B=1,Hq=1,Hkv=1,Sq=600,Skv=150"
EMPTY = "B=1,Hq=1,Hkv=1,Sq=140,Skv=0"
MASK = """mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sle, %j, %i : index
      attn.yield %keep : i1
    }"""


def write(folder, dims, causal):
    d, dv = dims
    q, v = (f"tensor<?x?x?x{width}xbf16>" for width in (d, dv))
    path = pathlib.Path(folder) / f"{d}-{dv}-{'causal' if causal else 'dense'}.mlir"
    path.write_text(f"""func.func @f(%q: {q}, %k: {q}, %v: {v}) -> ({v}, tensor<?x?x?xf32>) {{
  %o, %lse = attn.forward %q, %k, %v
    {MASK if causal else ''} : {q}, {q}, {v} -> {v}, tensor<?x?x?xf32>
  return %o, %lse : {v}, tensor<?x?x?xf32>
}}
""")
    return path


def list_runs(d, seeds):
    """Target, schedule, sizes and seeds of each run."""
    # One row tile of head dim 256 fills tensor memory.
    tiles = (1,) if d > 192 else (1, 2)
    for tile, recurrence, work in itertools.product(tiles, ("conditional", "deferred"), ("static", "dynamic", "single")):
        yield "sm_100a", f"row_tiles={tile},recurrence={recurrence},work={work}", REUSES, seeds
    yield "sm_103a", "auto", REUSES, seeds
    yield "sm_100a", "auto", RAGGED, 1
    yield "sm_100a", "auto", EMPTY, 1


def main(tool, seeds, *head_dims):
    failures = runs = 0
    with tempfile.TemporaryDirectory() as folder:
        for text, causal in itertools.product(head_dims, (False, True)):
            dims = tuple(map(int, text.split("/"))) * (1 if "/" in text else 2)
            program = write(folder, dims, causal)
            for target, schedule, sizes, count in list_runs(dims[0], seeds):
                command = [tool, str(program), "--level=ptx", f"--target={target}", f"--schedule={schedule}"]
                command += ["--random=1", "--check", f"--dims={sizes}", f"--seeds={count}"]
                result = subprocess.run(command, capture_output=True, text=True, check=False)
                runs += 1
                if result.returncode or result.stdout.count("passed") != 2:
                    failures += 1
                    print(" ".join(command), result.stdout + result.stderr, sep="\n")
    print(f"{runs} runs, {failures} failed")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
