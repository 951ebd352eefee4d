"""Records what trec_eval says about random runs, for metric_trec_test.go.

    pip install pytrec_eval-terrier
    python make_trec_eval.py > trec_eval.jsonl.gz

Each line holds one random run: judgements (grades -1 to 3), answers with
scores, and the measures of every query by trec_eval's own code through
pytrec_eval. trec_eval breaks ties by falling passage id and we by rising id,
so tied answers are handed to it with scores that spell out our order.
"""

import gzip
import json
import random
import sys

import pytrec_eval

CUTS = (1, 5, 10, 100)
MEASURES = {"ndcg": "ndcg_cut", "recall": "recall", "precision": "P", "map": "map_cut"}


def one(rng):
    docs = [f"d{i}" for i in range(rng.choice((3, 8, 20, 20, 40, 130)))]
    qrels, run = {}, {}
    for q in range(rng.randint(1, 3)):
        qid = f"q{q}"
        judged = rng.sample(docs, rng.randint(1, min(len(docs), 25)))
        qrels[qid] = {d: rng.choice((-1, 0, 0, 1, 1, 2, 3)) for d in judged}
        if rng.random() < 0.1:
            continue  # judged, but not answered
        found = rng.sample(docs, rng.randint(1, len(docs)))
        if rng.random() < 0.3:  # few distinct scores: ties
            run[qid] = {d: float(rng.randint(0, 4)) for d in found}
        else:
            run[qid] = {d: round(rng.random(), 6) for d in found}
    return qrels, run


def measure(qrels, run):
    ours = {q: sorted(a, key=lambda d: (-a[d], d)) for q, a in run.items()}
    spelled = {q: {d: float(len(o) - i) for i, d in enumerate(o)} for q, o in ours.items()}
    want = {m + "." + ",".join(map(str, CUTS)) for m in MEASURES.values()}
    got = pytrec_eval.RelevanceEvaluator(qrels, want).evaluate(spelled)
    out = {}
    for q in qrels:
        if not any(g > 0 for g in qrels[q].values()):
            continue
        out[q] = {}
        for name, theirs in MEASURES.items():
            for k in CUTS:
                # trec_eval leaves unanswered queries out; they count 0 here.
                out[q][f"{name}@{k}"] = got[q][f"{theirs}_{k}"] if q in got else 0.0
        for k in CUTS:
            cut = {q: {d: s for d, s in spelled.get(q, {}).items() if d in ours[q][:k]}}
            r = pytrec_eval.RelevanceEvaluator({q: qrels[q]}, {"recip_rank"}).evaluate(cut) if cut[q] else {}
            out[q][f"mrr@{k}"] = r[q]["recip_rank"] if q in r else 0.0
    return out


def main():
    rng = random.Random(20)
    with gzip.GzipFile(fileobj=sys.stdout.buffer, mode="wb", mtime=0) as f:
        done = 0
        while done < 1000:
            qrels, run = one(rng)
            expected = measure(qrels, run)
            if not expected:
                continue
            done += 1
            line = {"qrels": qrels, "run": {q: [[d, s] for d, s in a.items()] for q, a in run.items()}, "expected": {
                q: {m: round(v, 8) for m, v in ms.items()} for q, ms in expected.items()}}
            f.write((json.dumps(line, separators=(",", ":")) + "\n").encode())


main()
