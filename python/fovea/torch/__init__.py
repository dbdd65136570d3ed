"""PyTorch's attention functions, compiled by Fovea, with unchanged signatures, BlockMasks, and
score_mods and mask_mods.

    >>> from fovea.torch import flex_attention
    >>> out = flex_attention(query, key, value, score_mod=soft_cap, block_mask=block_mask)  # doctest: +SKIP

``flex_attention`` and ``scaled_dot_product_attention`` run on CUDA. They call the op
``torch.ops.fovea.attention``, which torch.compile keeps in its graph.
``varlen_attn`` is attention of packed sequences, and ``attention_with_kvcache`` attention over a
KV cache, contiguous or in pages; ``append`` writes new keys and values into it, and ``merge``
merges attention over disjoint sets of keys. ``flex_attention`` also takes float8_e4m3fn, which
``quantize_attention_inputs`` makes. ``register_flash`` makes Fovea an implementation of
PyTorch's own flash attention.
"""

from .._distribution import refuse_foreign_package

refuse_foreign_package()

from .._extras import need

need("torch", "torch", "fovea.torch")

from .trace import _aten, _composed, _powers, _searches, _views  # noqa: F401 (registers their ops)
from ._append import append
from ._attention import flex_attention, scaled_dot_product_attention
from ._kvcache import attention_with_kvcache
from ._merge import merge
from ._quantized import quantize_attention_inputs
from ._registry import register_flash
from ._varlen import varlen_attn

__all__ = [
    "append", "attention_with_kvcache", "flex_attention", "merge", "quantize_attention_inputs", "register_flash",
    "scaled_dot_product_attention", "varlen_attn",
]
