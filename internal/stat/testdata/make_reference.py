"""Records what SciPy, scikit-learn and statsmodels say about random data, for reference_test.go.

    pip install scipy==1.17.1 scikit-learn==1.9.1 statsmodels==0.15.0
    python make_reference.py > reference.jsonl.gz

Each of 1,000 lines holds two samples with their Pearson and Spearman correlations (ties among them), two
labellings with homogeneity, completeness and V-measure, p values with Holm's adjustment, and distances
with the partition that complete linkage makes of them.
"""

import gzip
import json
import random
import sys

import numpy as np
from scipy.stats import pearsonr, spearmanr
from sklearn.cluster import AgglomerativeClustering
from sklearn.metrics import homogeneity_completeness_v_measure
from statsmodels.stats.multitest import multipletests


def one(rng):
    n = rng.randint(3, 40)
    tied = rng.random() < 0.5
    while True:
        x = [rng.randint(0, 5) if tied else round(rng.gauss(0, 1), 6) for _ in range(n)]
        y = [rng.randint(0, 5) if tied else round(rng.gauss(0, 3) + 0.5 * a, 6) for a in x]
        if len(set(x)) > 1 and len(set(y)) > 1:
            break
    a = [rng.randint(0, 4) for _ in range(n)]
    b = [c if rng.random() < 0.6 else rng.randint(0, 3) for c in a]
    h, c, v = homogeneity_completeness_v_measure(a, b)
    p = [round(rng.random() ** 3, 6) for _ in range(rng.randint(1, 9))]
    m = rng.randint(3, 12)
    points = [(rng.random(), rng.random()) for _ in range(m)]
    d = [[round(((q[0] - r[0]) ** 2 + (q[1] - r[1]) ** 2) ** 0.5, 9) for r in points] for q in points]
    k = rng.randint(1, m)
    labels = AgglomerativeClustering(n_clusters=k, metric="precomputed", linkage="complete").fit_predict(np.array(d)).tolist()
    return {
        "x": x, "y": y, "pearson": round(float(pearsonr(x, y)[0]), 9), "spearman": round(float(spearmanr(x, y)[0]), 9),
        "classes": a, "clusters": b, "homogeneity": round(h, 9), "completeness": round(c, 9), "v": round(v, 9),
        "p": p, "holm": [round(float(q), 9) for q in multipletests(p, method="holm")[1]],
        "distances": [d[i][:i] for i in range(m)], "k": k, "labels": labels,
    }


def main():
    rng = random.Random(7)
    with gzip.GzipFile(fileobj=sys.stdout.buffer, mode="wb", mtime=0) as f:
        for _ in range(1000):
            rec = one(rng)
            f.write((json.dumps(rec, separators=(",", ":")) + "\n").encode())


main()
