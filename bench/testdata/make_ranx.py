"""Records what ranx and ir_measures say about the runs of trec_eval.jsonl.gz, for metric_ranx_test.go.

    pip install ranx==0.3.21 ir_measures cwl-eval
    python make_ranx.py > ranx.jsonl.gz

Line i holds the measures of every query of run i. By ranx: ndcg (linear gain, Järvelin
and Kekäläinen) and ndcg-exp (2^grade - 1, Burges; ranx calls it ndcg_burges), mrr,
recall, precision, success, map and rprec. By ir_measures: judged@k and rbp. By the formula of
BEIR: recall-cap. bpref is left to trec_eval: ranx divides by zero where nothing is irrelevant. Its rbp takes grades as gains.
Grades below 0 are handed to ranx as 0. Answers are handed over with scores that spell out
trec_eval's order, since ranx and ir_measures order ties otherwise.
"""

import gzip
import json
import struct
import sys

import ir_measures
from ranx import Qrels, Run, evaluate

CUTS = (1, 5, 10, 100)
CUT = {"ndcg": "ndcg", "ndcg-exp": "ndcg_burges", "mrr": "mrr", "recall": "recall", "precision": "precision", "map": "map", "success": "hit_rate"}
WHOLE = {"map": "map", "mrr": "mrr", "rprec": "r-precision"}


def single(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def measure(qrels, run):
    asked = [q for q in qrels if any(g > 0 for g in qrels[q].values())]
    ours = {q: sorted(dict(run.get(q, [])).items(), key=lambda p: (single(p[1]), p[0]), reverse=True) for q in asked}
    spelled = {q: {d: float(len(o) - i) for i, (d, _) in enumerate(o)} or {"nothing": 1.0} for q, o in ours.items()}
    answers = Run(spelled)
    truth = Qrels({q: {d: max(g, 0) for d, g in qrels[q].items()} for q in asked})
    names = list(WHOLE.values()) + [f"{t}@{k}" for t in CUT.values() for k in CUTS]
    got = evaluate(truth, answers, names, return_mean=False)
    order = sorted(truth.keys())
    out = {q: {} for q in order}

    def note(name, values):
        for q, v in zip(order, values):
            out[q][name] = round(float(v), 8)

    for name, theirs in WHOLE.items():
        note(name, got[theirs])
    for name, theirs in CUT.items():
        for k in CUTS:
            note(f"{name}@{k}", got[f"{theirs}@{k}"])
    judged = {f"judged@{k}": ir_measures.Judged @ k for k in CUTS}
    judged["rbp"] = ir_measures.RBP(rel=1, p=0.8)
    back = {str(m): name for name, m in judged.items()}
    for q in order:
        out[q]["rbp"] = 0.0
        for k in CUTS:
            out[q][f"judged@{k}"] = 0.0
            positive = {d for d, g in qrels[q].items() if g > 0}
            found = sum(d in positive for d, _ in ours[q][:k])
            out[q][f"recall-cap@{k}"] = round(found / min(len(positive), k), 8)
    answered = {q: spelled[q] for q in order if ours[q]}
    for m in ir_measures.iter_calc(list(judged.values()), {q: qrels[q] for q in order}, answered):
        out[m.query_id][back[str(m.measure)]] = round(m.value, 8)
    return out


def main():
    with gzip.open("trec_eval.jsonl.gz") as f, gzip.GzipFile(fileobj=sys.stdout.buffer, mode="wb", mtime=0) as g:
        for line in f:
            rec = json.loads(line)
            g.write((json.dumps(measure(rec["qrels"], rec["run"]), separators=(",", ":")) + "\n").encode())


main()
