"""Scores the run files that bench --runs wrote, for TestExportedRunsInOtherTools.

    python score_runs.py DIR TASK SYSTEM

The files are handed over as they are: to trec_eval through pytrec_eval, to ir_measures and to ranx.
Unanswered queries count 0; ranx takes none. Prints a JSON object of means.
"""

import json
import sys

import ir_measures
import pytrec_eval
import ranx

TREC = {"ndcg@1": "ndcg_cut_1", "ndcg@10": "ndcg_cut_10", "recall@100": "recall_100", "map": "map", "mrr": "recip_rank", "bpref": "bpref",
        "rprec": "Rprec", "success@5": "success_5", "precision@5": "P_5"}
IR = {"ndcg@10": "nDCG@10", "mrr@10": "RR@10", "judged@10": "Judged@10"}
RANX = {"ndcg@1": "ndcg@1", "ndcg@10": "ndcg@10", "recall@100": "recall@100", "map": "map", "mrr": "mrr", "rprec": "r-precision", "precision@5": "precision@5"}

folder, task, system = sys.argv[1:]
qrels, run = {}, {}
with open(f"{folder}/{task}.qrels", encoding="utf-8") as f:
    for line in f:
        query, _, passage, grade = line.split()
        qrels.setdefault(query, {})[passage] = int(grade)
with open(f"{folder}/{task}.{system}.trec", encoding="utf-8") as f:
    for line in f:
        query, _, passage, _, score, _ = line.split()
        run.setdefault(query, {})[passage] = float(score)
wanted = {"ndcg_cut.1,10", "recall.100", "map", "recip_rank", "bpref", "Rprec", "success.5", "P.5"}
got = pytrec_eval.RelevanceEvaluator(qrels, wanted).evaluate(run)
out = {"trec_eval " + ours: sum(m[theirs] for m in got.values()) / len(qrels) for ours, theirs in TREC.items()}
for ours, theirs in IR.items():
    values = [m.value for m in ir_measures.iter_calc([ir_measures.parse_measure(theirs)],
              list(ir_measures.read_trec_qrels(f"{folder}/{task}.qrels")), list(ir_measures.read_trec_run(f"{folder}/{task}.{system}.trec")))]
    out["ir_measures " + ours] = sum(values) / len(qrels)
got = ranx.evaluate(ranx.Qrels.from_file(f"{folder}/{task}.qrels", kind="trec"), ranx.Run.from_file(f"{folder}/{task}.{system}.trec", kind="trec"), list(RANX.values()))
out |= {"ranx " + ours: float(got[theirs]) for ours, theirs in RANX.items()}
json.dump(out, sys.stdout)
