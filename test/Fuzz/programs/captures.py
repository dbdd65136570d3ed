"""Captured tensors: their contents and strides."""

import dataclasses

#: For floats: normal numbers, multiples of 1/4 in [-2, 2], multiples of 1/8 in [1/8, 2].
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
    #: Offset of the values, so that they differ only in their high words.
    shift: int = 0
    #: Sizes are in the program's text.
    static: bool = False
    #: The view of a PyTorch tensor: "plain", "every_other", "transposed" or "offset".
    view: str = "plain"

    def describe(self):
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        defaults = Captured(self.dtype, self.dims, self.contents)
        return {name: value for name, value in fields.items()
                if name in ("dtype", "dims", "contents") or value != getattr(defaults, name)}
