"""Facts for docs/Support.md that neither the compiler nor the package knows: GPUs by target, the GPUs
of measurements, drivers by PTX version. scripts/support.py queries everything else from the code.
"""

#: GPUs of each target. Compute capabilities: https://developer.nvidia.com/cuda-gpus
GPUS = {
    "sm_80": "A100, A30",
    "sm_86": "A10, A40, RTX A6000, RTX 30",
    "sm_87": "Jetson Orin",
    "sm_89": "L4, L40S, RTX 40",
    "sm_90": "H100, H200, without wgmma and TMA",
    "sm_90a": "H100, H200, GH200",
    "sm_100": "B200, GB200, without tcgen05",
    "sm_100a": "B200, GB200",
    "sm_103a": "B300, GB300",
    "sm_120": "RTX 50, RTX PRO 6000 Blackwell",
    "sm_120a": "RTX 50, RTX PRO 6000 Blackwell",
}

#: Targets by GPU generation, for the README.
GENERATIONS = {
    "Ampere (A100, A10, RTX 30, Orin)": ("sm_80", "sm_86", "sm_87"),
    "Ada (L4, L40S, RTX 40)": ("sm_89",),
    "Hopper (H100, H200, GH200)": ("sm_90a", "sm_90"),
    "Blackwell (B200, GB200)": ("sm_100a", "sm_100"),
    "Blackwell Ultra (B300, GB300)": ("sm_103a",),
    "Blackwell (RTX 50, RTX PRO 6000)": ("sm_120a", "sm_120"),
}

#: The GPU on which kernels of a target were run and timed; docs/Performance.md has the numbers.
MEASURED = {
    "sm_80": "H200",
    "sm_90a": "H200",
}

#: The software of those runs.
MEASURED_WITH = "driver 580, CUDA 13.0, PyTorch 2.11"

#: CUDA release and Linux driver branch that first load a PTX version.
#: https://docs.nvidia.com/cuda/parallel-thread-execution/#release-notes-ptx-release-history and the release notes of
#: these CUDA releases.
DRIVERS = {
    "7.4": ("11.4", 470), "7.8": ("11.8", 520), "8.0": ("12.0", 525), "8.1": ("12.1", 530), "8.6": ("12.7", 565), "8.7": ("12.8", 570),
    "8.8": ("12.9", 575),
}

#: Tested releases of PyTorch besides the one in scripts/requirements-torch.txt, which `make test` uses.
TORCH_ALSO_RUN = ("2.7", "2.9", "2.11", "2.14")
TORCH_GRAPH_BREAKS = ("2.5", "2.6")

#: The system that `make setup` supports, and the Python that runs `make test`.
BUILD_SYSTEM = "Debian 12 on x86-64"
PYTHON_TESTED = "3.11"

#: The platform of the wheel, as scripts/tag_wheel.py finds it.
WHEEL_GLIBC = (2, 27)
