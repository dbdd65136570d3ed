"""Continues a text with a model of train.py, using Fovea for attention.

    python examples/gpt/train.py --attention fovea --checkpoint gpt.pt
    python examples/gpt/generate.py gpt.pt --prompt "The import statement" --tokens 200
    python examples/gpt/generate.py gpt.pt --temperature 0.8 --seed 1

Keys and values are cached: each new byte is one query of attention over the cache. Without
--temperature the most likely byte is chosen.
"""

import argparse
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from model import BIASES, CAP, GPT, Bias, quiet  # noqa: E402


class Cache:
    """The keys and values of all layers, and attention over them. The capacity is `length` bytes
    and doubles when it is exhausted.
    """

    def __init__(self, layers, heads, dim, bias, device, length=256):
        self.bias, self.device = bias, device
        dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
        self.kept = torch.zeros(layers, 2, 1, heads, length, dim, device=device, dtype=dtype)
        #: The number of cached bytes before the current ones: a captured scalar in host memory.
        self.before = torch.tensor(0)
        self.score_mod, self.mask_mod = self._functions()

    def _functions(self):
        before, added = self.before, self.bias.function()

        def score_mod(score, b, h, q_idx, kv_idx):
            return CAP * torch.tanh(score / CAP) + added(h, q_idx + before - kv_idx)

        def mask_mod(b, h, q_idx, kv_idx):
            return q_idx + before >= kv_idx

        return score_mod, mask_mod

    def read(self, model, tokens):
        """Adds bytes to the cache; returns the scores of the byte after each of them."""
        self._reserve(int(self.before) + tokens.shape[1])
        attend = [self._attention(number) for number in range(len(model.layers))]
        with torch.no_grad(), torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
            scores = model(tokens, attend)
        self.before += tokens.shape[1]
        return scores.float()

    def _reserve(self, length):
        while self.kept.shape[4] < length:
            self.kept = torch.cat([self.kept, torch.zeros_like(self.kept)], 4)

    def _attention(self, number):
        import fovea.torch

        backend = "cuda" if self.device.type == "cuda" else "interpret"

        def attend(query, key, value):
            first = int(self.before)
            end = first + key.shape[2]
            keys, values = self.kept[number, :, :, :, :end]
            keys[:, :, first:], values[:, :, first:] = key, value
            return fovea.torch.flex_attention(query, keys, values, self.score_mod, self.mask_mod, backend=backend)

        return attend


def generate(model, cache, prompt, count, temperature=0.0, seed=0):
    """The bytes that follow a prompt's, one after the other."""
    generator = torch.Generator().manual_seed(seed)
    given = torch.tensor([list(prompt)], device=cache.device)
    for _ in range(count):
        scores = cache.read(model, given)[0, -1]
        if temperature:
            # Drawn on the host, where a seed means the same for all devices.
            chosen = torch.multinomial((scores.cpu().double() / temperature).softmax(-1), 1, generator=generator)
        else:
            chosen = scores.argmax().reshape(1)
        yield int(chosen)
        given = chosen.to(cache.device).reshape(1, 1)


def load(path, device):
    """Loads the model of a checkpoint and creates an empty cache. Raises ValueError for other
    files.
    """
    try:
        saved = torch.load(path, map_location=device, weights_only=True)
    except FileNotFoundError:
        raise ValueError(f"there is no '{path}'; train.py --checkpoint={path} makes one") from None
    except Exception:  # noqa: BLE001: of zip files, of pickles and of what they hold
        saved = None
    if not isinstance(saved, dict) or not {"sizes", "bias", "weights"} <= saved.keys() or saved["bias"] not in BIASES:
        raise ValueError(f"'{path}' is no checkpoint of train.py's")
    try:
        return restored(**saved, device=device)
    except (KeyError, TypeError, ValueError, RuntimeError):
        raise ValueError(f"'{path}' is no checkpoint of train.py's: its weights are not those of its sizes") from None


def restored(sizes, bias, weights, device):
    kept, weights = Bias(bias, sizes["heads"], sizes["length"], device, fixed=True), dict(weights)
    kept.parameter.copy_(weights.pop(bias))
    model = GPT(sizes["layers"], sizes["width"], sizes["heads"]).to(device)
    model.load_state_dict(weights)
    return model.eval(), Cache(sizes["layers"], sizes["heads"], sizes["width"] // sizes["heads"], kept, device)


def at_least(least, kind):
    def number(text):
        if not kind(text) >= least:
            raise argparse.ArgumentTypeError(f"{text} is less than {least}")
        return kind(text)

    return number


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", help="file that train.py --checkpoint left")
    parser.add_argument("--prompt", default="The ", help="what the text begins with")
    parser.add_argument("--tokens", type=at_least(1, int), default=200, help="how many bytes follow it")
    parser.add_argument("--temperature", type=at_least(0, float), default=0.0, help="0: the most likely byte follows")
    parser.add_argument("--seed", type=int, default=0, help="of what is drawn with a temperature")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    if not args.prompt:
        parser.error("--prompt is empty; the first byte has to be given")
    quiet()
    try:
        model, cache = load(args.checkpoint, torch.device(args.device))
    except ValueError as problem:
        sys.exit(f"generate.py: {problem}")
    written = bytes(generate(model, cache, args.prompt.encode(), args.tokens, args.temperature, args.seed))
    print(args.prompt + written.decode(errors="replace"))


if __name__ == "__main__":
    main()
