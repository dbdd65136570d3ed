"""FlashAttention's functions, for tensors in host memory: the interpreter, for tests."""

from fovea.transformers._flash import functions

flash_attn_func, flash_attn_varlen_func, flash_attn_with_kvcache = functions("interpret")

__all__ = ["flash_attn_func", "flash_attn_varlen_func", "flash_attn_with_kvcache"]
