"""Launches a kernel repeatedly: the results must not depend on time or on concurrent work."""

import waiting

TIMES = 10


def _bits(torch, tensor):
    """The bits as integers, so that NaN equals NaN and 0 differs from -0."""
    return tensor.view(torch.int16 if tensor.element_size() == 2 else torch.int32)


def _same(torch, first, second):
    return all(torch.equal(_bits(torch, a), _bits(torch, b)) for a, b in zip(first, second))


def difference(torch, kernel, tensors, stream):
    """Launches ten times on one stream, then on two streams at once with
    outputs of their own (each launch must have its own workspace, where dynamic
    kernels count work). What was not bit for bit the first result, in
    words, or None."""
    outputs = tensors.o, tensors.lse
    first = [tensor.clone() for tensor in outputs]
    launch = kernel.prepare(**tensors.arguments)
    for time in range(TIMES):
        for tensor in outputs:
            tensor.fill_(torch.nan)
        launch.run(stream)
        waiting.synchronize(torch)
        if not _same(torch, first, outputs):
            return f"repetition {time + 1} is not bitwise equal to the first result"
    return _after_others(torch, tensors, launch, stream) or _beside_itself(torch, kernel, tensors, first)


def _after_others(torch, tensors, launch, stream):
    """Data written by kernels before the launch and overwritten by kernels after it must be seen as
    it was in between, also by kernels that start before their prologue has ended. Inputs change
    each time; the results without waiting must equal those with waiting.
    """
    changing = [tensors.q, *(capture for capture in tensors.captures if capture.dim() and capture.is_contiguous())]
    outputs = tensors.o, tensors.lse
    kept, first = ([tensor.clone() for tensor in group] for group in (changing, outputs))
    results = []
    for waits in (True, False):
        for time in range(TIMES):
            for tensor, original in zip(changing, kept):
                tensor.copy_(original.roll(time, -1))
            if waits:
                waiting.synchronize(torch)
            launch.run(stream)
            if waits:
                waiting.synchronize(torch)
            results.append([tensor.clone() for tensor in outputs])
    for tensor, original in zip([*changing, *outputs], [*kept, *first]):
        tensor.copy_(original)
    waiting.synchronize(torch)
    for time in range(TIMES):
        if not _same(torch, results[time], results[TIMES + time]):
            return f"after other kernels of its stream, launch {time + 1} is not bitwise equal to one that was waited for"
    return None


def _beside_itself(torch, kernel, tensors, first):
    streams = [torch.cuda.Stream() for _ in range(2)]
    results, launches = [], []
    for _ in streams:
        o = torch.full_like(first[0], torch.nan)
        lse = torch.full_like(first[1], torch.nan)
        results.append((o, lse))
        outputs = {"o": tensors.lay_out(o), "lse": lse}
        # One of the two where the kernel has no LSE.
        outputs = {name: tensor for name, tensor in outputs.items() if name in tensors.arguments}
        launches.append(kernel.prepare(**{**tensors.arguments, **outputs}))
    waiting.synchronize(torch)
    for _ in range(TIMES):
        for stream, launch in zip(streams, launches):
            launch.run(stream.cuda_stream)
    waiting.synchronize(torch)
    for number, result in enumerate(results):
        if not _same(torch, first, result):
            return f"launches on two streams at once: stream {number} is not bitwise equal to the first result"
    return None
