"""Fovea as an attention implementation of Hugging Face's transformers, for unmodified models.

    >>> import fovea.transformers
    >>> fovea.transformers.register()  # doctest: +SKIP
    >>> model = AutoModelForCausalLM.from_pretrained(name, attn_implementation="fovea")  # doctest: +SKIP

``register`` adds the implementation; ``kernel_folder`` has the functions of FlashAttention's
package as a local kernel, for continuous batching.
"""

from .._distribution import refuse_foreign_package

refuse_foreign_package()

from .._extras import need

need("torch", "torch", "fovea.transformers")

from ._attention import register
from ._flash import kernel_folder

__all__ = ["kernel_folder", "register"]
