"""score_mods and mask_mods as FlexAttention's users write them, PyTorch's examples first. Each is
called by PyTorch and traced by Fovea."""

import torch
from torch.nn.attention.flex_attention import and_masks, or_masks

BATCH, HEADS, KV_HEADS, QUERIES, KEYS, DIM = 2, 4, 2, 33, 40, 16
GENERATOR = torch.Generator().manual_seed(0)


def draw(*shape, dtype=torch.float32):
    return torch.randn(*shape, generator=GENERATOR).to(dtype)


def integers(low, high, *shape, dtype=torch.int64):
    return torch.randint(low, high, shape, generator=GENERATOR).to(dtype)


SLOPES = torch.exp2(-torch.arange(1, HEADS + 1) * 8.0 / HEADS)
DOCUMENTS = integers(0, 3, KEYS).sort().values
DOCUMENTS_OF_BATCH = integers(0, 3, BATCH, KEYS, dtype=torch.int32).sort(dim=1).values
PREFIXES = torch.tensor([5, 17])
TABLE = draw(HEADS, 33)
BIAS = draw(QUERIES, KEYS, dtype=torch.float16)
BIAS_BF16 = draw(BATCH, 1, QUERIES, KEYS, dtype=torch.bfloat16)
KEEP = integers(0, 2, BATCH, KEYS).bool()
POSITIONS = draw(KEYS, 3)
STEPS = torch.arange(KEYS) * 0.1 - 1.5
SIGNED = integers(-9, 10, KEYS, dtype=torch.int32)
NONZERO = torch.where(SIGNED == 0, 3, SIGNED)
SMALL = integers(-9, 10, KEYS, dtype=torch.int8)
BYTES = integers(0, 256, KEYS, dtype=torch.uint8)
SHORTS = integers(-(1 << 15), 1 << 15, QUERIES, KEYS, dtype=torch.int16)
UNSIGNED = [integers(0, 1 << 16, KEYS).to(torch.uint16), integers(0, 1 << 32, KEYS).to(torch.uint32)]
GAIN = torch.tensor(0.75)
OFFSETS = torch.tensor([0, 9, 22, 40])
WINDOW = 6
#: Numbers that differ only above the lower 32 bits.
LONG_DOCUMENTS = (DOCUMENTS_OF_BATCH.long() - 1) * 2**32 + 5
LONG_COUNTS = torch.tensor([2**32 + 9, 2**40 + 21])


# --- Masks --------------------------------------------------------------------


def causal(b, h, q_idx, kv_idx):
    return q_idx >= kv_idx


def sliding_window(b, h, q_idx, kv_idx):
    return q_idx - kv_idx <= WINDOW


sliding_window_causal = and_masks(causal, sliding_window)


def prefix(b, h, q_idx, kv_idx):
    return kv_idx <= PREFIXES[b]


prefix_lm = or_masks(prefix, causal)


def document(b, h, q_idx, kv_idx):
    return DOCUMENTS[q_idx] == DOCUMENTS[kv_idx]


document_causal = and_masks(causal, document)


def document_of_batch(b, h, q_idx, kv_idx):
    same = DOCUMENTS_OF_BATCH[b, q_idx] == DOCUMENTS_OF_BATCH[b, kv_idx]
    return same & (q_idx >= kv_idx)


def long_document(b, h, q_idx, kv_idx):
    return (LONG_DOCUMENTS[b, q_idx] == LONG_DOCUMENTS[b, kv_idx]) & (LONG_DOCUMENTS[b, kv_idx] != 5)


def long_counts(b, h, q_idx, kv_idx):
    """Scalars that need more than 32 bits, and values computed from them."""
    return (kv_idx < LONG_COUNTS[b] % 2**32) & (q_idx + 2**33 < LONG_COUNTS[b] + 2**34)


def packed_positions(b, h, q_idx, kv_idx):
    """Positions within documents, by their offsets."""
    q_logical, kv_logical = q_idx - OFFSETS[DOCUMENTS[q_idx]], kv_idx - OFFSETS[DOCUMENTS[kv_idx]]
    return torch.where(DOCUMENTS[q_idx] == DOCUMENTS[kv_idx], q_logical >= kv_logical, False)


def natten(b, h, q_idx, kv_idx):
    width, kernel = 8, 3
    q_x, q_y = q_idx // width, q_idx % width
    kv_x, kv_y = kv_idx // width, kv_idx % width
    center_x = q_x.clamp(kernel // 2, (width - 1) - kernel // 2)
    center_y = q_y.clamp(kernel // 2, (width - 1) - kernel // 2)
    return ((center_x - kv_x).abs() <= kernel // 2) & ((center_y - kv_y).abs() <= kernel // 2)


def tiled_natten(b, h, q_idx, kv_idx):
    def coordinates(index):
        tile = torch.div(index, 16, rounding_mode="floor")
        inside = torch.remainder(index, 16)
        return torch.div(tile, 2, rounding_mode="trunc") * 4 + inside // 4, (tile % 2) * 4 + inside.fmod(4)

    (q_x, q_y), (kv_x, kv_y) = coordinates(q_idx), coordinates(kv_idx)
    return torch.logical_and(torch.abs(q_x - kv_x) <= 2, torch.abs(q_y - kv_y) <= 2)


def dilated(b, h, q_idx, kv_idx):
    return (kv_idx - q_idx) % 3 == 1


def dilated_negative(b, h, q_idx, kv_idx):
    return ((kv_idx - q_idx) % -3 == -1) | (torch.fmod(kv_idx - q_idx, 4) == -1)


def keep(b, h, q_idx, kv_idx):
    return KEEP[b, kv_idx].logical_not()


def by_head(b, h, q_idx, kv_idx):
    return torch.where(h % 2 == 0, q_idx >= kv_idx, q_idx <= kv_idx)


def by_float(b, h, q_idx, kv_idx):
    return kv_idx <= q_idx * 0.5 + 1.5


def bits(b, h, q_idx, kv_idx):
    return (((q_idx ^ kv_idx) & 5) != 0) ^ (((q_idx >> 1) | (kv_idx << 1)) % 3 == 0)


def near(b, h, q_idx, kv_idx):
    """A reduction over a short dimension."""
    return (POSITIONS[q_idx] - POSITIONS[kv_idx]).pow(2).sum(-1) < 3.0


def nothing_in_rows(b, h, q_idx, kv_idx):
    return (q_idx % 5 != 0) & causal(b, h, q_idx, kv_idx)


def everything(b, h, q_idx, kv_idx):
    return torch.ones_like(q_idx, dtype=torch.bool)


# --- Scores -------------------------------------------------------------------


def identity(score, b, h, q_idx, kv_idx):
    return score


def relative_position(score, b, h, q_idx, kv_idx):
    return score + (q_idx - kv_idx)


def alibi(score, b, h, q_idx, kv_idx):
    return score + SLOPES[h] * (kv_idx - q_idx)


def alibi_formula(score, b, h, q_idx, kv_idx):
    return score + torch.exp2(-((h + 1) * 8.0 / HEADS)) * (kv_idx - q_idx)


def soft_cap(score, b, h, q_idx, kv_idx):
    return 20 * torch.tanh(score / 20)


def checkerboard(score, b, h, q_idx, kv_idx):
    score = torch.where(torch.abs(kv_idx - q_idx) % 2 == 1, score * 0.5, score)
    return torch.where(torch.abs(kv_idx - q_idx) % 2 == 0, score * 2.0, score)


def causal_score(score, b, h, q_idx, kv_idx):
    return torch.where(q_idx >= kv_idx, score, -float("inf"))


def relative_table(score, b, h, q_idx, kv_idx):
    return score + TABLE[h, (kv_idx - q_idx).clamp(-16, 16) + 16]


def negative_index(score, b, h, q_idx, kv_idx):
    return score + TABLE[h, (kv_idx - q_idx).clip(-16, 16)] * TABLE[h][-1]


def bias_of_halves(score, b, h, q_idx, kv_idx):
    return score + BIAS[q_idx, kv_idx] / 3


def bias_broadcast(score, b, h, q_idx, kv_idx):
    return score + BIAS_BF16[b, 0, q_idx, kv_idx].exp()


def bias_computed_whole(score, b, h, q_idx, kv_idx):
    return score + (BIAS.float() * 2 - BIAS.float().mT.mT.abs())[q_idx][kv_idx]


def in_place(score, b, h, q_idx, kv_idx):
    score *= GAIN
    score += SLOPES[h]
    return score


def quotients(score, b, h, q_idx, kv_idx):
    """Quotients for which rounding and rounding down differ."""
    return score + STEPS[kv_idx] // 0.1 - torch.div(STEPS[kv_idx], 0.3, rounding_mode="trunc")


def remainders(score, b, h, q_idx, kv_idx):
    return score + STEPS[kv_idx] % 0.75 - STEPS[kv_idx] % -0.5 + torch.fmod(STEPS[kv_idx], 0.4)


def integer_quotients(score, b, h, q_idx, kv_idx):
    a, n = SIGNED[q_idx], NONZERO[kv_idx]
    return score + a // n - torch.div(a, n, rounding_mode="trunc") + a % n + a.fmod(n) + a / n


def small_integers(score, b, h, q_idx, kv_idx):
    return score + SMALL[kv_idx] * 100 - SMALL[kv_idx].to(torch.int32) * 100 + SMALL[q_idx].abs()


def functions(score, b, h, q_idx, kv_idx):
    return torch.sigmoid(score) + torch.log1p(score.abs()) - torch.exp(-score.square()) + torch.rsqrt(kv_idx + 1) + (
        torch.sin(score) * torch.cos(score) - torch.erf(score) + torch.expm1(torch.minimum(score, score.new_tensor(1.0))))


def powers(score, b, h, q_idx, kv_idx):
    return score**3 / 4 - score.abs() ** 0.5 + (q_idx - kv_idx) ** 2 * 0.01 + 2.0 ** (-q_idx * 0.1) + (1 + q_idx) ** -1.0


def rounding(score, b, h, q_idx, kv_idx):
    x = STEPS[kv_idx]
    return score + torch.round(x * 5) + torch.floor(x) - torch.ceil(x) + torch.trunc(x * 2) + x.to(torch.int32) + x.sign()


def activations(score, b, h, q_idx, kv_idx):
    return torch.nn.functional.gelu(score) + torch.nn.functional.silu(score) + torch.relu(score) - (
        torch.nn.functional.softplus(score))


def casts(score, b, h, q_idx, kv_idx):
    return score.to(torch.bfloat16).float() + (q_idx >= kv_idx) * 2 - (h == 1).float() + True + q_idx.bool().to(torch.int8)


def fills(score, b, h, q_idx, kv_idx):
    score = score.masked_fill(q_idx - kv_idx > 9, -1.5)
    return torch.where(torch.isinf(score), torch.zeros_like(score), score) + torch.full_like(score, 0.25)


def hidden_by_number(score, b, h, q_idx, kv_idx):
    # A common substitute for -inf.
    return score.masked_fill((kv_idx > q_idx) | (q_idx - kv_idx > 9), -1e10)


def zero(score, b, h, q_idx, kv_idx):
    return torch.zeros_like(score)


def bytes_and_shorts(score, b, h, q_idx, kv_idx):
    byte, short = BYTES[kv_idx], SHORTS[q_idx, kv_idx]
    odd = ((byte + 200) % 7 + (byte * 3 >> 4) - (~byte & 15) + (-byte) // 16).to(torch.float32)
    return score + 0.1 * odd + (short * 2 + byte) * 1e-4 + (short // 1000).abs() * 0.01 + (BYTES - 1)[kv_idx] * 0.01


def unsigned(score, b, h, q_idx, kv_idx):
    short, word = (one[kv_idx] for one in UNSIGNED)
    return score + short.float() * 1e-4 + word.float() * 1e-9 + (word.to(torch.int64) >> 28) * 0.1


def flipped(score, b, h, q_idx, kv_idx):
    return score + TABLE.flip(0)[h, kv_idx % 33] + TABLE.flip((0, -1))[h, 3] + TABLE.roll(2, 1)[h, q_idx % 33] + (
        TABLE.fliplr().roll(5)[h, 4])


def products(score, b, h, q_idx, kv_idx):
    here, there = POSITIONS[q_idx], POSITIONS[kv_idx]
    return score + torch.dot(here, there) + 0.1 * (POSITIONS[:3] @ here)[1] + 0.1 * torch.inner(there, here) + (
        torch.einsum("i,ij,j->", here, POSITIONS[:3], there) * 0.01)


def norms(score, b, h, q_idx, kv_idx):
    apart = POSITIONS[q_idx] - POSITIONS[kv_idx]
    kinds = [torch.linalg.vector_norm(apart, order) for order in (2, 1, 0, float("inf"), -float("inf"))]
    return score - sum(kinds) * 0.2 - torch.dist(POSITIONS[q_idx], POSITIONS[kv_idx]) - apart.norm() * 0.1 - (
        torch.nn.functional.cosine_similarity(POSITIONS[q_idx], POSITIONS[kv_idx], dim=0))


def joined(score, b, h, q_idx, kv_idx):
    both = torch.cat([SLOPES, STEPS[:2], TABLE[1, :3]])
    return score + both[q_idx % 9] + torch.stack([score * 0.1, q_idx * 0.1])[h % 2] + torch.stack([SLOPES, -SLOPES], 1)[h, 1]


MASKS = {
    f.__name__ if name is None else name: f for name, f in [
        (None, causal), (None, sliding_window), ("sliding_window_causal", sliding_window_causal), ("prefix_lm", prefix_lm),
        (None, document), ("document_causal", document_causal), (None, document_of_batch),
        (None, long_document), (None, long_counts), (None, packed_positions),
        (None, natten), (None, tiled_natten), (None, dilated), (None, dilated_negative), (None, keep), (None, by_head),
        (None, by_float), (None, bits), (None, near), (None, nothing_in_rows), (None, everything),
    ]
}
SCORES = {
    f.__name__: f for f in (
        identity, relative_position, alibi, alibi_formula, soft_cap, checkerboard, causal_score, relative_table,
        negative_index, bias_of_halves, bias_broadcast, bias_computed_whole, in_place, quotients, remainders,
        integer_quotients, small_integers, functions, powers, rounding, activations, casts, fills, hidden_by_number, zero,
        bytes_and_shorts, unsigned, flipped, products, norms, joined,
    )
}
