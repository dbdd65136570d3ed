"""Converts tensors of scaled_dot_product_attention with any number of leading dimensions to
four dimensions, and the output back."""

from __future__ import annotations

from typing import Optional, Tuple

import torch


def as_four(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attn_mask: Optional[torch.Tensor]
            ) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor, Optional[torch.Tensor]]:
    """Reshapes all tensors to (batch, heads, rows, columns). Raises ValueError."""
    dims = query.dim()
    if dims < 2:
        raise ValueError(f"query must have 2 dimensions (queries, head_dim) or more, found {dims}")
    for name, tensor in (("key", key), ("value", value)):
        if tensor.dim() != dims:
            raise ValueError(f"query and {name} must have the same number of dimensions, found {dims} and {tensor.dim()}")
        if dims > 4 and tensor.shape[:-3] != query.shape[:-3]:
            raise ValueError(f"query and {name} must agree in leading dimensions, found {list(query.shape)} and "
                             f"{list(tensor.shape)}")
    if attn_mask is not None and attn_mask.dim() > dims:
        raise ValueError(f"attn_mask must not have more dimensions than query, found {attn_mask.dim()} and {dims}")
    if dims == 2:
        query, key, value = query[None, None], key[None, None], value[None, None]
    elif dims == 3:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        attn_mask = attn_mask.unsqueeze(1) if attn_mask is not None and attn_mask.dim() == 3 else attn_mask
    elif dims > 4:
        if attn_mask is not None and attn_mask.dim() > 3:
            lead = attn_mask.shape[:-3]
            lead = (1,) * (dims - 3 - len(lead)) + tuple(lead)
            if any(found not in (1, wanted) for found, wanted in zip(lead, query.shape)):
                raise ValueError(f"attn_mask must broadcast to the leading dimensions of query, found {list(attn_mask.shape)} "
                                 f"and {list(query.shape)}")
            # Copies if it is broadcast in only some of these dimensions.
            attn_mask = attn_mask.expand(*query.shape[:-3], *attn_mask.shape[-3:]).flatten(0, -4)
        query, key, value = (one.flatten(0, -4) for one in (query, key, value))
    return query, key, value, attn_mask


def as_before(o: torch.Tensor, query: torch.Tensor) -> torch.Tensor:
    """Reshapes the output to query's leading dimensions."""
    dims = query.dim()
    if dims > 4:
        return o.unflatten(0, query.shape[:-3])
    return o[0, 0] if dims == 2 else o.squeeze(1)
