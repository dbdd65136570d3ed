"""FlashAttention's functions, on CUDA."""

from fovea.transformers._flash import functions

flash_attn_func, flash_attn_varlen_func, flash_attn_with_kvcache = functions("cuda")

__all__ = ["flash_attn_func", "flash_attn_varlen_func", "flash_attn_with_kvcache"]
