"""Inputs of a program, determined by its seed."""

import zlib

import numpy

NUMPY = {"f16": numpy.float16, "bf16": numpy.float32, "f32": numpy.float32, "i1": numpy.bool_, "i8": numpy.int8,
         "u8": numpy.uint8, "i16": numpy.int16, "i32": numpy.int32, "i64": numpy.int64}


def rounded(array, dtype):
    """An array of a type; numbers of bf16, which numpy has not, as f32."""
    made = numpy.asarray(array).astype(NUMPY[dtype])
    if dtype == "bf16":
        bits = made.view(numpy.uint32)
        made = ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(numpy.uint32).view(numpy.float32)
    return made


def generator(seed, name):
    return numpy.random.Generator(numpy.random.SFC64([seed, zlib.crc32(name.encode())]))


def captured_array(captured, seed, name):
    random, dims = generator(seed, name), captured.dims
    if captured.contents == "normal":
        return rounded(random.standard_normal(dims, numpy.float32).clip(-4, 4), captured.dtype)
    if captured.contents == "grid":
        return rounded(random.integers(-8, 9, dims) / 4, captured.dtype)
    if captured.contents == "positive":
        return rounded(random.integers(1, 17, dims) / 8, captured.dtype)
    if captured.contents == "bool":
        return random.random(dims) < 0.7
    numbers = random.integers(captured.low, captured.high + 1, dims)
    if captured.contents == "sorted" and dims:
        numbers = numpy.sort(numbers, axis=-1)
    if captured.shift:
        # They differ above their lower words; these are few.
        numbers = (numbers << captured.shift) + (random.integers(0, 8, dims) if captured.contents == "range" else 5)
    return rounded(numbers, captured.dtype)


def block_lists(form, seed):
    """Draws each block as unlisted, partial or full, with equal probability."""
    blocks, random = form["blocks"], generator(seed, "blocks")
    shape = (form["batch"] if blocks["per_batch"] else 1, form["heads"] if blocks["per_head"] else 1,
             -(-form["queries"] // blocks["queries"]), -(-form["keys"] // blocks["keys"]))
    kinds = random.integers(0, 3, shape)
    if not blocks["full"]:
        kinds = numpy.minimum(kinds, 1)
    lists = {}
    for number, name in enumerate(("partial", "full")[:1 + blocks["full"]], 1):
        chosen = kinds == number
        order = random.random(shape) - 2.0 * chosen
        lists[f"{name}_count"] = chosen.sum(-1).astype(numpy.int32)
        lists[f"{name}_index"] = order.argsort(-1).astype(numpy.int32)
    return lists


def inputs(program):
    """Arrays by name: q, k, v, the operands of the form, captured tensors."""
    form, seed = program.form, program.form["seed"]
    batch = form["batch"]

    def tensor(name, heads, length, dim, scale):
        random = generator(seed, name).standard_normal((batch, heads, length, dim), numpy.float32)
        made = rounded(random * numpy.float32(scale), form["dtype"])
        return made if form["layout"] == "bhsd" else numpy.ascontiguousarray(made.transpose(0, 2, 1, 3))

    arrays = {
        "q": tensor("q", form["heads"], form["queries"], form["head_dim"], form["query_scale"]),
        "k": tensor("k", form["kv_heads"], form["keys"], form["head_dim"], 1.0),
        "v": tensor("v", form["kv_heads"], form["keys"], form["value_head_dim"], form["value_scale"]),
    }
    if form["lengths"] is not None:
        # Elements after a sequence's end must not affect any result.
        for name in ("k", "v"):
            keys = arrays[name] if form["layout"] == "bhsd" else arrays[name].transpose(0, 2, 1, 3)
            for entry, length in enumerate(form["lengths"]):
                keys[entry, :, length:] = numpy.nan
    if form["scale"] == "runtime":
        arrays["scale"] = numpy.float32(0.4375)
    for name in ("lengths", "cu_q", "cu_k"):
        if form[name] is not None:
            arrays[name] = numpy.array(form[name], numpy.int32)
    if form["sinks"]:
        arrays["sinks"] = 2 * generator(seed, "sinks").standard_normal(form["heads"], numpy.float32)
    if form["dropout"]:
        arrays["dropout_seed"], arrays["dropout_offset"] = numpy.int64(0x123456789ABCDEF), numpy.int64(0x700000005)
    if form["blocks"] and program.front_end == "fovea":
        arrays.update(block_lists(form, seed))
    for name, captured in program.captures.items():
        arrays[name] = captured_array(captured, seed, name)
    return arrays
