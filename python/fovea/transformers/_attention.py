"""``register``: the attention function of transformers' models."""

from __future__ import annotations

import functools
from typing import Any, Callable, List, Optional, Tuple

import torch

from .._extras import need
from ..torch import flex_attention, varlen_attn
from ..torch.ops._checks import checked_backend
from ..torch.trace._attn_mask import causal
from ._masks import Mask, mask


def register(name: str = "fovea", *, backend: str = "cuda") -> None:
    """Registers Fovea with transformers' ``AttentionInterface`` and ``AttentionMaskInterface``.
    Models then take it by name, in ``from_pretrained(..., attn_implementation=name)`` or
    ``model.set_attn_implementation(name)``.

    name
        the name in transformers. Names with "flash", "sdpa" or "flex" have a meaning of their
        own there.
    backend
        as for ``fovea.torch.flex_attention``: "cuda", or "interpret" for models in host memory.

    Masks stay functions: no tensor of queries and keys is made for causal masks, windows,
    chunks, padding, packed sequences (``position_ids``) and masks that models add. With
    ``cu_seq_lens_q`` and ``cu_seq_lens_k`` the sequences of a batch entry are attended by
    ``varlen_attn``. Supported are soft caps, sinks (``s_aux``), ``position_bias``, masks of four
    dimensions that users pass, dynamic and static caches, and gradients.

    A model raises NotImplementedError for ``output_attentions``, ``head_mask``, and attention
    dropout in training; other errors are those of
    ``flex_attention``. Raises MissingPackageError without transformers, ValueError for another
    backend, and ImportError for a transformers without the interfaces.
    """
    need("transformers", "transformers", "fovea.transformers.register")
    import transformers
    from transformers import AttentionInterface

    try:
        from transformers import AttentionMaskInterface
    except ImportError:
        raise ImportError(f"transformers {transformers.__version__} has no AttentionMaskInterface, expected 5 or later") from None
    if not isinstance(name, str) or not name:
        raise ValueError(f"name must be a string that is not empty, found {name!r}")
    AttentionInterface.register(name, functools.partial(attend, backend=checked_backend(backend)))
    AttentionMaskInterface.register(name, mask)


#: Arguments that are not supported, with the reasons.
_REFUSED = {"output_attentions": "P is not computed as a tensor", "head_mask": "heads can't be masked"}


def attend(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: Any,
    scaling: Optional[float] = None,
    dropout: float = 0.0,
    sliding_window: Optional[int] = None,
    softcap: Optional[float] = None,
    s_aux: Optional[torch.Tensor] = None,
    position_bias: Optional[torch.Tensor] = None,
    is_causal: Optional[bool] = None,
    cu_seq_lens_q: Optional[torch.Tensor] = None,
    cu_seq_lens_k: Optional[torch.Tensor] = None,
    *,
    backend: str = "cuda",
    **others: Any,
) -> Tuple[torch.Tensor, None]:
    """An attention function of transformers: query, key and value are (batch, heads, length,
    head_dim); returns (batch, length, heads, head_dim), and None for P."""
    _check_supported(module, dropout, others)
    causally = bool(getattr(module, "is_causal", True) if is_causal is None else is_causal)
    if cu_seq_lens_q is not None and cu_seq_lens_k is not None:
        return _attend_packed(module, (query, key, value), (cu_seq_lens_q, cu_seq_lens_k), causally, sliding_window, position_bias,
                              scale=scaling, sinks=s_aux, score_mod=_score_mod(softcap, []), backend=backend), None
    added, mask_mod = [] if position_bias is None else [position_bias], None
    if isinstance(attention_mask, Mask):
        mask_mod = attention_mask.mask_mod  # with the window, if there is one
    elif isinstance(attention_mask, torch.Tensor):
        of_keys = _check_four(module, attention_mask)[..., :key.shape[2]]
        if attention_mask.dtype == torch.bool:
            mask_mod = _element_of(of_keys)
        else:
            added.append(of_keys)
    elif attention_mask is not None:
        raise TypeError(f"{_name(module)}: attention_mask must be a mask of fovea.transformers or a tensor, found "
                        f"{type(attention_mask).__name__}")
    elif sliding_window is not None and key.shape[2] > sliding_window:
        raise NotImplementedError(f"{_name(module)}: sliding_window={sliding_window} without a mask, expected a mask of "
                                  "AttentionMaskInterface")
    elif causally and query.shape[2] > 1:
        mask_mod = causal
    o = flex_attention(query, key, value, _score_mod(softcap, added), mask_mod, scaling, True, sinks=s_aux, backend=backend)
    return o.transpose(1, 2).contiguous(), None


def _name(module: torch.nn.Module) -> str:
    return type(module).__name__


def _check_supported(module: torch.nn.Module, dropout: float, others: Any) -> None:
    for name, reason in _REFUSED.items():
        one = others.get(name)
        if one is not None and one is not False:
            raise NotImplementedError(f"{_name(module)}: {name} is not supported, since {reason}; attn_implementation=\"eager\" "
                                      "supports it")
    if dropout:
        raise NotImplementedError(f"{_name(module)}: attention dropout {dropout} is not supported, expected 0: model.eval(), or "
                                  "a configuration without attention dropout")


def _check_four(module: torch.nn.Module, tensor: torch.Tensor) -> torch.Tensor:
    if tensor.dim() != 4:
        raise ValueError(f"{_name(module)}: attention_mask must have 4 dimensions (batch or 1, heads or 1, queries or 1, keys), "
                         f"found {tensor.dim()}")
    return tensor


def _element_of(tensor: torch.Tensor) -> Callable:
    """The element of a pair, of a tensor that broadcasts to (batch, heads, queries, keys)."""
    by_batch, by_head, by_query, by_key = (True if extent != 1 else False for extent in tensor.shape)

    def element(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return tensor[b if by_batch else 0, h if by_head else 0, q_idx if by_query else 0, kv_idx if by_key else 0]

    return element


def _score_mod(softcap: Optional[float], added: List[torch.Tensor]) -> Optional[Callable]:
    """A score_mod that caps the score, and then adds tensors."""
    if not softcap and not added:
        return None
    elements = [_element_of(one) for one in added]

    def score_mod(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        if softcap:
            score = softcap * torch.tanh(score / softcap)
        for element in elements:
            score = score + element(b, h, q_idx, kv_idx)
        return score

    return score_mod


def _attend_packed(module: torch.nn.Module, tensors: Tuple[torch.Tensor, ...], offsets: Tuple[torch.Tensor, ...],
                   causally: bool, sliding_window: Optional[int], position_bias: Any, **options: Any) -> torch.Tensor:
    """Attention of packed sequences by their offsets, as transformers' flash attention has it."""
    query, key, value = tensors
    if query.shape[0] != 1 or position_bias is not None:
        raise NotImplementedError(f"{_name(module)}: cu_seq_lens_q needs one batch entry and no position_bias, found "
                                  f"{query.shape[0]} entries" + " and a position_bias" * (position_bias is not None))
    # A window counts the query itself; without causality it extends to both sides.
    side = -1 if sliding_window is None else sliding_window - 1
    rows = [one.squeeze(0).transpose(0, 1) for one in (query, key, value)]
    cu_seq_q, cu_seq_k = (one.to(torch.int32) for one in offsets)
    # The lengths are read from the offsets.
    o = varlen_attn(*rows, cu_seq_q, cu_seq_k, 0, 0, window_size=(side, 0 if causally else side), enable_gqa=True, **options)
    return o.unsqueeze(0).contiguous()


__all__ = ["attend", "register"]
