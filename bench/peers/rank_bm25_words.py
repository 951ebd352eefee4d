"""Scores rank_bm25 on a judged set, as papers make their baseline of BM25: NLTK's tokens in lower case.

    pip install rank_bm25==0.2.2 nltk==3.10.4 numpy==2.4.6
    python -m nltk.downloader stopwords
    python rank_bm25_words.py $LEXSEM_DATA/capret-en

A line a reading (tokens as they are, with Porter's stems, these without function words): nDCG@1, @5 and @10
× 100, linear gain, ties by id.
"""

import csv
import json
import math
import sys

import numpy as np
from nltk.corpus import stopwords
from nltk.stem import PorterStemmer
from nltk.tokenize import word_tokenize
from rank_bm25 import BM25Okapi

CUTS = (1, 5, 10)


def records(name):
    with open(name, encoding="utf-8") as f:
        return [(r["_id"], f"{r.get('title', '')} {r['text']}".strip()) for r in map(json.loads, f)]


def judgements(name):
    out = {}
    with open(name, encoding="utf-8") as f:
        for query, passage, grade in list(csv.reader(f, delimiter="\t"))[1:]:
            out.setdefault(query, {})[passage] = int(grade)
    return out


def ndcg(grades, judged, k):
    gain = lambda values: sum(g / math.log2(i + 2) for i, g in enumerate(values[:k]))
    return gain(grades) / gain(sorted(judged.values(), reverse=True))


def main():
    folder = sys.argv[1]
    passages, queries = sorted(records(folder + "/corpus.jsonl")), records(folder + "/queries.jsonl")
    judged = judgements(folder + "/qrels/test.tsv")
    function, stem = set(stopwords.words("english")), PorterStemmer().stem
    plain = lambda text: word_tokenize(text.lower(), preserve_line=True)
    readings = {
        "tokens": plain,
        "stems": lambda text: [stem(w) for w in plain(text)],
        "stems without function words": lambda text: [stem(w) for w in plain(text) if w not in function],
    }
    for name, words in readings.items():
        engine = BM25Okapi([words(text) for _, text in passages])
        scores = []
        for query, text in queries:
            best = np.argsort(-engine.get_scores(words(text)), kind="stable")[: max(CUTS)]
            grades = [judged[query].get(passages[i][0], 0) for i in best]
            scores.append([ndcg(grades, judged[query], k) for k in CUTS])
        print(name, *(f"{v:.2f}" for v in 100 * np.mean(scores, 0)))


if __name__ == "__main__":
    main()
