from pathlib import Path
from typing import Any, Dict, List
import fovea
import fovea.explain
import fovea.bench

from fovea import Traced, TracedTensor

def soft(score: Traced, b: Traced, h: Traced, q_idx: Traced, kv_idx: Traced, slopes: TracedTensor) -> Traced:
    return fovea.where(q_idx > 3, fovea.tanh(score), 1 - score) + slopes[h] * fovea.minimum(2, kv_idx)

def near(b: Traced, h: Traced, q_idx: Traced, kv_idx: Traced) -> Traced:
    return (q_idx >= kv_idx) & (q_idx - kv_idx < 64) | fovea.logical_not(kv_idx < fovea.key_length() // 2)

def alibi(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any, slopes: Any) -> Any:
    return fovea.tanh(score + slopes[h] * (kv_idx - q_idx))

def causal(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return q_idx >= kv_idx

spec: fovea.Spec = fovea.attention(alibi, fovea.and_masks(causal, causal), dtype="bf16", head_dim=128, captures={"slopes": ("f32", (None,))})
variant: fovea.Spec = fovea.attention(soft, near, head_dim=64, captures={"slopes": fovea.Capture("f32", (None,))})
kernel: fovea.Kernel = fovea.compile(spec, target="sm_90a")
ptx: str = kernel.ptx
blob: bytes = kernel.cubin
facts: Dict[str, Any] = kernel.metadata
kernel.save(Path("x"))
again: fovea.Kernel = fovea.Kernel.load("x")
names: List[str] = fovea.targets()
maps: List[fovea.explain.BlockMap] = fovea.explain.block_map(spec, 128)
page: str = fovea.explain.page(spec)
drawn: Dict[str, int] = fovea.bench.plot({}, "x.png")
try:
    fovea.compile("x")
except fovea.CompileError as error:
    place: int = error.diagnostics[0].line
