"""Records what trec_eval says about random runs, for metric_trec_test.go.

    pip install pytrec_eval-terrier
    python make_trec_eval.py > trec_eval.jsonl.gz

Each line holds one random run: judgements (grades -1 to 3), answers with
scores, and the measures of every query by trec_eval's own code through
pytrec_eval, for the relevance levels 1 and 2. The answers are handed over as they
are. Two in three have few distinct scores, or scores that differ by less than
single precision can tell, in which trec_eval keeps them.
"""

import gzip
import json
import random
import struct
import sys

import pytrec_eval

CUTS = (1, 5, 10, 100)
CUT = {"ndcg": "ndcg_cut", "recall": "recall", "precision": "P", "map": "map_cut", "success": "success"}
WHOLE = {"map": "map", "mrr": "recip_rank", "rprec": "Rprec", "bpref": "bpref"}


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
        kind = rng.random()
        if kind < 0.5:  # few distinct scores
            run[qid] = {d: float(rng.randint(-1, 3)) for d in found}
        elif kind < 0.67:  # equal in single precision
            run[qid] = {d: round(rng.randint(1, 9) / 10 + rng.randint(0, 5) * 1e-9, 10) for d in found}
        else:
            run[qid] = {d: round(rng.random(), 6) for d in found}
    return qrels, run


def single(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def measure(qrels, run, level):
    want = set(WHOLE.values()) | {m + "." + ",".join(map(str, CUTS)) for m in CUT.values()}
    got = pytrec_eval.RelevanceEvaluator(qrels, want, relevance_level=level).evaluate(run)
    out = {}
    for q in qrels:
        of = got.get(q)  # trec_eval leaves unanswered queries out; they count 0 here.
        out[q] = {name: of[theirs] if of else 0.0 for name, theirs in WHOLE.items()}
        for name, theirs in CUT.items():
            for k in CUTS:
                out[q][f"{name}@{k}"] = of[f"{theirs}_{k}"] if of else 0.0
        # The reciprocal rank of a run that is cut in trec_eval's order.
        order = sorted(run.get(q, {}), key=lambda d: (single(run[q][d]), d), reverse=True)
        for k in CUTS:
            cut = {q: {d: run[q][d] for d in order[:k]}}
            r = pytrec_eval.RelevanceEvaluator({q: qrels[q]}, {"recip_rank"}, relevance_level=level).evaluate(cut) if cut[q] else {}
            out[q][f"mrr@{k}"] = r[q]["recip_rank"] if q in r else 0.0
    return {q: {m: round(v, 8) for m, v in ms.items()} for q, ms in out.items()}


def main():
    rng = random.Random(20)
    with gzip.GzipFile(fileobj=sys.stdout.buffer, mode="wb", mtime=0) as f:
        done = 0
        while done < 1000:
            qrels, run = one(rng)
            asked = {q: g for q, g in qrels.items() if any(x > 0 for x in g.values())}
            if not asked:
                continue
            done += 1
            line = {"qrels": qrels, "run": {q: [[d, s] for d, s in a.items()] for q, a in run.items()},
                    "expected": measure(asked, run, 1), "expected2": measure(asked, run, 2)}
            f.write((json.dumps(line, separators=(",", ":")) + "\n").encode())


main()
