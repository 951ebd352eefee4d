"""Makes vectors of real texts, of several models in a row.

The texts are the first passages of a corpus.jsonl. A query is the first half of
the words of one of a thousand of them. Each model's vectors have length 1 and
count alike: a vector is theirs one after the other, by the root of their number.
The vectors of each model stay in --work for other rows of models.
"""

import argparse
import itertools
import json
import os
import re
import subprocess

import numpy as np

QUERIES = 1000

p = argparse.ArgumentParser()
p.add_argument("--corpus", required=True)
p.add_argument("--passages", type=int, required=True)
p.add_argument("--models", required=True, help="with commas")
p.add_argument("--lexsem", required=True, help="the program")
p.add_argument("--work", required=True)
p.add_argument("--base", required=True)
p.add_argument("--queries", required=True)
args = p.parse_args()

base, halves = (os.path.join(args.work, f"texts-{args.passages}.{end}") for end in ("jsonl", "txt"))
with open(args.corpus) as f:
    lines = list(itertools.islice(f, args.passages))
if len(lines) < max(args.passages, QUERIES):
    p.error(f"--passages {args.passages}: {args.corpus} has {len(lines)}; use {QUERIES} to {len(lines)}")
with open(base, "w") as f:
    f.writelines(lines)
with open(halves, "w") as f:
    for i in range(QUERIES):
        passage = json.loads(lines[i * len(lines) // QUERIES])
        words = (passage.get("title", "") + " " + passage["text"]).split()
        f.write(" ".join(words[: (len(words) + 1) // 2]) + "\n")


def vectors(model, role, texts):
    out = os.path.join(args.work, f"texts-{args.passages}-{re.sub('[^A-Za-z0-9.-]', '-', model)}-{role}.fbin")
    if not os.path.exists(out):
        subprocess.run([args.lexsem, "embed", "--quiet", "--model", model, "--backend", "native", "--role", role, "--format", "fbin", "--out", out, texts], check=True)
    n, d = np.fromfile(out, np.uint32, 2)
    return np.fromfile(out, np.float32, offset=8).reshape(int(n), int(d))


models = args.models.split(",")
for role, texts, out in (("passage", base, args.base), ("query", halves, args.queries)):
    row = np.concatenate([vectors(m, role, texts) for m in models], axis=1) / np.float32(len(models) ** 0.5)
    with open(out + ".new", "wb") as f:
        np.array(row.shape, np.uint32).tofile(f)
        row.tofile(f)
    os.rename(out + ".new", out)
