"""Attention in float64, for the errors that the benchmarks print.

Only an inexpensive sample is evaluated: the first sequence, the query heads of its first key head,
and at most `ROWS` queries of the outputs. Tensors are (B, H, S, D) as in PyTorch; rows of scores
are evaluated in chunks, so that memory does not grow quadratically with the length.
"""

# Rows of an output that are evaluated, and elements of a chunk of scores.
ROWS, CHUNK = 1024, 1 << 25


def relative_error(found, expected):
    """The norm of the error by the norm."""
    expected = expected.double()
    return ((found.double() - expected).norm() / expected.norm()).item()


class Sample:
    """The sample of q, k and v, with the variant as flex_attention's functions state it:
    `score(s, b, h, i, j)` and `mask(b, h, i, j)`, which take tensors that broadcast. `sinks` has a number for
    each head."""

    def __init__(self, torch, q, k, v, *, scale=None, score=None, mask=None, causal=False, sinks=None):
        self.torch, self.group = torch, q.shape[1] // k.shape[1]
        self.queries, self.keys, self.values = q[0, : self.group].double(), k[0, 0].double(), v[0, 0].double()
        self.scale = q.shape[-1] ** -0.5 if scale is None else scale
        self.score, self.mask, self.sinks = score, self.make_mask(mask, causal), sinks

    @staticmethod
    def make_mask(mask, causal):
        return (lambda b, h, i, j: i >= j) if causal else mask

    def chunks(self, rows):
        """`rows`, indices of queries, in parts."""
        size = max(1, CHUNK // (self.group * self.keys.shape[0]))
        return rows.split(size)

    def all_rows(self):
        return self.torch.arange(self.queries.shape[1], device=self.queries.device)

    def some_rows(self):
        rows = self.all_rows()
        return rows[:: -(-len(rows) // ROWS)]

    def evaluate(self, rows, differentiable=False):
        """Evaluates rows of queries against all keys: scaled products, scores and probabilities."""
        torch = self.torch
        products = self.queries[:, rows] @ self.keys.mT * self.scale
        products.requires_grad_(differentiable)
        head = torch.arange(self.group, device=rows.device)[:, None, None]
        place = torch.zeros((), dtype=torch.int64, device=rows.device), head, rows[:, None], self.all_keys()
        with torch.set_grad_enabled(differentiable):
            scores = self.score(products, *place).double() if self.score else products
            if self.mask:
                scores = scores.masked_fill(~self.mask(*place), -torch.inf)
        logits = scores.detach()
        if self.sinks is not None:
            sinks = self.sinks[: self.group].double()[:, None, None].expand(*logits.shape[:2], 1)
            logits = torch.cat([logits, sinks], -1)
        weights = logits.softmax(-1).nan_to_num(0.0)[..., : self.keys.shape[0]]
        return products, scores, weights

    def all_keys(self):
        return self.torch.arange(self.keys.shape[0], device=self.keys.device)

    def output_error(self, *outputs):
        """The error of each output, (B, H, S, D)."""
        rows = self.some_rows()
        expected = self.torch.cat([self.evaluate(part)[2] @ self.values for part in self.chunks(rows)], 1)
        return [relative_error(o[0, : self.group][:, rows], expected) for o in outputs]

    def gradients(self, output_gradient):
        """dQ, dK and dV, (H, S, D), of the sum of o * output_gradient over the sample's heads."""
        torch = self.torch
        given = output_gradient[0, : self.group].double()
        dq, dk, dv = (torch.zeros_like(one) for one in (self.queries, self.keys, self.values))
        for rows in self.chunks(self.all_rows()):
            products, scores, weights = self.evaluate(rows, differentiable=bool(self.score))
            by_output = given[:, rows]
            by_weight = by_output @ self.values.mT
            by_score = weights * (by_weight - (weights * by_weight).sum(-1, keepdim=True))
            if self.score:
                (by_score,) = torch.autograd.grad(scores, products, by_score)
            dv += (weights.mT @ by_output).sum(0)
            dq[:, rows] = by_score @ self.keys * self.scale
            dk += (by_score.mT @ self.queries[:, rows]).sum(0) * self.scale
        return dq, dk[None], dv[None]


def gradient_error(found, expected):
    """The largest error of dQ, dK or dV, (B, H, S, D), against the sample's."""
    return max(relative_error(one[0, : exact.shape[0]], exact) for one, exact in zip(found, expected))
