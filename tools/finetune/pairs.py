"""Write labelled pairs as samples: queries that people judged with their passages, and sentences that people found alike."""

import argparse
import csv
import hashlib
import json
import sys
from pathlib import Path


class PairError(Exception):
    """A file that holds no pairs; the message names it."""


def lines(path, **kinds):
    """The objects of JSON lines, each with a value of its kind in every field named."""
    with open(path, encoding="utf-8") as f:
        for at, line in enumerate(f, 1):
            if not line.strip():
                continue
            try:
                d = json.loads(line)
            except ValueError as e:
                raise PairError(f"{path}:{at}: {e}") from e
            for name, kind in kinds.items():
                if not isinstance(d, dict) or not isinstance(d.get(name), kind):
                    raise PairError(f"{path}:{at}: it has no {name}, or one of another type")
            yield d


def judged(folder):
    """The pairs of a folder in BEIR's layout, or of a folder below one that has queries and judgements of its own (scifact/train)."""
    folder = Path(folder)
    corpus = next((f for f in (folder / "corpus.jsonl", folder.parent / "corpus.jsonl") if f.is_file()), None)
    judgements = sorted(folder.glob("qrels/*.tsv")) or sorted(folder.glob("qrels.tsv"))
    if corpus is None or not judgements:
        raise PairError(f"{folder}: it needs queries.jsonl, qrels/*.tsv or qrels.tsv, and corpus.jsonl here or one folder up")
    texts = {str(d["_id"]): f"{d.get('title') or ''} {d['text']}".strip() for d in lines(corpus, _id=(str, int), text=str)}
    queries = {str(d["_id"]): d["text"] for d in lines(folder / "queries.jsonl", _id=(str, int), text=str)}
    for path in judgements:
        with open(path, encoding="utf-8", newline="") as f:
            for at, row in enumerate(csv.DictReader(f, delimiter="\t"), 2):
                try:
                    query, passage, score = row["query-id"], row["corpus-id"], float(row["score"])
                except (KeyError, TypeError, ValueError) as e:
                    raise PairError(f"{path}:{at}: {e!r}; a line has query-id, corpus-id and score, which the first line names") from e
                if score > 0 and query in queries and passage in texts:
                    yield queries[query], texts[passage]


def alike(path, least):
    """Both ways round, as neither sentence of a pair is the question."""
    for d in lines(path, text1=str, text2=str, score=(int, float)):
        if d["score"] >= least and d["text1"] != d["text2"]:
            yield d["text1"], d["text2"]
            yield d["text2"], d["text1"]


def split(query):
    """One query in twenty is looked at in training, by its text alone."""
    return "dev" if int.from_bytes(hashlib.sha256(query.encode()).digest()[:4], "big") % 20 == 0 else "train"


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--judged", action="append", default=[], metavar="DIR", help="folder with corpus.jsonl, queries.jsonl and judgements; again for more")
    p.add_argument("--alike", action="append", default=[], metavar="FILE", help="JSON lines of text1, text2 and score; again for more")
    p.add_argument("--least", type=float, default=4.0, help="score from which two sentences are a pair")
    p.add_argument("--out", required=True, metavar="FILE", help="JSON lines for train.py --samples")
    o = p.parse_args()
    try:
        pairs = [pair for d in o.judged for pair in judged(d)] + [pair for f in o.alike for pair in alike(f, o.least)]
        if not pairs:
            raise PairError("no pairs: name folders by --judged, files by --alike")
        with open(o.out, "w", encoding="utf-8") as f:
            for query, passage in dict.fromkeys(pairs):
                f.write(json.dumps({"query": query, "passage": passage, "split": split(query)}, ensure_ascii=False) + "\n")
    except (PairError, OSError) as e:
        sys.exit(f"pairs.py: {e}")


if __name__ == "__main__":
    main()
