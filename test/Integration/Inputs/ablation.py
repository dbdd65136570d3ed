"""Changes each mechanism of the sm_90a schedule, one at a time, and checks the results.

    ablation.py FOVEA_COMPILE FOVEA_RUN FOLDER

A program is run only if the change affects its schedule. A field that affects no program is an
error, since nothing was tested.
"""

import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "GPU"))

import gpu_variants  # noqa: E402

# Overrides of the automatic schedule, tried where the masks differ.
EVERYWHERE = [
    "overlap=0,chain=0",
    "overlap=0,chain=0,ping_pong=0",
    "chain=0",
    "query_stages=1,chain=0",
    "query_stages=1,chain=2",
    "ping_pong=0",
    "softmax_part=100",
    "softmax_part=50",
    "work=static",
    "work=dynamic",
    "work=single,chain=0",
    "recurrence=deferred",
    "recurrence=conditional",
    "key_stages=2,stages=2",
    "key_stages=1,stages=1,query_stages=1,chain=0",
    "tau=0",
    "exp2_by_fma=50",
    "cluster=2,work=static",
    "output=direct",
    "output=tma",
    "output=tma,output_stages=0",
    "output=tma,output_stages=0,query_stages=1,chain=0",
    "output=tma,output_stages=1,key_stages=2,stages=2",
    "output=tma,output_stages=0,query_stages=1,overlap=0,chain=0,work=single",
    "output=tma,output_stages=0,cluster=2,work=static",
    "output=tma,output_stages=1,cluster=2,work=static,key_stages=1,stages=1",
    # Everything at once: roles, copies by the engine and asynchronous dots only.
    "overlap=0,chain=0,ping_pong=0,softmax_part=100,sum_by_dot=0,classify=0,score_stages=0,work=single,"
    "recurrence=deferred,query_stages=1,key_stages=2,stages=2",
]
#: Programs, sizes, and options to try; without a log-sum-exp where stated.
PROGRAMS = [
    ("dense_bf16_d128_bhsd", True, "B=1,Hq=2,Hkv=1,Sq=300,Skv=400", EVERYWHERE),
    ("causal_bf16_d32_bhsd", True, "B=2,Hq=2,Hkv=2,Sq=600,Skv=600", EVERYWHERE),
    # TMA writes the output of these programs only if the option requests it.
    ("causal_bf16_d160_bhsd", False, "B=1,Hq=2,Hkv=2,Sq=300,Skv=300", ["output=tma"]),
    ("dense_bf16_d64_bhsd", False, "B=1,Hq=2,Hkv=1,Sq=300,Skv=400", ["sum_by_dot=0", EVERYWHERE[-1]]),
    ("alibi_bf16_d64_bhsd", False, "B=1,Hq=2,Hkv=1,Sq=300,Skv=400,capture0.0=2", ["add_by_dot=0", EVERYWHERE[-1]]),
    ("alibi_bf16_d64_bhsd", True, "B=1,Hq=2,Hkv=1,Sq=300,Skv=400,capture0.0=2", ["add_by_dot=1"]),
    ("bias_bf16_d64_bhsd", False, "B=1,Hq=2,Hkv=1,Sq=300,Skv=400,capture0.0=2,capture0.1=300,capture0.2=400",
     ["score_stages=0", "score_stages=1", "add_by_dot=0", EVERYWHERE[-1]]),
    ("documents_bf16_d64_bhsd", False,
     "B=2,Hq=2,Hkv=1,Sq=300,Skv=400,capture0.0=2,capture0.1=300,capture1.0=2,capture1.1=400", ["classify=0", EVERYWHERE[-1]]),
]


def main():
    compiler, run, folder = sys.argv[1:]

    def get_schedule(source, override):
        command = [compiler, source, "--target=sm_90a", f"--schedule={override}", "--emit=tile"]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        plan = re.search(r" plan\((<.*)", text[text.index("launch.abi") :])[1]
        return re.sub(r", asked = \[[^]]*\]", "", plan)

    failed, changing = 0, set()
    overrides = {override for *_, tried in PROGRAMS for override in tried}
    for name, with_lse, sizes, tried in PROGRAMS:
        source = pathlib.Path(folder) / f"{name}.mlir"
        source.write_text(gpu_variants.emit(gpu_variants.Config.parse(name), with_lse))
        automatic = get_schedule(source, "auto")
        for override in ["auto", *tried]:
            if override != "auto" and get_schedule(source, override) == automatic:
                continue
            changing.add(override)
            command = [run, source, "--level=warp", "--target=sm_90a", f"--schedule={override}",
                       "--check", "--random=1", "--integers=0:3", "--seeds=2", "--dims", sizes]
            result = subprocess.run(command, capture_output=True, text=True)
            print(f"{name} {override}: " + ("right" if result.returncode == 0 else "wrong\n" + result.stdout + result.stderr))
            failed += result.returncode != 0
    for override in sorted(overrides - changing):
        failed += 1
        print(f"{override}: wrong, as it changes no program's schedule")
    return failed != 0


sys.exit(main())
