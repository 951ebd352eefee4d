"""Training pairs: JSON lines of query and passage, as `lexsem bench samples` writes them or as people judged them."""

import hashlib
import json
from dataclasses import dataclass, field

import torch


class SampleError(Exception):
    """A line that is no sample; the message names it."""


@dataclass
class Samples:
    passages: list = field(default_factory=list)  # distinct texts
    train: list = field(default_factory=list)  # (query, number of its passage)
    dev: list = field(default_factory=list)
    given: dict = field(default_factory=dict)  # number of a training query to the passages named as its negatives
    digest: str = ""


def read(path):
    """Each line has "query" and "passage", and may have "split" (train, dev) and "negatives", a list of texts."""
    s, number, sha = Samples(), {}, hashlib.sha256()

    def passage(text):
        if text not in number:
            number[text] = len(s.passages)
            s.passages.append(text)
        return number[text]

    with open(path, encoding="utf-8") as f:
        for at, line in enumerate(f, 1):
            sha.update(line.encode())
            if not line.strip():
                continue
            try:
                d = json.loads(line)
                query, text, split, negatives = d["query"], d["passage"], d.get("split", "train"), d.get("negatives", [])
            except (ValueError, KeyError, TypeError, AttributeError) as e:
                raise SampleError(f"{path}:{at}: {e!r}; a line is an object with query and passage") from e
            if split not in ("train", "dev"):
                raise SampleError(f"{path}:{at}: split {split!r}; use train or dev")
            if not all(isinstance(t, str) and t.strip() for t in [query, text, *negatives]):
                raise SampleError(f"{path}:{at}: a text is empty, or none")
            pair = (query, passage(text))
            if split == "dev":
                s.dev.append(pair)
                continue
            if negatives:
                s.given[len(s.train)] = [passage(t) for t in negatives]
            s.train.append(pair)
    if len(s.train) < 2 or len(s.passages) < 2:
        raise SampleError(f"{path}: {len(s.train)} training queries over {len(s.passages)} passages; two of each are needed")
    s.digest = sha.hexdigest()
    return s


def mine(queries, passages, target, first=20, last=200, size=512):
    """The passages at ranks first to last of each query's dense search, its own left out."""
    last = min(last, len(passages))
    first = min(first, max(0, last - 15))  # a small corpus has no such ranks; its last ones serve
    out = torch.empty(len(queries), last - first, dtype=torch.int32)
    for at in range(0, len(queries), size):
        scores = queries[at : at + size] @ passages.t()
        rows = torch.arange(len(scores))
        scores[rows, target[at : at + size]] = -2.0
        out[at : at + size] = scores.topk(last, dim=1).indices[:, first:].int()
    return out


class Order:
    """The batches, a function of the seed and the step alone: a run that goes on sees what it would have seen."""

    def __init__(self, samples, hard, batch, negatives, seed):
        self.samples, self.hard, self.batch, self.negatives, self.seed = samples, hard, batch, negatives, seed
        self.epoch_steps = max(1, len(samples.train) // batch)
        self.kept = (-1, None)

    def generator(self, *what):
        digest = hashlib.sha256(repr((self.seed, *what)).encode()).digest()
        return torch.Generator().manual_seed(int.from_bytes(digest[:7], "little"))

    def at(self, step):
        """The numbers of step's queries and of the passages it contrasts them with, no one twice, and which of these is each query's."""
        epoch, turn = divmod(step, self.epoch_steps)
        if self.kept[0] != epoch:
            self.kept = (epoch, torch.randperm(len(self.samples.train), generator=self.generator("epoch", epoch)))
        pairs = self.kept[1][turn * self.batch : (turn + 1) * self.batch].tolist()
        rng = self.generator("negatives", step)
        targets = [self.samples.train[i][1] for i in pairs]
        candidates = list(targets)
        for i in pairs:
            pool = self.samples.given.get(i)
            pool = self.hard[i].tolist() if pool is None and self.hard is not None else pool or []
            candidates += [pool[k] for k in torch.randperm(len(pool), generator=rng)[: self.negatives].tolist()]
        candidates = list(dict.fromkeys(candidates))
        where = {p: k for k, p in enumerate(candidates)}
        return pairs, candidates, torch.tensor([where[t] for t in targets])
