"""A small GPT whose attention is a variant: soft-capped scores, a learned per-head bias by relative
position, and documents packed into rows.
"""

import functools
import warnings

import torch
from torch import nn
from torch.nn import functional as F

CAP = 20.0
#: Numbers of a table for each head; the last one is that of all distances from there on.
SPAN = 128
BIASES = ("table", "slopes")


def first_slopes(heads):
    return torch.tensor([2.0 ** (-8 * (n + 1) / heads) for n in range(heads)])


class Bias:
    """The bias that each head adds to scores, by the relative position of query and key: a "table",
    which is a `parameter` of heads and relative positions, or "slopes", one factor per head. Both
    are initialised with the same slopes. `fixed`: not trained.
    """

    def __init__(self, kind, heads, length, device, fixed=False):
        slopes = first_slopes(heads).to(device)
        if kind == "table":
            slopes = -slopes[:, None] * torch.arange(min(SPAN, length), device=device)
        self.kind, self.parameter = kind, slopes if fixed else nn.Parameter(slopes)

    def function(self):
        """The bias of a head and a relative position. It only refers to tensors, so that it is
        traced once.
        """
        parameter = self.parameter
        if self.kind == "slopes":
            return lambda h, distance: -parameter[h] * distance
        last = parameter.shape[1] - 1
        return lambda h, distance: parameter[h, distance.clamp(0, last)]


#: Options to try with PyTorch's flex_attention, which also stages the tensors that score_mod reads
#: and may exceed shared memory.
KERNEL_OPTIONS = (None, {"num_stages": 1})


class Variant:
    """The variant's functions in FlexAttention's form. They read ``docs``, which each step refills,
    and ``bias.parameter``.
    """

    def __init__(self, heads, rows, length, device, bias="table", fixed=False):
        self.docs = torch.zeros(rows, length, dtype=torch.int32, device=device)
        self.heads, self.bias = heads, Bias(bias, heads, length, device, fixed)
        docs, added = self.docs, self.bias.function()

        def score_mod(score, b, h, q_idx, kv_idx):
            return CAP * torch.tanh(score / CAP) + added(h, q_idx - kv_idx)

        def mask_mod(b, h, q_idx, kv_idx):
            return (q_idx >= kv_idx) & (docs[b, q_idx] == docs[b, kv_idx])

        self.score_mod, self.mask_mod = score_mod, mask_mod

    def attention(self, name, device):
        """The function of query, key and value that computes it."""
        if name == "fovea":
            import fovea.torch

            return functools.partial(fovea.torch.flex_attention, score_mod=self.score_mod, block_mask=self.mask_mod,
                                     backend="cuda" if device.type == "cuda" else "interpret")
        return self._compiled_by_pytorch() if device.type == "cuda" else self._written_down

    def _compiled_by_pytorch(self):
        """flex_attention by PyTorch's compiler, its BlockMask made of each step's documents."""
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention

        compiled, make = torch.compile(flex_attention), torch.compile(create_block_mask)
        rows, length = self.docs.shape
        made = {}

        def choose(query, *others):
            """The first kernel_options that its kernels, the gradients' too, run with."""
            for options in KERNEL_OPTIONS[:-1]:
                try:
                    result = compiled(query, *others, kernel_options=options)
                    if result.requires_grad:
                        torch.autograd.grad(result.sum(), query)
                    return options
                except Exception:  # noqa: BLE001: of PyTorch's compiler, of Triton's, or of the driver
                    continue
            return KERNEL_OPTIONS[-1]

        def attend(query, key, value):
            step = self.docs._version
            if made.get("step") != step:
                made.update(step=step, mask=make(self.mask_mod, rows, None, length, length, device=self.docs.device))
            given = query, key, value, self.score_mod, made["mask"]
            if "options" not in made:
                made["options"] = choose(*given)
            return compiled(*given, kernel_options=made["options"])

        return attend

    def _written_down(self, query, key, value):
        """On the CPU, where PyTorch's flex_attention has no gradients."""
        at, heads = torch.arange(query.shape[2]), torch.arange(self.heads)[:, None, None]
        scores = self.score_mod(query @ key.mT * query.shape[-1] ** -0.5, 0, heads, at[:, None], at)
        seen = (at[:, None] >= at) & (self.docs[:, None, :, None] == self.docs[:, None, None, :])
        return scores.masked_fill(~seen, -torch.inf).softmax(-1) @ value


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.inputs, self.output = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, attend):
        heads = self.inputs(self.before(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        x = x + self.output(attend(*heads).transpose(1, 2).flatten(-2))
        return x + self.down(F.gelu(self.up(self.between(x))))


class GPT(nn.Module):
    """Bytes to scores of the byte that follows."""

    def __init__(self, layers, width, heads):
        super().__init__()
        self.tokens = nn.Embedding(256, width)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.last = nn.LayerNorm(width)
        for parameter in self.parameters():
            if parameter.dim() == 2:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, tokens, attend):
        """`attend`: a function of query, key and value, or one for each layer."""
        x = self.tokens(tokens)
        for number, layer in enumerate(self.layers):
            x = layer(x, attend[number] if isinstance(attend, list) else attend)
        return self.last(x) @ self.tokens.weight.T


def quiet():
    """Disables PyTorch's warning about uncompiled calls."""
    warnings.filterwarnings("ignore", message=".*flex_attention called without torch.compile.*")
