"""Records a second outside figure for the metrics that trec_eval and ranx do not both have, for metric_ranx_test.go.

    pip install pytrec_eval-terrier ranx==0.3.21 && pip install --no-deps beir
    python make_second.py TREC_EVAL > second.jsonl.gz

TREC_EVAL is the program of trec_eval 10. Line i is of run i of trec_eval.jsonl.gz. ndcg-exp: trec_eval's ndcg_cut on
gains 2^grade - 1. rbp and bpref: ranx, with grades of 0 and 1, and bpref where something is judged irrelevant.
recall-cap: BEIR. judged: trec_eval's unj, which takes missing ranks for judged and
grades below 0 for none, so that it gets 0 for them; it keeps scores in double precision, as
trec_eval 9 does not, so that it gets the order spelled out. BEIR gives five decimals.
"""

import gzip
import importlib.util
import json
import os
import struct
import subprocess
import sys
import tempfile

import pytrec_eval
from ranx import Qrels, Run, evaluate

spec = importlib.util.find_spec("beir").submodule_search_locations[0]
beir = importlib.util.spec_from_file_location("custom_metrics", os.path.join(spec, "retrieval", "custom_metrics.py"))
beir = beir.loader.load_module()

CUTS = (1, 5, 10, 100)


def single(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def unjudged(qrels, run):
    with tempfile.TemporaryDirectory() as d:
        with open(os.path.join(d, "q"), "w") as f:
            f.writelines(f"{q} 0 {p} {max(g, 0)}\n" for q, ps in qrels.items() for p, g in ps.items())
        with open(os.path.join(d, "r"), "w") as f:
            f.writelines(f"{q} Q0 {p} 0 {s!r} t\n" for q, ps in run.items() for p, s in ps.items())
        args = [sys.argv[1], "-q", "-c", "-m", "unj." + ",".join(map(str, CUTS)), os.path.join(d, "q"), os.path.join(d, "r")]
        lines = subprocess.run(args, check=True, capture_output=True, text=True).stdout.split("\n")
    out = {}
    for name, q, v in (line.split() for line in lines if line):
        k = int(name.split("_")[1])
        out.setdefault(q, {})[k] = round(float(v) * k)  # passages
    return out


def measure(qrels, run):
    asked = {q: g for q, g in qrels.items() if any(x > 0 for x in g.values())}
    ours = {q: sorted(run.get(q, {}).items(), key=lambda p: (single(p[1]), p[0]), reverse=True) for q in asked}
    spelled = {q: {d: float(len(o) - i) for i, (d, _) in enumerate(o)} for q, o in ours.items()}
    given = {q: o for q, o in spelled.items() if o}
    out = {q: {"rbp": 0.0, **{f"{m}@{k}": 0.0 for m in ("ndcg-exp", "recall-cap", "judged") for k in CUTS}} for q in asked}
    gains = {q: {d: 2 ** max(g, 0) - 1 for d, g in gs.items()} for q, gs in asked.items()}
    got = pytrec_eval.RelevanceEvaluator(gains, {"ndcg_cut." + ",".join(map(str, CUTS))}).evaluate(run)
    unj = unjudged(asked, given) if given else {}
    for q, o in given.items():
        binary = {d: int(g > 0) for d, g in asked[q].items() if g >= 0}
        names = ["rbp.80"] + ["bpref"] * (0 in binary.values())
        values = evaluate(Qrels({q: binary}), Run({q: o}), names, return_mean=False)
        if len(names) == 1:
            values = {"rbp.80": values}
        for name, v in values.items():
            out[q]["rbp" if name == "rbp.80" else name] = float(v[0])
        for k in CUTS:
            out[q][f"ndcg-exp@{k}"] = got[q][f"ndcg_cut_{k}"]
            out[q][f"recall-cap@{k}"] = beir.recall_cap({q: asked[q]}, {q: o}, [k])[f"R_cap@{k}"]
            out[q][f"judged@{k}"] = 1 - unj[q][k] / min(k, len(o))
    return {q: {m: round(v, 6) for m, v in ms.items()} for q, ms in out.items()}


def main():
    with gzip.open("trec_eval.jsonl.gz") as f, gzip.GzipFile(fileobj=sys.stdout.buffer, mode="wb", mtime=0) as g:
        for line in f:
            rec = json.loads(line)
            run = {q: dict(a) for q, a in rec["run"].items()}
            g.write((json.dumps(measure(rec["qrels"], run), separators=(",", ":")) + "\n").encode())


main()
