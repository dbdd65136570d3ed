"""Peak rates of GPUs, and facts about the compiler's targets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, Optional, Tuple


@dataclass(frozen=True)
class Gpu:
    """Peak rates of a GPU. ``tensor``, ``special`` and ``ordinary`` are per SM and clock.

    ``tensor`` counts bf16 FLOPs without sparsity, ``special`` results of the
    special-function unit (exp2, tanh), ``ordinary`` f32 operations; ``memory`` is the
    bandwidth of global memory in bytes per second.
    """

    name: str
    capability: str  #: "9.0"
    multiprocessors: int
    clock: float  #: Hz, boost
    tensor: int
    special: int
    ordinary: int
    memory: float
    shared_memory: int  #: maximum bytes of a CTA
    source: str

    @property
    def tensor_rate(self) -> float:
        """bf16 FLOP/s."""
        return self.tensor * self.multiprocessors * self.clock

    @property
    def special_rate(self) -> float:
        """Results of the special-function unit per second."""
        return self.special * self.multiprocessors * self.clock

    @property
    def ordinary_rate(self) -> float:
        """f32 operations per second; a fused multiply-add counts as one."""
        return self.ordinary * self.multiprocessors * self.clock


_GUIDE = "CUDA C++ Programming Guide, arithmetic instructions"
A100 = Gpu("A100 SXM 80 GB", "8.0", 108, 1.41e9, 2048, 16, 64, 2.039e12, 163 << 10,
            f"NVIDIA A100 data sheet (312 TFLOP/s, 2039 GB/s); {_GUIDE}")
A10 = Gpu("A10", "8.6", 72, 1.695e9, 1024, 16, 128, 0.6e12, 99 << 10,
           f"NVIDIA A10 data sheet (125 TFLOP/s, 600 GB/s); {_GUIDE}")
ORIN = Gpu("Jetson AGX Orin", "8.7", 16, 1.3e9, 2048, 16, 128, 0.2048e12, 163 << 10,
            f"NVIDIA Jetson AGX Orin data sheet (204.8 GB/s); {_GUIDE}")
L40S = Gpu("L40S", "8.9", 142, 2.52e9, 1024, 16, 128, 0.864e12, 99 << 10,
            f"NVIDIA L40S data sheet (362 TFLOP/s, 864 GB/s); {_GUIDE}")
H200 = Gpu("H200 SXM", "9.0", 132, 1.83e9, 4096, 16, 128, 4.8e12, 227 << 10,
            f"NVIDIA H200 data sheet (989 TFLOP/s, 4.8 TB/s; the clock is the one that gives them); {_GUIDE}")
B200 = Gpu("B200", "10.0", 148, 1.85e9, 8192, 16, 128, 8e12, 227 << 10,
            f"NVIDIA B200 data sheet (2.25 PFLOP/s, 8 TB/s); {_GUIDE}")
B300 = Gpu("B300", "10.3", 148, 1.92e9, 8192, 32, 128, 8e12, 227 << 10,
            f"NVIDIA Blackwell Ultra data sheet (8 TB/s, twice the exp2 rate of B200; clock: boost); {_GUIDE}")
RTX5090 = Gpu("RTX 5090", "12.0", 170, 2.407e9, 512, 16, 128, 1.792e12, 99 << 10,
               f"NVIDIA RTX Blackwell white paper (209.5 TFLOP/s, 1792 GB/s); {_GUIDE}")

_BY_TARGET: Dict[str, Gpu] = {
    "sm_80": A100, "sm_86": A10, "sm_87": ORIN, "sm_89": L40S, "sm_90": H200, "sm_100": B200, "sm_103": B300, "sm_120": RTX5090,
}


def gpu_of_target(target: str) -> Gpu:
    """A typical GPU of a target ("sm_90a"). Raises KeyError."""
    return _BY_TARGET[target.rstrip("af")]


def gpu_of_name(name: str) -> Optional[Gpu]:
    """The GPU of a device name ("NVIDIA H200"), or None if its rates are unknown."""
    for gpu in _BY_TARGET.values():
        if gpu.name.split()[0].lower() in name.lower().split():
            return gpu
    # The same SMs and clock as the H200, with slower memory.
    return H200 if "H100" in name else None


# --- Targets ------------------------------------------------------------------

#: GPUs of each target, and the MMA unit of its kernels. Compute capabilities: https://developer.nvidia.com/cuda-gpus
_TARGETS: Dict[str, Tuple[str, str]] = {
    "sm_80": ("A100, A30", "mma.sync"),
    "sm_86": ("A10, A40, RTX A6000, RTX 30", "mma.sync"),
    "sm_87": ("Jetson Orin", "mma.sync"),
    "sm_89": ("L4, L40S, RTX 40", "mma.sync"),
    "sm_90": ("H100, H200, without wgmma and TMA", "mma.sync"),
    "sm_90a": ("H100, H200, GH200", "wgmma"),
    "sm_100": ("B200, GB200, without tcgen05", "mma.sync"),
    "sm_100a": ("B200, GB200", "tcgen05"),
    "sm_103a": ("B300, GB300", "tcgen05"),
    "sm_120": ("RTX 50, RTX PRO 6000 Blackwell", "mma.sync"),
    "sm_120a": ("RTX 50, RTX PRO 6000 Blackwell", "mma.sync"),
}


@dataclass(frozen=True)
class TargetFacts:
    """A target of the compiler: its GPUs and the MMA unit of its kernels."""

    name: str
    gpus: str
    unit: str


def target_facts() -> Tuple[TargetFacts, ...]:
    """All targets, in the compiler's order."""
    return tuple(TargetFacts(name, gpus, unit) for name, (gpus, unit) in _TARGETS.items())


def targets_of_capability(major: int, minor: int) -> Tuple[str, ...]:
    """The targets for a device of a compute capability, the best first: the target that only this
    capability runs ("sm_90a"), then the newest one that this capability and later ones run."""
    exact, capability = f"sm_{major}{minor}a", 10 * major + minor
    older = [name for name in _TARGETS if name[-1].isdigit() and int(name[3:]) <= capability]
    newest = max(older, key=lambda name: int(name[3:]), default=None)
    return tuple(name for name in (exact, newest) if name in _TARGETS)
