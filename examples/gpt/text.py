"""Real training text: the Python language reference, which is part of Python."""

import torch


def documents():
    """The topics of Python's help(), as bytes."""
    from pydoc_data.topics import topics

    return [torch.tensor(list(topics[name].encode()), dtype=torch.int64) for name in sorted(topics)]


class Batches:
    """Rows of documents packed end to end. Each batch is drawn by its number, so that
    every model sees the same: tokens, the token that follows each, and which document
    of its row each belongs to."""

    def __init__(self, rows, length, held_out=0.1, seed=0):
        self.rows, self.length, self.seed = rows, length, seed
        everything = documents()
        count = max(1, int(len(everything) * held_out))
        order = torch.randperm(len(everything), generator=torch.Generator().manual_seed(1)).tolist()
        self.parts = {"test": [everything[n] for n in order[:count]], "train": [everything[n] for n in order[count:]]}

    def __getitem__(self, number):
        return self.draw(number)

    def draw(self, number, part="train"):
        generator = torch.Generator().manual_seed(self.seed + 2 * number + (part == "test"))
        rows = [self._row(self.parts[part], generator) for _ in range(self.rows)]
        text, ids = (torch.stack(each) for each in zip(*rows))
        # The last token of a document is not followed by the first of another.
        following = text[:, 1:].masked_fill(ids[:, 1:] != ids[:, :-1], -100)
        return text[:, :-1], following, ids[:, :-1].to(torch.int32)

    def _row(self, part, generator):
        """Pieces of documents until a row is full, and one token more."""
        text, ids, have = [], [], 0
        while have <= self.length:
            document = part[int(torch.randint(len(part), (), generator=generator))]
            first = int(torch.randint(max(1, len(document) - 16), (), generator=generator))
            most = int(torch.randint(self.length // 4, self.length + 1, (), generator=generator))
            piece = document[first:first + most]
            ids.append(torch.full((len(piece),), len(text)))
            text.append(piece)
            have += len(piece)
        return torch.cat(text)[:self.length + 1], torch.cat(ids)[:self.length + 1]
