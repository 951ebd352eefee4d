"""Records what python-Levenshtein, rouge_score and rank_bm25 say about random texts, for reference_test.go.

    pip install Levenshtein==0.27.5 rouge_score==0.1.2 rank_bm25==0.2.2
    python make_reference.py > reference.jsonl.gz

Each of 1,000 lines holds two texts with Levenshtein.ratio, the mean of the F-measures of ROUGE-1 and ROUGE-2 over
tokens split at blanks, and the scores of BM25Plus (k1 1.5, b 0.75, delta 1) and of BM25Okapi (epsilon 0.25) of the
second text's words over a few documents.
"""

import gzip
import json
import random
import sys

import Levenshtein
from rank_bm25 import BM25Okapi, BM25Plus
from rouge_score import rouge_scorer

WORDS = "tide quay fog Äpfel naïve 漁 船 harbour a an the of e3 salt net boat boat boat storm lamp".split()


class Blanks:
    def tokenize(self, text):
        return text.split()


def main():
    rng = random.Random(11)
    scorer = rouge_scorer.RougeScorer(["rouge1", "rouge2"], tokenizer=Blanks())
    with gzip.GzipFile(fileobj=sys.stdout.buffer, mode="wb", mtime=0) as f:
        for _ in range(1000):
            a = " ".join(rng.choices(WORDS, k=rng.randint(1, 40)))
            b = list(a.split())
            for _ in range(rng.randint(0, len(b))):
                b[rng.randrange(len(b))] = rng.choice(WORDS)
            if rng.random() < 0.5:
                rng.shuffle(b)
            b = " ".join(b[: rng.randint(1, len(b))])
            r = scorer.score(a, b)
            docs = [" ".join(rng.choices(WORDS, k=rng.randint(1, 12))) for _ in range(rng.randint(1, 5))]
            bm25, okapi = (m([d.split() for d in docs]).get_scores(b.split()) for m in (BM25Plus, BM25Okapi))
            f.write((json.dumps({
                "a": a, "b": b, "ratio": round(Levenshtein.ratio(a, b), 9),
                "rouge": round((r["rouge1"].fmeasure + r["rouge2"].fmeasure) / 2, 9),
                "docs": docs, "bm25": [round(float(s), 9) for s in bm25],
                "okapi": [round(float(s), 9) for s in okapi],
            }, separators=(",", ":"), ensure_ascii=False) + "\n").encode())


main()
