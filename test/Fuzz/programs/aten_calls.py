"""Programs written for PyTorch: traced by fovea.torch, and evaluated by PyTorch's own
flex_attention in f64.
"""

import warnings

import numpy
import rules
import torch
from torch.nn.attention import flex_attention as flex

import fovea.torch  # noqa: F401
from fovea.frontend._program import BLOCK_LISTS
from fovea.torch.ops import _block_mask
from fovea.torch.cache._programs import Facts, build

DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}
#: Tolerance between two f64 evaluations; functions of integers, which PyTorch evaluates in f32, are
#: within score_error.
RELATIVE = 1e-6

torch.set_num_threads(1)
# Else PyTorch compiles the call with a backend that does nothing, which takes half a second.
flex._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = True


def tensor(array, dtype, view):
    """A tensor with an array's elements and the requested view."""
    plain = torch.from_numpy(numpy.asarray(array).copy())
    plain = plain.to(torch.bfloat16) if dtype == "bf16" else plain
    if view == "every_other" and plain.dim():
        wide = torch.zeros(*plain.shape[:-1], plain.shape[-1] * 2, dtype=plain.dtype)
        made = wide[..., ::2]
    elif view == "transposed" and plain.dim() > 1:
        made = torch.zeros(plain.shape[::-1], dtype=plain.dtype).permute(*reversed(range(plain.dim())))
    elif view == "offset" and plain.dim():
        made = torch.zeros(plain.shape[0] + 1, *plain.shape[1:], dtype=plain.dtype)[1:]
    else:
        return plain
    made.copy_(plain)
    return made


def make_block_mask(prepared):
    form, mask_mod = prepared.form, prepared.functions.get("mask_mod")
    if mask_mod is None:
        return None
    size = (form["blocks"]["queries"], form["blocks"]["keys"]) if form["blocks"] else 128
    return flex.create_block_mask(mask_mod, form["batch"], form["heads"], form["queries"], form["keys"], device="cpu", BLOCK_SIZE=size)


def trace(prepared):
    """(Spec, inputs by their names, BlockMask or None)."""
    form, tensors = prepared.form, prepared.tensors_of_torch
    mask_mod, blocks, lists, block_mask = prepared.functions.get("mask_mod"), None, (), None
    if mask_mod is not None and form["blocks"]:
        block_mask = make_block_mask(prepared)
        mask_mod, blocks, _, lists, _ = _block_mask.read(block_mask, tensors["q"], tensors["k"])
    facts = Facts(DTYPES[form["dtype"]], torch.device("cpu"), form["head_dim"], form["value_head_dim"], form["scale"], False,
                  form["lse"], blocks)
    program = build(prepared.functions.get("score_mod"), mask_mod, facts)
    named = {name: prepared.arrays[name] for name in ("q", "k", "v")}
    named.update(zip(BLOCK_LISTS, lists))
    for index, one in enumerate(program.captures):
        one = one.reshape(1) if not one.dim() else one
        # Kernels read the bits.
        named[f"capture{index}"] = one.view(torch.int8) if one.dtype == torch.uint8 else one
    return program.spec, named, block_mask


def compare(prepared):
    """Compares the meaning with PyTorch's result; returns a message or ""."""
    form = prepared.form
    q, k, v = (prepared.tensors_of_torch[name].double() for name in ("q", "k", "v"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        block_mask = prepared.block_mask or make_block_mask(prepared)
        o, lse = flex.flex_attention(q, k, v, prepared.functions.get("score_mod"), block_mask, scale=form["scale"],
                                     enable_gqa=True, return_lse=True)
    tolerance = 2 * form["score_error"] + RELATIVE
    meaning = prepared.meaning
    message = rules.check_close(meaning[0], o.numpy(), tolerance * max(prepared.value_length, 1e-30))
    if not message and meaning[1] is not None:
        difference = rules.check_close(meaning[1], lse.numpy(), tolerance + RELATIVE * numpy.abs(meaning[1]))
        message = difference and f"log-sum-exp: {difference}"
    return message
