"""Records BM25 scores of the Python package bm25s for reference_test.go.

    pip install bm25s==0.3.16 numpy
    python record_bm25s.py FOLDER_OF_THE_JUDGED_SETS > bm25s.json

bm25s computes Lucene's variant, which drops the factor k1+1; scores are
recorded with it. Tokens are runs of ASCII letters and digits, lower-cased,
each word of a query once.
"""

import json
import os
import random
import re
import sys

import bm25s
import numpy as np

K1, B = 1.2, 0.75


def tokens(text):
    return re.findall(r"[a-z0-9]+", text.lower())


def scores(docs, queries):
    index = bm25s.BM25(k1=K1, b=B, method="lucene", dtype="float64")
    index.index(docs, show_progress=False)
    known = set(index.vocab_dict)
    for q in queries:
        q = [t for t in dict.fromkeys(q) if t in known]
        yield (K1 + 1) * index.get_scores(q) if q else np.zeros(len(docs))


def small():
    r = random.Random(5)
    word = lambda: "w%d" % int(80 ** r.random() - 1)
    docs = [[word() for _ in range(r.randint(1, 40))] for _ in range(60)]
    queries = [[word() for _ in range(r.randint(1, 6))] + r.choice([[], ["unknown"]]) for _ in range(25)]
    return {
        "docs": [" ".join(d) for d in docs],
        "queries": [" ".join(q) for q in queries],
        "scores": [[round(float(x), 12) for x in s] for s in scores(docs, queries)],
    }


def scifact(folder):
    lines = lambda name: [json.loads(l) for l in open(os.path.join(folder, "scifact", name), encoding="utf-8")]
    corpus = lines("corpus.jsonl")
    queries = lines("queries.jsonl")[:60]
    docs = [tokens((d["title"] + " " + d["text"]).strip()) for d in corpus]
    out = []
    for q, s in zip(queries, scores(docs, [tokens(q["text"]) for q in queries])):
        order = sorted(range(len(docs)), key=lambda i: (-s[i], i))[:10]
        out.append({"query": q["_id"], "top": [[corpus[i]["_id"], round(float(s[i]), 9)] for i in order]})
    return out


json.dump({"k1": K1, "b": B, "small": small(), "scifact": scifact(sys.argv[1])}, sys.stdout)
