"""Captured tensors: what they hold and how they lie."""

import dataclasses

#: Of floats: normal numbers, multiples of 1/4 in [-2, 2], multiples of 1/8 in [1/8, 2].
FLOAT_CONTENTS = ("normal", "grid", "positive")
RANGES = {"normal": (-4, 4, None), "grid": (-2, 2, 2), "positive": (0.125, 2, 3)}


@dataclasses.dataclass
class Captured:
    dtype: str
    dims: tuple
    #: One of FLOAT_CONTENTS, "bool", "range" or "sorted" (both: from low to high).
    contents: str
    low: int = 0
    high: int = 0
    #: What the numbers are shifted by: numbers that differ in their high words only.
    shift: int = 0
    #: Sizes are in the program's text.
    static: bool = False
    #: "plain", "every_other", "transposed", "offset": how a tensor of PyTorch lies.
    view: str = "plain"

    def describe(self):
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        defaults = Captured(self.dtype, self.dims, self.contents)
        return {name: value for name, value in fields.items()
                if name in ("dtype", "dims", "contents") or value != getattr(defaults, name)}
