"""The text of expressions for either front end: ``fovea``'s functions and PyTorch's."""


class Plain:
    """For fovea.attention."""

    name = "fovea"
    query, key = "q_idx", "kv_idx"

    def clip(self, x, low, high):
        return f"fovea.clip({x}, {low}, {high})"

    def call(self, name, *operands):
        return f"fovea.{name}({', '.join(operands)})"

    def to_float(self, x):
        return f"fovea.as_float({x})"

    def to_int(self, x):
        return f"fovea.as_int({x})"

    def conjunction(self, name, a, b):
        return f"fovea.logical_{name}({a}, {b})"


class Aten(Plain):
    """For fovea.torch.flex_attention."""

    name = "torch"

    def clip(self, x, low, high):
        return f"({x}).clamp({low}, {high})"

    def call(self, name, *operands):
        return f"torch.{name}({', '.join(operands)})"

    def to_float(self, x):
        return f"({x}).to(torch.float32)"

    def to_int(self, x):
        return f"({x}).to(torch.int64)"

    def conjunction(self, name, a, b):
        return f"torch.logical_{name}({a}, {b})"


DIALECTS = {dialect.name: dialect for dialect in (Plain(), Aten())}
