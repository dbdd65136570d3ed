"""Trains a small GPT on text that Python ships, with attention by Fovea and by PyTorch.

    python examples/gpt/train.py                     on a GPU: 10 M parameters; on the CPU: a toy
    python examples/gpt/train.py --attention fovea --steps 500 --checkpoint gpt.pt --plot loss.png

Both models start with the same weights and see the same batches. Prints for each the loss on
held-out text, and the tokens per second of the steps after the first ten.
"""

import argparse
import dataclasses
import json
import pathlib
import sys
import time

import torch
from torch.nn import functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from model import BIASES, GPT, Variant, quiet  # noqa: E402
from text import Batches  # noqa: E402


@dataclasses.dataclass
class Sizes:
    layers: int
    width: int
    heads: int
    rows: int
    length: int
    steps: int


GPU, TOY = Sizes(6, 384, 6, 16, 1024, 500), Sizes(2, 32, 2, 4, 96, 60)


def progress(done, steps, text):
    if sys.stderr.isatty():
        filled = 30 * done // steps
        end = "\n" if done == steps else ""
        print(f"\r[{'=' * filled}{' ' * (30 - filled)}] {done}/{steps} {text}", end=end, file=sys.stderr, flush=True)


def load(batches, steps, device):
    """Iterates over the batches of all steps; for a GPU, worker processes draw them."""
    workers = 4 if device.type == "cuda" else 0
    return torch.utils.data.DataLoader(batches, batch_size=None, sampler=range(steps), num_workers=workers,
                                       pin_memory=device.type == "cuda")


def loss_of(model, batch, variant, attend, device):
    tokens, following, docs = (one.to(device, non_blocking=True) for one in batch)
    variant.docs.copy_(docs)
    with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
        scores = model(tokens, attend)
    return F.cross_entropy(scores.float().flatten(0, 1), following.flatten())


def train(name, sizes, batches, device, seed=0, bias="table", fixed=False):
    """One model: losses by step, the loss on held out text, tokens per second, weights with
    those of the bias, by its name."""
    torch.manual_seed(seed)
    model = GPT(sizes.layers, sizes.width, sizes.heads).to(device)
    variant = Variant(sizes.heads, sizes.rows, sizes.length, device, bias, fixed)
    attend = variant.attention(name, device)
    parameters = [*model.parameters(), *([] if fixed else [variant.bias.parameter])]
    optimizer = torch.optim.AdamW(parameters, lr=3e-3 if device.type == "cpu" else 1e-3, betas=(0.9, 0.95))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, optimizer.param_groups[0]["lr"], sizes.steps)
    losses, warm, begin = [], min(10, sizes.steps - 1), 0.0
    for step, batch in enumerate(load(batches, sizes.steps, device)):
        if step == warm:
            _wait(device)
            begin = time.perf_counter()
        loss = loss_of(model, batch, variant, attend, device)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.detach())
        if step % 10 == 9 or step + 1 == sizes.steps:
            progress(step + 1, sizes.steps, f"{name}: loss {float(losses[-1]):.3f}")
    _wait(device)
    seconds = time.perf_counter() - begin
    with torch.no_grad():
        held_out = torch.stack([loss_of(model, batches.draw(n, "test"), variant, attend, device) for n in range(4)]).mean()
    tokens = (sizes.steps - warm) * sizes.rows * sizes.length
    weights = {**model.state_dict(), bias: variant.bias.parameter.detach()}
    return [float(one) for one in losses], float(held_out), tokens / seconds, weights


def _wait(device):
    if device.type == "cuda":
        torch.cuda.synchronize()


def plot(curves, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    for name, losses in curves.items():
        pyplot.plot(losses, label=name, linewidth=1)
    pyplot.xlabel("step")
    pyplot.ylabel("loss (nats a byte)")
    pyplot.legend()
    pyplot.savefig(path, dpi=150)


def count(text):
    """An argparse type: positive integers."""
    if int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return int(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attention", choices=("fovea", "torch", "both"), default="both")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--steps", type=count, help="500 on a GPU, 60 on the CPU")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--bias", choices=BIASES, default="table", help="by relative position: a table, or a slope per head")
    parser.add_argument("--fixed-bias", action="store_true", help="it is constant; flex_attention is slow at learning slopes")
    parser.add_argument("--checkpoint", help="file for the weights of the last model that is trained; generate.py reads it")
    parser.add_argument("--plot", help="file for the loss curves; needs matplotlib")
    parser.add_argument("--json", help="file for all numbers")
    args = parser.parse_args()
    quiet()
    device = torch.device(args.device)
    sizes = GPU if device.type == "cuda" else TOY
    if args.steps is not None:
        sizes = dataclasses.replace(sizes, steps=args.steps)
    batches = Batches(sizes.rows, sizes.length)
    results = {}
    for name in ("torch", "fovea") if args.attention == "both" else (args.attention,):
        losses, held_out, speed, weights = train(name, sizes, batches, device, args.seed, args.bias, args.fixed_bias)
        results[name] = {"losses": losses, "held_out": held_out, "tokens_per_second": speed}
        print(f"{name}: loss {losses[0]:.3f} to {losses[-1]:.3f}, held out {held_out:.3f}, {speed:,.0f} tokens/s", flush=True)
        if args.checkpoint:
            torch.save({"sizes": dataclasses.asdict(sizes), "bias": args.bias, "weights": weights}, args.checkpoint)
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(results))
    if args.plot:
        plot({name: one["losses"] for name, one in results.items()}, args.plot)


if __name__ == "__main__":
    main()
