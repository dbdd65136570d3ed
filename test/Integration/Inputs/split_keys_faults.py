"""Plants one fault at a time in a kernel with split keys, and runs each mutant: all must be found.

    split_keys_faults.py FOVEA_COMPILE FOVEA_RUN PROGRAM

Faults of the program are planted in its warp level, faults of the synchronisation in its PTX.
Prints a line for each fault; exits with 1 if one is not found, or if the unchanged kernel fails.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

OPTIONS = ["--target=sm_90a", "--schedule=work=shares"]
SHAPE = ["--random=1", "--dims=B=2,Skv=900", "--integers=400:900", "--check"]

# Name, pattern, replacement; each applies to the first place only.
WARP = [
    ("a part counted twice", r"(\n.*tile\.arrive[\s\S]*?arith\.cmpi ule, (%[\w#]+), )%[\w#]+", r"\1\2"),
    ("a counter left set", r"(\n.*tile\.arrive .* of )%[\w#]+", r"\n%once = arith.constant 9 : index\1%once"),
    ("a part lost", r"(\n.*tile\.arrive[\s\S]*?)(\n.*scf\.for %\w+ = )%\w+( to [^\n]* iter_args\()",
     r"\1\n%once = arith.constant 2 : index\2%once\3"),
    ("the next share", r"(\n.*tile\.take_share )(%\w+) of", r"\n%once = arith.constant 1 : index\n%next = arith.addi \2, %once : index\1%next of"),
    ("another slot", r"(\n.*)(tile\.store \"join\" [^\n]*\[)(%[\w#]+)",
     r"\n%once = arith.constant 1 : index\n%other = arith.xori \3, %once : index\1\2%other"),
]
PTX = [
    ("no barrier before the arrival", r"bar[a-z.]*\.sync[^;]*;(?=(?:(?!\.sync)[\s\S])*atom\.acq_rel)", ""),
    ("an arrival without release", r"atom\.acq_rel\.gpu", "atom.acquire.gpu"),
    ("an arrival without acquire", r"atom\.acq_rel\.gpu", "atom.release.gpu"),
    ("a relaxed arrival", r"atom\.acq_rel\.gpu", "atom.relaxed.gpu"),
]


def run(command):
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return result.returncode == 0 and result.stdout.count("passed") == 2, (result.stderr + result.stdout).strip()


def plant(text, pattern, replacement):
    mutant, count = re.subn(pattern, replacement, text, count=1)
    if not count:
        raise SystemExit(f"found no place for {pattern}")
    return mutant


def main():
    compiler, runner, program = sys.argv[1:]
    right = True

    def judge(name, passes, output, expected):
        nonlocal right
        right &= passes == expected
        line = output.splitlines()[0][:150] if output else ""
        print(f"{name}: {'passes' if passes else 'found'}{'' if passes == expected else ' UNEXPECTEDLY'}  {line}", flush=True)

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        alone = folder / "decode.mlir"
        alone.write_text(pathlib.Path(program).read_text().split("\n\n")[0])
        for kind in ("warp", "ptx", "metadata"):
            command = [compiler, str(alone), *OPTIONS, f"--emit={kind}", "-o", str(folder / kind)]
            subprocess.run(command, check=True)
        warp, ptx = ((folder / kind).read_text() for kind in ("warp", "ptx"))
        for title, pattern, replacement in [("unchanged", r"\Z", ""), *WARP]:
            (folder / "warp.mlir").write_text(plant(warp, pattern, replacement))
            command = [runner, str(folder / "warp.mlir"), "--level=warp", "--seeds=2", f"--reference={alone}", *SHAPE]
            judge(title, *run(command), expected=title == "unchanged")
        for title, pattern, replacement in [("unchanged", r"\Z", ""), *PTX]:
            (folder / "mutant.ptx").write_text(plant(ptx, pattern, replacement))
            command = [runner, str(alone), *OPTIONS, "--device=ptx", f"--kernel={folder / 'mutant.ptx'}", f"--metadata={folder / 'metadata'}"]
            judge(title, *run([*command, *SHAPE]), expected=title == "unchanged")
    print("all found" if right else "some not found")
    return int(not right)


if __name__ == "__main__":
    sys.exit(main())
