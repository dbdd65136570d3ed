"""Reference implementation of attention in torch, and the tolerance of kernels.

The rule: in each row (one query of one head) the L2 norm of the error is at most three times that
of a direct evaluation in the same types (f32 scores, probabilities rounded to the element type, f32
accumulation, rounded output) plus that of two units in the last place of every element. LSE is
within 1e-3, plus the error of f32 sums of products: 2^-19 of the largest sum of their magnitudes in
the row (tensor cores truncate sums, 16 products at a time). Such an error of the scores changes the
probabilities by the same fraction, and the output by at most that times the norm of the longest
value. Over 64 rows or more, the average error in units of the row's last place is at most 1.1 times
that of the direct evaluation, plus a statistical margin.
"""

import dataclasses
import math

import torch

import gpu_variants

SLACK, ULPS = 3.0, 2.0
MEAN, MEAN_ROWS, MEAN_DEVIATIONS, MEAN_ABSOLUTE = 1.1, 64, 4.0, 0.01
LSE_ABSOLUTE, LSE_OF_PRODUCTS = 1e-3, 2.0**-19
# Mantissa bits with the hidden one, and the exponent of the smallest step.
FORMATS = {torch.bfloat16: (8, -133), torch.float16: (11, -24), torch.float32: (24, -149)}


@dataclasses.dataclass
class Sizes:
    B: int
    Hq: int
    Hkv: int
    Sq: int
    Skv: int


def visible(variant, sizes, captures, device, lengths=None, rows=None):
    """The mask as a tensor that broadcasts to (B, Hq, Sq, Skv), or None. With
    `rows` only of these query positions."""
    mask = variant.mask(*coordinates(sizes, device, rows), sizes, captures) if variant.mask else None
    if lengths is not None:
        j = torch.arange(sizes.Skv, device=device).view(1, 1, 1, -1)
        inside = j < lengths.view(-1, 1, 1, 1)
        mask = inside if mask is None else mask & inside
    return mask


def coordinates(sizes, device, rows=None):
    shapes = ((sizes.B, (-1, 1, 1, 1)), (sizes.Hq, (1, -1, 1, 1)), (sizes.Sq, (1, 1, -1, 1)), (sizes.Skv, (1, 1, 1, -1)))
    result = [torch.arange(size, device=device).view(shape) for size, shape in shapes]
    if rows is not None:
        result[2] = rows.view(1, 1, -1, 1)
    return result


def _philox(counter, key):
    """Philox 4x32-7: four words, of four words and two, in i64 tensors and
    numbers."""
    mask = 0xFFFFFFFF

    def multiply(x, factor):
        low = x * (factor & 0xFFFF)
        rest = x * (factor >> 16) + (low >> 16)
        return rest >> 16, ((rest & 0xFFFF) << 16) | (low & 0xFFFF)

    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(7):
        high0, low0 = multiply(c0, 0xD2511F53)
        high2, low2 = multiply(c2, 0xCD9E8D57)
        c0, c1, c2, c3 = high2 ^ c1 ^ k0, low2, high0 ^ c3 ^ k1, low0
        k0, k1 = (k0 + 0x9E3779B9) & mask, (k1 + 0xBB67AE85) & mask
    return c0, c1, c2, c3


def random_numbers(seed, offset, b, h, i, j, heads):
    """The random number of attn.forward's dropout for each probability, from 0 to 65535."""
    mask = 0xFFFFFFFF
    counter = (j // 8, i, b * heads + h, torch.tensor(offset & mask, device=i.device))
    words = _philox(torch.broadcast_tensors(*counter), (seed & mask, ((seed >> 32) ^ (offset >> 32)) & mask))
    index = j % 8 // 2
    word = torch.where(index < 2, torch.where(index == 0, words[0], words[1]), torch.where(index == 2, words[2], words[3]))
    return torch.where(j % 2 == 0, word & 0xFFFF, word >> 16)


@dataclasses.dataclass
class Extras:
    """Additions to the softmax besides the scores (sinks), and dropout."""

    sinks: object = None
    seed: int = 0
    offset: int = 0


def attention(variant, q, k, v, scale, captures, lengths, precision, rows=None, queries=None, extras=None):
    """(O, LSE) of tensors (B, H, S, D). `precision` torch.float64 is the
    meaning; torch.float32 the straightforward evaluation in v's type. If q is a
    sample of a longer sequence, `rows` are its positions of `queries`."""
    sizes = Sizes(q.shape[0], q.shape[1], k.shape[1], queries or q.shape[2], k.shape[2])
    group = sizes.Hq // sizes.Hkv
    q, k = q.to(precision), k.to(precision).repeat_interleave(group, 1)
    s = q @ k.transpose(-1, -2) * scale
    if variant.score:
        s = variant.score(s, *coordinates(sizes, q.device, rows), sizes, captures)
    mask = visible(variant, sizes, captures, q.device, lengths, rows)
    if mask is not None:
        s = torch.where(mask, s, torch.full((), -torch.inf, dtype=s.dtype, device=s.device))
    m = s.amax(-1, keepdim=True) if sizes.Skv else s.new_full((*s.shape[:-1], 1), -torch.inf)
    sinks = extras.sinks.to(s.dtype).view(1, -1, 1, 1) if variant.sinks else None
    if variant.sinks:
        m = torch.maximum(m, sinks)
    m = torch.where(m == -torch.inf, torch.zeros_like(m), m)
    p = torch.exp(s - m)
    del s
    total = p.sum(-1, keepdim=True)
    if variant.sinks:
        total = total + torch.exp(sinks - m)
    lse = (m + total.log()).squeeze(-1)
    p = torch.where(total == 0, p, p / total)
    if variant.dropout:
        dropped = round(variant.dropout * 65536)
        numbers = random_numbers(extras.seed, extras.offset, *coordinates(sizes, q.device, rows), sizes.Hq)
        p = torch.where(numbers >= dropped, p * (65536 / (65536 - dropped)), torch.zeros_like(p))
    if precision != torch.float64:
        p = p.to(v.dtype)
    o = p.to(precision) @ v.to(precision).repeat_interleave(group, 1)
    return (o if precision == torch.float64 else o.to(v.dtype)), lse


def packed_attention(variant, q, k, v, scale, captures, packed, precision):
    """`attention` for packed sequences; rows outside of all sequences are NaN."""
    o = torch.full((*q.shape[:3], v.shape[3]), torch.nan, dtype=precision, device=q.device)
    o = o if precision == torch.float64 else o.to(v.dtype)
    lse = torch.full(q.shape[:3], torch.nan, dtype=precision, device=q.device)
    queries, keys = ([offsets.tolist() for offsets in packed])
    for n in range(len(queries) - 1):
        rows, columns = slice(queries[n], queries[n + 1]), slice(keys[n], keys[n + 1])
        parts = q[:, :, rows], k[:, :, columns], v[:, :, columns]
        o[:, :, rows], lse[:, :, rows] = attention(variant, *parts, scale, captures, None, precision)
    return o, lse


def product_magnitude(q, k, scale):
    """For each row the largest sum of magnitudes of the products in a score."""
    k = k.abs().float().repeat_interleave(q.shape[1] // k.shape[1], 1)
    sums = q.abs().float() @ k.transpose(-1, -2) * abs(scale)
    return sums.nan_to_num(0.0, 0.0).amax(-1).double() if k.shape[2] else sums.sum(-1).double()


def ulp(x, dtype):
    """One unit in the last place of `dtype` at each element of x, in f64."""
    bits, least = FORMATS[dtype]
    _, exponent = torch.frexp(x.abs())
    step = torch.where(x == 0, torch.full_like(exponent, least), exponent - bits)
    return torch.ldexp(torch.ones_like(x), step.clamp(min=least))


@dataclasses.dataclass
class Verdict:
    ok: bool
    worst: float
    message: str = ""


def value_length(v):
    """The largest L2 norm of a row of values, finite ones."""
    return v.double().nan_to_num(0.0, 0.0, 0.0).norm(dim=-1).max().item() if v.numel() else 0.0


def compare_means(error, base, unit):
    """Checks the mean error of rows in units of the row's last place, by fovea-run's rule
    (docs/Guides/Debugging.md); returns a message or "".
    """
    known = unit > 0
    # Rows with equal errors, as where rows have equal weights, are one observation.
    error, base = torch.unique(torch.stack([error[known] / unit[known], base[known] / unit[known]], -1), dim=0).unbind(-1)
    if len(error) < MEAN_ROWS:
        return ""
    excess = error - MEAN * base
    chance = MEAN_DEVIATIONS * excess.std(unbiased=False).item() / math.sqrt(excess.numel())
    if excess.mean().item() <= chance + MEAN_ABSOLUTE:
        return ""
    return f"rows are off by {error.mean().item():.3f} units on average, the baseline's by {base.mean().item():.3f}"


def compare(o, lse, exact, exact_lse, plain, may_be_nan=None, magnitude=0.0, length=0.0):
    """Checks a kernel's results. `may_be_nan` marks elements of O that may be NaN; `magnitude` is
    the result of `product_magnitude`, `length` that of `value_length`. `worst` is the largest ratio
    of error to tolerance.
    """
    dtype = plain.dtype
    o64, plain = o.double(), plain.double()
    expected_nan, found_nan = exact.isnan(), o64.isnan()
    wrong = expected_nan != found_nan
    if may_be_nan is not None:
        wrong &= ~may_be_nan
    if wrong.any():
        where = tuple(wrong.nonzero()[0].tolist())
        return Verdict(False, float("inf"), f"O{list(where)} is {o64[where].item()}, expected {exact[where].item()} "
                       f"({int(wrong.sum())} elements differ in being NaN)")
    skip = expected_nan | found_nan
    zero = torch.zeros((), dtype=torch.float64, device=o.device)
    error = torch.where(skip, zero, o64 - exact).norm(dim=-1)
    base = torch.where(skip, zero, (plain - exact).nan_to_num(0.0)).norm(dim=-1)
    allowed = SLACK * base + ULPS * torch.where(skip, zero, ulp(exact.nan_to_num(0.0), dtype)).norm(dim=-1)
    allowed = allowed + LSE_OF_PRODUCTS * magnitude * length
    ratio = torch.where(error == 0, zero, error / allowed)
    worst = ratio.max().item() if ratio.numel() else 0.0
    if not worst <= 1:
        where = tuple((ratio.nan_to_num(float("inf")) == ratio.nan_to_num(float("inf")).max()).nonzero()[0].tolist())
        return Verdict(False, worst, f"row {list(where)} is off by {error[where].item():.3g} where "
                       f"{allowed[where].item():.3g} is allowed; {int((ratio > 1).sum())} of {ratio.numel()} rows")
    unit = torch.where(skip, zero, ulp(exact.nan_to_num(0.0), dtype)).norm(dim=-1)
    said = compare_means(error, base + LSE_OF_PRODUCTS * magnitude * length, unit)
    if said:
        return Verdict(False, worst, said)
    if lse is None:
        return Verdict(True, worst)
    lse = lse.double()
    same = (lse == exact_lse) | (lse.isnan() & exact_lse.isnan())
    off = torch.where(same, zero, (lse - exact_lse).abs())
    bad = ~(off <= LSE_ABSOLUTE + LSE_OF_PRODUCTS * magnitude)
    if bad.any():
        where = tuple(bad.nonzero()[0].tolist())
        return Verdict(False, float("inf"), f"LSE{list(where)} is {lse[where].item()}, expected "
                       f"{exact_lse[where].item()}; {int(bad.sum())} of {bad.numel()} rows")
    return Verdict(True, worst)


def _sample(size, count, generator, device):
    """Sorted positions: both ends, and random ones."""
    if size <= count:
        return torch.arange(size, device=device)
    some = torch.randint(0, size, (count - 2,), generator=generator, device=device)
    return torch.cat([some, torch.tensor([0, size - 1], device=device)]).unique()


def compare_sample(variant, tensors, generator, batches=4, heads=4, rows=96):
    """`compare` for some rows of some heads; no result may be NaN. For variants without captures
    and lengths that do not depend on the head.
    """
    if variant.captures or variant.lengths or variant.packed or variant.sinks or variant.dropout or variant.blocks:
        raise ValueError("a sample of a variant that asks which head it is")
    # Whole tensors are looked at a batch portion at a time: they may be large.
    portion = max(1, 2**28 // max(1, tensors.o[0].numel()))
    for first in range(0, tensors.o.shape[0], portion):
        if tensors.o[first : first + portion].isnan().any() or tensors.lse[first : first + portion].isnan().any():
            return Verdict(False, float("inf"), f"a row of batches {first} to {first + portion - 1} is NaN or not written")
    device, group = tensors.q.device, tensors.q.shape[1] // tensors.k.shape[1]
    b, h, i = (_sample(tensors.q.shape[dim], count, generator, device) for dim, count in enumerate((batches, heads, rows)))
    q, o, lse = (tensor[b][:, h][:, :, i] for tensor in (tensors.q, tensors.o, tensors.lse))
    k, v = (tensor[b][:, h // group] for tensor in (tensors.k, tensors.v))
    arguments = (variant, q, k, v, tensors.scale, [], None)
    exact, exact_lse = attention(*arguments, torch.float64, i, tensors.q.shape[2])
    plain, _ = attention(*arguments, torch.float32, i, tensors.q.shape[2])
    return compare(o, lse, exact, exact_lse, plain, None, product_magnitude(q, k, tensors.scale), value_length(v))


def nan_in_values(variant, sizes, captures, device, key, column, value_dim, blocks=256):
    """For a NaN in V at row `key`, column `column`: the elements of O that must be NaN (rows that
    see the key), and those that may be (rows for which a block with the key may be processed).
    """
    mask = visible(variant, sizes, captures, device)
    shape = (sizes.B, sizes.Hq, sizes.Sq, sizes.Skv)
    mask = torch.ones(shape, dtype=torch.bool, device=device) if mask is None else mask.expand(shape)
    must = torch.zeros((sizes.B, sizes.Hq, sizes.Sq, value_dim), dtype=torch.bool, device=device)
    must[..., column] = mask[..., key]
    near = mask[..., max(0, key - blocks) : key + blocks].any(-1)
    # The other rows of a CTA determine which blocks are processed.
    near = torch.nn.functional.max_pool1d(near.float(), 2 * blocks + 1, 1, blocks).bool()
    may = torch.zeros_like(must)
    may[..., column] = near
    return must, may


def variant_of(config):
    return gpu_variants.VARIANTS[config.variant]
