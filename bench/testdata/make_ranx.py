"""Records what ranx says about the runs of trec_eval.jsonl.gz, for metric_ranx_test.go.

    pip install ranx==0.3.21
    python make_ranx.py > ranx.jsonl.gz

Line i holds the measures of every query of run i: ndcg (linear gain, Järvelin
and Kekäläinen) and ndcg-exp (2^grade - 1, Burges; ranx calls it ndcg_burges), mrr,
recall, precision and map. Grades below 0 are handed to ranx as 0, and tied answers with
scores that spell out our order, as in make_trec_eval.py. ranx's map divides by all
positives, as ours does.
"""

import gzip
import json
import sys

from ranx import Qrels, Run, evaluate

CUTS = (1, 5, 10, 100)
MEASURES = {"ndcg": "ndcg", "ndcg-exp": "ndcg_burges", "mrr": "mrr", "recall": "recall", "precision": "precision", "map": "map"}


def measure(qrels, run):
    asked = [q for q in qrels if any(g > 0 for g in qrels[q].values())]
    ours = {q: sorted(dict(run.get(q, [])).items(), key=lambda p: (-p[1], p[0])) for q in asked}
    truth = Qrels({q: {d: max(g, 0) for d, g in qrels[q].items()} for q in asked})
    answers = Run({q: {d: float(len(o) - i) for i, (d, _) in enumerate(o)} or {"nothing": 1.0} for q, o in ours.items()})
    names = [f"{t}@{k}" for t in MEASURES.values() for k in CUTS]
    got = evaluate(truth, answers, names, return_mean=False)
    order = sorted(truth.keys())
    out = {q: {} for q in order}
    for name, theirs in MEASURES.items():
        for k in CUTS:
            values = got[f"{theirs}@{k}"]
            for q, v in zip(order, values):
                out[q][f"{name}@{k}"] = round(float(v), 8)
    return out


def main():
    with gzip.open("trec_eval.jsonl.gz") as f, gzip.GzipFile(fileobj=sys.stdout.buffer, mode="wb", mtime=0) as g:
        for line in f:
            rec = json.loads(line)
            g.write((json.dumps(measure(rec["qrels"], rec["run"]), separators=(",", ":")) + "\n").encode())


main()
