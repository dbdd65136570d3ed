"""PyTorch's attention functions, compiled by Fovea, with unchanged signatures, BlockMasks, and
score_mods and mask_mods.

    >>> from fovea.torch import flex_attention
    >>> out = flex_attention(query, key, value, score_mod=soft_cap, block_mask=block_mask)  # doctest: +SKIP

``flex_attention`` and ``scaled_dot_product_attention`` run on CUDA. They call the op
``torch.ops.fovea.attention``, which torch.compile keeps in its graph.
"""

from .._distribution import refuse_foreign_package

refuse_foreign_package()

from .._extras import need

need("torch", "torch", "fovea.torch")

from .trace import _aten, _composed, _powers, _searches, _views  # noqa: F401 (registers their ops)
from ._attention import flex_attention, scaled_dot_product_attention

__all__ = ["flex_attention", "scaled_dot_product_attention"]
